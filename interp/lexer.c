/* Finding the tokens: blanks and comments, names, numbers, strings, punctuation. */
#include "interp/lexer.h"

#include <stdio.h>
#include <string.h>

#include "interp/utf8.h"

typedef struct spelling {
    const char *words;
    uint8_t length; /* 0 for a token of varying text */
    bool reserved;
} spelling;

static const spelling spellings[TOKEN_COUNT] = {
#define TOKEN(id, text) [TOKEN_##id] = {text, sizeof(text) - 1, false},
#define WORD(id, text)  [TOKEN_##id] = {text, sizeof(text) - 1, true},
#define KIND(id, words) [TOKEN_##id] = {words, 0, false},
#include "interp/token.def"
#undef TOKEN
#undef WORD
#undef KIND
};

const char *token_spelling(token_kind kind) {
    return spellings[kind].words;
}

void lexer_describe(const source *src, const token *t, char out[TOKEN_ROOM]) {
    enum { LONGEST = 40 };
    uint32_t length = t->at.end - t->at.begin;
    bool varying = spellings[t->kind].length == 0;
    bool shown = t->kind == TOKEN_NAME || t->kind == TOKEN_INT || t->kind == TOKEN_FLOAT;
    if (!varying) {
        snprintf(out, TOKEN_ROOM, "`%s`", spellings[t->kind].words);
    } else if (shown && length <= LONGEST) {
        snprintf(out, TOKEN_ROOM, "`%.*s`", (int)length, src->text + t->at.begin);
    } else {
        snprintf(out, TOKEN_ROOM, "%s", spellings[t->kind].words);
    }
}

void lexer_init(lexer *l, const source *src) {
    *l = (lexer){.src = src};
    /* Some editors write a byte order mark; at the start it says nothing. */
    if (src->length >= 3 && memcmp(src->text, "\xEF\xBB\xBF", 3) == 0) l->position = 3;
}

/* ---- characters ---- */

static bool is_digit(char ch) {
    return ch >= '0' && ch <= '9';
}

static bool is_name_start(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

static bool is_name_part(char ch) {
    return is_name_start(ch) || is_digit(ch);
}

/* The byte `ahead` of the position; NUL past the end. */
static char byte_at(const lexer *l, uint32_t ahead) {
    uint32_t at = l->position + ahead;
    return at < l->src->length ? l->src->text[at] : '\0';
}

static uint32_t character_at(const lexer *l, unsigned *length) {
    return utf8_decode(l->src->text + l->position, l->src->length - l->position, length);
}

typedef struct lookalike {
    uint32_t character;
    token_kind kind;
} lookalike;

/* Characters that people type or paste for an operator of the language. */
static const lookalike lookalikes[] = {
    {'&', TOKEN_AND},
    {'|', TOKEN_OR},
    {'~', TOKEN_NOT},
    {0x00AC, TOKEN_NOT},
    {0x00B7, TOKEN_STAR},
    {0x00D7, TOKEN_STAR},
    {0x00F7, TOKEN_SLASH},
    {0x037E, TOKEN_SEMICOLON},
    {0x2010, TOKEN_MINUS},
    {0x2011, TOKEN_MINUS},
    {0x2012, TOKEN_MINUS},
    {0x2013, TOKEN_MINUS},
    {0x2014, TOKEN_MINUS},
    {0x2192, TOKEN_ARROW},
    {0x2212, TOKEN_MINUS},
    {0x2215, TOKEN_SLASH},
    {0x2217, TOKEN_STAR},
    {0x2227, TOKEN_AND},
    {0x2228, TOKEN_OR},
    {0x22C5, TOKEN_STAR},
    {0x2260, TOKEN_NOT_EQUAL},
    {0x2264, TOKEN_LESS_EQUAL},
    {0x2265, TOKEN_GREATER_EQUAL},
    {0xFF08, TOKEN_PAREN_OPEN},
    {0xFF09, TOKEN_PAREN_CLOSE},
    {0xFF0C, TOKEN_COMMA},
    {0xFF1A, TOKEN_COLON},
    {0xFF1B, TOKEN_SEMICOLON},
};

static const lookalike *find_lookalike(uint32_t character) {
    for (size_t i = 0; i < COUNT_OF(lookalikes); i++) {
        if (lookalikes[i].character == character) return &lookalikes[i];
    }
    return NULL;
}

static bool is_quote(uint32_t character) {
    return character == '\'' || (character >= 0x2018 && character <= 0x201F);
}

static bool is_foreign_blank(uint32_t character) {
    return character == 0xA0 || (character >= 0x2000 && character <= 0x200F) ||
           character == 0x202F || character == 0x205F || character == 0x3000 || character == 0xFEFF;
}

/* A character beyond ASCII that is taken for a letter. */
static bool is_foreign_letter(uint32_t character) {
    return character >= 0x80 && character < UTF8_BAD && !utf8_unprintable(character) &&
           !is_foreign_blank(character) && !is_quote(character) &&
           find_lookalike(character) == NULL;
}

static void set_fault(token *t, fault_kind kind, uint32_t begin, uint32_t end) {
    if (t->fault.kind == LEX_OK) t->fault = (lex_fault){kind, {begin, end}, NULL};
}

/* ---- blanks ---- */

static void skip_line(lexer *l) {
    while (l->position < l->src->length && byte_at(l, 0) != '\n' && byte_at(l, 0) != '\r')
        l->position++;
}

static void skip_block_comment(lexer *l, token *t) {
    uint32_t begin = l->position;
    const char *from = l->src->text + begin + 2;
    const char *close = strstr(from, "*/");
    if (close == NULL) {
        set_fault(t, LEX_BLOCK_COMMENT_OPEN, begin, begin + 2);
        l->position = l->src->length;
        return;
    }
    l->position = (uint32_t)(close - l->src->text) + 2;
    set_fault(t, LEX_BLOCK_COMMENT, begin, begin + 2);
}

/* A character that cannot stand anywhere counts as a blank, so that one mistake gives one message.
 */
static bool skip_odd_character(lexer *l, token *t) {
    unsigned length;
    uint32_t character = character_at(l, &length);
    bool odd = character == '$' || character == '`' || character == '\\' ||
               utf8_unprintable(character) || is_foreign_blank(character);
    if (!odd) return false;
    set_fault(t, LEX_CHARACTER, l->position, l->position + length);
    l->position += length;
    return true;
}

static void skip_blanks(lexer *l, token *t) {
    while (l->position < l->src->length) {
        char ch = byte_at(l, 0);
        if (ch == '\n' || ch == '\r') t->first_on_line = true;
        if (ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r') {
            l->position++;
        } else if (ch == '/' && byte_at(l, 1) == '/') {
            t->commented = true;
            skip_line(l);
        } else if (ch == '/' && byte_at(l, 1) == '*') {
            skip_block_comment(l, t);
        } else if (ch == '#') {
            set_fault(t, LEX_HASH_COMMENT, l->position, l->position + 1);
            skip_line(l);
        } else if (!skip_odd_character(l, t)) {
            return;
        }
    }
}

/* ---- names ---- */

static void read_name(lexer *l, token *t) {
    uint32_t begin = l->position;
    bool foreign = false;
    while (l->position < l->src->length) {
        unsigned length = 1;
        if (!is_name_part(byte_at(l, 0))) {
            if (!is_foreign_letter(character_at(l, &length))) break;
            foreign = true;
        }
        l->position += length;
    }
    uint32_t length = l->position - begin;
    t->kind = TOKEN_NAME;
    if (foreign) set_fault(t, LEX_NAME, begin, l->position);
    for (int kind = 0; kind < TOKEN_COUNT; kind++) {
        const spelling *s = &spellings[kind];
        if (!s->reserved || s->length != length) continue;
        if (memcmp(s->words, l->src->text + begin, length) == 0) t->kind = (token_kind)kind;
    }
}

/* ---- numbers ---- */

static void skip_digits(lexer *l) {
    while (is_digit(byte_at(l, 0))) l->position++;
}

/* True and skipped when a whole exponent stands at the position. */
static bool skip_exponent(lexer *l) {
    if (byte_at(l, 0) != 'e' && byte_at(l, 0) != 'E') return false;
    uint32_t sign = byte_at(l, 1) == '+' || byte_at(l, 1) == '-';
    if (!is_digit(byte_at(l, 1 + sign))) return false;
    l->position += 1 + sign;
    skip_digits(l);
    return true;
}

/* A point with no digit after it belongs to the number unless a name follows, as in 3.abs(). */
static bool skip_bare_point(lexer *l) {
    lexer try = *l;
    try.position++;
    if (skip_exponent(&try)) {
        if (is_name_part(byte_at(&try, 0)) || byte_at(&try, 0) == '(') return false;
        *l = try;
        return true;
    }
    if (is_name_start(byte_at(l, 1)) || byte_at(l, 1) == '.') return false;
    l->position++;
    return true;
}

static void read_integer(lexer *l, token *t, uint32_t begin) {
    t->kind = TOKEN_INT;
    for (uint32_t i = begin; i < l->position; i++) {
        uint64_t digit = (uint64_t)(l->src->text[i] - '0');
        if (t->integer > (UINT64_MAX - digit) / 10) {
            set_fault(t, LEX_NUMBER_RANGE, begin, l->position);
            t->integer = 0;
            break;
        }
        t->integer = t->integer * 10 + digit;
    }
    t->unit.begin = l->position;
    while (is_name_part(byte_at(l, 0))) l->position++;
    t->unit.end = l->position;
}

static void read_number(lexer *l, token *t) {
    uint32_t begin = l->position;
    skip_digits(l);
    if (l->after_dot) {
        read_integer(l, t, begin);
        return;
    }
    bool floating = false;
    if (byte_at(l, 0) == '.' && is_digit(byte_at(l, 1))) {
        floating = true;
        l->position++;
        skip_digits(l);
    } else if (byte_at(l, 0) == '.' && skip_bare_point(l)) {
        floating = true;
        set_fault(t, LEX_NUMBER_POINT, begin, l->position);
    }
    if (skip_exponent(l)) floating = true;
    if (!floating) {
        read_integer(l, t, begin);
        return;
    }
    t->kind = TOKEN_FLOAT;
    uint32_t suffix = l->position;
    while (is_name_part(byte_at(l, 0))) l->position++;
    if (l->position > suffix) set_fault(t, LEX_NUMBER_SUFFIX, suffix, l->position);
}

/* ---- strings ---- */

/* A valid escape's length at the position of its backslash, and what it stands for; 0 for none. */
static uint32_t read_escape(const char *s, uint32_t left, uint32_t *character) {
    static const char letters[] = "ntr\"\\", meant[] = "\n\t\r\"\\";
    if (left < 2) return 0;
    const char *letter = s[1] != '\0' ? strchr(letters, s[1]) : NULL;
    if (letter != NULL) {
        *character = (uint32_t)meant[letter - letters];
        return 2;
    }
    if (s[1] != 'u' || left < 3 || s[2] != '{') return 0;
    uint32_t i = 3, code = 0;
    for (; i < left && i < 9 && s[i] != '}'; i++) {
        char ch = s[i];
        bool hex = is_digit(ch) || (ch >= 'a' && ch <= 'f') || (ch >= 'A' && ch <= 'F');
        if (!hex) return 0;
        code = code * 16 + (uint32_t)(is_digit(ch) ? ch - '0' : (ch | 0x20) - 'a' + 10);
    }
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (i == 3 || i >= left || s[i] != '}' || code == 0 || code > 0x10FFFF || surrogate) return 0;
    *character = code;
    return i + 1;
}

static void read_string(lexer *l, token *t) {
    uint32_t begin = l->position++;
    t->kind = TOKEN_STRING;
    for (;;) {
        char ch = byte_at(l, 0);
        if (l->position >= l->src->length || ch == '\n' || ch == '\r') {
            set_fault(t, LEX_STRING_OPEN, begin, l->position);
            return;
        }
        if (ch == '"') break;
        if (ch == '\\') {
            uint32_t character, left = l->src->length - l->position;
            uint32_t length = read_escape(l->src->text + l->position, left, &character);
            uint32_t whole = length > 0 ? length : left > 1 && byte_at(l, 1) != '\n' ? 2 : 1;
            if (length == 0) set_fault(t, LEX_ESCAPE, l->position, l->position + whole);
            l->position += whole;
            continue;
        }
        if (utf8_unprintable((unsigned char)ch < 0x80 ? (uint32_t)ch : ' ') && ch != '\t') {
            set_fault(t, LEX_STRING_CONTROL, l->position, l->position + 1);
        }
        l->position++;
    }
    l->position++;
}

/* 'text' or “text”: taken as a string up to the next quote of any kind. */
static void read_foreign_string(lexer *l, token *t) {
    uint32_t begin = l->position;
    unsigned length;
    (void)character_at(l, &length);
    l->position += length;
    t->kind = TOKEN_STRING;
    while (l->position < l->src->length && byte_at(l, 0) != '\n' && byte_at(l, 0) != '\r') {
        uint32_t character = character_at(l, &length);
        l->position += length;
        if (is_quote(character) || character == '"') break;
    }
    set_fault(t, LEX_STRING_QUOTE, begin, l->position);
}

const char *lexer_string(arena *a, const source *src, span at, uint32_t *length) {
    char *out = arena_take(a, at.end - at.begin + 1);
    *length = 0;
    if (out == NULL || src->text[at.begin] != '"') return out;
    for (uint32_t i = at.begin + 1; i + 1 < at.end;) {
        uint32_t character;
        uint32_t escape =
            src->text[i] == '\\' ? read_escape(src->text + i, at.end - i, &character) : 0;
        if (escape > 0) {
            *length += utf8_encode(character, out + *length);
        } else {
            out[(*length)++] = src->text[i];
        }
        i += escape > 0 ? escape : 1;
    }
    return out;
}

/* ---- all together ---- */

static void read_punctuation(lexer *l, token *t) {
    const char *at = l->src->text + l->position;
    for (int kind = 0; kind < TOKEN_COUNT; kind++) {
        const spelling *s = &spellings[kind];
        if (s->length == 0 || s->reserved || strncmp(at, s->words, s->length) != 0) continue;
        t->kind = (token_kind)kind;
        l->position += s->length;
        return;
    }
    unsigned length;
    uint32_t character = character_at(l, &length);
    const lookalike *like = find_lookalike(character);
    uint32_t begin = l->position;
    l->position += length;
    t->kind = like != NULL ? like->kind : TOKEN_STAR;
    set_fault(t, like != NULL ? LEX_LOOKALIKE : LEX_CHARACTER, begin, l->position);
    if (t->fault.at.begin == begin) t->fault.meant = spellings[t->kind].words;
}

token lexer_next(lexer *l) {
    token t = {.kind = TOKEN_END, .first_on_line = l->position == 0};
    skip_blanks(l, &t);
    uint32_t begin = l->position;
    if (begin < l->src->length) {
        unsigned length;
        uint32_t character = character_at(l, &length);
        char ch = byte_at(l, 0);
        if (is_name_start(ch) || is_foreign_letter(character)) {
            read_name(l, &t);
        } else if (is_digit(ch)) {
            read_number(l, &t);
        } else if (ch == '"') {
            read_string(l, &t);
        } else if (is_quote(character)) {
            read_foreign_string(l, &t);
        } else {
            read_punctuation(l, &t);
        }
    }
    t.at = (span){begin, l->position};
    l->after_dot = t.kind == TOKEN_DOT;
    return t;
}
