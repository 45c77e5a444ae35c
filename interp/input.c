/* When an input is whole: by its brackets, then by what the parser says of its end. */
#include "interp/input.h"

#include <string.h>

#include "interp/engine.h"
#include "interp/lexer.h"
#include "runtime/context.h"

void input_init(input *in, context *c) {
    *in = (input){.lines = 0};
    text_init(&in->text, c);
}

void input_clear(input *in) {
    text_clear(&in->text);
    in->lines = in->open = 0;
}

void input_close(input *in) { text_close(&in->text); }

static int depth_of(token_kind kind) {
    switch (kind) {
    case TOKEN_PAREN_OPEN:
    case TOKEN_BRACKET_OPEN:
    case TOKEN_BRACE_OPEN: return 1;
    case TOKEN_PAREN_CLOSE:
    case TOKEN_BRACKET_CLOSE:
    case TOKEN_BRACE_CLOSE: return -1;
    default: return 0;
    }
}

/* Nothing that the lexer makes of a line depends on other lines. *blank: there is nothing but space and comment. */
static bool count_brackets(input *in, const char *line, size_t length, bool *blank) {
    arena a;
    source src;
    lexer l;
    arena_init(&a, in->text.c);
    bool ok = source_init(&src, &a, "", line, length);
    *blank = true;
    if (ok) {
        lexer_init(&l, &src);
        for (token t = lexer_next(&l); t.kind != TOKEN_END; t = lexer_next(&l)) {
            *blank = false;
            in->open += depth_of(t.kind);
        }
    }
    arena_close(&a);
    return ok;
}

/* Where the last token ends: behind it are only space and comments. */
static uint32_t end_of_words(const source *src) {
    lexer l;
    uint32_t end = 0;
    lexer_init(&l, src);
    for (token t = lexer_next(&l); t.kind != TOKEN_END; t = lexer_next(&l)) end = t.at.end;
    return end;
}

/* The first mistake is that the text ends. */
static bool asks_for_more(const engine *e) {
    const diag *first = e->diags.first;
    for (const diag *d = first; d != NULL; d = d->next) {
        if (d->at.begin < first->at.begin) first = d;
    }
    return first != NULL && first->at.begin >= end_of_words(&e->src);
}

static bool is_whole(input *in) {
    engine e;
    source_text whole = {.path = "", .text = text_data(&in->text), .length = in->text.length, .first_line = 1};
    engine_init(&e, in->text.c, (engine_options){.session = true});
    bool right = engine_parse(&e, &whole, 1);
    bool more = !right && in->text.c->err.code == ERROR_NONE && asks_for_more(&e);
    engine_close(&e);
    return !more;
}

bool input_add(input *in, const char *line, size_t length) {
    bool blank;
    text_add_bytes(&in->text, line, length);
    text_add_char(&in->text, '\n');
    in->lines++;
    if (in->text.failed || !count_brackets(in, line, length, &blank)) return true;
    if (in->open > 0) return false;
    if (!blank) return is_whole(in);
    /* A comment leaves what is to be continued as it is. */
    bool comment = strspn(line, " \t\r") < length;
    return in->lines == 1 || !comment;
}
