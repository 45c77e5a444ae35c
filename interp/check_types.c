/* Types and dims as written: what their names mean, which of them a function quantifies and which
 * are opened by a let or a result. */
#include <string.h>

#include "interp/check.h"

const type check_error_type = {.kind = TYPE_ERROR};
const type check_unit_type = {.kind = TYPE_UNIT};
const type check_string_type = {.kind = TYPE_STRING};

const type *check_scalar(dtype t) {
    static const type scalars[DTYPE_COUNT] = {
#define DTYPE(name, ctype, field, bytes, floating)                                                 \
    [DT_##name] = {.kind = TYPE_TENSOR, .tensor = {.dtype = DT_##name}},
#include "runtime/dtype.def"
#undef DTYPE
    };
    return &scalars[t];
}

static type *new_type(checker *c, type_kind kind) {
    type *t = ARENA_NEW(c->a, type);
    if (t == NULL)
        c->failed = true;
    else
        t->kind = kind;
    return t;
}

const type *check_tensor_type(checker *c, const op_type *t) {
    if (t->rank == 0) return check_scalar((dtype)t->dtype);
    type *made = new_type(c, TYPE_TENSOR);
    if (made == NULL) return &check_error_type;
    made->tensor = *t;
    return made;
}

const type *check_tuple_type(checker *c, int count, const type **items) {
    if (count == 0) return &check_unit_type;
    if (count == 1) return items[0];
    type *made = new_type(c, TYPE_TUPLE);
    if (made == NULL) return &check_error_type;
    made->count = count;
    made->items = items;
    return made;
}

int check_take(const type *t) {
    return t != NULL && t->kind == TYPE_TUPLE ? t->count : 1;
}

/* ---- dims as written in types ---- */

/* Where a dim expression stands. */
typedef struct dim_place {
    type_place place;
    bool in_function; /* inside a function type or a tape: no value of a run is there to measure */
    dim_list *opened;
} dim_place;

static bool list_add(checker *c, dim_list *list, symbol *s) {
    if (list->count == list->room) {
        int room = list->room == 0 ? 4 : list->room * 2;
        symbol **larger = ARENA_ARRAY(c->a, symbol *, room);
        if (larger == NULL) {
            c->failed = true;
            return false;
        }
        if (list->count > 0) memcpy(larger, list->symbols, sizeof *larger * (size_t)list->count);
        list->symbols = larger;
        list->room = room;
    }
    list->symbols[list->count++] = s;
    return true;
}

static symbol *list_find(const dim_list *list, const char *name) {
    for (int i = 0; list != NULL && i < list->count; i++)
        if (list->symbols[i]->name == name) return list->symbols[i];
    return NULL;
}

static symbol *dim_symbol(checker *c, dim_kind kind, const char *name, span at) {
    symbol *s = check_symbol(c, SYMBOL_DIM, name, at, check_scalar(DT_I64));
    if (s != NULL) s->dim = dims_symbol(c->dims, kind, name, at);
    return s;
}

static symbol *open_dim(checker *c, expr *e, bool bare, const dim_place *p) {
    const char *name = e->u.name.name;
    if (p->in_function) {
        diag *d = diag_error(c->d, ERROR_K0306, e->at,
                             "a new dim name `%s` cannot stand in a function type here", name);
        diag_add_help(c->d, d, "write `?` for a size that only the run knows");
    } else if (!bare) {
        diag *d =
            diag_error(c->d, ERROR_K0306, e->at,
                       "the new dim name `%s` must first stand alone, without arithmetic", name);
        diag_add_help(c->d, d, "write `%s` alone as a dim before using it in `%s + 1` and the like",
                      name, name);
    }
    symbol *s = dim_symbol(c, p->place == PLACE_RESULT ? DIM_ANY : DIM_UNKNOWN, name, e->at);
    if (s == NULL || !list_add(c, p->opened, s)) return NULL;
    e->u.name.binds = !p->in_function && bare;
    return s;
}

static symbol *report_no_dim(checker *c, const expr *e, const binding *b) {
    const char *name = e->u.name.name;
    if (b == NULL) {
        check_undefined(c, name, e->at, "dim");
        return NULL;
    }
    diag *d = diag_error(c->d, ERROR_K0104, e->at, "`%s` is a value, not the name of a dim", name);
    diag_add_label(c->d, d, b->symbol->at, "`%s` is introduced here", name);
    diag_add_help(c->d, d,
                  "dims of a type are integers and dim names; `full([%s], 1.0)` makes a "
                  "tensor of a computed size",
                  name);
    b->symbol->read = true;
    return NULL;
}

static int64_t named_dim(checker *c, expr *e, bool bare, const dim_place *p) {
    binding *b = check_lookup(c, e->u.name.name);
    symbol *s = list_find(p->opened, e->u.name.name);
    if (s == NULL && b != NULL && b->symbol->kind == SYMBOL_DIM) {
        s = check_read(c, e->u.name.name, e->at)->symbol;
        meaning *m = meaning_of(s);
        if (p->place == PLACE_PARAMETER && m->placeless && s->owner == c->fn && bare &&
            !p->in_function) {
            m->placeless = false;
            e->u.name.binds = true;
        }
    } else if (s == NULL && b == NULL && p->opened != NULL) {
        s = open_dim(c, e, bare, p);
    } else if (s == NULL) {
        s = report_no_dim(c, e, b);
    }
    e->u.name.symbol = s;
    return s == NULL ? dims_symbol(c->dims, DIM_UNKNOWN, NULL, e->at) : s->dim;
}

static bool overflows(checker *c, op_id op, int64_t a, int64_t b) {
    int64_t x, y, out;
    if (!dims_constant(c->dims, a, &x) || !dims_constant(c->dims, b, &y)) return false;
    if (op == OP_add) return __builtin_add_overflow(x, y, &out);
    return op == OP_sub ? __builtin_sub_overflow(x, y, &out) : __builtin_mul_overflow(x, y, &out);
}

/* The dim that `e`, an operator on two dims, stands for. */
static int64_t arithmetic(checker *c, const expr *e, int64_t a, int64_t b) {
    op_id op = e->u.binary.op;
    if (overflows(c, op, a, b)) {
        diag_error(c->d, ERROR_K0310, e->at, "dims that overflow: this is beyond 64 bits");
        return dims_symbol(c->dims, DIM_UNKNOWN, NULL, e->at);
    }
    if (op == OP_add) return dims_add(c->dims, a, b);
    return op == OP_sub ? dims_sub(c->dims, a, b) : dims_mul(c->dims, a, b);
}

static int64_t integer_dim(checker *c, const expr *e) {
    if (e->u.integer.negative && e->u.integer.magnitude > 0) {
        diag_error(c->d, ERROR_K0307, e->at, "a dim cannot be negative");
        return 0;
    }
    if (e->u.integer.magnitude > INT64_MAX) {
        diag_error(c->d, ERROR_K0310, e->at, "this dim is beyond 64 bits");
        return 0;
    }
    return (int64_t)e->u.integer.magnitude;
}

static int64_t unknown_dim(checker *c, const expr *e, const dim_place *p) {
    if (!p->in_function) {
        diag *d = diag_error(c->d, ERROR_K0307, e->at,
                             "`?` stands only inside function types and `tape<>`");
        diag_add_help(c->d, d, "give the dim a name: a new name takes whatever size arrives");
    }
    return dims_symbol(c->dims, DIM_ANY, NULL, e->at);
}

static int64_t check_dim(checker *c, expr *e, bool bare, const dim_place *p) {
    e->type = check_scalar(DT_I64);
    switch (e->kind) {
    case EXPR_INT: return integer_dim(c, e);
    case EXPR_NAME: return named_dim(c, e, bare, p);
    case EXPR_UNKNOWN_DIM: return unknown_dim(c, e, p);
    case EXPR_BINARY:
        if (e->u.binary.op == OP_add || e->u.binary.op == OP_sub || e->u.binary.op == OP_mul) {
            int64_t a = check_dim(c, e->u.binary.a, false, p);
            int64_t b = check_dim(c, e->u.binary.b, false, p);
            return arithmetic(c, e, a, b);
        }
        break;
    default: break;
    }
    diag *d = diag_error(c->d, ERROR_K0307, e->at, "this is not a dim");
    diag_add_help(c->d, d, "dims are integers, dim names, and `+`, `-`, `*` of them");
    return dims_symbol(c->dims, DIM_UNKNOWN, NULL, e->at);
}

/* ---- types as written ---- */

static const type *tensor_type(checker *c, type_expr *t, const dim_place *p) {
    op_type made = {.dtype = (uint8_t)t->dt};
    if (t->count > MAX_RANK) {
        diag_error(c->d, ERROR_K0302, t->at, "a tensor has at most %d dims, not %d", MAX_RANK,
                   t->count);
        return &check_error_type;
    }
    made.rank = (uint8_t)t->count;
    for (int i = 0; i < t->count; i++) {
        made.dims[i] = check_dim(c, t->dims[i], true, p);
        if (!dims_below_zero(c->dims, made.dims[i])) continue;
        diag_error(c->d, ERROR_K0307, t->dims[i]->at, "this dim is %s, and no size is negative",
                   check_show_dim(c, made.dims[i]));
        made.dims[i] = dims_symbol(c->dims, DIM_UNKNOWN, NULL, t->dims[i]->at);
    }
    return check_tensor_type(c, &made);
}

static const type *type_at(checker *c, type_expr *t, const dim_place *p);

static const type *items_type(checker *c, type_expr *t, type_kind kind, const dim_place *p) {
    dim_place inner = *p;
    if (kind != TYPE_TUPLE) inner.in_function = true;
    type *made = new_type(c, kind);
    const type **items = ARENA_ARRAY(c->a, const type *, t->count);
    if (made == NULL || items == NULL) {
        c->failed = true;
        return &check_error_type;
    }
    for (int i = 0; i < t->count; i++) items[i] = type_at(c, t->items[i], &inner);
    made->count = t->count;
    made->items = items;
    if (kind == TYPE_FN) made->result = type_at(c, t->result, &inner);
    return made;
}

static const type *type_at(checker *c, type_expr *t, const dim_place *p) {
    switch (t->kind) {
    case TYPE_EXPR_TENSOR: t->type = tensor_type(c, t, p); break;
    case TYPE_EXPR_SCALAR: t->type = check_scalar(t->dt); break;
    case TYPE_EXPR_TUPLE: t->type = items_type(c, t, TYPE_TUPLE, p); break;
    case TYPE_EXPR_UNIT: t->type = &check_unit_type; break;
    case TYPE_EXPR_FN: t->type = items_type(c, t, TYPE_FN, p); break;
    case TYPE_EXPR_TAPE:
        t->type = items_type(c, t, TYPE_TAPE, p);
        if (t->type->kind == TYPE_TAPE && !check_tape_element(c, t->type->items[0], t->items[0]->at))
            t->type = &check_error_type;
        break;
    }
    return t->type;
}

const type *check_type(checker *c, type_expr *t, type_place place, dim_list *opened) {
    dim_place p = {.place = place, .opened = opened};
    return type_at(c, t, &p);
}

void check_bind_dims(checker *c, const dim_list *opened) {
    for (int i = 0; i < opened->count; i++) check_bind(c, opened->symbols[i]);
}

/* ---- the dims that a parameter list quantifies ---- */

static void declare_dim(checker *c, const expr *e, bool bare, dim_list *quantified) {
    if (e->kind == EXPR_BINARY) {
        declare_dim(c, e->u.binary.a, false, quantified);
        declare_dim(c, e->u.binary.b, false, quantified);
    }
    if (e->kind != EXPR_NAME) return;
    symbol *s = list_find(quantified, e->u.name.name);
    if (s == NULL) {
        binding *b = check_lookup(c, e->u.name.name);
        if (b != NULL && b->symbol->kind == SYMBOL_DIM) return;
        s = dim_symbol(c, DIM_RIGID, e->u.name.name, e->at);
        if (s == NULL || !list_add(c, quantified, s)) return;
        meaning_of(s)->placeless = true;
    }
    if (bare) meaning_of(s)->bare = true;
}

static void declare_in_type(checker *c, const type_expr *t, dim_list *quantified) {
    if (t->kind == TYPE_EXPR_TENSOR)
        for (int i = 0; i < t->count; i++) declare_dim(c, t->dims[i], true, quantified);
    else
        for (int i = 0; i < t->count; i++) declare_in_type(c, t->items[i], quantified);
    if (t->result != NULL) declare_in_type(c, t->result, quantified);
}

void check_declare_dims(checker *c, fn_decl *f, dim_list *quantified) {
    for (int i = 0; i < f->count; i++)
        if (f->params[i].type != NULL) declare_in_type(c, f->params[i].type, quantified);
    for (int i = 0; i < quantified->count; i++) {
        symbol *s = quantified->symbols[i];
        if (!meaning_of(s)->bare) {
            diag *e = diag_error(c->d, ERROR_K0306, s->at,
                                 "the dim `%s` occurs only inside arithmetic, so no call can tell "
                                 "what it is",
                                 s->name);
            diag_add_help(c->d, e, "let it stand alone in one of the parameters, `[%s]`", s->name);
            meaning_of(s)->placeless = false; /* so that its uses are not reported as well */
        }
        check_bind(c, s);
    }
}

/* ---- sizes ---- */

/* The dim of a checked integer expression; false when it is not built of integers and dim names. */
static bool static_size(checker *c, const expr *e, int64_t *out) {
    int64_t a, b;
    switch (e->kind) {
    case EXPR_INT: *out = integer_dim(c, e); return true;
    case EXPR_NAME:
        if (e->u.name.symbol == NULL || e->u.name.symbol->kind != SYMBOL_DIM) return false;
        *out = e->u.name.symbol->dim;
        return true;
    case EXPR_BINARY:
        if (e->u.binary.op != OP_add && e->u.binary.op != OP_sub && e->u.binary.op != OP_mul)
            return false;
        if (!static_size(c, e->u.binary.a, &a) || !static_size(c, e->u.binary.b, &b)) return false;
        *out = arithmetic(c, e, a, b);
        return true;
    case EXPR_CALL: {
        const builtin_use *use = e->u.call.builtin;
        if (use == NULL || use->is_op || use->builtin != BUILTIN_dim) return false;
        if (use->args[0]->type->kind != TYPE_TENSOR) return false;
        *out = use->args[0]->type->tensor.dims[use->attrs.axis];
        return true;
    }
    default: return false;
    }
}

int64_t check_size(checker *c, expr *e) {
    int64_t dim;
    const type *t = check_expr(c, e, (expect){NULL, DT_I64, 1});
    if (t->kind == TYPE_TENSOR && t->tensor.rank == 0 && dtype_integer((dtype)t->tensor.dtype)) {
        if (!static_size(c, e, &dim)) return dims_symbol(c->dims, DIM_UNKNOWN, NULL, e->at);
        if (!dims_below_zero(c->dims, dim)) return dim;
        diag_error(c->d, ERROR_K0307, e->at, "this size is %s, and no size is negative",
                   check_show_dim(c, dim));
    } else if (t->kind != TYPE_ERROR) {
        diag *d = diag_error(c->d, ERROR_K0307, e->at, "a size is a 0-D integer, not `%s`",
                             check_show(c, t));
        if (type_is_scalar(t)) diag_add_help(c->d, d, "convert it: `I64(...)`");
    }
    return dims_symbol(c->dims, DIM_UNKNOWN, NULL, e->at);
}
