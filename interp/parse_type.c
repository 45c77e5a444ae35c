/* Types, dims and patterns. */
#include "interp/parse.h"

#include <stdio.h>
#include <string.h>

static type_expr *new_type(parser *p, type_expr_kind kind, span at) {
    type_expr *t = p->stopped ? NULL : ARENA_NEW(p->a, type_expr);
    if (t == NULL) {
        parse_stop(p);
        return NULL;
    }
    t->kind = kind;
    t->at = at;
    return t;
}

/* ---- dims ---- */

static expr *parse_dim(parser *p);

static expr *parse_dim_atom(parser *p) {
    expr *e = NULL;
    token open = p->now;
    switch (open.kind) {
    case TOKEN_INT:
        e = parse_new(p, EXPR_INT, open.at, open.at);
        if (e == NULL) return NULL;
        e->u.integer.magnitude = open.integer;
        if (open.unit.end > open.unit.begin && parse_may_report(p)) {
            lexer_report(p->src, &(lex_fault){LEX_NUMBER_SUFFIX, open.unit, NULL}, p->d);
        }
        parse_advance(p);
        return e;
    case TOKEN_NAME:
        e = parse_new(p, EXPR_NAME, open.at, open.at);
        if (e == NULL) return NULL;
        e->u.name.name = parse_name(p);
        return p->panic ? NULL : e;
    case TOKEN_QUESTION: parse_advance(p); return parse_new(p, EXPR_UNKNOWN_DIM, open.at, open.at);
    case TOKEN_PAREN_OPEN:
        parse_advance(p);
        if (!parse_enter(p)) return NULL;
        e = parse_dim(p);
        if (e == NULL || !parse_close(p, &open, TOKEN_PAREN_CLOSE)) return NULL;
        parse_leave(p);
        e->at = parse_since(p, open.at.begin);
        return e;
    default: parse_unexpected(p, "a dim: a number or a name"); return NULL;
    }
}

static expr *join_dims(parser *p, op_id op, span mark, expr *a, expr *b) {
    expr *e = parse_new(p, EXPR_BINARY, (span){a->at.begin, b->at.end}, mark);
    if (e == NULL) return NULL;
    e->u.binary.op = op;
    e->u.binary.a = a;
    e->u.binary.b = b;
    return e;
}

/* product := atom (* atom)* */
static expr *parse_dim_product(parser *p) {
    expr *e = parse_dim_atom(p);
    while (e != NULL && p->now.kind == TOKEN_STAR) {
        span mark = p->now.at;
        parse_advance(p);
        expr *right = parse_dim_atom(p);
        if (right == NULL) return NULL;
        e = join_dims(p, OP_mul, mark, e, right);
    }
    return e;
}

/* dim := product ((+ | -) product)* */
static expr *parse_dim(parser *p) {
    expr *e = parse_dim_product(p);
    while (e != NULL && (p->now.kind == TOKEN_PLUS || p->now.kind == TOKEN_MINUS)) {
        op_id op = p->now.kind == TOKEN_PLUS ? OP_add : OP_sub;
        span mark = p->now.at;
        parse_advance(p);
        expr *right = parse_dim_product(p);
        if (right == NULL) return NULL;
        e = join_dims(p, op, mark, e, right);
    }
    bool other = e != NULL && (p->now.kind == TOKEN_SLASH || p->now.kind == TOKEN_PERCENT);
    if (!other) return e;
    if (parse_fails(p)) {
        diag *d = diag_error(p->d, ERROR_K0026, p->now.at, "dims are not divided");
        diag_add_help(p->d, d, "a dim is made of numbers and names with `+`, `-` and `*`");
    }
    return NULL;
}

/* [ dim, ... ] */
static bool parse_dims(parser *p, type_expr *t) {
    token open = p->now;
    if (open.kind != TOKEN_BRACKET_OPEN) {
        parse_unexpected(p, "the dims in `[` and `]`");
        return false;
    }
    parse_advance(p);
    if (!parse_enter(p)) return false;
    size_t mark = p->used;
    bool more = p->now.kind != TOKEN_BRACKET_CLOSE;
    if (!more && !parse_close(p, &open, TOKEN_BRACKET_CLOSE)) return false;
    while (more) {
        expr *one = parse_dim(p);
        if (one == NULL || !parse_push_pointer(p, one)) return false;
        if (!parse_more(p, &open, TOKEN_BRACKET_CLOSE, &more)) return false;
    }
    parse_leave(p);
    t->dims = parse_take(p, mark, sizeof(void *), &t->count);
    return !p->panic;
}

/* ---- element types ---- */

typedef struct type_name {
    const char *name;
    dtype dt;
} type_name;

/* What people of other languages call the element types; compared without regard to case. */
static bool find_other_name(const char *name, size_t length, dtype *out) {
    static const type_name table[] = {
        {"f32", DT_F32},    {"float", DT_F32},    {"float32", DT_F32}, {"f64", DT_F64},
        {"double", DT_F64}, {"float64", DT_F64},  {"i32", DT_I32},     {"int", DT_I32},
        {"int32", DT_I32},  {"i64", DT_I64},      {"long", DT_I64},    {"int64", DT_I64},
        {"bool", DT_Bool},  {"boolean", DT_Bool},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (strlen(table[i].name) != length) continue;
        size_t k = 0;
        while (k < length && (name[k] | 0x20) == (table[i].name[k] | 0x20)) k++;
        if (k < length) continue;
        *out = table[i].dt;
        return true;
    }
    return false;
}

/* The element type that the NAME token spells. An unknown one is reported, and F32 stands for it.
 */
static dtype parse_dtype(parser *p) {
    span at = p->now.at;
    const char *name = p->src->text + at.begin;
    size_t length = at.end - at.begin;
    dtype dt = DT_F32, meant;
    if (!dtype_find(name, length, &dt) && parse_may_report(p)) {
        int shown = length > 40 ? 40 : (int)length;
        diag *e = diag_error(p->d, ERROR_K0020, at, "no type `%.*s`", shown, name);
        if (find_other_name(name, length, &meant)) {
            diag_add_help(p->d, e, "write `%s`", dtype_name(meant));
        } else if (length == 6 && memcmp(name, "Tensor", 6) == 0) {
            diag_add_help(p->d, e, "write `tensor<F32, [2, 3]>`");
        } else {
            diag_add_help(p->d, e, "the element types are F32, F64, I32, I64 and Bool");
        }
    }
    parse_advance(p);
    return dt;
}

/* ---- types ---- */

/* The `>` that closes a type: the first half of `>=` too. */
static bool parse_close_angle(parser *p, const token *open) {
    if (p->now.kind != TOKEN_GREATER_EQUAL || p->panic) return parse_close(p, open, TOKEN_GREATER);
    p->end = p->now.at.begin + 1;
    p->lex.position = p->end;
    p->now = lexer_next(&p->lex);
    return true;
}

static bool parse_open_angle(parser *p, const char *keyword, token *open) {
    *open = p->now;
    if (open->kind != TOKEN_LESS) {
        char expected[40];
        snprintf(expected, sizeof expected, "`<` after `%s`", keyword);
        parse_unexpected(p, expected);
        return false;
    }
    parse_advance(p);
    return parse_enter(p);
}

/* , @host */
static bool parse_device(parser *p) {
    if (!parse_expect(p, TOKEN_AT, "before the device")) return false;
    span at = p->now.at;
    bool host = at.end - at.begin == 4 && memcmp(p->src->text + at.begin, "host", 4) == 0;
    if (p->now.kind != TOKEN_NAME) {
        parse_unexpected(p, "a device's name");
        return false;
    }
    if (!host && parse_may_report(p)) {
        int length = at.end - at.begin > 40 ? 40 : (int)(at.end - at.begin);
        diag *e =
            diag_error(p->d, ERROR_K0021, at, "no device `@%.*s`", length, p->src->text + at.begin);
        diag_add_help(p->d, e, "tensors live on `@host`, which may be left out");
    }
    parse_advance(p);
    return true;
}

/* tensor < dtype , [dims] [, @host] > */
static type_expr *parse_tensor_type(parser *p) {
    type_expr *t = new_type(p, TYPE_EXPR_TENSOR, p->now.at);
    if (t == NULL) return NULL;
    token open;
    parse_advance(p);
    if (!parse_open_angle(p, "tensor", &open)) return NULL;
    if (p->now.kind != TOKEN_NAME) {
        parse_unexpected(p, "an element type such as F32");
        return NULL;
    }
    t->dt = parse_dtype(p);
    if (p->now.kind == TOKEN_GREATER && parse_fails(p)) {
        diag *e = diag_error(p->d, ERROR_K0010, p->now.at, "expected `,` and the dims, found `>`");
        diag_add_help(p->d, e, "a tensor type has dims: `tensor<%s, [2, 3]>`; a bare `%s` has none",
                      dtype_name(t->dt), dtype_name(t->dt));
        return NULL;
    }
    if (!parse_expect(p, TOKEN_COMMA, "after the element type") || !parse_dims(p, t)) return NULL;
    if (p->now.kind == TOKEN_COMMA) {
        parse_advance(p);
        bool closes = p->now.kind == TOKEN_GREATER || p->now.kind == TOKEN_GREATER_EQUAL;
        if (!closes && !parse_device(p)) return NULL;
        t->host = !closes;
        if (p->now.kind == TOKEN_COMMA) parse_advance(p);
    }
    if (!parse_close_angle(p, &open)) return NULL;
    parse_leave(p);
    t->at = parse_since(p, t->at.begin);
    return t;
}

/* tape < type > */
static type_expr *parse_tape_type(parser *p) {
    type_expr *t = new_type(p, TYPE_EXPR_TAPE, p->now.at);
    if (t == NULL) return NULL;
    token open;
    parse_advance(p);
    if (!parse_open_angle(p, "tape", &open)) return NULL;
    size_t mark = p->used;
    type_expr *element = parse_type(p);
    if (element == NULL || !parse_push_pointer(p, element)) return NULL;
    if (!parse_close_angle(p, &open)) return NULL;
    parse_leave(p);
    t->items = parse_take(p, mark, sizeof(void *), &t->count);
    t->at = parse_since(p, t->at.begin);
    return p->panic ? NULL : t;
}

/* The types between `(` and `)`; *comma says whether the last one had a comma after it. */
static bool parse_type_list(parser *p, type_expr *t, bool *comma) {
    token open = p->now;
    *comma = false;
    if (!parse_expect(p, TOKEN_PAREN_OPEN, "before the parameters' types")) return false;
    if (!parse_enter(p)) return false;
    size_t mark = p->used;
    bool more = p->now.kind != TOKEN_PAREN_CLOSE;
    if (!more && !parse_close(p, &open, TOKEN_PAREN_CLOSE)) return false;
    while (more) {
        type_expr *one = parse_type(p);
        if (one == NULL || !parse_push_pointer(p, one)) return false;
        *comma = p->now.kind == TOKEN_COMMA;
        if (!parse_more(p, &open, TOKEN_PAREN_CLOSE, &more)) return false;
    }
    parse_leave(p);
    t->items = parse_take(p, mark, sizeof(void *), &t->count);
    return !p->panic;
}

/* ( ) | ( type ) | ( type, type ... ) */
static type_expr *parse_paren_type(parser *p) {
    type_expr *t = new_type(p, TYPE_EXPR_TUPLE, p->now.at);
    bool comma;
    if (t == NULL || !parse_type_list(p, t, &comma)) return NULL;
    t->at = parse_since(p, t->at.begin);
    if (t->count == 0) t->kind = TYPE_EXPR_UNIT;
    if (t->count != 1) return t;
    if (comma && parse_may_report(p)) {
        diag *e = diag_error(p->d, ERROR_K0013, t->at, "a tuple type of one type");
        diag_add_help(p->d, e, "a tuple has two values or more; take the comma away");
    }
    t->items[0]->at = t->at;
    return t->items[0];
}

/* fn ( type, ... ) -> type */
static type_expr *parse_fn_type(parser *p) {
    type_expr *t = new_type(p, TYPE_EXPR_FN, p->now.at);
    bool comma;
    if (t == NULL) return NULL;
    parse_advance(p);
    if (!parse_type_list(p, t, &comma)) return NULL;
    if (p->now.kind != TOKEN_ARROW) {
        diag *e = parse_unexpected(p, "`->` and the result's type");
        if (e != NULL)
            diag_add_help(p->d, e, "a function that yields nothing has the type `fn(F32) -> ()`");
        return NULL;
    }
    parse_advance(p);
    if (!parse_enter(p)) return NULL;
    t->result = parse_type(p);
    parse_leave(p);
    t->at = parse_since(p, t->at.begin);
    return p->panic ? NULL : t;
}

/* type := dtype | tensor<...> | tape<...> | fn(...) -> type | (type, ...) */
type_expr *parse_type(parser *p) {
    type_expr *t;
    if (p->panic) return NULL;
    switch (p->now.kind) {
    case TOKEN_TENSOR: return parse_tensor_type(p);
    case TOKEN_TAPE: return parse_tape_type(p);
    case TOKEN_FN: return parse_fn_type(p);
    case TOKEN_PAREN_OPEN: return parse_paren_type(p);
    case TOKEN_NAME:
        t = new_type(p, TYPE_EXPR_SCALAR, p->now.at);
        if (t != NULL) t->dt = parse_dtype(p);
        return t;
    default: parse_unexpected(p, "a type"); return NULL;
    }
}

/* ---- patterns ---- */

static pattern *new_pattern(parser *p, pattern_kind kind, span at) {
    pattern *out = p->stopped ? NULL : ARENA_NEW(p->a, pattern);
    if (out == NULL) {
        parse_stop(p);
        return NULL;
    }
    out->kind = kind;
    out->at = at;
    return out;
}

/* ( pattern, pattern ... ); a single one in parentheses is that one. */
static pattern *parse_tuple_pattern(parser *p) {
    token open = p->now;
    parse_advance(p);
    if (!parse_enter(p)) return NULL;
    size_t mark = p->used;
    bool more = true, comma = false;
    pattern *one = NULL;
    while (more) {
        one = parse_pattern(p);
        if (one == NULL || !parse_push_pointer(p, one)) return NULL;
        comma = p->now.kind == TOKEN_COMMA;
        if (!parse_more(p, &open, TOKEN_PAREN_CLOSE, &more)) return NULL;
    }
    parse_leave(p);
    span at = parse_since(p, open.at.begin);
    if (p->used - mark == sizeof(void *)) {
        p->used = mark;
        if (comma && parse_may_report(p)) {
            diag *e = diag_error(p->d, ERROR_K0013, at, "a tuple pattern of one name");
            diag_add_help(p->d, e, "a tuple has two values or more; take the comma away");
        }
        return one;
    }
    pattern *out = new_pattern(p, PATTERN_TUPLE, at);
    if (out == NULL) return NULL;
    out->items = parse_take(p, mark, sizeof(void *), &out->count);
    return p->panic ? NULL : out;
}

/* pattern := NAME | _ | ( pattern, ... ) */
pattern *parse_pattern(parser *p) {
    pattern *out;
    if (p->panic) return NULL;
    switch (p->now.kind) {
    case TOKEN_NAME:
        out = new_pattern(p, PATTERN_NAME, p->now.at);
        if (out == NULL) return NULL;
        out->name = parse_name(p);
        return p->panic ? NULL : out;
    case TOKEN_UNDERSCORE:
        out = new_pattern(p, PATTERN_IGNORE, p->now.at);
        parse_advance(p);
        return out;
    case TOKEN_PAREN_OPEN: return parse_tuple_pattern(p);
    default: parse_unexpected(p, "a name, `_` or a tuple of them"); return NULL;
    }
}
