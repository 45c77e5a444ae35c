/* What may stand behind an operand: calls, subscripts, projections, methods. A run of them is read by a loop, so its
 * length is no nesting. */
#include "interp/parse.h"

#include <string.h>

/* argument := [NAME =] expr; `now` is the `(`. */
argument *parse_arguments(parser *p, int *count) {
    token open = p->now;
    parse_advance(p);
    *count = 0;
    if (!parse_enter(p)) return NULL;
    size_t mark = p->used;
    bool more = p->now.kind != TOKEN_PAREN_CLOSE;
    if (!more && !parse_close(p, &open, TOKEN_PAREN_CLOSE)) return NULL;
    while (more) {
        argument one = {0};
        if (p->now.kind == TOKEN_NAME && parse_peek(p).kind == TOKEN_ASSIGN) {
            one.name_at = p->now.at;
            one.name = parse_name(p);
            parse_advance(p);
        }
        one.value = parse_expr(p);
        if (one.value == NULL || !parse_push(p, &one, sizeof one)) return NULL;
        if (!parse_more(p, &open, TOKEN_PAREN_CLOSE, &more)) return NULL;
    }
    parse_leave(p);
    return parse_take(p, mark, sizeof(argument), count);
}

static expr *parse_call(parser *p, expr *callee) {
    expr *e =
        parse_new(p, EXPR_CALL, callee->at, callee->kind == EXPR_NAME ? callee->at : callee->mark);
    if (e == NULL) return NULL;
    e->u.call.callee = callee;
    e->u.call.args = parse_arguments(p, &e->u.call.count);
    e->at = parse_since(p, callee->at.begin);
    return p->panic ? NULL : e;
}

/* x.f(a): f's call with x in front. `now` is the name. */
static expr *parse_method(parser *p, expr *base) {
    span at = p->now.at;
    expr *callee = parse_new(p, EXPR_NAME, at, at);
    expr *e = parse_new(p, EXPR_CALL, base->at, at);
    if (e == NULL || callee == NULL) return NULL;
    callee->u.name.name = parse_name(p);
    if (p->panic) return NULL;
    int count = 0;
    argument *rest = NULL;
    if (p->now.kind == TOKEN_PAREN_OPEN) {
        rest = parse_arguments(p, &count);
    } else if (parse_may_report(p)) {
        diag *d = diag_error(p->d, ERROR_K0025, at, "`.%s` without arguments", callee->u.name.name);
        diag_add_help(
            p->d, d,
            "there are no fields: `x.f(a)` calls `f(x, a)`, `t.0` is a tuple's first value");
    }
    if (p->panic) return NULL;
    argument *args = ARENA_ARRAY(p->a, argument, count + 1);
    if (args == NULL) {
        parse_stop(p);
        return NULL;
    }
    args[0].value = base;
    if (count > 0) memcpy(args + 1, rest, sizeof *rest * (size_t)count);
    e->u.call.callee = callee;
    e->u.call.args = args;
    e->u.call.count = count + 1;
    e->u.call.method = true;
    e->at = parse_since(p, base->at.begin);
    return e;
}

static expr *parse_dot(parser *p, expr *base) {
    parse_advance(p);
    if (p->now.kind == TOKEN_NAME) return parse_method(p, base);
    if (p->now.kind != TOKEN_INT) {
        parse_unexpected(p, "a function's name or a number after `.`");
        return NULL;
    }
    expr *e = parse_new(p, EXPR_PROJECT, (span){base->at.begin, p->now.at.end}, p->now.at);
    if (e == NULL) return NULL;
    e->u.project.base = base;
    if (p->now.unit.end > p->now.unit.begin && parse_may_report(p)) {
        lexer_report(p->src, &(lex_fault){LEX_NUMBER_SUFFIX, p->now.unit, NULL}, p->d);
    } else if (p->now.integer > UINT32_MAX && parse_may_report(p)) {
        diag_error(p->d, ERROR_K0003, p->now.at, "no tuple has so many values");
    }
    e->u.project.field = (uint32_t)p->now.integer;
    parse_advance(p);
    return e;
}

static bool at_subscript_end(const parser *p) {
    token_kind kind = p->now.kind;
    return kind == TOKEN_COLON || kind == TOKEN_COMMA || kind == TOKEN_BRACKET_CLOSE;
}

/* subscript := expr | [expr] : [expr] [: [expr]] */
static bool parse_subscript(parser *p, subscript *out) {
    uint32_t begin = p->now.at.begin;
    expr **const part[3] = {&out->lo, &out->hi, &out->step};
    int i = 0;
    for (;;) {
        if (i > 0 ? !at_subscript_end(p) : p->now.kind != TOKEN_COLON) {
            *part[i] = parse_expr(p);
            if (*part[i] == NULL) return false;
        }
        if (p->now.kind != TOKEN_COLON || i == 2) break;
        out->range = true;
        parse_advance(p);
        i++;
    }
    out->at = parse_since(p, begin);
    return true;
}

static expr *parse_index(parser *p, expr *base) {
    token open = p->now;
    parse_advance(p);
    expr *e = parse_new(p, EXPR_INDEX, base->at, open.at);
    if (e == NULL || !parse_enter(p)) return NULL;
    e->u.index.base = base;
    if (p->now.kind == TOKEN_BRACKET_CLOSE) {
        parse_unexpected(p, "an index");
        return NULL;
    }
    size_t mark = p->used;
    bool more = true;
    while (more) {
        subscript one = {0};
        if (!parse_subscript(p, &one) || !parse_push(p, &one, sizeof one)) return NULL;
        if (!parse_more(p, &open, TOKEN_BRACKET_CLOSE, &more)) return NULL;
    }
    parse_leave(p);
    e->u.index.subscripts = parse_take(p, mark, sizeof(subscript), &e->u.index.count);
    e->at = parse_since(p, base->at.begin);
    e->mark = parse_since(p, open.at.begin);
    return p->panic ? NULL : e;
}

/* postfix := operand ( (args) | [subscripts] | . NAME (args) | . INT )* */
expr *parse_postfix(parser *p, decorator *decorators, const char *after) {
    bool handle = p->now.kind == TOKEN_HANDLE;
    expr *e = parse_operand(p, decorators, after);
    while (e != NULL) {
        token_kind kind = p->now.kind;
        bool postfix = kind == TOKEN_PAREN_OPEN || kind == TOKEN_BRACKET_OPEN || kind == TOKEN_DOT;
        if (!postfix) return e;
        if (handle) {
            diag *d = parse_unexpected(p, "the end of the `handle`");
            if (d != NULL)
                diag_add_help(p->d, d, "write `(handle ... with ...)%s`",
                              kind == TOKEN_DOT ? ".0" : "...");
            return NULL;
        }
        if (kind == TOKEN_PAREN_OPEN) e = parse_call(p, e);
        if (kind == TOKEN_BRACKET_OPEN) e = parse_index(p, e);
        if (kind == TOKEN_DOT) e = parse_dot(p, e);
    }
    return NULL;
}
