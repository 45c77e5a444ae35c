/* Nothing twice: one walk that resolves every variable to the one that has its value already.
 *
 * What is replaced has the same bits: a parameter's fresh copy is what it copies, an op on the same operands
 * is the same value, x * 1 is x, an operand that an elementwise op would stretch itself needs no broadcast.
 * No sum is reordered and no op exchanged for another. */
#include "ad/simplify.h"

#include <string.h>

typedef struct simplifier {
    graph *g;
    var *same;                  /* by variable: what it is, or itself */
    int count;                  /* of `same`: variables made later are themselves */
    node **known;               /* ops that may be met again: those of the regions around */
    uint64_t *hash;             /* of each */
    int known_count, known_room;
    bool changed;
} simplifier;

static var resolve(const simplifier *s, var v) {
    while (v >= 0 && v < s->count && s->same[v] != v) v = s->same[v];
    return v;
}

/* `of` is `to` from here on. The user's name for either stays; a forward value is not named as the adjoint which it
 * happens to be. */
static void become(simplifier *s, var of, var to) {
    to = resolve(s, to);
    if (of == to) return;
    graph_var *kept = graph_at(s->g, to), *lost = graph_at(s->g, of);
    if (kept->name == NULL && lost->name != NULL) kept->name = lost->name;
    bool backward = kept->maker == NULL || kept->maker->answers.end > 0;
    if (kept->name == NULL && kept->derivative_of == VAR_NONE && lost->derivative_of != VAR_NONE && backward) {
        kept->derivative_of = lost->derivative_of;
        kept->prefix = lost->prefix;
    }
    s->same[of] = to;
    s->changed = true;
}

/* ---- the same value by another name ---- */

static bool is_number(const simplifier *s, var v, double x) {
    const node *maker = graph_at(s->g, v)->maker;
    return maker != NULL && maker->kind == NODE_NUMBER && dtype_floating((dtype)maker->constant.dtype) &&
           value_as_double(&maker->constant) == x;
}

static bool same_type(const graph *g, var a, var b) {
    const op_type *x = graph_type(g, a), *y = graph_type(g, b);
    return x->dtype == y->dtype && x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0;
}

/* x * 1, 1 * x and x / 1 of x's own shape are x. */
static var times_one(const simplifier *s, const node *n) {
    if (n->op != OP_mul && n->op != OP_div) return VAR_NONE;
    if (is_number(s, n->in[1], 1.0) && same_type(s->g, n->in[0], n->out[0])) return n->in[0];
    bool first = n->op == OP_mul && is_number(s, n->in[0], 1.0) && same_type(s->g, n->in[1], n->out[0]);
    return first ? n->in[1] : VAR_NONE;
}

/* A conversion or shape op that changes nothing. */
static var unchanged(const simplifier *s, const node *n) {
    bool may = n->op == OP_identity || n->op == OP_carry || n->op == OP_cast || n->op == OP_broadcast ||
               n->op == OP_reshape;
    return may && same_type(s->g, n->in[0], n->out[0]) ? n->in[0] : VAR_NONE;
}

/* A number stretched over a shape is that shape filled with it. */
static void fill_number(simplifier *s, node *n) {
    if (n->op != OP_broadcast) return;
    var v = n->in[0];
    const node *maker = graph_at(s->g, v)->maker;
    while (maker != NULL && maker->kind == NODE_OP && (maker->op == OP_expand_dims || maker->op == OP_broadcast)) {
        v = maker->in[0];
        maker = graph_at(s->g, v)->maker;
    }
    if (maker == NULL || maker->kind != NODE_NUMBER) return;
    n->op = OP_full;
    n->in[0] = v;
    memset(n->attrs->ones, 0, sizeof n->attrs->ones);
    n->attrs->dtype = graph_type(s->g, v)->dtype;
    s->changed = true;
}

/* An operand that was stretched to the shape that another operand of an elementwise op gives the result
 * anyway: the op stretches it itself. */
static void stretch_within(simplifier *s, node *n) {
    uint8_t class = op_table[n->op].class;
    bool binary = class == CLASS_BINARY || class == CLASS_BINARY_NUMERIC || class == CLASS_COMPARE ||
                  class == CLASS_COMPARE_ORDER;
    if (!binary) return;
    for (int k = 0; k < 2; k++) {
        const node *maker = graph_at(s->g, n->in[k])->maker;
        if (maker == NULL || maker->kind != NODE_OP) continue;
        bool stretched = maker->op == OP_broadcast || maker->op == OP_full;
        const op_type *other = graph_type(s->g, n->in[1 - k]), *out = graph_type(s->g, n->out[0]);
        bool implied = other->rank == out->rank && memcmp(other->dims, out->dims, out->rank * sizeof *out->dims) == 0;
        if (!stretched || !implied) continue;
        n->in[k] = resolve(s, maker->in[0]);
        n->attrs->ones[k] = graph_ones(graph_type(s->g, n->in[k]));
        s->changed = true;
    }
}

/* ---- ops met before ---- */

static uint64_t mix(uint64_t h, uint64_t x) {
    h ^= x + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
    return h * 0xBF58476D1CE4E5B9u;
}

static uint64_t hash_of(const node *n) {
    uint64_t h = mix(n->kind, n->op);
    for (int k = 0; k < n->n; k++) h = mix(h, (uint64_t)n->in[k]);
    if (n->kind == NODE_NUMBER) h = mix(mix(h, n->constant.as.bits), n->constant.dtype);
    if (n->attrs != NULL) {
        for (int i = 0; i < MAX_RANK; i++) h = mix(mix(h, (uint64_t)n->attrs->dims[i]), (uint64_t)n->attrs->lo[i]);
    }
    return h;
}

static bool same_node(const node *a, const node *b) {
    if (a->kind != b->kind || a->op != b->op || a->n != b->n) return false;
    if (memcmp(a->in, b->in, (size_t)a->n * sizeof *a->in) != 0) return false;
    if (a->kind == NODE_NUMBER)
        return a->constant.dtype == b->constant.dtype && a->constant.as.bits == b->constant.as.bits;
    return a->attrs == NULL || memcmp(a->attrs, b->attrs, sizeof *a->attrs) == 0;
}

static bool repeatable(const node *n) {
    return n->kind == NODE_OP || n->kind == NODE_NUMBER || n->kind == NODE_SIZE || n->kind == NODE_STOP;
}

static void remember(simplifier *s, node *n, uint64_t h) {
    int room = s->known_room;
    node **known = graph_grow(s->g, s->known, s->known_count, &room, sizeof(node *));
    uint64_t *hash = graph_grow(s->g, s->hash, s->known_count, &s->known_room, sizeof *hash);
    if (known == NULL || hash == NULL) return;
    s->known = known;
    s->hash = hash;
    s->known[s->known_count] = n;
    s->hash[s->known_count++] = h;
}

static var met_before(simplifier *s, node *n) {
    uint64_t h = hash_of(n);
    for (int i = s->known_count; i > 0; i--) {
        if (s->hash[i - 1] == h && same_node(s->known[i - 1], n)) return s->known[i - 1]->out[0];
    }
    remember(s, n, h);
    return VAR_NONE;
}

/* ---- the walk ---- */

static void simplify_region(simplifier *s, region *r);

static void simplify_op(simplifier *s, node *n) {
    var is = times_one(s, n);
    if (is == VAR_NONE) is = unchanged(s, n);
    if (is == VAR_NONE) {
        fill_number(s, n);
        stretch_within(s, n);
        is = met_before(s, n);
    }
    if (is != VAR_NONE) become(s, n->out[0], is);
}

/* What both branches give alike is no result of theirs. */
static void simplify_if(simplifier *s, node *n) {
    simplify_region(s, n->inside[0]);
    simplify_region(s, n->inside[1]);
    for (int i = 0; i < n->m; i++) {
        var a = n->inside[0]->results[i], b = n->inside[1]->results[i];
        bool outside = graph_at(s->g, a)->home->holder != n;
        if (a == b && outside) become(s, n->out[i], a);
    }
}

/* A carry that every iteration hands on as it came is the init. */
static void simplify_while(simplifier *s, node *n) {
    region *body = n->inside[1], *condition = n->inside[0];
    for (int i = 0; i < n->m; i++) {
        if (resolve(s, body->results[i]) != body->params[i] || graph_at(s->g, n->in[i])->tape != NULL) continue;
        become(s, body->params[i], n->in[i]);
        become(s, condition->params[i], n->in[i]);
        become(s, n->out[i], n->in[i]);
    }
    simplify_region(s, condition);
    simplify_region(s, body);
}

static void simplify_node(simplifier *s, node *n) {
    for (int k = 0; k < n->n; k++) n->in[k] = resolve(s, n->in[k]);
    for (int k = 0; k < n->read_count; k++) n->reads[k] = resolve(s, n->reads[k]);
    if (n->kind == NODE_OP) {
        simplify_op(s, n);
    } else if (n->kind == NODE_IF) {
        simplify_if(s, n);
    } else if (n->kind == NODE_WHILE) {
        simplify_while(s, n);
    } else if (repeatable(n)) {
        var is = met_before(s, n);
        if (is != VAR_NONE) become(s, n->out[0], is);
    }
}

static void simplify_region(simplifier *s, region *r) {
    int known = s->known_count;
    for (int i = 0; i < r->count && !s->g->failed; i++) simplify_node(s, r->nodes[i]);
    for (int i = 0; i < r->result_count; i++) r->results[i] = resolve(s, r->results[i]);
    s->known_count = known;
}

/* ---- tapes ---- */

typedef struct pushes {
    node **list;
    int count;
} pushes;

/* True when every push on such a tape gives two leaves the same value. */
static bool leaves_alike(const graph *g, const pushes *p, const tape_element *e, int a, int b) {
    bool any = false;
    for (int i = 0; i < p->count; i++) {
        const node *n = p->list[i];
        if (graph_at(g, n->in[0])->tape != e) continue;
        if (n->in[1 + a] != n->in[1 + b]) return false;
        any = true;
    }
    return any;
}

static void merge_leaves(simplifier *s, const region *r, const pushes *p) {
    for (int i = 0; i < r->count; i++) {
        const node *n = r->nodes[i];
        for (int k = 0; k < 2; k++) {
            if (n->inside[k] != NULL) merge_leaves(s, n->inside[k], p);
        }
        if (n->kind != NODE_POP) continue;
        for (int b = 1; b + 1 < n->m; b++) {
            for (int a = 0; a < b; a++) {
                if (!leaves_alike(s->g, p, graph_at(s->g, n->in[0])->tape, a, b)) continue;
                become(s, n->out[1 + b], n->out[1 + a]);
                break;
            }
        }
    }
}

static bool once(graph *g) {
    simplifier s = {.g = g, .count = g->count};
    s.same = GRAPH_ARRAY(g, var, g->count);
    if (s.same == NULL) return false;
    for (int i = 0; i < g->count; i++) s.same[i] = i;
    pushes p = {0};
    p.list = graph_nodes_of(g, NODE_PUSH, &p.count);
    merge_leaves(&s, g->top, &p);
    simplify_region(&s, g->top);
    for (int i = 0; i < g->witness_count; i++) g->witnesses[i].v = resolve(&s, g->witnesses[i].v);
    for (int i = 0; i < s.count; i++) {
        graph_var *v = graph_at(g, i);
        if (v->derivative_of != VAR_NONE) v->derivative_of = resolve(&s, v->derivative_of);
    }
    return s.changed;
}

enum { ROUNDS_MOST = 8 };

void graph_simplify(graph *g) {
    bool more = true;
    for (int i = 0; i < ROUNDS_MOST && more && !graph_bad(g); i++) {
        more = once(g);
        if (!graph_bad(g)) more |= graph_prune(g);
    }
    if (!graph_bad(g)) graph_use_up_tapes(g);
}
