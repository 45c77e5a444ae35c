/* A generator of syntax trees. What no text can mean is not made: a minus before an integer that is not negative,
 * a chain of lets that ends in a chain, a tuple of one. */
#include "tests/unit/make_tree.h"

#include <check.h>
#include <string.h>

#include "runtime/print.h"

typedef struct maker {
    arena *a;
    uint64_t state;
} maker;

static expr *make_expr(maker *m, int depth);
static expr *make_block(maker *m, int depth);
static fn_decl *make_fn(maker *m, int depth, bool named);

/* ---- choices ---- */

static int below(maker *m, int n) {
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return (int)((m->state >> 20) % (uint64_t)n);
}

static bool chance(maker *m, int one_in) {
    return below(m, one_in) == 0;
}

static void *room(maker *m, size_t bytes) {
    void *p = arena_take(m->a, bytes);
    ck_assert_ptr_nonnull(p);
    return p;
}

#define PICK(m, list) ((list)[below((m), (int)COUNT_OF(list))])
#define ROOM(m, type, count) ((type *)room((m), sizeof(type) * (size_t)(count)))

static const char *make_name(maker *m) {
    static const char *const pool[] = {"x", "y", "w1", "_k", "next_value", "checkpoint", "vjp", "exp", "e5",
                                       "a_rather_long_name_of_a_value", "another_name_that_is_even_longer"};
    return PICK(m, pool);
}

static expr *make_node(maker *m, expr_kind kind) {
    expr *e = ROOM(m, expr, 1);
    e->kind = kind;
    return e;
}

static expr *make_name_expr(maker *m) {
    expr *e = make_node(m, EXPR_NAME);
    e->u.name.name = make_name(m);
    return e;
}

/* ---- literals ---- */

static expr *make_integer(maker *m) {
    static const uint64_t pool[] = {0, 1, 7, 2147483647, 2147483648, UINT64_C(9223372036854775808), UINT64_MAX};
    expr *e = make_node(m, EXPR_INT);
    e->u.integer.magnitude = PICK(m, pool);
    e->u.integer.negative = chance(m, 3);
    return e;
}

/* Those of a number of any bits, subnormal ones among them; a literal has no sign. */
static const char *make_digits(maker *m) {
    (void)below(m, 2);
    uint64_t bits = m->state & (chance(m, 4) ? UINT64_C(0x000FFFFFFFFFFFFF) : UINT64_C(0x7FEFFFFFFFFFFFFF));
    float narrow = (float)below(m, 1 << 24) * 0x1p-140f;
    double x;
    memcpy(&x, &bits, sizeof x);
    char *digits = room(m, NUMBER_ROOM);
    bool wide = !chance(m, 3);
    number_print(digits, wide ? DT_F64 : DT_F32, wide ? (const void *)&x : (const void *)&narrow);
    return digits;
}

static expr *make_float(maker *m) {
    static const char *const pool[] = {"0.0", "1.5", "1e-45", "4.9406564584124654e-324", "1.7976931348623157e308",
                                       "3.4028235e38", "2.5E+2", "1e-3", "0.1000000014901161", "inf", "nan"};
    expr *e = make_node(m, EXPR_FLOAT);
    e->u.floating.digits = chance(m, 2) ? PICK(m, pool) : make_digits(m);
    return e;
}

static expr *make_string(maker *m) {
    static const char *const pool[] = {"", "plain", "a \"quote\" and a \\", "line\nend\ttab\r", "\x01\x1f\x7f",
                                       "\xC3\xA9\xE2\x86\x92", "// no comment", "a string that is long enough to matter"};
    expr *e = make_node(m, EXPR_STRING);
    e->u.string.bytes = PICK(m, pool);
    e->u.string.length = (uint32_t)strlen(e->u.string.bytes);
    return e;
}

static expr *make_bool(maker *m) {
    expr *e = make_node(m, EXPR_BOOL);
    e->u.boolean = chance(m, 2);
    return e;
}

static expr *make_leaf(maker *m) {
    switch (below(m, 6)) {
    case 0: return make_integer(m);
    case 1: return make_float(m);
    case 2: return make_string(m);
    case 3: return make_bool(m);
    default: return make_name_expr(m);
    }
}

/* ---- types and patterns ---- */

static expr *make_dim(maker *m, int depth) {
    static const op_id ops[] = {OP_add, OP_sub, OP_mul};
    expr *e;
    switch (depth > 0 ? below(m, 5) : below(m, 3)) {
    case 0:
        e = make_node(m, EXPR_INT);
        e->u.integer.magnitude = (uint64_t)below(m, 300);
        return e;
    case 1: return make_node(m, EXPR_UNKNOWN_DIM);
    case 2: return make_name_expr(m);
    default:
        e = make_node(m, EXPR_BINARY);
        e->u.binary.op = PICK(m, ops);
        e->u.binary.a = make_dim(m, depth - 1);
        e->u.binary.b = make_dim(m, depth - 1);
        return e;
    }
}

static type_expr *make_type(maker *m, int depth) {
    type_expr *t = ROOM(m, type_expr, 1);
    int kind = depth > 0 ? below(m, 6) : below(m, 3);
    t->dt = (dtype)below(m, DTYPE_COUNT);
    t->kind = TYPE_EXPR_SCALAR;
    if (kind == 0) t->kind = TYPE_EXPR_UNIT;
    if (kind == 1) {
        t->kind = TYPE_EXPR_TENSOR;
        t->host = chance(m, 4);
        t->count = below(m, 4);
        t->dims = ROOM(m, expr *, t->count);
        for (int i = 0; i < t->count; i++) t->dims[i] = make_dim(m, 2);
    }
    if (kind < 3) return t;
    static const type_expr_kind kinds[] = {TYPE_EXPR_TUPLE, TYPE_EXPR_FN, TYPE_EXPR_TAPE};
    t->kind = kinds[kind - 3];
    t->count = kind == 3 ? 2 + below(m, 3) : kind == 4 ? below(m, 3) : 1;
    t->items = ROOM(m, type_expr *, t->count);
    for (int i = 0; i < t->count; i++) t->items[i] = make_type(m, depth - 1);
    if (kind == 4) t->result = make_type(m, depth - 1);
    return t;
}

static pattern *make_pattern(maker *m, int depth) {
    pattern *p = ROOM(m, pattern, 1);
    p->kind = depth > 0 && chance(m, 4) ? PATTERN_TUPLE : chance(m, 4) ? PATTERN_IGNORE : PATTERN_NAME;
    p->name = make_name(m);
    if (p->kind != PATTERN_TUPLE) return p;
    p->count = 2 + below(m, 4);
    p->items = ROOM(m, pattern *, p->count);
    for (int i = 0; i < p->count; i++) p->items[i] = make_pattern(m, depth - 1);
    return p;
}

/* ---- decorators and functions ---- */

static decorator *make_checkpoint(maker *m, int depth) {
    static const char *const options[] = {"k", "slots", "memory"};
    if (!chance(m, 4)) return NULL;
    decorator *d = ROOM(m, decorator, 1);
    d->name = "checkpoint";
    d->count = below(m, 3);
    d->options = ROOM(m, decorator_option, d->count);
    for (int i = 0; i < d->count; i++) {
        decorator_option *o = &d->options[i];
        o->name = PICK(m, options);
        o->is_auto = chance(m, 3);
        o->is_bytes = !o->is_auto && chance(m, 2);
        o->unit = 10u * (unsigned)(1 + below(m, 3));
        o->bytes = (int64_t)below(m, 4000) << o->unit;
        if (!o->is_auto && !o->is_bytes) o->value = make_expr(m, depth - 1);
    }
    return d;
}

static decorator *make_rule(maker *m, const char *name) {
    decorator *d = ROOM(m, decorator, 1);
    d->name = name;
    d->count = 1;
    d->options = ROOM(m, decorator_option, 1);
    d->options[0].value = make_name_expr(m);
    return d;
}

static fn_decl *make_fn(maker *m, int depth, bool named) {
    fn_decl *f = ROOM(m, fn_decl, 1);
    if (named) f->name = make_name(m);
    if (named && chance(m, 4)) {
        f->decorators = make_rule(m, "vjp");
        f->decorators->next = make_rule(m, "jvp");
    }
    f->count = below(m, 4);
    f->params = ROOM(m, param, f->count);
    for (int i = 0; i < f->count; i++) f->params[i] = (param){.name = make_name(m), .type = make_type(m, 2)};
    if (chance(m, 2)) f->result = make_type(m, 2);
    f->body = make_block(m, depth - 1);
    return f;
}

/* ---- comments ---- */

static const char *make_comment(maker *m) {
    static const char *const pool[] = {"// why", "//", "//x", "// \xE2\x88\x82 of a \"string", "// let x = 1; // twice",
                                       "// a comment that is so long that it can hardly stand behind anything at all"};
    return PICK(m, pool);
}

/* Above something; `first`: in its block. */
static comments make_comments(maker *m, bool first) {
    comments c = {.lines = ROOM(m, const char *, 6)};
    if (!first && chance(m, 4)) c.lines[c.count++] = NULL;
    if (!chance(m, 4)) return c;
    for (int i = 1 + below(m, 2); i > 0; i--) c.lines[c.count++] = make_comment(m);
    if (chance(m, 3)) {
        c.lines[c.count++] = NULL;
        if (chance(m, 2)) c.lines[c.count++] = make_comment(m);
    }
    return c;
}

static const char *make_after(maker *m) {
    return chance(m, 6) ? make_comment(m) : NULL;
}

/* ---- blocks ---- */

static void make_let(maker *m, int depth, item *it) {
    it->kind = ITEM_LET;
    it->pattern = make_pattern(m, 2);
    if (chance(m, 4)) it->type = make_type(m, 2);
    it->decorators = make_checkpoint(m, depth);
    it->value = make_expr(m, depth - 1);
}

/* Without a semicolon. A `(` after a handle without options would begin some. */
static bool may_do_without(const expr *e) {
    if (e->kind == EXPR_HANDLE) return e->u.handle.count > 0;
    return e->kind == EXPR_IF || e->kind == EXPR_WHILE || e->kind == EXPR_FN;
}

static void make_item(maker *m, int depth, item *it) {
    int kind = below(m, 6);
    if (kind == 0) {
        it->kind = ITEM_FN;
        it->fn = make_fn(m, depth, true);
    } else if (kind < 4) {
        make_let(m, depth, it);
    } else {
        it->kind = ITEM_EXPR;
        it->value = make_expr(m, depth - 1);
        it->semicolon = !may_do_without(it->value) || chance(m, 2);
    }
}

static expr *make_lines(maker *m, int depth, int most) {
    expr *e = make_node(m, EXPR_BLOCK);
    e->u.block.count = depth > 0 ? below(m, most) : 0;
    e->u.block.items = ROOM(m, item, e->u.block.count);
    for (int i = 0; i < e->u.block.count; i++) {
        item *it = &e->u.block.items[i];
        make_item(m, depth, it);
        it->before = make_comments(m, i == 0);
        it->after = make_after(m);
    }
    bool first = e->u.block.count == 0;
    if (!chance(m, 5)) {
        e->u.block.tail = make_expr(m, depth - 1);
        e->u.block.before_tail = make_comments(m, first);
        e->u.block.after_tail = make_after(m);
        first = false;
    } else if (!first) {
        e->u.block.items[e->u.block.count - 1].semicolon = true; /* else it would be the tail */
    }
    comments *end = &e->u.block.at_end;
    *end = make_comments(m, first);
    while (end->count > 0 && end->lines[end->count - 1] == NULL) end->count--;
    return e;
}

static expr *make_block(maker *m, int depth) {
    expr *e = make_lines(m, depth, 4);
    e->u.block.braces = true;
    return e;
}

static expr *make_chain(maker *m, int depth) {
    expr *e = make_node(m, EXPR_BLOCK);
    e->u.block.count = 1 + below(m, 3);
    e->u.block.items = ROOM(m, item, e->u.block.count);
    for (int i = 0; i < e->u.block.count; i++) {
        make_let(m, depth, &e->u.block.items[i]);
        if (i > 0) e->u.block.items[i].before = make_comments(m, false);
        e->u.block.items[i].after = make_after(m);
    }
    do {
        e->u.block.tail = make_expr(m, depth - 1);
    } while (e->u.block.tail->kind == EXPR_BLOCK);
    e->u.block.before_tail = make_comments(m, false);
    return e;
}

/* ---- expressions ---- */

static argument *make_arguments(maker *m, int depth, int count) {
    argument *args = ROOM(m, argument, count);
    for (int i = 0; i < count; i++) {
        if (chance(m, 4)) args[i].name = make_name(m);
        args[i].value = make_expr(m, depth - 1);
    }
    return args;
}

static expr *make_call(maker *m, int depth) {
    expr *e = make_node(m, EXPR_CALL);
    e->u.call.method = chance(m, 2);
    e->u.call.count = below(m, 5) + e->u.call.method;
    e->u.call.args = make_arguments(m, depth, e->u.call.count);
    e->u.call.callee = e->u.call.method || chance(m, 2) ? make_name_expr(m) : make_expr(m, depth - 1);
    if (e->u.call.method) e->u.call.args[0].name = NULL;
    return e;
}

static expr *make_list(maker *m, int depth, expr_kind kind) {
    expr *e = make_node(m, kind);
    bool numbers = chance(m, 3);
    e->u.list.count = numbers ? 2 + below(m, 30) : below(m, 5);
    if (kind == EXPR_TUPLE && e->u.list.count == 1) e->u.list.count = 0;
    e->u.list.items = ROOM(m, expr *, e->u.list.count);
    for (int i = 0; i < e->u.list.count; i++) {
        e->u.list.items[i] = !numbers ? make_expr(m, depth - 1) : chance(m, 2) ? make_float(m) : make_integer(m);
    }
    return e;
}

static expr *make_operator(maker *m, int depth) {
    static const op_id ops[] = {OP_add, OP_sub, OP_mul, OP_div, OP_rem, OP_matmul, OP_lt, OP_le,
                                OP_gt,  OP_ge,  OP_eq,  OP_ne,  OP_and, OP_or};
    expr *e;
    if (chance(m, 4)) {
        e = make_node(m, EXPR_UNARY);
        e->u.unary.op = chance(m, 2) ? OP_neg : OP_not;
        e->u.unary.a = make_expr(m, depth - 1);
        if (e->u.unary.op == OP_neg && e->u.unary.a->kind == EXPR_INT) e->u.unary.a->u.integer.negative = true;
        return e;
    }
    e = make_node(m, EXPR_BINARY);
    e->u.binary.op = PICK(m, ops);
    e->u.binary.a = make_expr(m, depth - 1);
    e->u.binary.b = make_expr(m, depth - 1);
    return e;
}

static expr *make_index(maker *m, int depth) {
    expr *e = make_node(m, EXPR_INDEX);
    e->u.index.base = make_expr(m, depth - 1);
    e->u.index.count = 1 + below(m, 3);
    e->u.index.subscripts = ROOM(m, subscript, e->u.index.count);
    for (int i = 0; i < e->u.index.count; i++) {
        subscript *s = &e->u.index.subscripts[i];
        s->range = chance(m, 2);
        if (!s->range || chance(m, 2)) s->lo = make_expr(m, depth - 1);
        if (s->range && chance(m, 2)) s->hi = make_expr(m, depth - 1);
        if (s->range && chance(m, 3)) s->step = make_expr(m, depth - 1);
    }
    return e;
}

static expr *make_if(maker *m, int depth) {
    expr *e = make_node(m, EXPR_IF);
    e->u.if_.condition = make_expr(m, depth - 1);
    e->u.if_.then = make_block(m, depth - 1);
    e->u.if_.otherwise = chance(m, 3) ? make_if(m, depth - 1) : make_block(m, depth - 1);
    return e;
}

static expr *make_while(maker *m, int depth) {
    expr *e = make_node(m, EXPR_WHILE);
    e->u.while_.decorators = make_checkpoint(m, depth);
    e->u.while_.condition = make_expr(m, depth - 1);
    e->u.while_.count = 1 + below(m, 4);
    e->u.while_.carries = ROOM(m, carry, e->u.while_.count);
    for (int i = 0; i < e->u.while_.count; i++) {
        e->u.while_.carries[i] = (carry){.name = make_name(m), .init = make_expr(m, depth - 1)};
        if (chance(m, 4)) e->u.while_.carries[i].type = make_type(m, 2);
    }
    e->u.while_.body = make_block(m, depth - 1);
    return e;
}

static expr *make_handle(maker *m, int depth) {
    expr *e = make_node(m, EXPR_HANDLE);
    e->u.handle.call = make_call(m, depth);
    e->u.handle.forward = chance(m, 2);
    e->u.handle.count = below(m, 3);
    e->u.handle.options = make_arguments(m, depth, e->u.handle.count);
    return e;
}

static expr *make_project(maker *m, int depth) {
    expr *e = make_node(m, EXPR_PROJECT);
    e->u.project.base = make_expr(m, depth - 1);
    e->u.project.field = (uint32_t)below(m, 12);
    return e;
}

static expr *make_tensor(maker *m, int depth) {
    expr *e = make_node(m, EXPR_TENSOR);
    do {
        e->u.tensor.form = make_type(m, 0);
    } while (e->u.tensor.form->kind != TYPE_EXPR_TENSOR);
    if (chance(m, 2)) e->u.tensor.fill = make_expr(m, depth - 1);
    return e;
}

static expr *make_expr(maker *m, int depth) {
    if (depth <= 0) return make_leaf(m);
    switch (below(m, 18)) {
    case 0: return make_list(m, depth, EXPR_LIST);
    case 1: return make_list(m, depth, EXPR_TUPLE);
    case 2: return make_index(m, depth);
    case 3: return make_project(m, depth);
    case 4: return make_if(m, depth);
    case 5: return make_while(m, depth);
    case 6: return make_handle(m, depth);
    case 7: {
        expr *e = make_node(m, EXPR_FN);
        e->u.fn = make_fn(m, depth, false);
        return e;
    }
    case 8: return make_chain(m, depth);
    case 9: return make_tensor(m, depth);
    case 10:
    case 11:
    case 12: return make_call(m, depth);
    case 13:
    case 14:
    case 15:
    case 16: return make_operator(m, depth);
    default: return make_leaf(m);
    }
}

expr *make_tree(arena *a, uint64_t seed) {
    maker m = {.a = a, .state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1};
    return make_lines(&m, 5, 6);
}
