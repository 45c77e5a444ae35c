/* Expressions: operators by precedence. A run of infix operators is read by a loop, so its length is no nesting. */
#include "interp/parse.h"

#include <string.h>


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

bool parse_at_decorator(const parser *p) {
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
    if (p->now.first_on_line && parse_at_decorator(p)) return (infix){0, OP_COUNT};
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

void parse_quote(const parser *p, span at, const char *otherwise, char *out, size_t room) {
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
    parse_quote(p, left->u.binary.a->at, "a", a, ROOM);
    parse_quote(p, left->u.binary.b->at, "b", b, ROOM);
    parse_quote(p, right->at, "c", c, ROOM);
    parse_quote(p, left->mark, "<", first, ROOM);
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

/* ---- whole expressions ---- */

/* expr := let ... in expr | infix */
expr *parse_expr(parser *p) {
    decorator *decorators = parse_at_decorator(p) ? parse_decorators(p) : NULL;
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
