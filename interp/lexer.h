/* The lexer: bytes to tokens, one at a time, each with its exact span.
 *
 * It never fails. A mistake inside a token (an unknown character, a string without its end) is attached to
 * the token that stands in its place, chosen so that the parser can go on as if the text were right; the
 * parser reports it when it takes the token up. So looking ahead reports nothing, and a token can be read
 * again from any offset. */
#ifndef KINA_LEXER_H
#define KINA_LEXER_H

#include "interp/diag.h"

typedef enum token_kind {
#define TOKEN(id, spelling) TOKEN_##id,
#define WORD(id, spelling)  TOKEN_##id,
#define KIND(id, words)     TOKEN_##id,
#include "interp/token.def"
#undef TOKEN
#undef WORD
#undef KIND
    TOKEN_COUNT
} token_kind;

/* What is wrong with a token, or with the text before it. */
typedef enum fault_kind {
    LEX_OK,
    LEX_CHARACTER,          /* a character that no token begins with */
    LEX_LOOKALIKE,          /* a character that looks like `meant` */
    LEX_HASH_COMMENT, LEX_BLOCK_COMMENT, LEX_BLOCK_COMMENT_OPEN,
    LEX_NAME,               /* letters beyond ASCII in a name */
    LEX_STRING_OPEN, LEX_STRING_QUOTE, LEX_STRING_CONTROL, LEX_ESCAPE,
    LEX_NUMBER_SUFFIX, LEX_NUMBER_POINT, LEX_NUMBER_RANGE,
} fault_kind;

typedef struct lex_fault {
    fault_kind kind;
    span at;
    const char *meant;      /* LOOKALIKE: the spelling; CHARACTER: one, or NULL */
} lex_fault;

typedef struct token {
    token_kind kind;
    span at;
    bool first_on_line;     /* nothing but blanks before it on its line */
    bool commented;         /* a comment stands between the last token and this one */
    uint64_t integer;       /* INT */
    span unit;              /* INT: letters directly after it, as in 64MiB */
    lex_fault fault;
} token;

typedef struct lexer {
    const source *src;
    uint32_t position;
    bool after_dot;         /* the last token was `.`: a number is digits only, as in t.0.1 */
} lexer;

void lexer_init(lexer *l, const source *src);
token lexer_next(lexer *l);

/* Reports a token's fault; its kind must not be LEX_OK. */
void lexer_report(const source *src, const lex_fault *fault, diagnostics *d);

/* "`+`", "`let`", "the end of the text"; for tokens of varying text see lexer_describe. */
const char *token_spelling(token_kind kind);
enum { TOKEN_ROOM = 64 };
/* How a message names the token that was found: "`x`", "`3`", "a string". */
void lexer_describe(const source *src, const token *t, char out[TOKEN_ROOM]);

/* The bytes of a STRING token with escapes resolved, in the arena; NULL without memory. */
const char *lexer_string(arena *a, const source *src, span at, uint32_t *length) MUST_CHECK;

/* The value of a FLOAT token's digits, rounded once to each width, in whatever locale the host is; infinite
 * when out of range. False without memory. */
bool lexer_float(context *c, const char *digits, size_t length, double *wide, float *narrow) MUST_CHECK;

#endif
