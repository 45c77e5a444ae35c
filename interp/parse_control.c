/* if, while and handle. */
#include "interp/parse.h"

#include <string.h>

/* ---- conditions ---- */

/* True at `[ NAME =`, where a loop's carried values begin. */
static bool at_carries(const parser *p) {
    if (p->now.kind != TOKEN_BRACKET_OPEN) return false;
    lexer copy = p->lex;
    if (lexer_next(&copy).kind != TOKEN_NAME) return false;
    return lexer_next(&copy).kind == TOKEN_ASSIGN;
}

/* Passes over the rest of a condition that went beyond its parentheses, or had none, to what
 * follows it. Where that cannot be found the statement is given up. */
static void skip_condition(parser *p, bool loop) {
    for (;;) {
        token_kind kind = p->now.kind;
        bool beyond = kind == TOKEN_END || kind == TOKEN_SEMICOLON || kind == TOKEN_BRACE_OPEN ||
                      kind == TOKEN_BRACE_CLOSE || kind == TOKEN_LET || kind == TOKEN_FN;
        if (loop && at_carries(p)) return;
        if (beyond && (loop || kind != TOKEN_BRACE_OPEN)) p->panic = true;
        if (beyond) return;
        parse_advance(p);
    }
}

/* ( expr ); `keyword` is the if or while before it. NULL after skipping a condition that cannot be
 * read. */
static expr *parse_condition(parser *p, const char *keyword, bool loop) {
    const char *form = loop ? "while (c) [x = init] { ... }" : "if (c) { ... } else { ... }";
    if (p->now.kind != TOKEN_PAREN_OPEN) {
        if (parse_may_report(p)) {
            diag *e = diag_error(p->d, ERROR_K0024, p->now.at, "expected `(` after `%s`", keyword);
            diag_add_help(p->d, e, "a condition stands in parentheses: `%s`", form);
        }
        skip_condition(p, loop);
        return NULL;
    }
    token open = p->now;
    parse_advance(p);
    if (!parse_enter(p)) return NULL;
    expr *condition = parse_expr(p);
    if (condition == NULL || !parse_close(p, &open, TOKEN_PAREN_CLOSE)) return NULL;
    parse_leave(p);
    bool goes_on = parse_at_infix(p) || p->now.kind == TOKEN_DOT ||
                   (!loop && p->now.kind == TOKEN_BRACKET_OPEN);
    /* Without a `{` further on it is the branch that has lost its brace. */
    if (!loop && parse_first_mark(p, false) != TOKEN_BRACE_OPEN) goes_on = false;
    if (goes_on) {
        if (parse_may_report(p)) {
            diag *e =
                diag_error(p->d, ERROR_K0024, p->now.at, "the condition goes on after its `)`");
            diag_add_help(p->d, e, "put one pair of parentheses around the whole condition");
        }
        skip_condition(p, loop);
    }
    return condition;
}

/* ---- if ---- */

/* if ( expr ) block, without what follows. */
static expr *parse_if_head(parser *p) {
    span keyword = p->now.at;
    parse_advance(p);
    expr *e = parse_new(p, EXPR_IF, keyword, keyword);
    if (e == NULL) return NULL;
    e->u.if_.condition = parse_condition(p, "if", false);
    e->u.if_.then = p->panic ? NULL : parse_block(p, "before the branch");
    return p->panic ? NULL : e;
}

static void report_no_else(parser *p, const expr *e) {
    if (!parse_may_report(p)) return;
    diag *d = diag_error(p->d, ERROR_K0015, (span){p->end, p->end}, "an `if` without `else`");
    diag_add_label(p->d, d, e->mark, "this `if`");
    const char *help = p->now.kind == TOKEN_NAME ? parse_foreign_word(p, p->now.at) : NULL;
    if (help == NULL && p->now.kind == TOKEN_BRACE_OPEN) help = "write `else` before the block";
    if (help == NULL) help = "an `if` that does nothing otherwise ends in `else { }`";
    diag_add_help(p->d, d, "%s", help);
}

/* if ( expr ) block else (block | if ...). A chain of `else if` is read by a loop. */
expr *parse_if(parser *p) {
    expr *first = parse_if_head(p), *last = first;
    while (last != NULL) {
        if (p->now.kind != TOKEN_ELSE) {
            report_no_else(p, last);
            if (p->now.kind == TOKEN_BRACE_OPEN) last->u.if_.otherwise = parse_block(p, "");
            if (parse_foreign_word(p, p->now.at) != NULL) p->panic = true;
            break;
        }
        parse_advance(p);
        if (p->now.kind != TOKEN_IF) {
            last->u.if_.otherwise = parse_block(p, "after `else`");
            break;
        }
        last->u.if_.otherwise = parse_if_head(p);
        last = last->u.if_.otherwise;
    }
    if (p->panic) return NULL;
    for (expr *e = first; e != NULL && e->kind == EXPR_IF; e = e->u.if_.otherwise)
        e->at.end = p->end;
    return first;
}

/* ---- while ---- */

/* carry := NAME [: type] = expr */
static bool parse_carry(parser *p, carry *out) {
    if (p->now.kind != TOKEN_NAME) {
        parse_unexpected(p, "a carried name");
        return false;
    }
    out->at = p->now.at;
    out->name = parse_name(p);
    if (p->now.kind == TOKEN_COLON) {
        parse_advance(p);
        out->type = parse_type(p);
        if (out->type == NULL) return false;
    }
    if (!parse_expect(p, TOKEN_ASSIGN, "and the first value after the carried name")) return false;
    out->init = parse_expr(p);
    return out->init != NULL;
}

static bool parse_carries(parser *p, expr *e) {
    token open = p->now;
    if (open.kind != TOKEN_BRACKET_OPEN) {
        diag *d = parse_unexpected(p, "`[` and the carried values");
        if (d != NULL)
            diag_add_help(p->d, d,
                          "a loop names what it carries: `while (i < n) [i = 0] { i + 1 }`");
        return false;
    }
    parse_advance(p);
    if (!parse_enter(p)) return false;
    if (p->now.kind == TOKEN_BRACKET_CLOSE) {
        span brackets = {open.at.begin, p->now.at.end};
        if (!parse_fails(p)) return false;
        diag *d = diag_error(p->d, ERROR_K0027, brackets, "a loop that carries nothing");
        diag_add_help(p->d, d,
                      "only what a loop carries can change: `while (i < n) [i = 0] { i + 1 }`");
        return false;
    }
    size_t mark = p->used;
    bool more = true;
    while (more) {
        carry one = {0};
        if (!parse_carry(p, &one) || !parse_push(p, &one, sizeof one)) return false;
        if (!parse_more(p, &open, TOKEN_BRACKET_CLOSE, &more)) return false;
    }
    parse_leave(p);
    e->u.while_.carries = parse_take(p, mark, sizeof(carry), &e->u.while_.count);
    return !p->panic;
}

/* while ( expr ) [ carry, ... ] block */
expr *parse_while(parser *p, decorator *decorators) {
    span keyword = p->now.at;
    uint32_t begin = decorators != NULL ? decorators->at.begin : keyword.begin;
    parse_advance(p);
    expr *e = parse_new(p, EXPR_WHILE, keyword, keyword);
    if (e == NULL) return NULL;
    for (const decorator *d = decorators; d != NULL; d = d->next) {
        if (strcmp(d->name, "vjp") != 0 && strcmp(d->name, "jvp") != 0) continue;
        if (!parse_may_report(p)) break;
        diag *w = diag_error(p->d, ERROR_K0018, d->at, "`@%s` before a loop", d->name);
        diag_add_help(p->d, w, "a rule stands before the `fn` that it belongs to");
    }
    e->u.while_.decorators = decorators;
    e->u.while_.condition = parse_condition(p, "while", true);
    if (p->panic || !parse_carries(p, e)) return NULL;
    e->u.while_.body = parse_block(p, "before the loop's body");
    e->at = parse_since(p, begin);
    return p->panic ? NULL : e;
}

/* ---- handle ---- */

static void report_no_call(parser *p, const expr *what) {
    if (!parse_may_report(p)) return;
    diag *e = diag_error(p->d, ERROR_K0022, what->at, "`handle` needs the call of a function");
    diag_add_help(p->d, e,
                  "write `handle f(x) with ...`; a longer expression goes into a function first");
}

const char *const parse_handlers[PARSE_HANDLERS] = {"reverseMode", "forwardMode"};

static bool parse_handler_name(parser *p, expr *e) {
    const char *const *handlers = parse_handlers;
    if (p->now.kind != TOKEN_NAME) {
        parse_unexpected(p, "`reverseMode` or `forwardMode` after `with`");
        return false;
    }
    span at = p->now.at;
    const char *name = parse_name(p);
    if (name == NULL) return false;
    for (int i = 0; i < PARSE_HANDLERS; i++) {
        if (strcmp(name, handlers[i]) != 0) continue;
        e->u.handle.forward = i == 1;
        return true;
    }
    if (!parse_may_report(p)) return true;
    diag *d = diag_error(p->d, ERROR_K0023, at, "no handler `%s`", name);
    bool forward = names_distance(name, handlers[1], 4) <= 4;
    bool reverse = names_distance(name, handlers[0], 4) <= 4;
    if (forward || reverse) {
        diag_add_help(p->d, d, "did you mean `%s`?", handlers[forward]);
    } else {
        diag_add_help(p->d, d, "the handlers are `reverseMode` and `forwardMode`");
    }
    return true;
}

/* handle postfix with NAME [( argument, ... )] */
expr *parse_handle(parser *p) {
    span keyword = p->now.at;
    parse_advance(p);
    expr *e = parse_new(p, EXPR_HANDLE, keyword, keyword);
    if (e == NULL || !parse_enter(p)) return NULL;
    expr *call = parse_postfix(p, NULL, NULL);
    if (call == NULL) return NULL;
    parse_leave(p);
    e->u.handle.call = call;
    if (p->now.kind == TOKEN_WITH && call->kind != EXPR_CALL) report_no_call(p, call);
    if (p->now.kind != TOKEN_WITH) {
        bool infix = parse_at_infix(p);
        diag *d = parse_unexpected(p, "`with` and a handler");
        if (d != NULL && infix) {
            diag_add_help(p->d, d,
                          "`handle` takes one call; put a longer expression into a function first");
        } else if (d != NULL) {
            diag_add_help(p->d, d, "write `handle f(x) with reverseMode`");
        }
        return NULL;
    }
    parse_advance(p);
    if (!parse_handler_name(p, e)) return NULL;
    if (p->now.kind == TOKEN_PAREN_OPEN) {
        e->u.handle.options = parse_arguments(p, &e->u.handle.count);
        if (p->panic) return NULL;
    }
    e->at = parse_since(p, keyword.begin);
    return e;
}
