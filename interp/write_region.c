/* Regions as blocks: a line for each node that does not wait to be folded, branches and loops, and the copies and
 * drops that ownership asks for. A loop owns what it is given and what its body yields, while a graph knows no
 * owners: it may read a loop's init again behind it, or yield one value twice. */
#include "interp/writing.h"

#include <limits.h>

/* ---- lines ---- */

static item *new_line(writing *w, lines *l, item_kind kind) {
    item *it = write_line(w, l, kind);
    if (it != NULL) write_heading(w, l, &it->before, l->count == 1);
    return it;
}

/* A result that is dropped where it is bound, which `_` says. */
static bool is_dropped(const writing *w, var v) {
    const written *of = &w->vars[v];
    return of->reads == 1 && of->read_by != NULL && of->read_by->kind == NODE_DROP &&
           of->read_in == graph_at(w->g, v)->home && graph_at(w->g, v)->maker != NULL;
}

pattern *write_bind(writing *w, var v) {
    written *of = &w->vars[v];
    if (of->reads == 0 || is_dropped(w, v)) return write_pattern(w, PATTERN_IGNORE);
    pattern *p = write_pattern(w, PATTERN_NAME);
    of->bound = true;
    if (!w->failed) p->symbol = &of->symbol;
    return p;
}

/* One pattern, or a tuple of them. */
static pattern *grouped(writing *w, int count, pattern **items) {
    if (count == 1) return items[0];
    pattern *p = write_pattern(w, PATTERN_TUPLE);
    if (w->failed) return p;
    p->count = count;
    p->items = items;
    return p;
}

static pattern *bind_outs(writing *w, const node *n, int from, int count) {
    pattern **items = WRITE_ARRAY(w, pattern *, count);
    if (items == NULL) return write_pattern(w, PATTERN_IGNORE);
    for (int i = 0; i < count; i++) items[i] = write_bind(w, n->out[from + i]);
    return grouped(w, count, items);
}

static item *let(writing *w, lines *l, pattern *p, expr *bound) {
    item *it = new_line(w, l, ITEM_LET);
    if (it == NULL) return NULL;
    it->pattern = p;
    it->value = bound;
    return it;
}

static item *statement(writing *w, lines *l, expr *done) {
    item *it = new_line(w, l, ITEM_EXPR);
    if (it == NULL) return NULL;
    it->value = done;
    it->semicolon = true;
    return it;
}

/* ---- long lines ---- */

/* Places the value that waits for v above the line that would read it. */
static void place(writing *w, lines *l, var v) {
    written *of = write_of(w, v);
    const node *n = of->made_by;
    bool tape = graph_at(w->g, v)->tape != NULL;
    expr *waiting = tape ? of->value : write_alone(w, (dtype)graph_type(w->g, v)->dtype, of->value);
    of->value = NULL;
    of->made_by = NULL;
    item *it = let(w, l, write_bind(w, write_same(w, v)), waiting);
    if (it == NULL) return;
    if (n->kind == NODE_TAPE) it->type = write_var_type(w, v);
    write_answer(w, l, it, n, false);
}

/* How long a line is that reads these, if those that are wider than `most` are placed; and the widest of the
 * others. */
static int line_width(const writing *w, int count, const var *in, int most, int *widest) {
    enum { AROUND = 20, NAME = 4 };     /* the name that is bound and the op's; that of an operand */
    int sum = AROUND;
    *widest = 0;
    for (int k = 0; k < count; k++) {
        const written *of = write_of(w, in[k]);
        int own = of->value != NULL ? write_width(of->value) : NAME;
        bool waits = of->value != NULL && own <= most;
        if (waits && own > *widest) *widest = own;
        sum += 2 + (waits ? own : NAME);
    }
    return sum;
}

/* Places waiting operands, the longest ones, until the others leave the line short enough. */
static void settle(writing *w, lines *l, int count, const var *in) {
    int most = INT_MAX, widest;
    while (line_width(w, count, in, most, &widest) > WRITE_WIDTH && widest > 0) most = widest - 1;
    for (int k = 0; most < INT_MAX && k < count; k++) {
        const written *of = write_of(w, in[k]);
        if (of->value != NULL && write_width(of->value) > most) place(w, l, in[k]);
    }
}

/* ---- what ownership asks for ---- */

static bool is_owned(const writing *w, var v) {
    return graph_at(w->g, v)->tape == NULL && graph_type(w->g, v)->rank > 0;
}

static expr *copied(writing *w, expr *e) {
    return write_call_of(w, "copy", 1, &e);
}

/* Whether v is bound outside of a loop's body around `at`. */
static bool outside_of_loop(const writing *w, const region *at, var v) {
    const region *home = graph_at(w->g, v)->home;
    for (const region *r = at; r != NULL && r != home; r = r->outer)
        if (r->holder != NULL && r->holder->kind == NODE_WHILE) return true;
    return false;
}

/* The i-th of the variables that a loop takes over. */
static expr *given(writing *w, const region *r, const node *n, int i) {
    var v = write_same(w, n->in[i]);
    bool again = w->vars[v].last_read > w->place;
    for (int k = i + 1; k < n->n; k++) again = again || write_same(w, n->in[k]) == v;
    bool waits = w->vars[v].value != NULL;
    expr *e = write_read(w, v);
    return is_owned(w, v) && !waits && (again || outside_of_loop(w, r, v)) ? copied(w, e) : e;
}

/* The i-th of a region's results, where an owner takes it. */
static expr *yielded(writing *w, const region *r, int i) {
    var v = write_same(w, r->results[i]);
    bool waits = w->vars[v].value != NULL, again = false;
    for (int k = 0; k < i; k++) again = again || write_same(w, r->results[k]) == v;
    expr *e = write_read_alone(w, v);
    return is_owned(w, v) && !waits && (again || graph_at(w->g, v)->home != r) ? copied(w, e) : e;
}

/* ---- blocks ---- */

static void write_nodes(writing *w, const region *r, lines *l);

static expr *block_of(writing *w, lines *l, expr *tail, bool braces) {
    expr *e = write_expr_new(w, EXPR_BLOCK);
    if (w->failed) return e;
    e->u.block.count = l->count;
    e->u.block.items = l->list;
    e->u.block.tail = tail;
    e->u.block.braces = braces;
    write_heading(w, l, &e->u.block.before_tail, l->count == 0);
    return e;
}

static expr *results_of(writing *w, const region *r, bool owned) {
    expr **items = WRITE_ARRAY(w, expr *, r->result_count);
    if (w->failed || r->result_count == 0) return NULL;
    for (int i = 0; i < r->result_count; i++)
        items[i] = owned ? yielded(w, r, i) : write_read_alone(w, r->results[i]);
    return r->result_count == 1 ? items[0] : write_list(w, EXPR_TUPLE, r->result_count, items);
}

/* Whether the last line binds exactly what the region results in, under names of nobody's choice. */
static bool ends_in_results(const writing *w, const region *r, const lines *l) {
    const node *n = r->count > 0 ? r->nodes[r->count - 1] : NULL;
    if (n == NULL || l->count == 0 || l->list[l->count - 1].kind != ITEM_LET || n->m != r->result_count)
        return false;
    if (n->kind != NODE_IF && n->kind != NODE_WHILE && n->kind != NODE_CALL) return false;
    for (int i = 0; i < n->m; i++) {
        const written *of = &w->vars[n->out[i]];
        if (r->results[i] != n->out[i] || of->reads != 1 || of->wish != NULL) return false;
    }
    return true;
}

static expr *finish(writing *w, const region *r, lines *l, bool owned) {
    w->place++;
    if (!w->failed && ends_in_results(w, r, l)) {
        item *last = &l->list[--l->count];
        expr *e = block_of(w, l, last->value, true);
        if (!w->failed) e->u.block.before_tail = last->before;
        return e;
    }
    settle(w, l, r->result_count, r->results);
    return block_of(w, l, results_of(w, r, owned), true);
}

expr *write_block(writing *w, const region *r) {
    lines l = {0};
    write_nodes(w, r, &l);
    return finish(w, r, &l, w->loops);
}

expr *write_body(writing *w, const region *r) {
    lines l = {.heading = w->g->backward_from != VAR_NONE ? "// forward" : NULL};
    write_nodes(w, r, &l);
    return finish(w, r, &l, false);
}

/* ---- branches ---- */

/* A block that is nothing but an if is the `else if` of the one around it. */
static expr *otherwise_of(writing *w, const region *r) {
    expr *e = write_block(w, r);
    bool chains = !w->failed && e->u.block.count == 0 && e->u.block.tail != NULL &&
                  e->u.block.tail->kind == EXPR_IF && e->u.block.before_tail.count == 0;
    return chains ? e->u.block.tail : e;
}

static void write_if(writing *w, const node *n, lines *l) {
    expr *e = write_expr_new(w, EXPR_IF);
    expr *condition = write_read(w, n->in[0]);
    expr *then = write_block(w, n->inside[0]), *otherwise = otherwise_of(w, n->inside[1]);
    if (w->failed) return;
    e->u.if_.condition = condition;
    e->u.if_.then = then;
    e->u.if_.otherwise = otherwise;
    item *it = n->m == 0 ? statement(w, l, e) : let(w, l, bind_outs(w, n, 0, n->m), e);
    if (it != NULL) write_answer(w, l, it, n, true);
}

/* ---- loops ---- */

/* A literal init, or an empty tape, says its type in the carry's annotation. */
static void write_carry(writing *w, const region *r, const node *n, int i, carry *c) {
    var of = n->inside[1]->params[i];
    dtype t = (dtype)graph_type(w->g, of)->dtype;
    c->init = given(w, r, n, i);
    if (w->failed) return;
    c->symbol = &w->vars[of].symbol;
    w->vars[of].bound = true;
    bool tape = graph_at(w->g, of)->tape != NULL;
    bool literal = !tape && write_flexible(c->init) && t != DT_F32 && t != DT_I32;
    if (literal || (tape && c->init->kind == EXPR_CALL)) c->type = write_var_type(w, of);
}

/* The condition reads the carries under the names that the body gives them. */
static expr *write_condition(writing *w, const node *n) {
    const region *r = n->inside[0];
    lines l = {0};
    for (int i = 0; i < r->param_count; i++) w->vars[r->params[i]].same = n->inside[1]->params[i];
    write_nodes(w, r, &l);
    w->place++;
    expr *last = write_read(w, r->results[0]);
    return l.count == 0 ? last : block_of(w, &l, last, false);
}

/* A carried tensor that the body does not read has to be dropped in it. */
static expr *write_loop_body(writing *w, const region *r) {
    lines l = {0};
    for (int i = 0; i < r->param_count; i++) {
        var v = r->params[i];
        if (!is_owned(w, v) || w->vars[v].reads > 0) continue;
        expr *name = write_var(w, v);
        statement(w, &l, write_call_of(w, "drop", 1, &name));
    }
    write_nodes(w, r, &l);
    return finish(w, r, &l, true);
}

/* How a loop was asked to be checkpointed. */
static void write_policy(writing *w, const node *n, item *it) {
    if (n->policy.words != NULL) {
        const char *line = arena_format(w->a, "// @checkpoint(%s) in the source: the bits are the same", n->policy.words);
        if (line == NULL) w->failed = true;
        write_comment(w, &it->before, line);
    }
    if (n->policy.k == 0 || it->kind != ITEM_LET) return;
    decorator *d = WRITE_ARRAY(w, decorator, 1);
    decorator_option *o = WRITE_ARRAY(w, decorator_option, 1);
    if (w->failed) return;
    *o = (decorator_option){.name = "k", .value = write_integer(w, n->policy.k)};
    *d = (decorator){.name = "checkpoint", .count = 1, .options = o};
    it->decorators = d;
}

/* The first of the carried values up to the last that is read; a tape has to be taken, if by `_`. */
static int wanted_outs(const writing *w, const node *n) {
    int count = n->m;
    while (count > 0 && w->vars[n->out[count - 1]].reads == 0 &&
           graph_at(w->g, n->out[count - 1])->tape == NULL)
        count--;
    return count;
}

static void write_while(writing *w, const region *r, const node *n, lines *l) {
    expr *e = write_expr_new(w, EXPR_WHILE);
    carry *carries = WRITE_ARRAY(w, carry, n->n);
    if (w->failed) return;
    for (int i = 0; i < n->n && !w->failed; i++) write_carry(w, r, n, i, &carries[i]);
    expr *condition = write_condition(w, n), *body = write_loop_body(w, n->inside[1]);
    if (w->failed) return;
    e->u.while_.condition = condition;
    e->u.while_.count = n->n;
    e->u.while_.carries = carries;
    e->u.while_.body = body;
    int count = wanted_outs(w, n);
    item *it = count == 0 ? statement(w, l, e) : let(w, l, bind_outs(w, n, 0, count), e);
    if (it == NULL) return;
    write_answer(w, l, it, n, true);
    write_policy(w, n, it);
}

/* ---- effects ---- */

static void write_print(writing *w, const node *n, lines *l) {
    expr **args = WRITE_ARRAY(w, expr *, n->string_count);
    if (w->failed) return;
    for (int i = 0, next = 0; i < n->string_count; i++)
        args[i] = n->strings[i] != NULL ? write_string(w, n->strings[i])
                                        : write_read_alone(w, n->in[next++]);
    statement(w, l, write_call_of(w, "print", n->string_count, args));
}

static void write_assert(writing *w, const node *n, lines *l) {
    const char *message = n->string_count > 0 ? n->strings[0] : "";
    expr *args[2] = {write_read(w, n->in[0]), message[0] != '\0' ? write_string(w, message) : NULL};
    statement(w, l, write_call_of(w, "assert", args[1] != NULL ? 2 : 1, args));
}

static void write_save(writing *w, const node *n, lines *l) {
    const char *stored = n->strings[1];
    expr *args[3] = {write_string(w, n->strings[0]), write_read_alone(w, n->in[0]),
                     stored != NULL ? write_name(w, stored) : NULL};
    statement(w, l, write_call_of(w, "save", stored != NULL ? 3 : 2, args));
}

/* ---- other nodes ---- */

/* pop gives the tape and what was pushed, which may be a tuple. */
static pattern *bind_popped(writing *w, const node *n) {
    pattern **items = WRITE_ARRAY(w, pattern *, 2);
    if (items == NULL) return write_pattern(w, PATTERN_IGNORE);
    items[0] = write_bind(w, n->out[0]);
    items[1] = bind_outs(w, n, 1, n->m - 1);
    return grouped(w, 2, items);
}

static void write_let(writing *w, const node *n, lines *l) {
    expr *made = write_value(w, n);
    if (n->kind == NODE_OP || n->kind == NODE_NUMBER || n->kind == NODE_LITERAL || n->kind == NODE_SIZE)
        made = write_alone(w, (dtype)graph_type(w->g, n->out[0])->dtype, made);
    item *it = let(w, l, n->kind == NODE_POP ? bind_popped(w, n) : bind_outs(w, n, 0, n->m), made);
    if (it == NULL) return;
    if (n->kind == NODE_TAPE) it->type = write_var_type(w, n->out[0]);
    if (n->kind == NODE_LOAD) it->type = write_opened_type(w, n->out[0]);
    write_answer(w, l, it, n, false);
}

static void write_node(writing *w, const region *r, const node *n, lines *l) {
    if (n->kind == NODE_DROP && is_dropped(w, write_same(w, n->in[0]))) return;
    settle(w, l, n->n, n->in);
    switch ((node_kind)n->kind) {
    case NODE_IF: write_if(w, n, l); return;
    case NODE_WHILE: write_while(w, r, n, l); return;
    case NODE_PRINT: write_print(w, n, l); return;
    case NODE_ASSERT: write_assert(w, n, l); return;
    case NODE_SAVE: write_save(w, n, l); return;
    case NODE_DROP: {
        expr *tape = write_read(w, n->in[0]);
        statement(w, l, write_call_of(w, "drop", 1, &tape));
        return;
    }
    default: write_let(w, n, l); return;
    }
}

/* Whether the function's backward part has begun. */
static bool is_backward(const writing *w, const node *n) {
    if (w->g->backward_from == VAR_NONE || n->m == 0 || n->out[0] < w->g->backward_from) return false;
    return n->answers.end > n->answers.begin || graph_at(w->g, n->out[0])->derivative_of != VAR_NONE;
}

static void write_nodes(writing *w, const region *r, lines *l) {
    bool backward = r != w->g->top;
    for (int i = 0; i < r->count && !w->failed; i++) {
        const node *n = r->nodes[i];
        if (!backward && is_backward(w, n)) {
            backward = true;
            l->heading = "// backward";
        }
        w->place++;
        if (!write_waits(w, n, r)) {
            write_node(w, r, n, l);
            continue;
        }
        settle(w, l, n->n, n->in);
        write_wait(w, n);
    }
}
