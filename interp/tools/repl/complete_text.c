/* Candidates within a program. What the text in front of the cursor means is the lexer's to say. */
#include "interp/tools/repl/complete.h"

#include <ctype.h>
#include <string.h>

#include "interp/builtin.h"
#include "interp/lexer.h"
#include "interp/parse.h"
#include "runtime/context.h"
#include "runtime/text.h"

/* The word that is being typed, and what stands in front of it. */
typedef struct setting {
    completion *t;
    const char *typed;
    size_t length;
    source src;                 /* the input up to the word */
    token last, second, third;  /* its last tokens, the last one first */
} setting;

static bool offer(setting *s, const char *word) {
    return candidates_offer(&s->t->found, s->typed, s->length, word, strlen(word));
}

/* ---- names ---- */

static const char *const keywords[] = {
#define KIND(id, description)
#define TOKEN(id, spelling)
#define WORD(id, spelling) spelling,
#define RESERVED(id, spelling)
#include "interp/token.def"
#undef KIND
#undef TOKEN
#undef WORD
};

/* Of operators, of ops that no program can name and of `_` there is nothing to complete. */
static bool offer_word(setting *s, const char *word) {
    return !isalpha((unsigned char)word[0]) || offer(s, word);
}

static bool offer_language(setting *s) {
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        if (!offer_word(s, keywords[i])) return false;
    }
    for (int i = 0; i < (int)OP_COUNT + (int)BUILTIN_COUNT; i++) {
        if (!offer_word(s, builtin_name(i))) return false;
    }
    return true;
}

static bool offer_session(setting *s, const workspace *session) {
    for (int i = 0; i < workspace_count(session); i++) {
        if (!offer(s, workspace_at(session, i)->name)) return false;
    }
    return true;
}

static bool offer_handlers(setting *s) {
    for (int i = 0; i < PARSE_HANDLERS; i++) {
        if (!offer(s, parse_handlers[i])) return false;
    }
    return true;
}

/* ---- where the cursor is ---- */

/* Takes in the tokens in front of the word; the names among them are candidates. */
static bool look_back(setting *s) {
    lexer l;
    lexer_init(&l, &s->src);
    for (token now = lexer_next(&l); now.kind != TOKEN_END; now = lexer_next(&l)) {
        s->third = s->second;
        s->second = s->last;
        s->last = now;
        if (now.kind == TOKEN_NAME && !candidates_offer(&s->t->found, s->typed, s->length, s->src.text + now.at.begin,
                                                        now.at.end - now.at.begin))
            return false;
    }
    return true;
}

static bool in_comment(const setting *s) {
    const char *rest = s->src.text + s->last.at.end, *line = strrchr(rest, '\n');
    return strstr(line != NULL ? line : rest, "//") != NULL;
}

/* In the first argument of a builtin that takes a path. */
static bool at_path(const setting *s) {
    char name[TOKEN_ROOM];
    builtin_param params[BUILTIN_PARAMS];
    size_t length = s->third.at.end - s->third.at.begin;
    if (s->second.kind != TOKEN_PAREN_OPEN || s->third.kind != TOKEN_NAME || length >= sizeof name) return false;
    memcpy(name, s->src.text + s->third.at.begin, length);
    name[length] = '\0';
    int builtin = builtin_named(name);
    return builtin >= 0 && builtin_params(builtin, params) > 0 && builtin_param_is(&params[0], "path");
}

static size_t word_begin(const char *line, size_t cursor) {
    while (cursor > 0 && (isalnum((unsigned char)line[cursor - 1]) || line[cursor - 1] == '_')) cursor--;
    return cursor;
}

static void drop_found(setting *s) {
    context *c = s->t->found.c;
    candidates_close(&s->t->found);
    candidates_init(&s->t->found, c);
}

/* An empty word begins nearly everything, so nothing is offered for it but handlers and paths. */
static bool complete_program(setting *s, const workspace *session, const char *line, size_t cursor) {
    if (!look_back(s)) return false;
    if (s->last.fault.kind == LEX_STRING_OPEN) {
        drop_found(s);
        if (!at_path(s)) return true;
        s->t->from = cursor - (s->src.length - s->last.at.begin) - s->length + 1;
        return complete_path(s->t, line, cursor);
    }
    bool handler = s->last.kind == TOKEN_WITH, nothing = in_comment(s) || (s->length == 0 && !handler);
    if (handler || nothing) drop_found(s);
    return nothing || (handler ? offer_handlers(s) : offer_session(s, session) && offer_language(s));
}

bool complete_text(completion *t, const complete_scope *scope, const char *line, size_t begin, size_t cursor) {
    t->from = word_begin(line, cursor);
    setting s = {.t = t, .typed = line + t->from, .length = cursor - t->from};
    arena a;
    arena_init(&a, t->found.c);
    text in_front;
    text_init(&in_front, t->found.c);
    text_add(&in_front, text_data(&scope->typed->text));
    text_add_bytes(&in_front, line + begin, t->from - begin);
    bool ok = !in_front.failed && source_init(&s.src, &a, "", text_data(&in_front), in_front.length) &&
              complete_program(&s, scope->session, line, cursor);
    text_close(&in_front);
    arena_close(&a);
    return ok;
}
