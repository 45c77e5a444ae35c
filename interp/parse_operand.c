/* Operands: literals, names, brackets, and the words that begin an expression. */
#include "interp/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- literals ---- */

static expr *parse_int(parser *p) {
    expr *e = parse_new(p, EXPR_INT, p->now.at, p->now.at);
    if (e == NULL) return NULL;
    e->u.integer.magnitude = p->now.integer;
    if (p->now.unit.end > p->now.unit.begin && parse_may_report(p)) {
        lexer_report(p->src, &(lex_fault){LEX_NUMBER_SUFFIX, p->now.unit, NULL}, p->d);
    }
    parse_advance(p);
    return e;
}

static expr *parse_float(parser *p) {
    span at = p->now.at;
    expr *e = parse_new(p, EXPR_FLOAT, at, at);
    if (e == NULL) return NULL;
    const char *digits = arena_text(p->a, p->src->text + at.begin, at.end - at.begin);
    e->u.floating.digits = digits;
    bool read = digits != NULL;
    if (read && p->now.fault.kind == LEX_OK) {
        read = lexer_float(p->a->c, digits, at.end - at.begin, &e->u.floating.value,
                           &e->u.floating.narrow);
    }
    if (!read) {
        parse_stop(p);
        return NULL;
    }
    if (isinf(e->u.floating.value) && parse_may_report(p)) {
        diag *d = diag_error(p->d, ERROR_K0003, at, "a float beyond the range of F64");
        diag_add_help(p->d, d, "the largest F64 is about 1.8e308; `inf` is a literal");
    }
    parse_advance(p);
    return e;
}

static expr *parse_special_float(parser *p, double value, float narrow) {
    expr *e = parse_new(p, EXPR_FLOAT, p->now.at, p->now.at);
    if (e == NULL) return NULL;
    e->u.floating.value = value;
    e->u.floating.narrow = narrow;
    e->u.floating.digits = token_spelling(p->now.kind);
    parse_advance(p);
    return e;
}

static expr *parse_bool(parser *p) {
    expr *e = parse_new(p, EXPR_BOOL, p->now.at, p->now.at);
    if (e == NULL) return NULL;
    e->u.boolean = p->now.kind == TOKEN_TRUE;
    parse_advance(p);
    return e;
}

static expr *parse_string(parser *p) {
    expr *e = parse_new(p, EXPR_STRING, p->now.at, p->now.at);
    if (e == NULL) return NULL;
    e->u.string.bytes = lexer_string(p->a, p->src, p->now.at, &e->u.string.length);
    if (e->u.string.bytes == NULL) {
        parse_stop(p);
        return NULL;
    }
    parse_advance(p);
    return e;
}

/* A name used as a value; `tape` too, whose call makes an empty one. */
static expr *parse_name_expr(parser *p) {
    expr *e = parse_new(p, EXPR_NAME, p->now.at, p->now.at);
    if (e == NULL) return NULL;
    e->u.name.name = parse_name(p);
    return p->panic ? NULL : e;
}

/* ---- brackets ---- */

static void report_one_tuple(parser *p, const expr *only) {
    char shown[32];
    parse_quote(p, only->at, "x", shown, sizeof shown);
    diag *e =
        diag_error(p->d, ERROR_K0013, (span){only->at.end, p->now.at.end}, "a tuple of one value");
    diag_add_help(p->d, e, "a tuple has two values or more; `(%s)` is the value itself", shown);
}

/* ( ) | ( expr ) | ( expr, expr ... ) */
static expr *parse_paren(parser *p) {
    token open = p->now;
    parse_advance(p);
    if (!parse_enter(p)) return NULL;
    size_t mark = p->used;
    bool more = p->now.kind != TOKEN_PAREN_CLOSE;
    if (!more && !parse_close(p, &open, TOKEN_PAREN_CLOSE)) return NULL;
    int count = 0;
    expr *one = NULL;
    while (more) {
        one = parse_expr(p);
        if (one == NULL || !parse_push_pointer(p, one)) return NULL;
        bool comma = p->now.kind == TOKEN_COMMA;
        count++;
        bool single = comma && count == 1 && parse_peek(p).kind == TOKEN_PAREN_CLOSE;
        if (single && parse_may_report(p)) report_one_tuple(p, one);
        if (!parse_more(p, &open, TOKEN_PAREN_CLOSE, &more)) return NULL;
    }
    parse_leave(p);
    span at = parse_since(p, open.at.begin);
    if (count == 1) {
        p->used = mark;
        one->at = at;
        return one;
    }
    expr *e = parse_new(p, EXPR_TUPLE, at, at);
    if (e == NULL) return NULL;
    e->u.list.items = parse_take(p, mark, sizeof(void *), &e->u.list.count);
    return p->panic ? NULL : e;
}

/* [ expr, ... ] */
static expr *parse_list(parser *p) {
    token open = p->now;
    parse_advance(p);
    if (!parse_enter(p)) return NULL;
    size_t mark = p->used;
    bool more = p->now.kind != TOKEN_BRACKET_CLOSE;
    if (!more && !parse_close(p, &open, TOKEN_BRACKET_CLOSE)) return NULL;
    while (more) {
        expr *one = parse_expr(p);
        if (one == NULL || !parse_push_pointer(p, one)) return NULL;
        if (!parse_more(p, &open, TOKEN_BRACKET_CLOSE, &more)) return NULL;
    }
    parse_leave(p);
    span at = parse_since(p, open.at.begin);
    expr *e = parse_new(p, EXPR_LIST, at, at);
    if (e == NULL) return NULL;
    e->u.list.items = parse_take(p, mark, sizeof(void *), &e->u.list.count);
    return p->panic ? NULL : e;
}

/* tensor<...> [ ( expr ) ] */
static expr *parse_tensor(parser *p) {
    span keyword = p->now.at;
    expr *e = parse_new(p, EXPR_TENSOR, keyword, keyword);
    if (e == NULL) return NULL;
    e->u.tensor.form = parse_type(p);
    if (e->u.tensor.form == NULL) return NULL;
    if (p->now.kind == TOKEN_PAREN_OPEN) {
        token open = p->now;
        parse_advance(p);
        if (!parse_enter(p)) return NULL;
        e->u.tensor.fill = parse_expr(p);
        if (e->u.tensor.fill == NULL) return NULL;
        if (p->now.kind == TOKEN_COMMA && parse_peek(p).kind != TOKEN_PAREN_CLOSE) {
            diag *d = parse_unexpected(p, "`)` after the tensor's one value");
            if (d != NULL)
                diag_add_help(p->d, d,
                              "several elements are a list: `tensor<F32, [2]>([1.0, 2.0])`");
            return NULL;
        }
        bool more;
        if (!parse_more(p, &open, TOKEN_PAREN_CLOSE, &more)) return NULL;
        parse_leave(p);
    }
    e->at = parse_since(p, keyword.begin);
    return e;
}

expr *parse_anonymous_fn(parser *p) {
    span keyword = p->now.at;
    expr *e = parse_new(p, EXPR_FN, keyword, keyword);
    if (e == NULL) return NULL;
    e->u.fn = parse_fn(p, NULL);
    if (e->u.fn == NULL) return NULL;
    if (e->u.fn->name != NULL && parse_may_report(p)) {
        diag *d = diag_error(p->d, ERROR_K0010, e->u.fn->at,
                             "a function inside an expression has no name");
        diag_add_help(p->d, d,
                      "write `fn(...) { ... }`, or give it a place of its own in the block");
    }
    e->at = parse_since(p, keyword.begin);
    return e;
}

/* ---- what an operand begins with ---- */

/* Why no operand begins here, said as exactly as can be. */
static expr *report_operand(parser *p, const char *after) {
    token_kind kind = p->now.kind;
    if (kind == TOKEN_ASSIGN && after != NULL) {
        if (!parse_fails(p)) return NULL;
        diag *e = diag_error(p->d, ERROR_K0017, p->now.at, "values are not assigned to");
        diag_add_help(p->d, e, "a loop carries what changes: `while (c) [x = init] { ... }`");
        return NULL;
    }
    if (kind == TOKEN_DOT && parse_peek(p).kind == TOKEN_INT) {
        token digits = parse_peek(p);
        if (!parse_fails(p)) return NULL;
        int length = (int)(digits.at.end - digits.at.begin);
        span at = {p->now.at.begin, digits.at.end};
        diag *e = diag_error(p->d, ERROR_K0005, at, "a float without digits before its point");
        if (length <= 20) {
            diag_add_help(p->d, e, "write `0.%.*s`", length, p->src->text + digits.at.begin);
        }
        return NULL;
    }
    char expected[40] = "an expression";
    if (after != NULL) snprintf(expected, sizeof expected, "an operand after `%s`", after);
    diag *e = parse_unexpected(p, expected);
    if (e == NULL) return NULL;
    const char *help = NULL;
    if (kind == TOKEN_LET)
        help = "inside an operator's operand, put `(let ... in ...)` in parentheses";
    if (kind == TOKEN_BRACE_OPEN) {
        help =
            "a block stands only after `if (c)`, `else`, a loop's carried values or a function's "
            "head";
    }
    if (kind == TOKEN_UNDERSCORE) help = "`_` is a pattern that drops a value; it has none";
    if (kind == TOKEN_ELSE) help = "`else` follows directly on the `}` of an `if`";
    if (kind == TOKEN_IN) help = "`in` belongs to a `let`, without a `;` before it";
    if (kind == TOKEN_PLUS) help = "there is no prefix `+`";
    if (kind == TOKEN_STAR && after != NULL && strcmp(after, "*") == 0) {
        help = "a power is written `pow(x, y)`";
    }
    if (help != NULL) diag_add_help(p->d, e, "%s", help);
    return NULL;
}

static expr *parse_tape(parser *p) {
    if (parse_peek(p).kind != TOKEN_LESS) return parse_name_expr(p);
    diag *e = parse_unexpected(p, "an expression");
    if (e != NULL) diag_add_help(p->d, e, "`tape<T>` is a type; `tape()` makes an empty tape");
    return NULL;
}

expr *parse_decorated(parser *p, decorator *decorators) {
    if (decorators == NULL) decorators = parse_decorators(p);
    if (p->panic) return NULL;
    if (p->now.kind == TOKEN_WHILE) return parse_while(p, decorators);
    diag *e = parse_unexpected(p, "`fn`, `let` or `while` after a decorator");
    if (e != NULL && p->now.kind == TOKEN_LET) {
        diag_add_help(p->d, e, "inside an operator's operand, put it in parentheses");
    }
    return NULL;
}

expr *parse_operand(parser *p, decorator *decorators, const char *after) {
    if (p->panic) return NULL;
    if (decorators != NULL) return parse_decorated(p, decorators);
    switch (p->now.kind) {
    case TOKEN_INT: return parse_int(p);
    case TOKEN_FLOAT: return parse_float(p);
    case TOKEN_INF: return parse_special_float(p, (double)INFINITY, INFINITY);
    case TOKEN_NAN: return parse_special_float(p, (double)NAN, NAN);
    case TOKEN_TRUE:
    case TOKEN_FALSE: return parse_bool(p);
    case TOKEN_STRING: return parse_string(p);
    case TOKEN_NAME: return parse_name_expr(p);
    case TOKEN_PAREN_OPEN: return parse_paren(p);
    case TOKEN_BRACKET_OPEN: return parse_list(p);
    case TOKEN_TENSOR: return parse_tensor(p);
    case TOKEN_TAPE: return parse_tape(p);
    case TOKEN_IF: return parse_if(p);
    case TOKEN_WHILE: return parse_while(p, NULL);
    case TOKEN_HANDLE: return parse_handle(p);
    case TOKEN_FN: return parse_anonymous_fn(p);
    case TOKEN_AT: return parse_at_decorator(p) ? parse_decorated(p, NULL) : report_operand(p, after);
    default: return report_operand(p, after);
    }
}
