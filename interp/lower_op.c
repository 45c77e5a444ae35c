/* Lowering calls of builtins: to one op, to several, or to nodes of their own. */
#include <string.h>

#include "interp/lower_scope.h"

/* ---- op nodes ---- */

static uint8_t ones_of(const type *t) {
    uint8_t ones = 0;
    if (t == NULL || t->kind != TYPE_TENSOR) return 0;
    for (int i = 0; i < t->tensor.rank; i++) {
        if (t->tensor.dims[i] == 1) ones |= (uint8_t)(1u << i);
    }
    return ones;
}

static bool all_numbers(int n, const type *const *types) {
    for (int i = 0; i < n; i++) {
        if (types[i] == NULL || types[i]->kind != TYPE_TENSOR || types[i]->tensor.rank > 0) return false;
    }
    return true;
}

/* Literal ones of a result whose dims the attributes give. */
static void set_result_ones(op_id op, op_attrs *attrs, const type *result) {
    switch ((op_class)op_table[op].class) {
    case CLASS_BROADCAST:
    case CLASS_RESHAPE:
    case CLASS_POOL_GRAD: attrs->ones[1] = ones_of(result); return;
    case CLASS_CONV_INPUT_GRAD:
    case CLASS_CONV_WEIGHT_GRAD: attrs->ones[2] = ones_of(result); return;
    default: return;
    }
}

code *op_node(fn_scope *s, op_id op, const op_attrs *attrs, int n, code **args, const type *const *types,
              const type *result, span where) {
    code *node = code_new(s, CODE_OP, where);
    if (node == NULL) return NULL;
    node->u.op.op = (uint16_t)op;
    node->u.op.n = (uint8_t)n;
    node->u.op.args = LOWER_ARRAY(s->l, code *, n);
    if (node->u.op.args == NULL) return NULL;
    for (int i = 0; i < n; i++) node->u.op.args[i] = args[i];
    if (attrs == NULL && n > 0 && all_numbers(n, types)) return node;
    op_attrs *own = LOWER_ARRAY(s->l, op_attrs, 1);
    if (own == NULL) return NULL;
    if (attrs != NULL) *own = *attrs;
    own->stays = true;
    for (int i = 0; i < n && i < 3; i++) own->ones[i] = ones_of(types[i]);
    set_result_ones(op, own, result);
    node->u.op.attrs = own;
    return node;
}

/* An op on one lowered operand whose type is known only by its tensor type. */
static code *op_on(fn_scope *s, op_id op, const op_attrs *attrs, code *arg, const type *t, span where) {
    const type *types[1] = {t};
    return op_node(s, op, attrs, 1, &arg, types, NULL, where);
}

/* A tensor type made while several ops stand for one builtin. */
static const type *tensor_type(fn_scope *s, uint8_t dt, int rank, const int64_t *shape) {
    type *t = LOWER_ARRAY(s->l, type, 1);
    if (t == NULL) return NULL;
    t->kind = TYPE_TENSOR;
    t->tensor.dtype = dt;
    t->tensor.rank = (uint8_t)rank;
    for (int i = 0; i < rank; i++) t->tensor.dims[i] = shape[i];
    return t;
}

static const type *expanded_type(fn_scope *s, const type *t, int axis) {
    int64_t shape[MAX_RANK + 1];
    int rank = t->tensor.rank;
    for (int i = 0, k = 0; i <= rank; i++) shape[i] = i == axis ? 1 : t->tensor.dims[k++];
    return tensor_type(s, t->tensor.dtype, rank + 1, shape);
}

static code *expand(fn_scope *s, code *arg, const type **t, int axis, span where) {
    op_attrs attrs = {.axis = (uint8_t)axis};
    code *node = op_on(s, OP_expand_dims, &attrs, arg, *t, where);
    *t = expanded_type(s, *t, axis);
    return node;
}

enum { JOIN_MOST = 128 };       /* operands of one concat */

/* Many parts are joined in groups, and the groups again. */
code *concat_node(fn_scope *s, int axis, int n, code **args, const type **types, const type *result, span where) {
    op_attrs attrs = {.axis = (uint8_t)axis};
    while (n > JOIN_MOST) {
        type *joined = LOWER_ARRAY(s->l, type, 1);
        if (joined == NULL) return NULL;
        *joined = *types[0];
        joined->tensor.dims[axis] = JOIN_MOST; /* what matters here: no literal 1 */
        int groups = 0;
        for (int first = 0; first < n; first += JOIN_MOST) {
            int some = n - first < JOIN_MOST ? n - first : JOIN_MOST;
            args[groups] = op_node(s, OP_concat, &attrs, some, args + first, types + first, NULL, where);
            types[groups++] = joined;
        }
        n = groups;
    }
    return op_node(s, OP_concat, &attrs, n, args, types, result, where);
}

/* ---- which arguments are operands ---- */

int builtin_operands(const builtin_use *use, expr **out) {
    int first = 0, count = use->count;
    if (use->is_op) {
        switch ((op_class)op_table[use->op].class) {
        case CLASS_CONCAT: break;
        case CLASS_FULL: first = 1, count = 1; break;
        case CLASS_UNARY: first = use->op == OP_polygamma, count = 1; break;
        default: count = op_table[use->op].arity; break;
        }
    } else {
        switch (use->builtin) {
        case BUILTIN_stack:
        case BUILTIN_print: break;
        case BUILTIN_mean_nll:
        case BUILTIN_cross_entropy:
        case BUILTIN_dot:
        case BUILTIN_outer:
        case BUILTIN_roll: count = 2; break;
        case BUILTIN_embedding:
            out[0] = use->args[1];
            out[1] = use->args[0];
            return 2;
        case BUILTIN_pad:
            out[0] = use->args[0];
            out[1] = use->args[2];
            return out[1] != NULL ? 2 : 1;
        case BUILTIN_push: count = 2; break;
        case BUILTIN_zeros:
        case BUILTIN_ones:
        case BUILTIN_tape:
        case BUILTIN_load: count = 0; break;
        case BUILTIN_save: first = 1, count = 1; break;
        case BUILTIN_einsum: first = 1, count = use->count - 1; break;
        default: count = 1; break;
        }
    }
    for (int i = 0; i < count; i++) out[i] = use->args[first + i];
    return count;
}

/* ---- one op ---- */

static void set_sizes(fn_scope *s, code *node, const builtin_use *use, code **sizes) {
    if (node == NULL || use->sizes == 0) return;
    node->u.op.sizes = (uint8_t)use->sizes;
    node->u.op.size = LOWER_ARRAY(s->l, code *, use->sizes);
    if (node->u.op.size == NULL) return;
    for (int i = 0; i < use->sizes; i++) node->u.op.size[i] = sizes[i];
    if (node->u.op.attrs != NULL) node->u.op.attrs->rank = (uint8_t)use->sizes;
}

/* A product over several axes is a product of products, one axis at a time from the last. */
static code *lower_prod(fn_scope *s, const expr *e, code *arg, const type *t) {
    const op_attrs *asked = &e->u.call.builtin->attrs;
    for (int axis = t->tensor.rank - 1; axis >= 0; axis--) {
        if (!(asked->axes & (1u << axis))) continue;
        op_attrs attrs = {.axes = (uint8_t)(1u << axis), .keepdims = asked->keepdims};
        arg = op_on(s, OP_prod, &attrs, arg, t, e->at);
        int64_t shape[MAX_RANK];
        int rank = 0;
        for (int i = 0; i < t->tensor.rank; i++) {
            if (i != axis) {
                shape[rank++] = t->tensor.dims[i];
            } else if (asked->keepdims) {
                shape[rank++] = 1;
            }
        }
        t = tensor_type(s, t->tensor.dtype, rank, shape);
        if (t == NULL) return NULL;
    }
    return arg;
}

/* The sizes are the starts, for slice the counts, and the steps where they are given. */
static code *lower_slice(fn_scope *s, const expr *e, code **args, code **sizes) {
    const builtin_use *use = e->u.call.builtin;
    bool adds = use->op == OP_slice_add;
    code *n = code_new(s, CODE_INDEX, e->at);
    op_attrs *attrs = LOWER_ARRAY(s->l, op_attrs, 1);
    int rank = use->args[0]->type->tensor.rank;
    index_axis *axes = LOWER_ARRAY(s->l, index_axis, rank);
    if (n == NULL || attrs == NULL || axes == NULL) return NULL;
    n->u.index.base = args[0];
    n->u.index.added = adds ? args[1] : NULL;
    n->u.index.count = rank;
    n->u.index.axes = axes;
    n->u.index.attrs = attrs;
    for (int k = 0; k < 1 + adds; k++) attrs->ones[k] = ones_of(use->args[k]->type);
    for (int i = 0, steps = (2 - adds) * rank; i < rank; i++) {
        axes[i] = (index_axis){.range = true, .stretch = true, .lo = sizes[i]};
        if (!adds) axes[i].count = sizes[rank + i];
        if (use->sizes > steps) axes[i].step = sizes[steps + i];
    }
    return n;
}

static code *lower_op_use(fn_scope *s, const expr *e, code **args, code **sizes) {
    const builtin_use *use = e->u.call.builtin;
    int room = use->count > 4 ? use->count : 4;
    expr **operands = LOWER_ARRAY(s->l, expr *, room);
    const type **types = LOWER_ARRAY(s->l, const type *, room);
    if (operands == NULL || types == NULL) return NULL;
    int n = builtin_operands(use, operands);
    for (int i = 0; i < n; i++) types[i] = operands[i]->type;
    if (use->op == OP_prod) return lower_prod(s, e, args[0], types[0]);
    if (use->op == OP_slice || use->op == OP_slice_add) return lower_slice(s, e, args, sizes);
    if (use->op == OP_concat) return concat_node(s, use->attrs.axis, n, args, types, e->type, e->at);
    code *node = op_node(s, use->op, &use->attrs, n, args, types, e->type, e->at);
    set_sizes(s, node, use, sizes);
    return node;
}

/* ---- several ops ---- */

static code *join(fn_scope *s, const expr *e, code **args) {
    const builtin_use *use = e->u.call.builtin;
    const type **types = LOWER_ARRAY(s->l, const type *, use->count);
    if (types == NULL) return NULL;
    for (int i = 0; i < use->count; i++) {
        types[i] = use->args[i]->type;
        args[i] = expand(s, args[i], &types[i], use->attrs.axis, e->at);
    }
    return concat_node(s, use->attrs.axis, use->count, args, types, e->type, e->at);
}

/* -mean(logp[i, targets[i]]) */
static code *nll(fn_scope *s, const expr *e, code *logp, const type *t, code *targets, const type *tt) {
    op_attrs along = {.axis = 1}, all = {.axes = 3};
    code *args[2] = {logp, expand(s, targets, &tt, 1, e->at)};
    const type *types[2] = {t, tt};
    code *picked = op_node(s, OP_take_along_axis, &along, 2, args, types, NULL, e->at);
    int64_t shape[2] = {t->tensor.dims[0], 1};
    const type *picked_type = tensor_type(s, t->tensor.dtype, 2, shape);
    code *mean = op_on(s, OP_mean, &all, picked, picked_type, e->at);
    const type *number = tensor_type(s, t->tensor.dtype, 0, NULL);
    return op_on(s, OP_neg, NULL, mean, number, e->at);
}

static code *lower_nll(fn_scope *s, const expr *e, code **args) {
    const builtin_use *use = e->u.call.builtin;
    const type *t = use->args[0]->type;
    code *logp = args[0];
    if (use->builtin == BUILTIN_cross_entropy) {
        op_attrs last = {.axis = 1};
        logp = op_on(s, OP_log_softmax, &last, logp, t, e->at);
    }
    return nll(s, e, logp, t, args[1], use->args[1]->type);
}

static code *lower_transpose(fn_scope *s, const expr *e, code *arg) {
    const type *t = e->u.call.builtin->args[0]->type;
    op_attrs attrs = {0};
    for (int i = 0; i < t->tensor.rank; i++) attrs.perm[i] = (uint8_t)(t->tensor.rank - 1 - i);
    if (t->tensor.rank < 2) return arg;
    return op_on(s, OP_permute, &attrs, arg, t, e->at);
}

static code *lower_outer(fn_scope *s, const expr *e, code **args) {
    const builtin_use *use = e->u.call.builtin;
    const type *types[2] = {use->args[0]->type, use->args[1]->type};
    args[0] = expand(s, args[0], &types[0], 1, e->at);
    args[1] = expand(s, args[1], &types[1], 0, e->at);
    return op_node(s, OP_mul, NULL, 2, args, types, e->type, e->at);
}

static code *lower_triangle(fn_scope *s, const expr *e, code *arg) {
    const builtin_use *use = e->u.call.builtin;
    op_attrs attrs = {.lo = {use->attrs.lo[0]}, .reversed = use->builtin == BUILTIN_triu};
    return op_on(s, OP_triangle, &attrs, arg, use->args[0]->type, e->at);
}

/* take(table, ids) */
static code *lower_embedding(fn_scope *s, const expr *e, code **args) {
    const builtin_use *use = e->u.call.builtin;
    const type *types[2] = {use->args[1]->type, use->args[0]->type};
    op_attrs rows = {.axis = 0};
    return op_node(s, OP_take, &rows, 2, args, types, e->type, e->at);
}

/* ---- making ---- */

static code *number_node(fn_scope *s, uint8_t dt, double x, span where) {
    return code_constant(s, value_number((dtype)dt, x), where);
}

static code *lower_filled(fn_scope *s, const expr *e, double x, code **sizes) {
    const builtin_use *use = e->u.call.builtin;
    code *number = number_node(s, e->type->tensor.dtype, x, e->at);
    const type *types[1] = {tensor_type(s, e->type->tensor.dtype, 0, NULL)};
    if (e->type->tensor.rank == 0) return number;
    op_attrs attrs = {.rank = e->type->tensor.rank, .dtype = e->type->tensor.dtype};
    code *node = op_node(s, OP_full, &attrs, 1, &number, types, e->type, e->at);
    set_sizes(s, node, use, sizes);
    return node;
}

static code *lower_like(fn_scope *s, const expr *e, double x, code *arg) {
    const type *t = e->u.call.builtin->args[0]->type;
    code *args[2] = {arg, number_node(s, t->tensor.dtype, x, e->at)};
    const type *types[2] = {t, tensor_type(s, t->tensor.dtype, 0, NULL)};
    op_attrs attrs = {.dtype = t->tensor.dtype};
    return op_node(s, OP_full_like, &attrs, 2, args, types, e->type, e->at);
}

static code *lower_cast(fn_scope *s, const expr *e, code *arg) {
    op_attrs attrs = {.dtype = e->type->tensor.dtype};
    const type *t = e->u.call.builtin->args[0]->type;
    if (t != NULL && t->kind == TYPE_TENSOR && t->tensor.dtype == attrs.dtype) return arg;
    return op_on(s, OP_cast, &attrs, arg, t, e->at);
}

/* ---- effects and questions ---- */

static code *size_node(fn_scope *s, code_kind kind, code *arg, int axis, span where) {
    code *n = code_new(s, kind, where);
    if (n == NULL) return NULL;
    n->u.size.a = arg;
    n->u.size.axis = axis;
    return n;
}

static code *empty_tape(fn_scope *s, const expr *e) {
    code *n = code_new(s, CODE_TAPE, e->at);
    if (n != NULL) n->u.entry = e->type->items[0];
    return n;
}

static code *tape_node(fn_scope *s, code_kind kind, code *tape, code *x, span where) {
    code *n = code_new(s, kind, where);
    if (n == NULL) return NULL;
    n->u.two.a = tape;
    n->u.two.b = x;
    return n;
}

static code *lower_print(fn_scope *s, const expr *e, code **args) {
    const builtin_use *use = e->u.call.builtin;
    code *n = code_new(s, CODE_PRINT, e->at);
    if (n == NULL) return NULL;
    n->u.print.count = use->count;
    n->u.print.items = LOWER_ARRAY(s->l, code *, use->count);
    n->u.print.strings = LOWER_ARRAY(s->l, const expr *, use->count);
    for (int i = 0; !s->l->failed && i < use->count; i++) {
        n->u.print.items[i] = args[i];
        n->u.print.strings[i] = use->args[i]->kind == EXPR_STRING ? use->args[i] : NULL;
    }
    return n;
}

static code *lower_assert(fn_scope *s, const expr *e, code *condition) {
    const builtin_use *use = e->u.call.builtin;
    code *n = code_new(s, CODE_ASSERT, e->at);
    if (n == NULL) return NULL;
    n->u.assert_.condition = condition;
    const expr *message = use->count > 1 ? use->args[1] : NULL;
    n->u.assert_.message = message != NULL ? message->u.string.bytes : "";
    return n;
}

static code *lower_file(fn_scope *s, const expr *e, code_kind kind, code *stored) {
    const builtin_use *use = e->u.call.builtin;
    code *n = code_new(s, kind, e->at);
    if (n == NULL) return NULL;
    n->u.file.path = use->args[0]->u.string.bytes;
    n->u.file.value = stored;
    n->dtype = use->attrs.dtype;
    if (kind == CODE_LOAD) {
        n->dtype = e->type->tensor.dtype;
        n->rank = e->type->tensor.rank;
        n->u.file.folder = source_piece_at(s->l->p->src, e->at.begin)->folder;
    }
    return n;
}

static code *lower_tape(fn_scope *s, const expr *e, code **args) {
    switch (e->u.call.builtin->builtin) {
    case BUILTIN_push: return tape_node(s, CODE_PUSH, args[0], args[1], e->at);
    case BUILTIN_pop: return tape_node(s, CODE_POP, args[0], NULL, e->at);
    case BUILTIN_is_empty: return tape_node(s, CODE_IS_EMPTY, args[0], NULL, e->at);
    default: return empty_tape(s, e);
    }
}

static code *lower_effect(fn_scope *s, const expr *e, code **args) {
    switch (e->u.call.builtin->builtin) {
    case BUILTIN_assert: return lower_assert(s, e, args[0]);
    case BUILTIN_print: return lower_print(s, e, args);
    case BUILTIN_load: return lower_file(s, e, CODE_LOAD, NULL);
    case BUILTIN_save: return lower_file(s, e, CODE_SAVE, args[0]);
    default: return size_node(s, CODE_DROP, args[0], 0, e->at);
    }
}

static code *lower_plain(fn_scope *s, const expr *e, code **args, code **sizes) {
    const builtin_use *use = e->u.call.builtin;
    switch (use->builtin) {
    case BUILTIN_mean_nll:
    case BUILTIN_cross_entropy: return lower_nll(s, e, args);
    case BUILTIN_transpose: return lower_transpose(s, e, args[0]);
    case BUILTIN_stack: return join(s, e, args);
    case BUILTIN_dot: {
        const type *types[2] = {use->args[0]->type, use->args[1]->type};
        return op_node(s, OP_matmul, NULL, 2, args, types, e->type, e->at);
    }
    case BUILTIN_outer: return lower_outer(s, e, args);
    case BUILTIN_zeros: return lower_filled(s, e, 0, sizes);
    case BUILTIN_ones: return lower_filled(s, e, 1, sizes);
    case BUILTIN_zeros_like: return lower_like(s, e, 0, args[0]);
    case BUILTIN_ones_like: return lower_like(s, e, 1, args[0]);
    case BUILTIN_shape: return size_node(s, CODE_SHAPE, args[0], 0, e->at);
    case BUILTIN_dim: return size_node(s, CODE_SIZE, args[0], use->attrs.axis, e->at);
    case BUILTIN_rank: return code_constant(s, value_i64(use->args[0]->type->tensor.rank), e->at);
    case BUILTIN_copy: return args[0];
    case BUILTIN_stop_gradient: return size_node(s, CODE_STOP, args[0], 0, e->at);
    case BUILTIN_tril:
    case BUILTIN_triu: return lower_triangle(s, e, args[0]);
    case BUILTIN_embedding: return lower_embedding(s, e, args);
    default: return NULL;
    }
}

code *lower_builtin_with(fn_scope *s, const expr *e, code **args, code **sizes) {
    const builtin_use *use = e->u.call.builtin;
    if (s->l->failed) return NULL;
    if (use->is_op) return lower_op_use(s, e, args, sizes);
    switch (builtin_kind_of(use->builtin)) {
    case BUILTIN_KIND_PLAIN: return lower_plain(s, e, args, sizes);
    case BUILTIN_KIND_COMPOSITE: return lower_composite(s, e, args, sizes);
    case BUILTIN_KIND_CAST: return lower_cast(s, e, args[0]);
    case BUILTIN_KIND_DERIVATIVE: return lower_derivative(s, e, args[0]);
    case BUILTIN_KIND_TAPE: return lower_tape(s, e, args);
    case BUILTIN_KIND_EFFECT: return lower_effect(s, e, args);
    }
    return NULL;
}

/* In the order in which they are evaluated, since the last read of a value moves it: those of a slice axis by axis. */
static void lower_sizes(fn_scope *s, const builtin_use *use, code **sizes) {
    bool slices = use->is_op && (use->op == OP_slice || use->op == OP_slice_add);
    int axes = slices ? use->args[0]->type->tensor.rank : use->sizes;
    for (int i = 0; i < axes; i++) {
        for (int k = i; k < use->sizes; k += axes) sizes[k] = lower_extent(s, use->size[k]);
    }
}

code *lower_builtin(fn_scope *s, const expr *e) {
    const builtin_use *use = e->u.call.builtin;
    int room = use->count > 4 ? use->count : 4;
    expr **operands = LOWER_ARRAY(s->l, expr *, room);
    code **args = LOWER_ARRAY(s->l, code *, room);
    code **sizes = LOWER_ARRAY(s->l, code *, use->sizes);
    if (s->l->failed) return NULL;
    int n = builtin_operands(use, operands);
    for (int i = 0; i < n; i++) args[i] = lower_expr(s, operands[i]);
    lower_sizes(s, use, sizes);
    return lower_builtin_with(s, e, args, sizes);
}

/* ---- a builtin as a function value ---- */

static code *value_body(fn_scope *s, const expr *e, code **args) {
    const type *f = e->type;
    if (!e->u.name.is_op) {
        /* The other builtins that are functions of one tensor. */
        op_attrs attrs = {.dtype = f->result->kind == TYPE_TENSOR ? f->result->tensor.dtype : 0};
        if (builtin_kind_of(e->u.name.builtin) == BUILTIN_KIND_CAST)
            return op_node(s, OP_cast, &attrs, 1, args, f->items, f->result, e->at);
        switch (e->u.name.builtin) {
        case BUILTIN_copy: return args[0];
        case BUILTIN_stop_gradient: return size_node(s, CODE_STOP, args[0], 0, e->at);
        case BUILTIN_dot: return op_node(s, OP_matmul, NULL, 2, args, f->items, f->result, e->at);
        default: return NULL;
        }
    }
    op_attrs attrs = {0};
    int rank = f->count > 0 ? f->items[0]->tensor.rank : 0;
    attrs.axes = (uint8_t)((1u << rank) - 1);
    if (op_table[e->u.name.op].class == CLASS_ALONG) attrs.axis = (uint8_t)(rank - 1);
    return op_node(s, e->u.name.op, &attrs, f->count, args, f->items, f->result, e->at);
}

code *lower_builtin_value(fn_scope *s, const expr *e) {
    const type *t = e->type;
    code *n = code_new(s, CODE_CLOSURE, e->at);
    code_function *f = LOWER_ARRAY(s->l, code_function, 1);
    if (n == NULL || f == NULL) return NULL;
    f->name = e->u.name.name;
    f->params = f->slots = t->count;
    f->checks = LOWER_ARRAY(s->l, shape_check, t->count);
    fn_scope inner = {.l = s->l, .f = f};
    block_scope outside;
    block_enter(&inner, &outside, 0);
    code **args = LOWER_ARRAY(s->l, code *, t->count);
    for (int i = 0; !s->l->failed && i < t->count; i++) {
        args[i] = code_new(&inner, CODE_SLOT, e->at);
        if (args[i] == NULL) return NULL;
        args[i]->u.slot = i;
        args[i]->last = true;
    }
    if (s->l->failed) return NULL;
    f->body = value_body(&inner, e, args);
    n->u.closure.function = f;
    return n;
}

/* ---- indexing ---- */

code *lower_index(fn_scope *s, const expr *e) {
    code *n = code_new(s, CODE_INDEX, e->at);
    op_attrs *attrs = LOWER_ARRAY(s->l, op_attrs, 1);
    if (n == NULL || attrs == NULL) return NULL;
    n->u.index.base = lower_expr(s, e->u.index.base);
    n->u.index.count = e->u.index.count;
    n->u.index.axes = LOWER_ARRAY(s->l, index_axis, e->u.index.count);
    if (n->u.index.axes == NULL) return NULL;
    for (int i = 0; i < e->u.index.count; i++) {
        const subscript *sub = &e->u.index.subscripts[i];
        index_axis *axis = &n->u.index.axes[i];
        axis->range = sub->range;
        if (sub->lo != NULL) axis->lo = lower_expr(s, sub->lo);
        if (sub->hi != NULL) axis->hi = lower_expr(s, sub->hi);
        if (sub->step != NULL) axis->step = lower_expr(s, sub->step);
    }
    attrs->ones[0] = ones_of(e->u.index.base->type);
    n->u.index.attrs = attrs;
    return n;
}
