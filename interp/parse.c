/* The parser's ground: tokens, errors, and getting back on the track after one.
 *
 * An error puts the parser into panic: rules return at once, nothing more is reported, and the
 * nearest block skips to where its next item may begin. Where the way on is plain (a missing
 * semicolon, a missing else) a rule reports and goes on without panic. */
#include "interp/parse.h"

#include <string.h>

#include "interp/utf8.h"
#include "runtime/context.h"

/* ---- tokens ---- */

/* A name beyond ASCII is one mistake however often it is used. */
static bool is_old_foreign_name(parser *p, span at) {
    uint32_t length = at.end - at.begin;
    for (int i = 0; i < p->foreign_count; i++) {
        span old = p->foreign[i];
        if (old.end - old.begin != length) continue;
        if (memcmp(p->src->text + old.begin, p->src->text + at.begin, length) == 0) return true;
    }
    if (p->foreign_count < (int)COUNT_OF(p->foreign)) p->foreign[p->foreign_count++] = at;
    return false;
}

static void next_token(parser *p) {
    uint32_t begin = p->lex.position;
    p->now = lexer_next(&p->lex);
    if (p->now.commented) parse_gather_comments(p, begin);
    const lex_fault *fault = &p->now.fault;
    if (fault->kind == LEX_OK) return;
    if (fault->kind == LEX_NAME && is_old_foreign_name(p, fault->at)) return;
    lexer_report(p->src, fault, p->d);
}

void parse_advance(parser *p) {
    if (p->stopped) return;
    p->end = p->now.at.end;
    token_kind kind = p->now.kind;
    p->brackets += kind == TOKEN_PAREN_OPEN || kind == TOKEN_BRACKET_OPEN;
    p->brackets -= kind == TOKEN_PAREN_CLOSE || kind == TOKEN_BRACKET_CLOSE;
    p->after_open_string = p->now.fault.kind == LEX_STRING_OPEN;
    next_token(p);
    /* What is missing at the end is missing after the last token, not after the last blank. */
    if (p->now.kind == TOKEN_END) p->now.at = (span){p->end, p->end};
}

token parse_peek(const parser *p) {
    lexer copy = p->lex;
    return lexer_next(&copy);
}

bool parse_starts_item(token_kind kind) {
    switch (kind) {
    case TOKEN_NAME:
    case TOKEN_INT:
    case TOKEN_FLOAT:
    case TOKEN_STRING:
    case TOKEN_PAREN_OPEN:
    case TOKEN_BRACKET_OPEN:
    case TOKEN_MINUS:
    case TOKEN_NOT:
    case TOKEN_AT:
    case TOKEN_FN:
    case TOKEN_LET:
    case TOKEN_IF:
    case TOKEN_WHILE:
    case TOKEN_HANDLE:
    case TOKEN_TENSOR:
    case TOKEN_TAPE:
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_INF:
    case TOKEN_NAN:
    case TOKEN_FOR:
    case TOKEN_BREAK:
    case TOKEN_RETURN:
    case TOKEN_IMPORT: return true;
    default: return false;
    }
}

const char *parse_name(parser *p) {
    span at = p->now.at;
    parse_advance(p);
    const char *name = names_intern(p->prog->names, p->src->text + at.begin, at.end - at.begin);
    if (name == NULL) parse_stop(p);
    return name;
}

token_kind parse_first_mark(const parser *p, bool balanced) {
    lexer copy = p->lex;
    token t = p->now;
    int braces = 0;
    for (;; t = lexer_next(&copy)) {
        bool inside = braces > 0;
        if (balanced && t.kind == TOKEN_BRACE_OPEN) braces++;
        if (balanced && t.kind == TOKEN_BRACE_CLOSE && inside) braces--;
        if ((inside || braces > 0) && t.kind != TOKEN_END) continue;
        bool mark = t.kind == TOKEN_BRACE_OPEN || t.kind == TOKEN_BRACE_CLOSE ||
                    t.kind == TOKEN_SEMICOLON || t.kind == TOKEN_ELSE || t.kind == TOKEN_END;
        if (mark) return t.kind;
    }
}

/* ---- errors ---- */

void parse_stop(parser *p) {
    p->panic = true;
    p->stopped = true;
    p->now = (token){.kind = TOKEN_END, .at = {p->end, p->end}};
}

bool parse_may_report(parser *p) {
    bool sound = p->now.fault.kind == LEX_OK && !p->after_open_string;
    bool report = !p->panic && !p->stopped && sound && p->now.at.begin != p->reported;
    if (report) p->reported = p->now.at.begin;
    return report;
}

bool parse_fails(parser *p) {
    bool report = parse_may_report(p);
    p->panic = true;
    return report;
}

typedef struct word_help {
    const char *word, *help;
} word_help;

const char *parse_foreign_word(const parser *p, span at) {
    static const word_help table[] = {
        {"var", "names are bound with `let`"},
        {"val", "names are bound with `let`"},
        {"const", "names are bound with `let`"},
        {"mut",
         "values do not change; a loop carries what changes: `while (c) [x = init] { ... }`"},
        {"def", "functions are written `fn f(x: F32) -> F32 { ... }`"},
        {"func", "functions are written `fn f(x: F32) -> F32 { ... }`"},
        {"fun", "functions are written `fn f(x: F32) -> F32 { ... }`"},
        {"function", "functions are written `fn f(x: F32) -> F32 { ... }`"},
        {"lambda", "functions without a name are written `fn(x: F32) { ... }`"},
        {"elif", "write `else if`"},
        {"elseif", "write `else if`"},
        {"then", "branches stand in braces: `if (c) { a } else { b }`"},
        {"do", "a loop's body stands in braces: `while (c) [x = init] { ... }`"},
        {"and", "write `&&`"},
        {"or", "write `||`"},
        {"not", "write `!`"},
    };
    uint32_t length = at.end - at.begin;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        bool same = strlen(table[i].word) == length &&
                    memcmp(table[i].word, p->src->text + at.begin, length) == 0;
        if (same) return table[i].help;
    }
    return NULL;
}

/* Words that are reserved so that their absence can be explained. Reports, and true, for one of
 * them. */
static bool refuse_word(parser *p) {
    const char *help;
    switch (p->now.kind) {
    case TOKEN_FOR: help = "write `while (i < n) [i = 0] { i + 1 }`"; break;
    case TOKEN_BREAK: help = "put what ends the loop into its condition"; break;
    case TOKEN_RETURN:
        help =
            "the last expression of a block, without `;`, is its value; `if` chooses between two";
        break;
    case TOKEN_IMPORT: help = "a program is one file"; break;
    default: return false;
    }
    const char *word = token_spelling(p->now.kind);
    diag *e = diag_error(p->d, ERROR_K0019, p->now.at, "the language has no `%s`", word);
    diag_add_help(p->d, e, "%s", help);
    return true;
}

diag *parse_unexpected(parser *p, const char *expected) {
    if (!parse_fails(p) || refuse_word(p)) return NULL;
    char found[TOKEN_ROOM];
    lexer_describe(p->src, &p->now, found);
    diag *e = diag_error(p->d, ERROR_K0010, p->now.at, "expected %s, found %s", expected, found);
    const char *help = p->now.kind == TOKEN_NAME ? parse_foreign_word(p, p->now.at) : NULL;
    if (help != NULL) diag_add_help(p->d, e, "%s", help);
    return e;
}

bool parse_expect(parser *p, token_kind kind, const char *where) {
    if (p->panic) return false;
    if (p->now.kind == kind) {
        parse_advance(p);
        return true;
    }
    if (!parse_fails(p) || refuse_word(p)) return false;
    char found[TOKEN_ROOM];
    lexer_describe(p->src, &p->now, found);
    diag *e = diag_error(p->d, ERROR_K0010, p->now.at, "expected `%s` %s, found %s",
                         token_spelling(kind), where, found);
    const char *help = p->now.kind == TOKEN_NAME ? parse_foreign_word(p, p->now.at) : NULL;
    if (help != NULL) diag_add_help(p->d, e, "%s", help);
    return false;
}

/* ---- brackets, lists, nesting ---- */

bool parse_close(parser *p, const token *open, token_kind close) {
    if (p->panic) return false;
    if (p->now.kind == close) {
        parse_advance(p);
        return true;
    }
    if (!parse_fails(p)) return false;
    const char *opening = token_spelling(open->kind), *closing = token_spelling(close);
    if (p->now.kind == TOKEN_END) {
        diag *e = diag_error(p->d, ERROR_K0016, open->at, "`%s` is never closed", opening);
        diag_add_label(p->d, e, p->now.at, "`%s` is missing", closing);
        return false;
    }
    if (refuse_word(p)) return false;
    char found[TOKEN_ROOM];
    lexer_describe(p->src, &p->now, found);
    diag *e = diag_error(p->d, ERROR_K0010, p->now.at, "expected `%s`%s, found %s", closing,
                         close == TOKEN_BRACE_CLOSE ? "" : " or `,`", found);
    diag_add_label(p->d, e, open->at, "opened here");
    if (p->now.kind == TOKEN_ASSIGN) diag_add_help(p->d, e, "`==` compares");
    const char *help = p->now.kind == TOKEN_NAME ? parse_foreign_word(p, p->now.at) : NULL;
    if (help != NULL) diag_add_help(p->d, e, "%s", help);
    return false;
}

bool parse_more(parser *p, const token *open, token_kind close, bool *more) {
    *more = false;
    if (p->panic) return false;
    if (p->now.kind == TOKEN_COMMA) {
        parse_advance(p);
        *more = p->now.kind != close && p->now.kind != TOKEN_END;
        if (*more) return true;
    }
    return parse_close(p, open, close);
}

bool parse_enter(parser *p) {
    if (p->depth < NESTING_MOST) {
        p->depth++;
        return true;
    }
    if (parse_fails(p)) {
        diag *e =
            diag_error(p->d, ERROR_K0011, p->now.at, "nested more than %d deep", NESTING_MOST);
        diag_add_help(p->d, e,
                      "give the inner parts names with `let`; the rest of the text was not read");
    }
    parse_stop(p);
    return false;
}

void parse_leave(parser *p) {
    p->depth--;
}

bool parse_push(parser *p, const void *element, size_t bytes) {
    if (p->room - p->used < bytes) {
        size_t room = p->room < 1024 ? 1024 : p->room;
        while (room - p->used < bytes) room *= 2;
        char *bigger = resize(p->a->c, p->stack, p->room, room);
        if (bigger == NULL) {
            parse_stop(p);
            return false;
        }
        p->stack = bigger;
        p->room = room;
    }
    memcpy(p->stack + p->used, element, bytes);
    p->used += bytes;
    return true;
}

void *parse_take(parser *p, size_t mark, size_t bytes, int *count) {
    size_t length = p->used - mark;
    p->used = mark;
    *count = (int)(length / bytes);
    if (length == 0) return NULL;
    void *out = arena_take(p->a, length);
    if (out == NULL) {
        parse_stop(p);
        *count = 0;
        return NULL;
    }
    memcpy(out, p->stack + mark, length);
    return out;
}

expr *parse_new(parser *p, expr_kind kind, span at, span mark) {
    if (p->stopped) return NULL;
    expr *e = ARENA_NEW(p->a, expr);
    if (e == NULL) {
        parse_stop(p);
        return NULL;
    }
    e->kind = kind;
    e->at = at;
    e->mark = mark;
    return e;
}

/* ---- the program ---- */

/* One clear message instead of many when the text is none: a NUL, or bytes that are not UTF-8. */
static bool check_bytes(const source *src, diagnostics *d) {
    for (uint32_t i = 0; i < src->length;) {
        unsigned length;
        uint32_t character = utf8_decode(src->text + i, src->length - i, &length);
        if (character == 0) {
            diag *e = diag_error(d, ERROR_K0004, (span){i, i + 1}, "a NUL byte in the text");
            diag_add_help(d, e, "a program is UTF-8 text; this file may be of another kind");
            return false;
        }
        if (character == UTF8_BAD) {
            unsigned byte = (unsigned char)src->text[i];
            diag *e =
                diag_error(d, ERROR_K0004, (span){i, i + 1}, "byte 0x%02X is not UTF-8", byte);
            bool utf16 = i == 0 && byte >= 0xFE;
            diag_add_help(d, e, "%s",
                          utf16 ? "the text looks like UTF-16; save it as UTF-8"
                                : "save the text as UTF-8");
            return false;
        }
        i += length;
    }
    return true;
}

/* program := item* expr? */
static void parse_top(parser *p) {
    span whole = {0, p->src->length};
    token none = {.kind = TOKEN_END};
    expr *body = parse_new(p, EXPR_BLOCK, whole, (span){whole.end, whole.end});
    if (body == NULL) return;
    p->prog->main = (fn_decl){.at = whole, .body = body};
    (void)parse_items(p, body, &none);
}

bool parse_program(program *prog, diagnostics *d) {
    parser p = {.prog = prog, .a = prog->a, .src = prog->src, .d = d, .reported = UINT32_MAX};
    context *c = prog->a->c;
    unsigned errors = d->errors;
    if (!check_bytes(p.src, d)) return false;
    lexer_init(&p.lex, p.src);
    next_token(&p);
    parse_top(&p);
    give_back(c, p.stack, p.room);
    give_back(c, p.comments, p.comment_room * sizeof *p.comments);
    return d->errors == errors && c->err.code == ERROR_NONE;
}
