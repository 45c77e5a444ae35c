/* The table of rules, generated from ops.def, and what holds for all of them: an elementwise op's
 * contributions are cotangent times partial summed back over stretched axes, a linear op's tangent
 * is the op on the tangents, and a result's literal ones follow from its operands'. */
#include "ad/rules.h"

/* A linear op's forward rule has to know which op it stands for. */
#define LINEAR_NONE(id)
#define LINEAR_PARTIAL(id)
#define LINEAR_RULE(id)
#define LINEAR_LINEAR(id)                                                                          \
    static term jvp_linear_##id(builder *b, const rule_site *s) {                                  \
        return jvp_linear(b, s, OP_##id);                                                          \
    }
#define OP(id, surface, class, arity, needs, rule, signature, doc) LINEAR_##rule(id)
#include "runtime/ops.def"
#undef OP

#define RULES_NONE(id)                                             [OP_##id] = {.partial = NULL, .vjp = NULL, .jvp = NULL},
#define RULES_PARTIAL(id)                                          [OP_##id] = {.partial = partial_##id},
#define RULES_LINEAR(id)                                           [OP_##id] = {.vjp = vjp_##id, .jvp = jvp_linear_##id},
#define RULES_RULE(id)                                             [OP_##id] = {.vjp = vjp_##id, .jvp = jvp_##id},
#define OP(id, surface, class, arity, needs, rule, signature, doc) RULES_##rule(id)
const op_rules rule_table[OP_COUNT] = {
#include "runtime/ops.def"
};
#undef OP

static const op_attrs no_attrs;

/* A product in which 0 times anything is 0 has derivatives of that kind, whichever handler takes them. */
static bool is_strong(op_id op, const op_attrs *attrs) {
    return op == OP_strong_mul || attrs->strong_zero;
}

/* ---- contributions ---- */

/* A factor times a partial, without a multiplication where the partial is 1 or -1: the bits are the
 * same. */
static term times_partial(builder *b, term factor, term partial) {
    if (partial == TERM_ONE) return factor;
    if (partial == TERM_MINUS_ONE) return b_neg(b, factor);
    return b_mul(b, factor, partial);
}

static void vjp_partial(builder *b, const rule_site *s, partial_rule partial) {
    for (int k = 0; k < s->n && !b->failed; k++) {
        if (!s->wants[k]) continue;
        term t = times_partial(b, s->d, partial(b, s, k));
        t = b_unbroadcast(b, s, k, t);
        b_contribute(b, k, t);
    }
}

void rules_vjp(builder *b, op_id op, const rule_site *s) {
    const op_rules *rules = &rule_table[op];
    rule_site site = *s;
    bool strong = b->strong_zero;
    if (site.attrs == NULL) site.attrs = &no_attrs;
    b->strong_zero = strong || is_strong(op, site.attrs);
    if (rules->partial != NULL)
        vjp_partial(b, &site, rules->partial);
    else if (rules->vjp != NULL)
        rules->vjp(b, &site);
    b->strong_zero = strong;
}

/* ---- tangents ---- */

static term jvp_partial(builder *b, const rule_site *s, partial_rule partial) {
    term sum = TERM_NONE;
    for (int k = 0; k < s->n && !b->failed; k++) {
        if (s->tangent[k] == TERM_NONE) continue;
        term t = times_partial(b, s->tangent[k], partial(b, s, k));
        sum = sum == TERM_NONE ? t : b_add(b, sum, t);
    }
    return sum;
}

term rules_jvp(builder *b, op_id op, const rule_site *s) {
    const op_rules *rules = &rule_table[op];
    rule_site site = *s;
    term t = TERM_NONE;
    bool strong = b->strong_zero;
    if (site.attrs == NULL) site.attrs = &no_attrs;
    b->strong_zero = strong || is_strong(op, site.attrs);
    if (rules->partial != NULL)
        t = jvp_partial(b, &site, rules->partial);
    else if (rules->jvp != NULL)
        t = rules->jvp(b, &site);
    b->strong_zero = strong;
    if (t == TERM_NONE || b->failed) return TERM_NONE;
    return b_broadcast(b, t, s->out_type, s->out_ones);
}

/* Absent tangents are zeros, as the op needs all its operands. */
term jvp_linear(builder *b, const rule_site *s, op_id op) {
    term in[ARITY_MANY];
    bool some = false;
    for (int k = 0; k < s->n; k++) some = some || s->tangent[k] != TERM_NONE;
    if (!some || !dtype_floating((dtype)s->out_type->dtype)) return TERM_NONE;
    for (int k = 0; k < s->n; k++)
        in[k] = s->tangent[k] != TERM_NONE ? s->tangent[k] : b_zeros_like(b, s->in[k]);
    return b_alive(b, s->n, in) ? b->op(b, op, s->attrs, s->n, in) : TERM_NONE;
}

/* ---- literal ones ---- */

/* The bits of `mask` below rank without those of `removed`, moved together. */
static uint8_t without(uint8_t mask, uint8_t removed, int rank) {
    unsigned kept = 0;
    int to = 0;
    for (int i = 0; i < rank; i++)
        if (((removed >> i) & 1) == 0) kept |= ((unsigned)(mask >> i) & 1u) << to++;
    return (uint8_t)kept;
}

/* `mask` with `count` bits put in before position `at`. */
static uint8_t with(uint8_t mask, int at, uint8_t inserted, int count) {
    unsigned low = mask & ((1u << at) - 1), high = (unsigned)mask >> at;
    return (uint8_t)(low | ((unsigned)inserted << at) | (high << (at + count)));
}

/* An axis of a broadcast result is a literal one when it is one in each operand that has it. `skip`
 * axes at every end take no part. */
static uint8_t broadcast_ones(int n, const op_type *in, const uint8_t *ones, int skip, int rank) {
    unsigned all = (1u << rank) - 1;
    for (int k = 0; k < n; k++) {
        int lead = rank - (in[k].rank - skip);
        if (lead >= rank) continue;
        unsigned own = ones[k] & ((1u << (in[k].rank - skip)) - 1);
        all &= (own << lead) | ((1u << lead) - 1);
    }
    return (uint8_t)all;
}

static uint8_t reduce_ones(const op_attrs *a, const op_type *in, uint8_t ones) {
    return a->keepdims ? ones | a->axes : without(ones, a->axes, in->rank);
}

static uint8_t permute_ones(const op_attrs *a, const op_type *in, uint8_t ones) {
    unsigned out = 0;
    for (int i = 0; i < in->rank; i++) out |= ((unsigned)(ones >> a->perm[i]) & 1u) << i;
    return (uint8_t)out;
}

/* Of a slice, the literal ones that it leaves whole. */
static uint8_t slice_ones(const op_attrs *a, const op_type *in, uint8_t ones) {
    unsigned whole = 0;
    for (int i = 0; i < in->rank; i++)
        if (a->lo[i] == 0 && a->step[i] == 1 && a->dims[i] == in->dims[i]) whole |= 1u << i;
    return without((uint8_t)(ones & whole), a->drop, in->rank);
}

/* Equal axes of the operands: a literal one in any is one in all. */
static uint8_t concat_ones(const op_attrs *a, int n, const uint8_t *ones) {
    unsigned any = 0;
    for (int k = 0; k < n; k++) any |= ones[k];
    return (uint8_t)(any & ~(1u << a->axis));
}

static uint8_t take_along_ones(const op_attrs *a, const uint8_t *ones) {
    unsigned at = 1u << a->axis;
    return (uint8_t)(((ones[0] | ones[1]) & ~at) | (ones[1] & at));
}

static uint8_t matmul_ones(const op_type *in, const uint8_t *ones, const op_type *out) {
    int matrix = (in[0].rank >= 2) + (in[1].rank >= 2), batch = out->rank - matrix;
    /* A vector has neither batch axes nor an axis in the result. */
    op_type side[2] = {{.rank = (uint8_t)(in[0].rank < 2 ? 2 : in[0].rank)},
                       {.rank = (uint8_t)(in[1].rank < 2 ? 2 : in[1].rank)}};
    unsigned all = broadcast_ones(2, side, ones, 2, batch);
    int to = batch;
    if (in[0].rank >= 2) all |= ((unsigned)(ones[0] >> (in[0].rank - 2)) & 1u) << to++;
    if (in[1].rank >= 2) all |= ((unsigned)(ones[1] >> (in[1].rank - 1)) & 1u) << to;
    return (uint8_t)all;
}

static uint8_t result_ones(op_id op, const op_attrs *a, int n, const op_type *in,
                           const uint8_t *ones, const op_type *out) {
    switch ((op_class)op_table[op].class) {
    case CLASS_UNARY:
    case CLASS_UNARY_NUMERIC:
    case CLASS_UNARY_BOOL:
    case CLASS_CAST:
    case CLASS_IDENTITY:
    case CLASS_ALONG:
    case CLASS_SHIFT:
    case CLASS_SCAN:
    case CLASS_CUMULATE:
    case CLASS_CUMULATE_FLOAT:
    case CLASS_ORDER:
    case CLASS_SLICE_ADD:
    case CLASS_SCATTER:
    case CLASS_SCATTER_ALONG:
    case CLASS_ONE_HOT:
    case CLASS_MATMUL_ADD:
    case CLASS_MATRIX:
    case CLASS_MATRIX_PAIR:
    case CLASS_TRIANGLE:
    case CLASS_FULL_LIKE: return ones[0];
    case CLASS_BINARY:
    case CLASS_BINARY_NUMERIC:
    case CLASS_BINARY_INTEGER:
    case CLASS_BINARY_BOOL:
    case CLASS_COMPARE:
    case CLASS_COMPARE_ORDER:
    case CLASS_WHERE:
    case CLASS_TERNARY_NUMERIC: return broadcast_ones(n, in, ones, 0, out->rank);
    case CLASS_REDUCE:
    case CLASS_REDUCE_ONE:
    case CLASS_REDUCE_NONEMPTY:
    case CLASS_REDUCE_FLOAT:
    case CLASS_REDUCE_BOOL:
    case CLASS_ARG_REDUCE: return reduce_ones(a, &in[0], ones[0]);
    case CLASS_SUM_TO: return without(ones[0] | a->axes, a->drop, in[0].rank);
    case CLASS_RESHAPE:
    case CLASS_BROADCAST: return a->ones[1];
    case CLASS_PERMUTE: return permute_ones(a, &in[0], ones[0]);
    case CLASS_EXPAND: return with(ones[0], a->axis, 1, 1);
    case CLASS_SQUEEZE: return without(ones[0], (uint8_t)(1u << a->axis), in[0].rank);
    case CLASS_TOP_K: return (uint8_t)(ones[0] & ~(1u << a->axis));
    case CLASS_CONCAT: return concat_ones(a, n, ones);
    case CLASS_SLICE: return slice_ones(a, &in[0], ones[0]);
    case CLASS_TAKE:
        return with(without(ones[0], (uint8_t)(1u << a->axis), in[0].rank), a->axis, ones[1],
                    in[1].rank);
    case CLASS_TAKE_ALONG: return take_along_ones(a, ones);
    case CLASS_MATMUL:
    case CLASS_SOLVE: return matmul_ones(in, ones, out);
    case CLASS_DETERMINANT: return (uint8_t)(ones[0] & ((1u << out->rank) - 1));
    case CLASS_CONV: return (uint8_t)((ones[0] & 1) | (ones[1] & 1) << 1);
    case CLASS_CONV_INPUT_GRAD:
    case CLASS_CONV_WEIGHT_GRAD: return a->ones[2];
    case CLASS_POOL:
    case CLASS_POOL_PLACE: return ones[0] & 3;
    case CLASS_POOL_GRAD: return a->ones[1];
    case CLASS_FULL:
    case CLASS_ARANGE:
    case CLASS_EYE:
    case CLASS_RANDOM:
    case CLASS_CUSTOM: return 0;
    }
    return 0;
}

/* An axis of another size is no literal one, whatever is not known of the operands. */
uint8_t rules_result_ones(op_id op, const op_attrs *attrs, int n, const op_type *in,
                          const uint8_t *ones, const op_type *out) {
    uint8_t mask = result_ones(op, attrs != NULL ? attrs : &no_attrs, n, in, ones, out);
    for (int i = 0; i < out->rank; i++)
        if (out->dims[i] != 1) mask &= (uint8_t) ~(1u << i);
    return mask;
}
