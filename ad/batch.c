/* Batches through the ops' own axes where that is the same as one entry after the other; else one after the other. */
#include "ad/batch.h"

#include <string.h>

#include "runtime/tensor.h"

typedef struct batching {
    context *c;
    handler *at;
    const op_call *call;
    int64_t size;
    unsigned batched;
    op_attrs attrs;             /* the call's, to be moved by an axis */
} batching;

static bool is_batch(const batching *b, int k) { return ((b->batched >> k) & 1) != 0; }

static int own_rank(const batching *b, int k) { return value_rank(&b->call->in[k]) - is_batch(b, k); }

static bool perform_one(context *c, handler *at, span where, op_id op, const op_attrs *attrs, const value *in,
                        value *out) {
    op_call call = {.op = op, .n = 1, .attrs = attrs, .in = in, .where = where};
    return door_perform_at(c, at, &call, out);
}

static bool has_room(context *c, span where, int rank) {
    return rank < MAX_RANK ||
           error_set(&c->err, ERROR_K0511, where, "a batch of tensors of rank %d would have rank %d", rank, rank + 1);
}

static void release_all(context *c, value *v, int count) {
    for (int i = 0; i < count; i++) value_release(c, v[i]);
}

/* ---- entries ---- */

bool batch_entry(context *c, handler *at, span where, const value *v, int64_t i, value *out) {
    op_attrs attrs = {.drop = 1};
    for (int axis = 0; axis < v->as.t->rank; axis++) {
        attrs.dims[axis] = axis == 0 ? 1 : v->as.t->dims[axis];
        attrs.step[axis] = 1;
    }
    attrs.lo[0] = i;
    return perform_one(c, at, where, OP_slice, &attrs, v, out);
}

bool batch_join(context *c, handler *at, span where, int64_t size, const value *entry, value *out) {
    value part[BATCH_MOST];
    op_attrs first = {.axis = 0};
    int made = 0;
    bool ok = has_room(c, where, value_rank(&entry[0]));
    while (ok && made < size) {
        ok = perform_one(c, at, where, OP_expand_dims, &first, &entry[made], &part[made]);
        made += ok;
    }
    op_call concat = {.op = OP_concat, .n = (uint8_t)size, .attrs = &first, .in = part, .where = where};
    ok = ok && door_perform_at(c, at, &concat, out);
    release_all(c, part, made);
    return ok;
}

bool batch_spread(context *c, handler *at, span where, int64_t size, const value *v, value *out) {
    int rank = value_rank(v);
    if (!has_room(c, where, rank)) return false;
    op_attrs attrs = {.rank = (uint8_t)(rank + 1), .dims = {size}};
    for (int i = 0; i < rank; i++) attrs.dims[i + 1] = v->as.t->dims[i];
    return perform_one(c, at, where, OP_broadcast, &attrs, v, out);
}

static bool each(const batching *b, value *out) {
    value entry[BATCH_MOST];
    int made = 0;
    bool ok = true;
    for (; ok && made < b->size; made += ok) {
        value in[3];
        int read = 0;
        for (; ok && read < b->call->n; read += ok) {
            in[read] = value_retain(b->call->in[read]);
            if (!is_batch(b, read)) continue;
            value_release(b->c, in[read]);
            ok = batch_entry(b->c, b->at, b->call->where, &b->call->in[read], made, &in[read]);
        }
        op_call call = *b->call;
        call.in = in;
        call.spent = 0;
        ok = ok && door_perform_at(b->c, b->at, &call, &entry[made]);
        release_all(b->c, in, read);
    }
    ok = ok && batch_join(b->c, b->at, b->call->where, b->size, entry, out);
    release_all(b->c, entry, made);
    return ok;
}

/* ---- all at once ---- */

/* Operand k for an op that lines its operands up from the back: a batch of fewer axes than `rank` gets 1s behind the
 * batch's own axis. */
static bool lined_up(batching *b, int k, int rank, value *out) {
    const value *v = &b->call->in[k];
    *out = value_retain(*v);
    if (!is_batch(b, k)) return true;
    int own = own_rank(b, k), missing = rank - own;
    uint8_t ones = b->attrs.ones[k], before = (uint8_t)(ones << 1);
    b->attrs.ones[k] = (uint8_t)((ones << (missing + 1)) | (((1 << missing) - 1) << 1));
    if (missing == 0) return true;
    op_attrs attrs = {.rank = (uint8_t)(rank + 1), .ones = {before, b->attrs.ones[k]}, .dims = {b->size}};
    for (int i = 1; i <= rank; i++) attrs.dims[i] = i <= missing ? 1 : v->as.t->dims[i - missing];
    value_release(b->c, *out);
    return perform_one(b->c, b->at, b->call->where, OP_reshape, &attrs, v, out);
}

/* A batch of the operand where it is none yet. */
static bool spread(batching *b, int k, value *out) {
    const value *v = &b->call->in[k];
    b->attrs.ones[k] = (uint8_t)(b->attrs.ones[k] << 1);
    if (!is_batch(b, k)) return batch_spread(b->c, b->at, b->call->where, b->size, v, out);
    *out = value_retain(*v);
    return true;
}

/* Performs the op with the attributes as moved, on operands that are lined up to `rank`, or, where that is negative,
 * all spread. */
static bool at_once(batching *b, int rank, value *out) {
    value in[3];
    int made = 0;
    bool ok = true;
    for (; ok && made < b->call->n; made += ok)
        ok = rank < 0 ? spread(b, made, &in[made]) : lined_up(b, made, rank, &in[made]);
    op_call call = *b->call;
    call.attrs = &b->attrs;
    call.in = in;
    call.spent = 0;
    ok = ok && door_perform_at(b->c, b->at, &call, out);
    release_all(b->c, in, made);
    return ok;
}

static bool elementwise(batching *b, value *out) {
    int rank = 0;
    for (int k = 0; k < b->call->n; k++) rank = own_rank(b, k) > rank ? own_rank(b, k) : rank;
    return has_room(b->c, b->call->where, rank) && at_once(b, rank, out);
}

static void move_dims(op_attrs *a, int64_t size) {
    for (int i = MAX_RANK - 1; i > 0; i--) {
        a->dims[i] = a->dims[i - 1];
        a->lo[i] = a->lo[i - 1];
        a->step[i] = a->step[i - 1];
    }
    a->dims[0] = size;
    a->lo[0] = 0;
    a->step[0] = 1;
}

/* Of matrices the batch is one more axis of theirs; a batch of vectors is a matrix beside a matrix. */
static bool product(batching *b, value *out) {
    int left = own_rank(b, 0), right = own_rank(b, 1);
    if (left >= 2 && right >= 2) return elementwise(b, out);
    if (b->batched == 1 && left == 1 && right == 2) return at_once(b, 1, out);
    return each(b, out);
}

static bool shaped(batching *b, value *out) {
    op_attrs *a = &b->attrs;
    bool broadcast = b->call->op == OP_broadcast;
    int rank = a->rank;
    if (!has_room(b->c, b->call->where, rank)) return false;
    move_dims(a, b->size);
    a->rank++;
    a->ones[1] = (uint8_t)(a->ones[1] << 1);
    return at_once(b, broadcast ? rank : own_rank(b, 0), out);
}

static bool permuted(batching *b, value *out) {
    op_attrs *a = &b->attrs;
    for (int i = own_rank(b, 0); i > 0; i--) a->perm[i] = (uint8_t)(a->perm[i - 1] + 1);
    a->perm[0] = 0;
    return at_once(b, own_rank(b, 0), out);
}

static bool sliced(batching *b, value *out) {
    move_dims(&b->attrs, b->size);
    b->attrs.drop = (uint8_t)(b->attrs.drop << 1);
    return at_once(b, -1, out);
}

static bool along(batching *b, value *out) {
    b->attrs.axis++;
    return at_once(b, -1, out);
}

/* Along an axis by indices that all entries share; else one after the other. */
static bool indexed(batching *b, value *out) {
    if (is_batch(b, 1)) return each(b, out);
    b->attrs.axis++;
    value in[3] = {value_none(), b->call->in[1], value_none()};
    bool ok = spread(b, 0, &in[0]) && (b->call->n < 3 || spread(b, 2, &in[2]));
    op_call call = *b->call;
    call.attrs = &b->attrs;
    call.in = in;
    call.spent = 0;
    ok = ok && door_perform_at(b->c, b->at, &call, out);
    value_release(b->c, in[0]);
    value_release(b->c, in[2]);
    return ok;
}

bool batch_perform(context *c, handler *at, const op_call *call, int64_t size, unsigned batched, value *out) {
    batching b = {.c = c, .at = at, .call = call, .size = size, .batched = batched};
    if (call->attrs != NULL) b.attrs = *call->attrs;
    b.attrs.stays = false;
    switch ((op_class)op_table[call->op].class) {
    case CLASS_UNARY:
    case CLASS_UNARY_NUMERIC:
    case CLASS_UNARY_BOOL:
    case CLASS_CAST:
    case CLASS_IDENTITY:
    case CLASS_BINARY:
    case CLASS_BINARY_NUMERIC:
    case CLASS_BINARY_INTEGER:
    case CLASS_BINARY_BOOL:
    case CLASS_COMPARE:
    case CLASS_COMPARE_ORDER:
    case CLASS_WHERE:
    case CLASS_TERNARY_NUMERIC: return elementwise(&b, out);
    case CLASS_REDUCE:
    case CLASS_REDUCE_ONE:
    case CLASS_REDUCE_NONEMPTY:
    case CLASS_REDUCE_FLOAT:
    case CLASS_REDUCE_BOOL:
    case CLASS_SUM_TO:
        b.attrs.axes = (uint8_t)(b.attrs.axes << 1);
        b.attrs.drop = (uint8_t)(b.attrs.drop << 1);
        return at_once(&b, -1, out);
    case CLASS_ALONG:
    case CLASS_SHIFT:
    case CLASS_SCAN:
    case CLASS_CUMULATE:
    case CLASS_CUMULATE_FLOAT:
    case CLASS_ORDER:
    case CLASS_TOP_K:
    case CLASS_SQUEEZE:
    case CLASS_CONCAT:
    case CLASS_TAKE_ALONG:
    case CLASS_SCATTER_ALONG: return along(&b, out);
    case CLASS_EXPAND: return has_room(c, call->where, own_rank(&b, 0) + 1) && along(&b, out);
    case CLASS_TAKE:
    case CLASS_SCATTER: return indexed(&b, out);
    case CLASS_SLICE:
    case CLASS_SLICE_ADD: return sliced(&b, out);
    case CLASS_RESHAPE:
    case CLASS_BROADCAST: return shaped(&b, out);
    case CLASS_PERMUTE: return permuted(&b, out);
    case CLASS_MATMUL: return product(&b, out);
    case CLASS_MATRIX:
    case CLASS_MATRIX_PAIR:
    case CLASS_TRIANGLE:
    case CLASS_DETERMINANT: return at_once(&b, -1, out);
    case CLASS_FULL_LIKE:
        if (is_batch(&b, 1)) return each(&b, out);
        return at_once(&b, own_rank(&b, 0), out);
    case CLASS_MATMUL_ADD:
    case CLASS_ARG_REDUCE:
    case CLASS_ONE_HOT:
    case CLASS_SOLVE:
    case CLASS_CONV:
    case CLASS_CONV_INPUT_GRAD:
    case CLASS_CONV_WEIGHT_GRAD:
    case CLASS_POOL:
    case CLASS_POOL_PLACE:
    case CLASS_POOL_GRAD:
    case CLASS_FULL:
    case CLASS_ARANGE:
    case CLASS_EYE:
    case CLASS_RANDOM:
    case CLASS_CUSTOM: break;
    }
    return each(&b, out);
}
