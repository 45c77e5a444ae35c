/* Messages about types: shown types, where their dims come from, and which part of a value does not
 * fit. */
#include <string.h>

#include "interp/check.h"

/* ---- showing ---- */

static const char *kept(checker *c, text *t) {
    const char *shown = arena_text(c->a, text_data(t), t->length);
    if (t->failed || shown == NULL) c->failed = true;
    text_close(t);
    return shown == NULL ? "" : shown;
}

const char *check_show(checker *c, const type *t) {
    text out;
    text_init(&out, c->c);
    type_print(c->dims, t, &out);
    return kept(c, &out);
}

const char *check_show_dim(checker *c, int64_t dim) {
    text out;
    text_init(&out, c->c);
    dims_print(c->dims, dim, &out);
    return kept(c, &out);
}

/* ---- where dims come from ---- */

enum { DIMS_NOTED = 8 };

static void add_origins(checker *c, diag *e, const int64_t *symbols, int count) {
    for (int i = 0; i < count; i++) {
        span origin = dims_origin(c->dims, symbols[i]);
        const char *name = dims_name(c->dims, symbols[i]);
        if (origin.end == 0 || name == NULL) continue;
        bool rigid = dims_kind(c->dims, symbols[i]) == DIM_RIGID;
        diag_add_note(c->d, e, origin,
                      rigid ? "the dim `%s` stands for any size; it is named here"
                            : "the dim `%s` is introduced here",
                      name);
    }
}

/* Adds the symbols of a dim to those already listed. */
static int gather(checker *c, int64_t dim, int64_t *symbols, int count) {
    int64_t found[DIMS_NOTED];
    int n = dims_symbols(c->dims, dim, found, DIMS_NOTED);
    for (int i = 0; i < n && count < DIMS_NOTED; i++) {
        int seen = 0;
        while (seen < count && symbols[seen] != found[i]) seen++;
        if (seen == count) symbols[count++] = found[i];
    }
    return count;
}

void check_note_dims(checker *c, diag *e, const int64_t *list, int count) {
    int64_t symbols[DIMS_NOTED];
    int found = 0;
    for (int i = 0; i < count; i++) found = gather(c, list[i], symbols, found);
    add_origins(c, e, symbols, found);
}

void check_note_types(checker *c, diag *e, const type *a, const type *b) {
    if (a->kind != TYPE_TENSOR || b->kind != TYPE_TENSOR || a->tensor.rank != b->tensor.rank)
        return;
    int64_t differing[2 * MAX_RANK];
    int count = 0;
    for (int i = 0; i < a->tensor.rank; i++) {
        if (dims_compare(c->dims, a->tensor.dims[i], b->tensor.dims[i]) != DIM_DIFFERENT) continue;
        differing[count++] = a->tensor.dims[i];
        differing[count++] = b->tensor.dims[i];
    }
    check_note_dims(c, e, differing, count);
}

/* ---- what does not fit ---- */

static bool differ_in_dims_only(const type *a, const type *b) {
    return a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR && a->tensor.dtype == b->tensor.dtype &&
           a->tensor.rank == b->tensor.rank;
}

static void help_fit(checker *c, diag *d, const expr *e, const type *is, const type *wanted) {
    if (e->kind == EXPR_BLOCK && is->kind == TYPE_UNIT && e->u.block.tail == NULL) {
        diag_add_help(c->d, d,
                      "a block that ends in `;` has the value (); end it in an expression");
    } else if (is->kind == TYPE_TENSOR && wanted->kind == TYPE_TENSOR &&
               is->tensor.dtype != wanted->tensor.dtype) {
        const char *name = dtype_name((dtype)wanted->tensor.dtype);
        if (e->kind == EXPR_FLOAT || e->kind == EXPR_INT)
            diag_add_help(c->d, d, "write a literal of type %s", name);
        else
            diag_add_help(c->d, d, "there is no implicit conversion; write `%s(...)`", name);
    } else if (is->kind == TYPE_FN && wanted->kind != TYPE_FN) {
        diag_add_help(c->d, d, "call the function to get a value");
    }
}

/* The meaning of a position of a handle's flat tuple. */
static void note_position(checker *c, diag *d, const expr *e, int position) {
    if (e->kind != EXPR_HANDLE) return;
    const expr *call = e->u.handle.call;
    const fn_decl *f = call->u.call.builtin == NULL ? check_callee(call->u.call.callee) : NULL;
    if (position == 0 || e->u.handle.forward) {
        diag_add_note(c->d, d, e->at, "position %d is the %s", position,
                      position == 0 ? "primal" : "tangent");
        return;
    }
    if (f == NULL || f->type == NULL || f->type->kind != TYPE_FN) return;
    for (int i = 0; i < f->type->count; i++) {
        if (!type_is_floating(f->type->items[i]) || --position > 0) continue;
        diag_add_note(c->d, d, f->params[i].at, "this position is the gradient of `%s`",
                      f->params[i].name);
        return;
    }
}

static void report(checker *c, const expr *e, const type *is, const type *wanted, const reason *why,
                   int position) {
    error_code code = differ_in_dims_only(is, wanted) ? ERROR_K0301 : why->code;
    const char *shown = check_show(c, is), *asked = check_show(c, wanted);
    diag *d;
    if (position >= 0)
        d = diag_error(c->d, code, e->at, "position %d of %s must be `%s`, not `%s`", position,
                       why->text, asked, shown);
    else
        d = diag_error(c->d, code, e->at, "%s must be `%s`, not `%s`", why->text, asked, shown);
    diag_label_primary(c->d, d, "`%s`", shown);
    if (why->at.end != 0) diag_add_label(c->d, d, why->at, "`%s` is asked for here", asked);
    check_note_types(c, d, is, wanted);
    if (why->note != NULL) diag_add_note(c->d, d, why->note_at, "%s", why->note);
    if (position >= 0) note_position(c, d, e, position);
    if (position < 0) help_fit(c, d, e, is, wanted);
}

/* A tuple that is not written out: the first position that differs. */
static void report_tuple(checker *c, const expr *e, const type *wanted, const reason *why) {
    for (int i = 0; i < wanted->count; i++) {
        if (check_conversion(c, e->type->items[i], wanted->items[i]) != DIM_DIFFERENT) continue;
        report(c, e, e->type->items[i], wanted->items[i], why, i);
        return;
    }
}

bool check_fits(checker *c, expr *e, const type *wanted, const reason *why) {
    if (c->failed) return true;
    while (e->kind == EXPR_BLOCK && e->u.block.tail != NULL) e = e->u.block.tail;
    if (e->type->kind == TYPE_ERROR || wanted->kind == TYPE_ERROR) return true;
    if (check_conversion(c, e->type, wanted) != DIM_DIFFERENT) return true;
    bool tuples = e->type->kind == TYPE_TUPLE && wanted->kind == TYPE_TUPLE &&
                  e->type->count == wanted->count;
    if (tuples && e->kind == EXPR_TUPLE) {
        for (int i = 0; i < wanted->count; i++)
            check_fits(c, e->u.list.items[i], wanted->items[i], why);
    } else if (tuples) {
        report_tuple(c, e, wanted, why);
    } else {
        report(c, e, e->type, wanted, why, -1);
    }
    return false;
}

/* ---- dims that no run can measure ---- */

static const symbol *placeless_in(checker *c, int64_t dim) {
    int64_t symbols[DIMS_NOTED];
    int n = dims_symbols(c->dims, dim, symbols, DIMS_NOTED);
    for (int i = 0; i < n; i++) {
        const char *name = dims_name(c->dims, symbols[i]);
        binding *b = name == NULL ? NULL : check_lookup(c, name);
        if (b == NULL || b->symbol->kind != SYMBOL_DIM || b->symbol->dim != symbols[i]) continue;
        if (meaning_of(b->symbol)->placeless) return b->symbol;
    }
    return NULL;
}

void check_measurable(checker *c, const expr *e, const type *is, const type *wanted) {
    if (is->kind != wanted->kind || is->count != wanted->count) return;
    if (wanted->kind == TYPE_TUPLE)
        for (int i = 0; i < wanted->count; i++)
            check_measurable(c, e, is->items[i], wanted->items[i]);
    if (wanted->kind != TYPE_TENSOR || is->tensor.rank != wanted->tensor.rank) return;
    for (int i = 0; i < wanted->tensor.rank; i++) {
        if (dims_compare(c->dims, is->tensor.dims[i], wanted->tensor.dims[i]) != DIM_LATER)
            continue;
        const symbol *s = placeless_in(c, wanted->tensor.dims[i]);
        if (s == NULL) continue;
        diag *d = diag_error(c->d, ERROR_K0306, e->at,
                             "whether this has the dim `%s` cannot be checked: `%s` stands alone "
                             "in function types only, so a run has no value for it",
                             s->name, s->name);
        diag_add_label(c->d, d, s->at, "`%s` is named here", s->name);
        diag_add_help(c->d, d, "let a tensor parameter have the dim, or give this one a new name");
        return;
    }
}

/* ---- operands that an op does not take ---- */

static void label_operand(checker *c, diag *e, expr *const *operands, int n, int k) {
    if (k >= 0 && k < n && operands[k] != NULL)
        diag_add_label(c->d, e, operands[k]->at, "`%s`", check_show(c, operands[k]->type));
}

/* Whether the op of this name broadcasts its operands. */
static bool stretches(const char *name) {
    op_id op = op_find(name, strlen(name));
    if (op == OP_COUNT) return false;
    switch ((op_class)op_table[op].class) {
    case CLASS_BINARY:
    case CLASS_BINARY_NUMERIC:
    case CLASS_BINARY_INTEGER:
    case CLASS_BINARY_BOOL:
    case CLASS_COMPARE:
    case CLASS_COMPARE_ORDER:
    case CLASS_WHERE:
    case CLASS_TERNARY_NUMERIC: return true;
    default: return false;
    }
}

static diag *fault_dims(checker *c, const char *name, span mark, const op_type *in,
                        const op_fault *f) {
    int64_t pair[2] = {in[f->a].dims[f->axis_a], in[f->b].dims[f->axis_b]};
    diag *e = diag_error(c->d, ERROR_K0301, mark, "dims of `%s` differ: `%s` and `%s`", name,
                         check_show_dim(c, pair[0]), check_show_dim(c, pair[1]));
    check_note_dims(c, e, pair, 2);
    bool product =
        strcmp(name, "@") == 0 || strcmp(name, "matmul") == 0 || strcmp(name, "dot") == 0;
    bool solves = strncmp(name, "solve", 5) == 0;
    if (dims_is_symbol(c->dims, pair[0]) && dims_is_symbol(c->dims, pair[1]))
        diag_add_help(c->d, e,
                      "two different dim names are never equal; use one name where they must be");
    else if (product && f->axis_a == in[f->a].rank - 1)
        diag_add_help(c->d, e,
                      "a product sums over the last dim of the left and the last but one of the "
                      "right, or the only one of a vector");
    else if (solves && f->a == 0 && f->b == 1)
        diag_add_help(c->d, e,
                      "the right-hand side has a row for each row of the matrix: its last dim but "
                      "one, or the only one of a vector");
    else if (pair[0] >= 0 && pair[1] >= 0 && stretches(name))
        diag_add_help(c->d, e, "only a literal 1 or a missing axis stretches");
    return e;
}

static diag *fault_types(checker *c, const char *name, span mark, const op_type *in,
                         const op_fault *f) {
    const char *a = dtype_name((dtype)in[f->a].dtype), *b = dtype_name((dtype)in[f->b].dtype);
    diag *e = diag_error(c->d, ERROR_K0201, mark,
                         "operands of `%s` have different types: %s and %s", name, a, b);
    diag_add_help(c->d, e, "there is no implicit conversion; write `%s(...)` or `%s(...)`", a, b);
    return e;
}

void check_fault(checker *c, const char *name, span mark, expr *const *operands, const op_type *in,
                 int n, const op_fault *f) {
    error_code code = f->kind == FAULT_DTYPE  ? ERROR_K0202
                      : f->kind == FAULT_RANK ? ERROR_K0302
                      : f->kind == FAULT_AXIS ? ERROR_K0303
                      : f->kind == FAULT_SIZE ? ERROR_K0305
                                              : ERROR_K0310;
    diag *e;
    switch (f->kind) {
    case FAULT_DIMS: e = fault_dims(c, name, mark, in, f); break;
    case FAULT_DTYPES: e = fault_types(c, name, mark, in, f); break;
    case FAULT_EMPTY:
        e = diag_error(c->d, ERROR_K0309, mark,
                       "`%s` has nothing to choose from along an axis of "
                       "size 0",
                       name);
        break;
    case FAULT_OVERFLOW:
        e = diag_error(c->d, code, mark, "the result of `%s` would be too large: %s", name,
                       f->expects);
        break;
    default: e = diag_error(c->d, code, mark, "`%s` takes %s", name, f->expects); break;
    }
    if (f->kind == FAULT_DTYPE && strcmp(name, "%") == 0)
        diag_add_help(c->d, e, "`mod(x, y)` takes floats; its result has the sign of `y`");
    label_operand(c, e, operands, n, f->a);
    if (f->kind == FAULT_DIMS || f->kind == FAULT_DTYPES) label_operand(c, e, operands, n, f->b);
    if (f->kind == FAULT_SIZE && f->a >= 0 && f->a < n)
        check_note_dims(c, e, in[f->a].dims, in[f->a].rank);
}
