/* Diagnostics as people and programs see them: carets under the exact columns whatever the line
 * holds, labels, notes, order, JSON; and the positions and names of a source text. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/diag.h"
#include "interp/utf8.h"
#include "runtime/context.h"

typedef struct board {
    context c;
    arena a;
    source src;
    diagnostics d;
    text out;
} board;

static void board_open(board *b, const char *words) {
    context_init(&b->c);
    arena_init(&b->a, &b->c);
    text_init(&b->out, &b->c);
    ck_assert(source_init(&b->src, &b->a, "prog.kina", words, strlen(words)));
    diagnostics_init(&b->d, &b->a, &b->src);
}

static void board_close(board *b) {
    text_close(&b->out);
    arena_close(&b->a);
    context_close(&b->c);
    ck_assert_uint_eq(b->c.mem.live, 0);
}

static const char *render(board *b, diag_style style) {
    text_clear(&b->out);
    diagnostics_render(&b->d, style, &b->out);
    return text_data(&b->out);
}

/* The span of the n-th (from 1) occurrence of some words. */
static span find(const board *b, const char *words, int n) {
    const char *at = b->src.text;
    for (; n > 1; n--) at = strstr(at, words) + 1;
    at = strstr(at, words);
    ck_assert_ptr_nonnull(at);
    uint32_t begin = (uint32_t)(at - b->src.text);
    return (span){begin, begin + (uint32_t)strlen(words)};
}

/* ---- people ---- */

START_TEST(labels_on_both_operands) {
    board b;
    board_open(&b, "let x = 1;\nlet y = a @ b;\n");
    diag *e = diag_error(&b.d, ERROR_K0501, find(&b, "a @", 1), "dims of `%s` differ: %d and %d",
                         "@", 3, 4);
    e->at.end = e->at.begin + 1;
    diag_label_primary(&b.d, e, "tensor<F32, [2, %d]>", 3);
    diag_add_label(&b.d, e, find(&b, "b", 1), "tensor<F32, [4, 2]>");
    diag_add_note(&b.d, e, (span){0, 0}, "a note");
    diag_add_help(&b.d, e, "a help");
    ck_assert_str_eq(render(&b, (diag_style){0}), "error[K0501]: dims of `@` differ: 3 and 4\n"
                                                  "  --> prog.kina:2:9\n"
                                                  "   |\n"
                                                  " 2 | let y = a @ b;\n"
                                                  "   |         ^   - tensor<F32, [4, 2]>\n"
                                                  "   |         tensor<F32, [2, 3]>\n"
                                                  "   = note: a note\n"
                                                  "   = help: a help\n");
    board_close(&b);
}
END_TEST

START_TEST(three_labels_and_a_placed_note) {
    board b;
    board_open(&b, "fn f(a: F32)\n\n\n\n\n\n\n\n\n  where(m, x, y)\n");
    diag *e = diag_error(&b.d, ERROR_K0501, find(&b, "where", 1), "clash");
    diag_label_primary(&b.d, e, "here");
    diag_add_label(&b.d, e, find(&b, "x", 1), "one");
    diag_add_label(&b.d, e, find(&b, "y", 1), "two");
    diag_add_note(&b.d, e, find(&b, "a", 1), "`a` comes from here");
    ck_assert_str_eq(render(&b, (diag_style){0}), "error[K0501]: clash\n"
                                                  "   --> prog.kina:10:3\n"
                                                  "    |\n"
                                                  " 10 |   where(m, x, y)\n"
                                                  "    |   ^^^^^    -  - two\n"
                                                  "    |   |        one\n"
                                                  "    |   here\n"
                                                  "note: `a` comes from here\n"
                                                  "   --> prog.kina:1:6\n"
                                                  "    |\n"
                                                  "  1 | fn f(a: F32)\n"
                                                  "    |      -\n");
    board_close(&b);
}
END_TEST

START_TEST(several_lines) {
    board b;
    board_open(&b, "let a = f(1,\n    2,\n    3);\nlet b = a;\nlet c = b;\n");
    span call = {find(&b, "f(", 1).begin, find(&b, "3)", 1).end};
    diag *e = diag_error(&b.d, ERROR_K0501, call, "three lines");
    diag_label_primary(&b.d, e, "all of it");
    diag_add_label(&b.d, e, find(&b, "c", 1), "far away");
    ck_assert_str_eq(render(&b, (diag_style){0}), "error[K0501]: three lines\n"
                                                  "  --> prog.kina:1:9\n"
                                                  "   |\n"
                                                  " 1 | let a = f(1,\n"
                                                  "   |         ^^^^\n"
                                                  " 2 |     2,\n"
                                                  " 3 |     3);\n"
                                                  "   |     ^^ all of it\n"
                                                  " 4 | let b = a;\n"
                                                  " 5 | let c = b;\n"
                                                  "   |     - far away\n");
    board_close(&b);
}
END_TEST

/* The column at which the caret stands in the rendered rows, and that of the marked character. */
static void check_caret(const char *words, const char *marked, const char *line, const char *row,
                        uint32_t column) {
    board b;
    board_open(&b, words);
    diag *e = diag_error(&b.d, ERROR_K0501, find(&b, marked, 1), "m");
    const char *shown = render(&b, (diag_style){0});
    char expected[400];
    uint32_t at_line, at_column;
    source_position(&b.src, e->at.begin, &at_line, &at_column);
    ck_assert_uint_eq(at_column, column);
    snprintf(expected, sizeof expected,
             "error[K0501]: m\n  --> prog.kina:%u:%u\n   |\n %u | %s\n   | %s\n", at_line, column,
             at_line, line, row);
    ck_assert_str_eq(shown, expected);
    board_close(&b);
}

START_TEST(columns) {
    check_caret("\tx\ty", "y", "    x   y", "        ^", 4);
    check_caret("// \xE4\xB8\xAD\xE6\x96\x87 y", "y", "// \xE4\xB8\xAD\xE6\x96\x87 y", "        ^",
                7);
    check_caret("// e\xCC\x81 y", "y", "// e\xCC\x81 y", "     ^", 7);
    check_caret("// \xF0\x9F\x98\x80 y", "y", "// \xF0\x9F\x98\x80 y", "      ^", 6);
    check_caret("a;\r\n  y;\r\n", "y", "  y;", "  ^", 3);
    check_caret("a;\r  y;\r", "y", "  y;", "  ^", 3);
    check_caret("// \x1B[31m y", "y", "// \xE2\x90\x9B[31m y", "         ^", 10);
    check_caret("// \xE2\x80\xAE y", "y", "// \xEF\xBF\xBD y", "     ^", 6);
    check_caret("// \xE4\xB8\xAD", "\xE4\xB8\xAD", "// \xE4\xB8\xAD", "   ^^", 4);
}
END_TEST

START_TEST(places_at_the_edges) {
    board b;
    board_open(&b, "let x = 3");
    diag_error(&b.d, ERROR_K0501, (span){9, 9}, "at the end");
    diag_error(&b.d, ERROR_K0502, (span){0, 0}, "nowhere");
    diag_error(&b.d, ERROR_K0503, (span){50, 60}, "beyond");
    ck_assert_str_eq(render(&b, (diag_style){0}), "error[K0502]: nowhere\n"
                                                  "\n"
                                                  "error[K0501]: at the end\n"
                                                  "  --> prog.kina:1:10\n"
                                                  "   |\n"
                                                  " 1 | let x = 3\n"
                                                  "   |          ^\n"
                                                  "\n"
                                                  "error[K0503]: beyond\n"
                                                  "  --> prog.kina:1:10\n"
                                                  "   |\n"
                                                  " 1 | let x = 3\n"
                                                  "   |          ^\n");
    board_close(&b);
}
END_TEST

START_TEST(a_very_wide_line) {
    enum { WIDE = 100000 };
    char *words = malloc(WIDE + 1);
    ck_assert_ptr_nonnull(words);
    memset(words, 'a', WIDE);
    words[WIDE / 2] = 'y';
    words[WIDE] = '\0';
    board b;
    board_open(&b, words);
    diag *e = diag_error(&b.d, ERROR_K0501, find(&b, "y", 1), "m");
    diag_label_primary(&b.d, e, "this");
    diag_add_label(&b.d, e, (span){WIDE - 1, WIDE}, "far");
    const char *shown = render(&b, (diag_style){0});
    ck_assert_uint_lt(strlen(shown), 500);
    /* The ellipsis takes one column and three bytes. */
    const char *line = strstr(shown, " 1 | "), *row = strchr(line, '\n') + 1;
    ck_assert_int_eq(strchr(line, 'y') - line - 2, strchr(row, '^') - row);
    board_close(&b);
    free(words);
}
END_TEST

START_TEST(order_and_warnings) {
    board b;
    board_open(&b, "a b c");
    diag_warning(&b.d, ERROR_K0501, find(&b, "b", 1), "fourth");
    diag_error(&b.d, ERROR_K0501, find(&b, "c", 1), "fifth");
    diag_error(&b.d, ERROR_K0501, find(&b, "b", 1), "second");
    diag_error(&b.d, ERROR_K0502, find(&b, "b", 1), "third");
    diag_warning(&b.d, ERROR_K0501, (span){0, 1}, "first");
    const char *shown = render(&b, (diag_style){.json = true});
    static const char *const in_order[] = {"first", "second", "third", "fourth", "fifth"};
    const char *last = shown;
    for (size_t i = 0; i < COUNT_OF(in_order); i++) {
        const char *at = strstr(shown, in_order[i]);
        ck_assert_ptr_nonnull(at);
        ck_assert(at > last);
        last = at;
    }
    ck_assert_uint_eq(b.d.errors, 3);
    ck_assert_uint_eq(b.d.warnings, 2);
    ck_assert_ptr_nonnull(strstr(render(&b, (diag_style){0}), "warning[K0501]: first"));
    board_close(&b);
}
END_TEST

START_TEST(color) {
    board b;
    board_open(&b, "a + b");
    diag *e = diag_error(&b.d, ERROR_K0501, find(&b, "+", 1), "m");
    diag_add_label(&b.d, e, find(&b, "a", 1), "l");
    diag_add_help(&b.d, e, "h");
    char *plain = strdup(render(&b, (diag_style){0}));
    ck_assert_ptr_nonnull(plain);
    const char *shown = render(&b, (diag_style){.color = true});
    char *stripped = malloc(strlen(shown) + 1), *to = stripped;
    ck_assert_ptr_nonnull(stripped);
    for (const char *s = shown; *s != '\0';) {
        if (*s == '\033') {
            s = strchr(s, 'm') + 1;
        } else {
            *to++ = *s++;
        }
    }
    *to = '\0';
    ck_assert_ptr_nonnull(strchr(shown, '\033'));
    ck_assert_str_eq(stripped, plain);
    free(stripped);
    free(plain);
    board_close(&b);
}
END_TEST

START_TEST(at_most_a_hundred) {
    board b;
    board_open(&b, "a b c");
    for (int i = 0; i < 1000; i++) {
        diag *e = diag_error(&b.d, ERROR_K0501, (span){2, 3}, "number %d", i);
        ck_assert_ptr_nonnull(e);
        diag_add_label(&b.d, e, (span){0, 1}, "label");
        diag_add_note(&b.d, e, (span){0, 1}, "note");
        diag_add_help(&b.d, e, "help");
        diag_label_primary(&b.d, e, "primary");
    }
    ck_assert_uint_eq(b.d.errors, 1000);
    const char *shown = render(&b, (diag_style){0});
    ck_assert_ptr_nonnull(strstr(shown, "number 99\n"));
    ck_assert_ptr_null(strstr(shown, "number 100\n"));
    ck_assert_ptr_nonnull(strstr(shown, "900 more errors"));
    board_close(&b);
}
END_TEST

/* ---- programs ---- */

START_TEST(json) {
    board b;
    board_open(&b, "a\n\xC3\xA9 \"q\"\n");
    diag *e = diag_error(&b.d, ERROR_K0501, find(&b, "\"q\"", 1), "say \"%s\"", "x\ny");
    diag_label_primary(&b.d, e, "l");
    diag_add_label(&b.d, e, (span){0, 1}, "first");
    diag_add_note(&b.d, e, (span){0, 0}, "n");
    diag_add_help(&b.d, e, "h");
    diag_warning(&b.d, ERROR_K0502, (span){0, 0}, "w");
    ck_assert_str_eq(
        render(&b, (diag_style){.json = true}),
        "{\"severity\":\"warning\",\"code\":\"K0502\",\"message\":\"w\",\"file\":\"prog.kina\","
        "\"labels\":[],\"notes\":[]}\n"
        "{\"severity\":\"error\",\"code\":\"K0501\",\"message\":\"say \\\"x\\ny\\\"\","
        "\"file\":\"prog.kina\",\"begin\":5,\"end\":8,\"line\":2,\"column\":3,\"end_line\":2,"
        "\"end_column\":6,\"label\":\"l\",\"labels\":[{\"text\":\"first\",\"begin\":0,\"end\":1,"
        "\"line\":1,\"column\":1,\"end_line\":1,\"end_column\":2}],\"notes\":[{\"text\":\"n\"}],"
        "\"help\":\"h\"}\n");
    board_close(&b);
}
END_TEST

START_TEST(errors_of_a_run) {
    board b;
    board_open(&b, "let x = 1 / 0;");
    error *e = &b.c.err;
    error_set(e, ERROR_K0501, find(&b, "/", 1), "integer division by zero");
    error_help(e, "test the divisor first");
    for (int i = 0; i < ERROR_NOTES + 3; i++) error_add_note(e, (span){0, 0}, "call %d", i);
    diag_from_error(&b.d, e);
    const char *shown = render(&b, (diag_style){0});
    ck_assert_ptr_nonnull(strstr(shown, " 1 | let x = 1 / 0;\n   |           ^\n"));
    ck_assert_ptr_nonnull(strstr(shown, "= note: call 11\n"));
    ck_assert_ptr_nonnull(strstr(shown, "= note: and 3 more like these\n"));
    ck_assert_ptr_nonnull(strstr(shown, "= help: test the divisor first\n"));
    error_clear(e);
    diag_from_error(&b.d, e);
    ck_assert_uint_eq(b.d.errors, 1);
    board_close(&b);
}
END_TEST

START_TEST(without_memory) {
    for (uint64_t n = 1; n < 40; n++) {
        board b;
        board_open(&b, "a + b");
        b.c.mem.fail_at = b.c.mem.requests + n;
        diag *e = diag_error(&b.d, ERROR_K0501, (span){0, 1}, "%0500d", 1);
        diag_add_label(&b.d, e, (span){4, 5}, "%0500d", 2);
        diag_add_note(&b.d, e, (span){4, 5}, "%0500d", 3);
        diag_add_help(&b.d, e, "%0500d", 4);
        ck_assert_uint_eq(b.d.errors, 1);
        (void)render(&b, (diag_style){0});
        board_close(&b);
    }
}
END_TEST

/* ---- the source text ---- */

START_TEST(positions) {
    board b;
    board_open(&b, "ab\ncd\r\ne\rf\n\n");
    static const uint32_t expected[][3] = {
        {0, 1, 1}, {1, 1, 2}, {2, 1, 3},  {3, 2, 1},  {5, 2, 3},  {7, 3, 1},
        {8, 3, 2}, {9, 4, 1}, {11, 5, 1}, {12, 6, 1}, {99, 6, 1},
    };
    ck_assert_uint_eq(b.src.line_count, 6);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        uint32_t line, column;
        source_position(&b.src, expected[i][0], &line, &column);
        ck_assert_uint_eq(line, expected[i][1]);
        ck_assert_uint_eq(column, expected[i][2]);
    }
    board_close(&b);
}
END_TEST

START_TEST(names_are_one) {
    board b;
    board_open(&b, "");
    names n;
    names_init(&n, &b.a);
    const char *first[500];
    char name[16];
    for (int i = 0; i < 500; i++) {
        int length = snprintf(name, sizeof name, "x%d", i);
        first[i] = names_intern(&n, name, (size_t)length);
        ck_assert_str_eq(first[i], name);
    }
    for (int i = 0; i < 500; i++) {
        int length = snprintf(name, sizeof name, "x%d", i);
        ck_assert_ptr_eq(names_intern(&n, name, (size_t)length), first[i]);
    }
    ck_assert_ptr_eq(names_intern(&n, "x12345", 3), first[12]);
    board_close(&b);
}
END_TEST

START_TEST(distances) {
    ck_assert_uint_eq(names_distance("", "", 3), 0);
    ck_assert_uint_eq(names_distance("weight", "weight", 0), 0);
    ck_assert_uint_eq(names_distance("weight", "wieght", 3), 1);
    ck_assert_uint_eq(names_distance("weight", "weigh", 3), 1);
    ck_assert_uint_eq(names_distance("kitten", "sitting", 3), 3);
    ck_assert_uint_eq(names_distance("kitten", "sitting", 2), 3);
    ck_assert_uint_eq(names_distance("ab", "abcdefgh", 2), 3);
    ck_assert_uint_eq(names_distance("ca", "abc", 5), 3);
}
END_TEST

START_TEST(utf8) {
    unsigned length;
    char bytes[4];
    static const uint32_t some[] = {0, 'a', 0x7F, 0x80, 0x7FF, 0x800, 0xFFFD, 0x10000, 0x10FFFF};
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        unsigned n = utf8_encode(some[i], bytes);
        ck_assert_uint_eq(utf8_decode(bytes, n, &length), some[i]);
        ck_assert_uint_eq(length, n);
        if (n > 1) ck_assert_uint_eq(utf8_decode(bytes, n - 1, &length), UTF8_BAD);
    }
    static const char *const bad[] = {
        "\x80",  "\xC1\x81", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "\xC3(", "\xFF"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ck_assert_uint_eq(utf8_decode(bad[i], strlen(bad[i]), &length), UTF8_BAD);
        ck_assert_uint_eq(length, 1);
    }
    ck_assert_uint_eq(utf8_width(0x301), 0);
    ck_assert_uint_eq(utf8_width(0xE9), 1);
    ck_assert_uint_eq(utf8_width(0x2026), 1);
    ck_assert_uint_eq(utf8_width(0x4E2D), 2);
    ck_assert_uint_eq(utf8_width(0x1F600), 2);
}
END_TEST

Suite *suite_diag(void);
Suite *suite_diag(void) {
    Suite *s = suite_create("diag");
    TCase *people = tcase_create("people");
    tcase_add_test(people, labels_on_both_operands);
    tcase_add_test(people, three_labels_and_a_placed_note);
    tcase_add_test(people, several_lines);
    tcase_add_test(people, columns);
    tcase_add_test(people, places_at_the_edges);
    tcase_add_test(people, a_very_wide_line);
    tcase_add_test(people, order_and_warnings);
    tcase_add_test(people, color);
    tcase_add_test(people, at_most_a_hundred);
    suite_add_tcase(s, people);
    TCase *programs = tcase_create("programs");
    tcase_add_test(programs, json);
    tcase_add_test(programs, errors_of_a_run);
    tcase_add_test(programs, without_memory);
    suite_add_tcase(s, programs);
    TCase *text_case = tcase_create("source");
    tcase_add_test(text_case, positions);
    tcase_add_test(text_case, names_are_one);
    tcase_add_test(text_case, distances);
    tcase_add_test(text_case, utf8);
    suite_add_tcase(s, text_case);
    return s;
}
