/* When an input is whole: by its brackets, then by what the parser says of its end. */
#include "interp/input.h"

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

/* The first mistake is that the text ends. */
static bool asks_for_more(const engine *e) {
    const diag *first = e->diags.first;
    for (const diag *d = first; d != NULL; d = d->next) {
        if (d->at.begin < first->at.begin) first = d;
    }
    uint32_t end = e->src.length;
    while (end > 0 && (unsigned char)e->src.text[end - 1] <= ' ') end--;
    return first != NULL && first->at.begin >= end;
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
    return blank || is_whole(in);
}
