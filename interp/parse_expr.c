/* Expressions: operators by precedence, calls, indices and projections, literals, brackets.
 *
 * A run of infix operators, of postfixes or of `else if`s is read by a loop, so its length is no
 * nesting. */
#include "interp/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/context.h"

/* ---- infix operators ---- */

typedef struct infix {
    int precedence; /* 0: no infix operator */
    op_id op;
} infix;

enum { PRECEDENCE_COMPARE = 3, PRECEDENCE_MOST = 5 };

static infix find_infix(token_kind kind) {
    switch (kind) {
    case TOKEN_OR: return (infix){1, OP_or};
    case TOKEN_AND: return (infix){2, OP_and};
    case TOKEN_EQUAL: return (infix){PRECEDENCE_COMPARE, OP_eq};
    case TOKEN_NOT_EQUAL: return (infix){PRECEDENCE_COMPARE, OP_ne};
    case TOKEN_LESS: return (infix){PRECEDENCE_COMPARE, OP_lt};
    case TOKEN_LESS_EQUAL: return (infix){PRECEDENCE_COMPARE, OP_le};
    case TOKEN_GREATER: return (infix){PRECEDENCE_COMPARE, OP_gt};
    case TOKEN_GREATER_EQUAL: return (infix){PRECEDENCE_COMPARE, OP_ge};
    case TOKEN_PLUS: return (infix){4, OP_add};
    case TOKEN_MINUS: return (infix){4, OP_sub};
    case TOKEN_STAR: return (infix){PRECEDENCE_MOST, OP_mul};
    case TOKEN_SLASH: return (infix){PRECEDENCE_MOST, OP_div};
    case TOKEN_PERCENT: return (infix){PRECEDENCE_MOST, OP_rem};
    case TOKEN_AT: return (infix){PRECEDENCE_MOST, OP_matmul};
    default: return (infix){0, OP_COUNT};
    }
}

bool parse_at_infix(const parser *p) {
    return find_infix(p->now.kind).precedence > 0;
}

/* True at `@` with the name of a decorator after it. */
static bool at_decorator(const parser *p) {
    if (p->now.kind != TOKEN_AT) return false;
    static const char *const known[] = {"checkpoint", "vjp", "jvp"};
    token next = parse_peek(p);
    if (next.kind != TOKEN_NAME) return false;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        size_t length = strlen(known[i]);
        if (next.at.end - next.at.begin != length) continue;
        if (memcmp(p->src->text + next.at.begin, known[i], length) == 0) return true;
    }
    return false;
}

/* A decorator at the beginning of a line is no infix `@`: the `;` before it is missing. */
static infix find_operator(const parser *p) {
    if (p->now.first_on_line && at_decorator(p)) return (infix){0, OP_COUNT};
    return find_infix(p->now.kind);
}

/* An operator whose right operand is being read. */
typedef struct pending {
    expr *left;
    infix in;
    span mark;
    token_kind kind;
    bool chain; /* its left operand is a comparison without parentheses, and so is it */
} pending;

/* The text of a span when it is short enough to be quoted in a help, else what stands for it. */
static void quote(const parser *p, span at, const char *otherwise, char *out, size_t room) {
    size_t length = at.end - at.begin;
    const char *from = p->src->text + at.begin;
    bool fits =
        length < room && memchr(from, '\n', length) == NULL && memchr(from, '\r', length) == NULL;
    if (!fits) {
        from = otherwise;
        length = strlen(otherwise);
    }
    memcpy(out, from, length);
    out[length] = '\0';
}

static void report_chain(parser *p, const pending *second, const expr *right) {
    enum { ROOM = 32 };
    char a[ROOM], b[ROOM], c[ROOM], first[ROOM];
    const expr *left = second->left;
    quote(p, left->u.binary.a->at, "a", a, ROOM);
    quote(p, left->u.binary.b->at, "b", b, ROOM);
    quote(p, right->at, "c", c, ROOM);
    quote(p, left->mark, "<", first, ROOM);
    diag *e = diag_error(p->d, ERROR_K0012, second->mark, "comparisons cannot be chained");
    diag_add_label(p->d, e, left->mark, "the first comparison");
    diag_add_help(p->d, e, "write `%s %s %s && %s %s %s`", a, first, b, b,
                  token_spelling(second->kind), c);
}

static expr *finish_infix(parser *p, const pending *one, expr *right, bool *reported) {
    if (one->chain && !*reported && parse_may_report(p)) {
        report_chain(p, one, right);
        *reported = true;
    }
    expr *e = parse_new(p, EXPR_BINARY, (span){one->left->at.begin, right->at.end}, one->mark);
    if (e == NULL) return NULL;
    e->u.binary.op = one->in.op;
    e->u.binary.a = one->left;
    e->u.binary.b = right;
    return e;
}

static expr *parse_prefix(parser *p, decorator *decorators, const char *after);

/* infix := prefix (operator prefix)*. Precedences on the stack rise strictly, so it has a place for
 * each. */
expr *parse_infix(parser *p, decorator *decorators) {
    pending stack[PRECEDENCE_MOST];
    int count = 0;
    bool reported = false;
    expr *right = parse_prefix(p, decorators, NULL);
    while (right != NULL) {
        infix in = find_operator(p);
        bool chain = false;
        while (count > 0 && stack[count - 1].in.precedence >= in.precedence) {
            const pending *top = &stack[--count];
            chain = in.precedence == PRECEDENCE_COMPARE && top->in.precedence == in.precedence;
            right = finish_infix(p, top, right, &reported);
            if (right == NULL) return NULL;
        }
        if (in.precedence == 0) return right;
        stack[count++] = (pending){right, in, p->now.at, p->now.kind, chain};
        const char *after = token_spelling(p->now.kind);
        parse_advance(p);
        right = parse_prefix(p, NULL, after);
    }
    return NULL;
}

/* ---- prefix operators ---- */

typedef struct prefix {
    op_id op;
    span at;
} prefix;

static expr *apply_prefix(parser *p, prefix one, expr *operand) {
    span at = {one.at.begin, operand->at.end};
    bool folds = one.op == OP_neg && operand->kind == EXPR_INT && !operand->u.integer.negative;
    if (folds) {
        operand->u.integer.negative = true;
        operand->at = at;
        operand->mark = at;
        return operand;
    }
    expr *e = parse_new(p, EXPR_UNARY, at, one.at);
    if (e == NULL) return NULL;
    e->u.unary.op = one.op;
    e->u.unary.a = operand;
    return e;
}

/* prefix := (- | !)* postfix */
static expr *parse_prefix(parser *p, decorator *decorators, const char *after) {
    size_t mark = p->used;
    int depth = p->depth;
    bool bare = decorators == NULL; /* a decorator stands directly before its loop */
    while (bare && (p->now.kind == TOKEN_MINUS || p->now.kind == TOKEN_NOT)) {
        prefix one = {p->now.kind == TOKEN_MINUS ? OP_neg : OP_not, p->now.at};
        if (!parse_enter(p) || !parse_push(p, &one, sizeof one)) return NULL;
        after = token_spelling(p->now.kind);
        parse_advance(p);
    }
    expr *e = parse_postfix(p, decorators, after);
    while (e != NULL && p->used > mark) {
        prefix one;
        p->used -= sizeof one;
        memcpy(&one, p->stack + p->used, sizeof one);
        e = apply_prefix(p, one, e);
    }
    p->depth = depth;
    return e;
}

/* ---- postfixes ---- */

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

static expr *parse_primary(parser *p, decorator *decorators, const char *after);

/* postfix := primary ( (args) | [subscripts] | . NAME (args) | . INT )* */
expr *parse_postfix(parser *p, decorator *decorators, const char *after) {
    bool handle = p->now.kind == TOKEN_HANDLE;
    expr *e = parse_primary(p, decorators, after);
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
    quote(p, only->at, "x", shown, sizeof shown);
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

static expr *parse_decorated(parser *p, decorator *decorators) {
    if (decorators == NULL) decorators = parse_decorators(p);
    if (p->panic) return NULL;
    if (p->now.kind == TOKEN_WHILE) return parse_while(p, decorators);
    diag *e = parse_unexpected(p, "`fn`, `let` or `while` after a decorator");
    if (e != NULL && p->now.kind == TOKEN_LET) {
        diag_add_help(p->d, e, "inside an operator's operand, put it in parentheses");
    }
    return NULL;
}

static expr *parse_primary(parser *p, decorator *decorators, const char *after) {
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
    case TOKEN_AT: return at_decorator(p) ? parse_decorated(p, NULL) : report_operand(p, after);
    default: return report_operand(p, after);
    }
}

/* ---- whole expressions ---- */

/* expr := let ... in expr | infix */
expr *parse_expr(parser *p) {
    decorator *decorators = at_decorator(p) ? parse_decorators(p) : NULL;
    if (p->panic) return NULL;
    expr *e = p->now.kind == TOKEN_LET ? parse_let_in(p, decorators) : parse_infix(p, decorators);
    p->closed = false;
    return e;
}

expr *parse_statement(parser *p, decorator *decorators) {
    expr *e;
    bool closed = true;
    switch (p->now.kind) {
    case TOKEN_IF: e = decorators == NULL ? parse_if(p) : parse_decorated(p, decorators); break;
    case TOKEN_WHILE: e = parse_while(p, decorators); break;
    case TOKEN_HANDLE:
        e = decorators == NULL ? parse_handle(p) : parse_decorated(p, decorators);
        break;
    case TOKEN_FN: e = parse_anonymous_fn(p); break;
    default:
        e = parse_infix(p, decorators);
        closed = false;
        break;
    }
    p->closed = closed;
    return e;
}
