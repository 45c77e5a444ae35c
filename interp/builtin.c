/* Names, signatures and what else the two tables of builtins say. */
#include "interp/builtin.h"

#include <string.h>

static const struct {
    const char *surface, *signature, *doc;
    builtin_kind kind;
    literal_class literals;
} table[BUILTIN_COUNT] = {
#define BUILTIN(id, surface, kind, literals, signature, doc) \
    [BUILTIN_##id] = {surface, signature, doc, BUILTIN_KIND_##kind, LITERAL_##literals},
#include "interp/builtins.def"
#undef BUILTIN
};

builtin_kind builtin_kind_of(builtin_id builtin) { return table[builtin].kind; }

dtype builtin_dtype(builtin_id cast) {
    dtype t = DT_F32;
    return dtype_find(table[cast].surface, strlen(table[cast].surface), &t) ? t : DT_F32;
}

static bool is_op(int builtin) { return builtin < (int)OP_COUNT; }

const char *builtin_name(int builtin) {
    return is_op(builtin) ? op_table[builtin].surface : table[builtin - (int)OP_COUNT].surface;
}

const char *builtin_signature(int builtin) {
    return is_op(builtin) ? op_table[builtin].signature : table[builtin - (int)OP_COUNT].signature;
}

const char *builtin_doc(int builtin) {
    return is_op(builtin) ? op_table[builtin].doc : table[builtin - (int)OP_COUNT].doc;
}

int builtin_named(const char *name) {
    for (int i = 0; i < (int)OP_COUNT + (int)BUILTIN_COUNT; i++)
        if (name[0] != '\0' && strcmp(builtin_name(i), name) == 0) return i;
    return -1;
}

/* ---- literals as operands ---- */

/* Of an op: whether its result has the element type of its operands, and of which kind that is. */
static literal_class op_literal_class(op_class class) {
    switch (class) {
    case CLASS_UNARY:
    case CLASS_BINARY:
    case CLASS_REDUCE_FLOAT:
    case CLASS_CUMULATE_FLOAT:
    case CLASS_ALONG:
    case CLASS_SCAN:
    case CLASS_MATRIX:
    case CLASS_MATRIX_PAIR:
    case CLASS_DETERMINANT:
    case CLASS_SOLVE:
    case CLASS_CONV:
    case CLASS_CONV_INPUT_GRAD:
    case CLASS_CONV_WEIGHT_GRAD:
    case CLASS_POOL_GRAD: return LITERAL_FLOAT;
    case CLASS_UNARY_NUMERIC:
    case CLASS_BINARY_NUMERIC:
    case CLASS_TERNARY_NUMERIC:
    case CLASS_WHERE:
    case CLASS_REDUCE:
    case CLASS_REDUCE_ONE:
    case CLASS_REDUCE_NONEMPTY:
    case CLASS_CUMULATE:
    case CLASS_SHIFT:
    case CLASS_RESHAPE:
    case CLASS_PERMUTE:
    case CLASS_BROADCAST:
    case CLASS_EXPAND:
    case CLASS_SQUEEZE:
    case CLASS_CONCAT:
    case CLASS_SLICE:
    case CLASS_SLICE_ADD:
    case CLASS_TAKE:
    case CLASS_TAKE_ALONG:
    case CLASS_SCATTER:
    case CLASS_SCATTER_ALONG:
    case CLASS_MATMUL:
    case CLASS_MATMUL_ADD:
    case CLASS_FULL_LIKE:
    case CLASS_FULL: return LITERAL_INT;
    default: return LITERAL_NONE;
    }
}

literal_class builtin_literals(int builtin) {
    return is_op(builtin) ? op_literal_class((op_class)op_table[builtin].class)
                          : table[builtin - (int)OP_COUNT].literals;
}

/* ---- signatures ---- */

bool builtin_param_is(const builtin_param *p, const char *word) {
    return strlen(word) == p->length && memcmp(p->name, word, p->length) == 0;
}

static param_role role_of(const builtin_param *p) {
    static const struct {
        const char *word;
        param_role role;
    } roles[] = {
        {"axis", ROLE_AXIS},   {"axes", ROLE_AXES},       {"keepdims", ROLE_FLAG},
        {"dims", ROLE_SIZES},  {"n", ROLE_SIZE},          {"dtype", ROLE_DTYPE},
        {"path", ROLE_STRING}, {"message", ROLE_STRING},  {"indices", ROLE_INDICES},
        {"key", ROLE_KEY},     {"targets", ROLE_INDICES}, {"...", ROLE_REST},
        {"ddof", ROLE_INTEGER}, {"lower", ROLE_LOWER},
        {"stride", ROLE_WINDOW}, {"padding", ROLE_WINDOW}, {"dilation", ROLE_WINDOW},
        {"groups", ROLE_WINDOW}, {"window", ROLE_WINDOW},
        {"k", ROLE_INTEGER},    {"shift", ROLE_INDICES},
        {"by", ROLE_INTEGER},   {"order", ROLE_INTEGER},  {"reversed", ROLE_REVERSED},
        {"strong_zero", ROLE_STRONG}, {"f", ROLE_OWN},          {"wrt", ROLE_OWN},
        {"reps", ROLE_SIZES},   {"ids", ROLE_INDICES},    {"widths", ROLE_OWN},
        {"parts", ROLE_OWN},    {"starts", ROLE_OWN},     {"sizes", ROLE_OWN},
        {"steps", ROLE_OWN},    {"storage", ROLE_OWN},
    };
    if (p->name[0] == '(') return ROLE_PARTS;
    if (builtin_param_is(p, "k") && !p->optional) return ROLE_SIZE;
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (builtin_param_is(p, roles[i].word)) return roles[i].role;
    return ROLE_OPERAND;
}

/* "x, axis=all, keepdims=false" as parameters. */
static int parse_signature(const char *at, builtin_param *out) {
    int count = 0;
    while (*at != '\0' && count < BUILTIN_PARAMS) {
        builtin_param *p = &out[count++];
        const char *end = at;
        for (int depth = 0; *end != '\0' && (depth > 0 || *end != ','); end++)
            depth += *end == '(' ? 1 : *end == ')' ? -1 : 0;
        const char *equals = memchr(at, '=', (size_t)(end - at));
        p->name = at;
        p->length = (uint32_t)((equals != NULL ? equals : end) - at);
        p->optional = equals != NULL;
        p->role = role_of(p);
        for (at = end; *at == ',' || *at == ' ';) at++;
    }
    return count;
}

int builtin_params(int builtin, builtin_param *out) {
    return parse_signature(builtin_signature(builtin), out);
}

param_role builtin_place(int builtin, const char *name, int i) {
    builtin_param params[BUILTIN_PARAMS];
    int count = builtin_params(builtin, params), at = name == NULL ? i : 0;
    while (name != NULL && at < count && !builtin_param_is(&params[at], name)) at++;
    bool einsum = builtin == (int)OP_COUNT + (int)BUILTIN_einsum;
    if (einsum) return at == 0 ? ROLE_STRING : ROLE_OPERAND;
    if (at >= count) return ROLE_REST;
    bool condition =
        builtin < (int)OP_COUNT && op_table[builtin].class == CLASS_WHERE && at == 0;
    return condition ? ROLE_INDICES : params[at].role;
}
