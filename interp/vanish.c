/* What vanish.h promises. */
#include "interp/vanish.h"

#include <string.h>

#include "ad/tape_view.h"
#include "interp/lexer.h"
#include "runtime/context.h"
#include "runtime/watch.h"

enum { CUTS = 64 };

/* An op without a derivative that something on the tape went into. */
typedef struct cut {
    uint32_t operand;           /* its record */
    op_id op;
    span where;
} cut;

typedef struct search {
    context *c;
    int which;
    cut cuts[CUTS];
    int count;
    bool path;                  /* derivatives lead from the parameter to the result */
    vanish found;
} search;

/* ---- the text ---- */

static const expr *handle_of(const engine *e) {
    const expr *tail = e->program.main.body->u.block.tail;
    return tail != NULL && tail->kind == EXPR_HANDLE ? tail : NULL;
}

static const fn_decl *called(const expr *call) {
    const expr *callee = call->u.call.builtin == NULL ? call->u.call.callee : NULL;
    const symbol *s = callee != NULL && callee->kind == EXPR_NAME ? callee->u.name.symbol : NULL;
    return s != NULL ? s->fn : NULL;
}

/* The first stop_gradient in the function's body; 0,0 for none. */
static span stop_in(const engine *e, const fn_decl *fn) {
    static const char word[] = "stop_gradient";
    lexer l;
    lexer_init(&l, &e->src);
    l.position = fn->body->at.begin;
    for (token t = lexer_next(&l); t.kind != TOKEN_END && t.at.begin < fn->body->at.end; t = lexer_next(&l)) {
        bool same = t.kind == TOKEN_NAME && t.at.end - t.at.begin == sizeof word - 1;
        if (same && memcmp(e->src.text + t.at.begin, word, sizeof word - 1) == 0) return t.at;
    }
    return (span){0, 0};
}

/* ---- the tape ---- */

/* reach[i]: record i depends on the parameter. False: the tape does not hold all of the run. */
static bool walk(const tape *t, const tape_range *range, bool *reach) {
    for (uint32_t i = range->body; i < range->end;) {
        tape_entry entry = tape_view_entry(t, i);
        if (entry.kind == ENTRY_CHECKPOINT || entry.kind == ENTRY_FORGOTTEN) return false;
        bool computed = entry.kind == ENTRY_OP || entry.kind == ENTRY_SCALAR;
        for (uint32_t k = 0; computed && k < entry.operands; k++) {
            uint32_t operand = tape_view_operand(t, i, k);
            reach[i] = reach[i] || (operand < range->end && reach[operand]);
        }
        i = entry.next;
    }
    return true;
}

static void find_cut(search *s, const bool *reach, uint32_t end) {
    s->found = (vanish){.cause = VANISH_APART};
    for (int i = 0; i < s->count; i++) {
        if (s->cuts[i].operand >= end || !reach[s->cuts[i].operand]) continue;
        s->found = (vanish){VANISH_CUT, op_table[s->cuts[i].op].surface, s->cuts[i].where};
        if (s->found.op[0] == '\0') s->found.op = op_table[s->cuts[i].op].name;
        return;
    }
}

/* The last outermost sweep of the run is the final expression's. */
static bool before_sweep(void *self, const tape *t, const tape_range *range) {
    search *s = self;
    uint32_t parameter = range->first + (uint32_t)s->which;
    s->found = (vanish){.cause = VANISH_UNKNOWN};
    s->path = false;
    if (parameter >= range->body) return true;
    bool *reach = take_zeroed(s->c, range->end);
    if (reach == NULL) return false;
    reach[parameter] = true;
    if (walk(t, range, reach)) {
        s->path = range->primal > 0 && reach[range->primal];
        if (!s->path) find_cut(s, reach, range->end);
    }
    give_back(s->c, reach, range->end);
    return true;
}

static bool replayed(void *self, const replay_step *step) {
    (void)self;
    (void)step;
    return true;
}

/* ---- the ops ---- */

static bool all_zeros(const value *v) {
    if (v->kind == VALUE_NUMBER) return value_as_double(v) == 0;
    element_walk at = element_walk_of(v->as.t);
    for (int64_t i = 0; i < v->as.t->size; i++, element_walk_on(&at)) {
        const void *data = v->as.t->data;
        if (v->dtype == DT_F32 ? ((const float *)data)[at.offset] != 0 : ((const double *)data)[at.offset] != 0) return false;
    }
    return true;
}

static bool is_floating(const value *v) {
    return (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) && dtype_floating((dtype)v->dtype);
}

/* Something that is not 0 went in, and nothing but zeros comes out. */
static bool makes_zeros(const op_call *call, const value *out) {
    if (!is_floating(out) || value_size(out) == 0 || !all_zeros(out)) return false;
    for (int k = 0; k < call->n; k++) {
        if (is_floating(&call->in[k]) && !all_zeros(&call->in[k])) return true;
    }
    return false;
}

static bool look(void *self, context *c, const op_call *call, const value *out) {
    search *s = self;
    if (c->sweeping) {
        if (s->path && s->found.cause == VANISH_UNKNOWN && makes_zeros(call, out)) {
            s->found = (vanish){.cause = VANISH_ZERO, .where = call->where};
        }
        return true;
    }
    bool ends = op_table[call->op].rule == OP_RULE_NONE || !is_floating(out);
    for (int k = 0; ends && k < call->n && s->count < CUTS; k++) {
        if (call->in[k].index != 0) s->cuts[s->count++] = (cut){call->in[k].index, call->op, call->where};
    }
    return true;
}

/* ---- all of it ---- */

static bool run_again(engine *e, search *s) {
    const tape_observer observer = {.self = s, .before_sweep = before_sweep, .replayed = replayed};
    watch looking;
    results again = {.count = 0};
    watch_open(&looking, e->c, look, s);
    e->c->tape_observer = &observer;
    bool ok = engine_run(e, &again);
    e->c->tape_observer = NULL;
    watch_close(&looking, e->c);
    results_release(e->c, &again);
    return ok;
}

bool vanish_find(engine *e, int which, vanish *out) {
    const expr *handle = handle_of(e);
    search s = {.c = e->c, .which = which};
    *out = (vanish){.cause = VANISH_UNKNOWN};
    if (handle == NULL || which >= handle->u.handle.wrt_count) return true;
    const fn_decl *fn = called(handle->u.handle.call);
    if (!run_again(e, &s)) return false;
    *out = s.found;
    span stop = fn != NULL ? stop_in(e, fn) : (span){0, 0};
    if (out->cause == VANISH_APART && stop.end > 0) *out = (vanish){.cause = VANISH_STOPPED, .where = stop};
    return true;
}

enum { SHOWN = 30 };

/* The text there, its beginning if it is long or goes over lines. */
static void add_source(text *t, const source *src, span at) {
    uint32_t length = at.end - at.begin, shown = 0;
    const char *words = src->text + at.begin;
    while (shown < length && shown < SHOWN && words[shown] != '\n') shown++;
    while (shown < length && ((unsigned char)words[shown] & 0xC0) == 0x80) shown++;
    text_add_bytes(t, words, shown);
    if (shown < length) text_add(t, "…");
}

void vanish_print(text *t, const source *src, const vanish *v) {
    uint32_t line = 0, column = 0;
    if (v->where.end > 0) source_position(src, v->where.begin, &line, &column);
    switch (v->cause) {
    case VANISH_UNKNOWN: return;
    case VANISH_STOPPED: text_add(t, "it goes into `stop_gradient`"); break;
    case VANISH_CUT: text_format(t, "it goes into `%s`, which has no derivative", v->op); break;
    case VANISH_APART: text_add(t, "no derivative leads from it to the result"); break;
    case VANISH_ZERO:
        text_add(t, "the way back is 0 from `");
        add_source(t, src, v->where);
        text_add(t, "` on");
        break;
    }
    if (line == 0) return;
    text_format(t, ", at line %u", line);
    const char *file = source_elsewhere(src, v->where.begin);
    if (file != NULL) text_format(t, " of %s", file);
}
