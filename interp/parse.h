/* What the files of the parser share. One function per grammar rule; each returns NULL (or false) once an
 * error was reported, and the nearest block goes on after the faulty item.
 *
 *   parse.c          tokens, errors, recovery, the program
 *   parse_item.c     blocks, lets, what ends an item
 *   parse_fn.c       functions, decorators
 *   parse_expr.c     operators by precedence
 *   parse_operand.c  literals, names, brackets
 *   parse_postfix.c  calls, subscripts, projections
 *   parse_control.c  if, while, handle
 *   parse_type.c     types, dims, patterns
 *   parse_comment.c  comments: gathered with the tokens, given to the items
 */
#ifndef KINA_PARSE_H
#define KINA_PARSE_H

#include "interp/ast.h"
#include "interp/lexer.h"

typedef struct parser {
    program *prog;
    arena *a;
    const source *src;
    diagnostics *d;
    lexer lex;
    token now;              /* the token that is looked at */
    uint32_t end;           /* after the last token taken */
    bool after_open_string; /* it was a string without its end, which may have swallowed anything */
    int brackets;           /* `(` and `[` taken, less `)` and `]` */
    int depth;              /* of nesting, against NESTING_MOST */
    bool panic;             /* an error was reported, and its item is not left yet */
    bool stopped;           /* nothing more is read: nested too deeply, or out of memory */
    bool brace_missing;     /* the innermost block ends here although its `}` does not stand here */
    uint32_t reported;      /* where `now` began at the last report; no token is reported twice */
    bool closed;            /* the last expression was an if, while, handle or fn in statement position */
    span foreign[8];        /* names beyond ASCII, each reported once */
    int foreign_count;
    char *stack;            /* list elements until their number is known */
    size_t used, room;
    span *comments;         /* those before `now` that no item has taken, in their order */
    size_t comment_count, comment_room;
} parser;

/* ---- tokens ---- */
void parse_advance(parser *p);
token parse_peek(const parser *p);  /* the one after `now` */
bool parse_at_infix(const parser *p);
bool parse_at_decorator(const parser *p);   /* `@` with the name of a decorator after it */
/* True when a token can begin an item or an expression. */
bool parse_starts_item(token_kind kind);
/* From `now` on, the first token that is a brace, `;`, `else` or the end; past balanced braces when asked. */
token_kind parse_first_mark(const parser *p, bool balanced);
const char *parse_name(parser *p);  /* interns the NAME token `now` and takes it; NULL without memory */
static inline span parse_since(const parser *p, uint32_t begin) {
    return (span){begin, p->end > begin ? p->end : begin};
}

/* ---- errors ---- */
/* True when an error is to be reported now, and at once: none is being recovered from, the token is sound and
 * nothing was said about it yet. */
bool parse_may_report(parser *p);
/* The same, and the item is given up. */
bool parse_fails(parser *p);
/* Gives the item up with "expected ..., found ..."; NULL when nothing was reported. */
diag *parse_unexpected(parser *p, const char *expected);
/* Takes a token of this kind, or fails with "expected `...` where". */
bool parse_expect(parser *p, token_kind kind, const char *where);
/* The text of a span when it is short enough to be quoted in a help, else what stands for it. */
void parse_quote(const parser *p, span at, const char *otherwise, char *out, size_t room);
/* The help for a word of other languages, or NULL. */
const char *parse_foreign_word(const parser *p, span at);

/* ---- brackets, lists, nesting ---- */
bool parse_close(parser *p, const token *open, token_kind close);
/* After an element of a list: takes `,` and says whether another element follows; else takes `close`. */
bool parse_more(parser *p, const token *open, token_kind close, bool *more);
bool parse_enter(parser *p);
void parse_leave(parser *p);
bool parse_push(parser *p, const void *element, size_t bytes);
/* For lists of pointers, whose elements are sizeof(void *) long. */
static inline bool parse_push_pointer(parser *p, const void *element) {
    return parse_push(p, (const void *)&element, sizeof(void *));
}
/* The elements above `mark` as an array in the arena; NULL when there are none or no memory. */
void *parse_take(parser *p, size_t mark, size_t bytes, int *count);
void parse_stop(parser *p);

/* ---- comments ---- */
/* Where the items of a block stand with their comments. */
typedef struct comment_place {
    size_t edge;            /* comments before this one are an outer item's */
    uint32_t last;          /* where the last item, comment or opening brace ended */
    bool first;             /* nothing stands in the block yet */
} comment_place;
/* Gathers the comments between `begin` and `now`. */
void parse_gather_comments(parser *p, uint32_t begin);
/* For a block whose first token begins at `begin`. */
comment_place parse_comments_from(const parser *p, uint32_t begin);
/* Gives the item that was read from `begin` to p->end its comments; after NULL: the one behind it is left. */
void parse_take_comments(parser *p, comment_place *at, uint32_t begin, comments *before, const char **after);
/* What is left where the block ends, before `now`. */
void parse_last_comments(parser *p, comment_place *at, comments *out);

/* ---- rules ---- */
expr *parse_new(parser *p, expr_kind kind, span at, span mark);
expr *parse_block(parser *p, const char *where);
bool parse_items(parser *p, expr *block, const token *open);
fn_decl *parse_fn(parser *p, decorator *decorators);
decorator *parse_decorators(parser *p);
/* Which decorators may stand where is settled here, so that later passes need not ask. */
void parse_check_placement(parser *p, const decorator *d, bool before_fn);
expr *parse_let_in(parser *p, decorator *decorators);

expr *parse_expr(parser *p);
/* An expression that begins a statement: an if, while, handle or fn ends at its own end. */
expr *parse_statement(parser *p, decorator *decorators);
expr *parse_infix(parser *p, decorator *decorators);
expr *parse_postfix(parser *p, decorator *decorators, const char *after);
/* What stands before its postfixes; after: the operator that it is an operand of, for messages. */
expr *parse_operand(parser *p, decorator *decorators, const char *after);
/* A decorator and what it is before, which only a `while` can be here. */
expr *parse_decorated(parser *p, decorator *decorators);
argument *parse_arguments(parser *p, int *count);
expr *parse_anonymous_fn(parser *p);

expr *parse_if(parser *p);
expr *parse_while(parser *p, decorator *decorators);
expr *parse_handle(parser *p);
/* What may stand behind `with`. */
enum { PARSE_HANDLERS = 2 };
extern const char *const parse_handlers[PARSE_HANDLERS];

type_expr *parse_type(parser *p);
pattern *parse_pattern(parser *p);

#endif
