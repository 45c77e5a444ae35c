/* What the lexer has to say, in words; and the conversion of floating literals. */
#include "interp/lexer.h"

#include <stdlib.h>
#include <string.h>

#include "interp/utf8.h"
#include "runtime/context.h"

static void report_character(const source *src, const lex_fault *fault, diagnostics *d) {
    unsigned length;
    const char *at = src->text + fault->at.begin;
    uint32_t character = utf8_decode(at, src->length - fault->at.begin, &length);
    bool visible = character > ' ' && character < 0x7F;
    diag *e;
    if (visible) {
        e = diag_error(d, ERROR_K0001, fault->at, "unexpected character `%c`", (char)character);
    } else {
        e = diag_error(d, ERROR_K0001, fault->at, "unexpected character U+%04X", character);
    }
    if (character == '^') diag_add_help(d, e, "a power is written `pow(x, y)`");
    if (character >= 0x80)
        diag_add_help(d, e, "outside of strings and comments a program is ASCII text");
}

static void report_lookalike(const source *src, const lex_fault *fault, diagnostics *d) {
    int length = (int)(fault->at.end - fault->at.begin);
    const char *at = src->text + fault->at.begin;
    diag *e = diag_error(d, ERROR_K0001, fault->at, "unexpected character `%.*s`", length, at);
    diag_add_help(d, e, "write `%s`", fault->meant);
}

static void report_string(const source *src, const lex_fault *fault, diagnostics *d) {
    diag *e;
    int length = (int)(fault->at.end - fault->at.begin);
    switch (fault->kind) {
    case LEX_STRING_OPEN:
        e = diag_error(d, ERROR_K0002, fault->at, "a string without its closing `\"`");
        diag_add_help(d, e, "a string ends on its line; a line end inside it is written `\\n`");
        break;
    case LEX_STRING_QUOTE:
        e = diag_error(d, ERROR_K0001, fault->at, "a string in quotes of another kind");
        diag_add_help(d, e, "a string stands between `\"` and `\"`");
        break;
    case LEX_STRING_CONTROL:
        e = diag_error(d, ERROR_K0001, fault->at, "a control character inside a string");
        diag_add_help(d, e, "write it as an escape, such as `\\u{%X}`",
                      (unsigned)(unsigned char)src->text[fault->at.begin]);
        break;
    default:
        e = diag_error(d, ERROR_K0006, fault->at, "`%.*s` is no escape", length,
                       src->text + fault->at.begin);
        diag_add_help(d, e,
                      "the escapes are `\\n` `\\t` `\\r` `\\\"` `\\\\` and `\\u{...}` with the "
                      "character's number in hexadecimal, not 0");
        break;
    }
}

static void report_suffix(const source *src, const lex_fault *fault, diagnostics *d) {
    enum { LONGEST = 40 };
    const char *at = src->text + fault->at.begin;
    uint32_t length = fault->at.end - fault->at.begin;
    int shown = (int)(length < LONGEST ? length : LONGEST);
    if ((at[0] == 'e' || at[0] == 'E') && length == 1) {
        diag *e = diag_error(d, ERROR_K0005, fault->at, "an exponent without digits");
        diag_add_help(d, e, "an exponent is written as in `1e-3`");
        return;
    }
    diag *e = diag_error(d, ERROR_K0005, fault->at, "`%.*s` directly after a number", shown, at);
    if (at[0] == '_') {
        diag_add_help(d, e, "the digits of a number are written without separators");
    } else if (at[0] == 'x' || at[0] == 'X' || at[0] == 'b' || at[0] == 'o') {
        diag_add_help(d, e, "numbers are decimal");
    } else if (length <= 3 && strchr("fFdDlLuUiI", at[0]) != NULL) {
        diag_add_help(d, e, "a literal takes its type from where it stands; `F64(x)` converts");
    } else {
        diag_add_help(d, e, "an operator or a blank is missing; a product is written with `*`");
    }
}

static void report_number(const source *src, const lex_fault *fault, diagnostics *d) {
    if (fault->kind == LEX_NUMBER_SUFFIX) {
        report_suffix(src, fault, d);
    } else if (fault->kind == LEX_NUMBER_POINT) {
        diag *e = diag_error(d, ERROR_K0005, fault->at, "a float without digits after its point");
        uint32_t digits = 0;
        const char *at = src->text + fault->at.begin;
        while (at[digits] >= '0' && at[digits] <= '9') digits++;
        if (digits <= 20) diag_add_help(d, e, "write `%.*s.0`", (int)digits, at);
    } else {
        diag *e = diag_error(d, ERROR_K0003, fault->at, "an integer beyond 64 bits");
        diag_add_help(d, e, "a float of this size is written with an exponent, as in `1e30`");
    }
}

void lexer_report(const source *src, const lex_fault *fault, diagnostics *d) {
    diag *e;
    switch (fault->kind) {
    case LEX_OK: break;
    case LEX_CHARACTER: report_character(src, fault, d); break;
    case LEX_LOOKALIKE: report_lookalike(src, fault, d); break;
    case LEX_HASH_COMMENT:
    case LEX_BLOCK_COMMENT:
        e = diag_error(d, ERROR_K0001, fault->at, "a comment begins with `//`, not with `%.*s`",
                       (int)(fault->at.end - fault->at.begin), src->text + fault->at.begin);
        diag_add_help(d, e, "write `//` on each line of it");
        break;
    case LEX_BLOCK_COMMENT_OPEN:
        e = diag_error(d, ERROR_K0002, fault->at, "a comment without its end");
        diag_add_help(d, e, "comments are written `// ...`, to the end of the line");
        break;
    case LEX_NAME:
        e = diag_error(d, ERROR_K0001, fault->at, "a name with characters beyond ASCII");
        diag_add_help(d, e, "names are made of the letters a-z and A-Z, digits and `_`");
        break;
    case LEX_STRING_OPEN:
    case LEX_STRING_QUOTE:
    case LEX_STRING_CONTROL:
    case LEX_ESCAPE: report_string(src, fault, d); break;
    case LEX_NUMBER_SUFFIX:
    case LEX_NUMBER_POINT:
    case LEX_NUMBER_RANGE: report_number(src, fault, d); break;
    }
}

/* The digits are handed to the C library as an integer with an exponent: without a point they read
 * the same in every locale. Zeros in front and exponents of any length are kept in bounds first. */
bool lexer_float(context *c, const char *digits, size_t length, double *wide, float *narrow) {
    enum { EXPONENT_MOST = 100000000, TAIL = 16 };
    size_t room = length + TAIL;
    char *plain = take(c, room);
    if (plain == NULL) return false;
    size_t used = 0, i = 0;
    int64_t scale = 0;
    bool point = false;
    for (; i < length && digits[i] != 'e' && digits[i] != 'E'; i++) {
        if (digits[i] == '.') {
            point = true;
        } else {
            plain[used++] = digits[i];
            scale -= point;
        }
    }
    int64_t exponent = 0;
    bool negative = i + 1 < length && digits[i + 1] == '-';
    for (i += 1; i < length; i++) {
        if (digits[i] >= '0' && digits[i] <= '9' && exponent < EXPONENT_MOST * (int64_t)100) {
            exponent = exponent * 10 + (digits[i] - '0');
        }
    }
    scale += negative ? -exponent : exponent;
    if (scale > EXPONENT_MOST) scale = EXPONENT_MOST;
    if (scale < -EXPONENT_MOST) scale = -EXPONENT_MOST;
    plain[used++] = 'e';
    plain[used++] = scale < 0 ? '-' : '+';
    uint64_t magnitude = (uint64_t)(scale < 0 ? -scale : scale);
    char tail[TAIL];
    size_t n = 0;
    do {
        tail[n++] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    while (n > 0) plain[used++] = tail[--n];
    plain[used] = '\0';
    *wide = strtod(plain, NULL);
    *narrow = strtof(plain, NULL);
    give_back(c, plain, room);
    return true;
}
