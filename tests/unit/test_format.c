/* The canonical layout: where lines end, what becomes of comments and empty lines, and trees made by hand. */
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/lexer.h"
#include "tests/unit/make_tree.h"
#include "tests/unit/parse_check.h"

typedef struct layout_case {
    const char *words, *print;
} layout_case;

/* Each text has this layout, and its layout has itself. */
static void check_layouts(const layout_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *words = cases[i].words;
        for (int again = 0; again < 2; again++, words = cases[i].print) {
            parsed t;
            parsed_open(&t, words, strlen(words), 0);
            ck_assert_msg(t.ok, "%s\n%s", words, parsed_diagnostics(&t, false));
            ck_assert_str_eq(parsed_print(&t), cases[i].print);
            parsed_close(&t);
        }
    }
}

#define L20 "a_name_of_20_letters"

START_TEST(short_forms) {
    static const layout_case cases[] = {
        {"", ""},
        {"\n\n", ""},
        {"fn f(x:F32)->F32{\nx*x\n}", "fn f(x: F32) -> F32 { x * x }\n"},
        {"fn f(){}", "fn f() { }\n"},
        {"fn f(){a;}", "fn f() {\n    a;\n}\n"},
        {"let y=if(c){\na\n}else{\nb};\ny", "let y = if (c) { a } else { b };\ny\n"},
        {"if(c){a;}else{b}", "if (c) {\n    a;\n} else {\n    b\n}\n"},
        {"if(a){1}else if(b){2}else{3}", "if (a) { 1 } else if (b) { 2 } else { 3 }\n"},
        {"let x=1 in\n\tx", "let x = 1 in x\n"},
        {"let x=1 in\n\n\tx", "let x = 1 in\n\nx\n"},
        {"@checkpoint( k = 4 ) while(c)[x=y,]{x}",
         "@checkpoint(k=4)\nwhile (c) [x = y] { x }\n"},
        {"let r=@checkpoint(memory=64MiB)while(c)[x=y]{x}; r",
         "let r = @checkpoint(memory=64MiB) while (c) [x = y] { x };\nr\n"},
        {"let x:tensor<F32,[2,N+1],@host,>=f((a,b,),[1,2,],); x",
         "let x: tensor<F32, [2, N + 1], @host> = f((a, b), [1, 2]);\nx\n"},
        {"@checkpoint(memory=1024KiB) let r=x; r", "@checkpoint(memory=1024KiB)\nlet r = x;\nr\n"},
    };
    check_layouts(cases, COUNT_OF(cases));
}
END_TEST

/* A line of exactly 100 columns stays; one of 101 is broken. */
START_TEST(width) {
    char words[128], broken[256];
    for (int more = 0; more < 2; more++) {
        memset(words, 'a', sizeof words);
        memcpy(words, "let x = f(", 10);
        strcpy(words + 98 + more, ");\n");
        char name[128] = {0};
        memcpy(name, words + 10, (size_t)(88 + more));
        strcpy(broken, "let x = f(\n    ");
        strcat(broken, name);
        strcat(broken, ",\n);\n");
        layout_case one = {words, more > 0 ? broken : words};
        if (more == 0) ck_assert_uint_eq(strlen(words), 101);
        check_layouts(&one, 1);
    }
}
END_TEST

/* The comma behind the last entry counts too. */
START_TEST(width_with_a_comma) {
    char name[96], words[256], print[256];
    for (int length = 92; length <= 93; length++) {
        memset(name, 'a', sizeof name);
        name[length] = '\0';
        bool stays = length == 92;
        snprintf(words, sizeof words, "f(b, g(%s))", name);
        snprintf(print, sizeof print, stays ? "f(\n    b,\n    g(%s),\n)\n" : "f(\n    b,\n    g(\n        %s,\n    ),\n)\n",
                 name);
        layout_case one = {words, print};
        check_layouts(&one, 1);
    }
}
END_TEST

START_TEST(long_forms) {
    static const layout_case cases[] = {
        {"f(" L20 ", x=" L20 ", " L20 ", " L20 ", " L20 ")",
         "f(\n    " L20 ",\n    x=" L20 ",\n    " L20 ",\n    " L20 ",\n    " L20 ",\n)\n"},
        {"fn f(a: tensor<F32, [Batch, Depth]>, b: tensor<F32, [Batch, Depth]>, the_gate: tensor<F32, [D]>, d: F64) -> F32 {d}",
         "fn f(\n    a: tensor<F32, [Batch, Depth]>,\n    b: tensor<F32, [Batch, Depth]>,\n    the_gate: tensor<F32, [D]>,\n"
         "    d: F64,\n) -> F32 { d }\n"},
        {"while (i < n) [a = " L20 ", b = " L20 ", c = x, i = 0] {(a, b, c, i) }",
         "while (i < n) [a = " L20 ", b = " L20 ", c = x, i = 0] { (a, b, c, i) }\n"},
        {"while (i < n) [a = " L20 ", b = " L20 ", c = " L20 ", d = " L20 "] {(a, b, c, d)}",
         "while (i < n) [\n    a = " L20 ",\n    b = " L20 ",\n    c = " L20 ",\n    d = " L20
         ",\n] { (a, b, c, d) }\n"},
        {"let x = " L20 " * " L20 " + " L20 " - " L20 " * " L20 "; x",
         "let x = " L20 " * " L20 " +\n    " L20 " -\n    " L20 " * " L20 ";\nx\n"},
        {"if (" L20 " == " L20 " && " L20 " == " L20 " && " L20 ") { a } else { b }",
         "if (\n    " L20 " == " L20 " &&\n        " L20 " == " L20 " &&\n        " L20 "\n) {\n    a\n} else {\n    b\n}\n"},
        {L20 ".f(" L20 ").g(" L20 ").h(" L20 ")[" L20 "]",
         L20 "\n    .f(" L20 ")\n    .g(" L20 ")\n    .h(" L20 ")[" L20 "]\n"},
        {"[[" L20 ", " L20 "], [" L20 ", " L20 "], [" L20 "]]",
         "[\n    [" L20 ", " L20 "],\n    [" L20 ", " L20 "],\n    [" L20 "],\n]\n"},
        {"let x = f([1000000.0, -2000000.0, 3000000.0, 4000000.0, 5000000.0, 6000000.0, 7000000.0, 8000000.0]); x",
         "let x = f([\n    1000000.0, -2000000.0, 3000000.0, 4000000.0, 5000000.0, 6000000.0, 7000000.0, "
         "8000000.0,\n]);\nx\n"},
        {"[1000000.0, -2000000.0, 3000000.0, 4000000.0, 5000000.0, 6000000.0, 7000000.0, 8000000.0, 9000.0, 1.5, -7]",
         "[\n    1000000.0, -2000000.0, 3000000.0, 4000000.0, 5000000.0, 6000000.0, 7000000.0, 8000000.0, "
         "9000.0,\n    1.5, -7,\n]\n"},
        {"let (" L20 ", " L20 ", " L20 ", " L20 ", " L20 ") = f(x); 1",
         "let (\n    " L20 ",\n    " L20 ",\n    " L20 ",\n    " L20 ",\n    " L20 ",\n) = f(x);\n1\n"},
        {"f(x, fn(y: F32) { let z = y; z })",
         "f(\n    x,\n    fn(y: F32) {\n        let z = y;\n        z\n    },\n)\n"},
        {"f(fn(y: F32) { let z = y; z })", "f(fn(y: F32) {\n    let z = y;\n    z\n})\n"},
    };
    check_layouts(cases, COUNT_OF(cases));
}
END_TEST

START_TEST(comments_and_empty_lines) {
    static const layout_case cases[] = {
        {"// only", "// only\n"},
        {"\n\n// one\n\n\n\n// two   \n\n", "// one\n\n// two\n"},
        {"//a\nx //b\r\n//c", "//a\nx //b\n//c\n"},
        {"a;\n\n\n\nb;\nc", "a;\n\nb;\nc\n"},
        {"fn f() {\n\n a\n\n}", "fn f() { a }\n"},
        {"fn f() { // x\n a }", "fn f() {\n    // x\n    a\n}\n"},
        {"fn f() { a // x\n }", "fn f() {\n    a // x\n}\n"},
        {"fn f() { a\n// x\n\n// y\n }", "fn f() {\n    a\n    // x\n\n    // y\n}\n"},
        {"fn f() { // x\n }", "fn f() {\n    // x\n}\n"},
        {"fn f(x: F32, // the x\n y: F32) { a } // f",
         "// the x\nfn f(x: F32, y: F32) { a } // f\n"},
        {"// before\n\nlet x = a + // in a\n f(b, // in b\n c); // after\nx",
         "// before\n\n// in a\n// in b\nlet x = a + f(b, c); // after\nx\n"},
        {"a; b; // b\nc", "a;\nb; // b\nc\n"},
        {"if (c) { // c\n a } else { b // b\n } // if\nd",
         "if (c) {\n    // c\n    a\n} else {\n    b // b\n} // if\nd\n"},
        {"if (c) { a } // then\nelse { b }", "// then\nif (c) { a } else { b }\n"},
        {"let x = 1 in // one\n// two\nlet y = // three\n2 in\nx // x\n// end",
         "let x = 1 in // one\n// two\n// three\nlet y = 2 in\nx // x\n// end\n"},
        {"let y = f(let a = // deep\n 1 in // behind\n a); y",
         "// deep\nlet y = f(\n    let a = 1 in // behind\n    a,\n);\ny\n"},
        {"let f = fn(x: F32) { // body\n x }; f",
         "let f = fn(x: F32) {\n    // body\n    x\n};\nf\n"},
    };
    check_layouts(cases, COUNT_OF(cases));
}
END_TEST

/* Its length counts for nothing: the line before it breaks as without it. */
START_TEST(comment_after_a_long_line) {
    static const layout_case cases[] = {
        {"let x = f(" L20 ", " L20 ", " L20 "); // a comment of more than thirty columns\nx",
         "let x = f(" L20 ", " L20 ", " L20 "); // a comment of more than thirty columns\nx\n"},
    };
    check_layouts(cases, COUNT_OF(cases));
}
END_TEST

/* A tree made by hand, with its comments. */
START_TEST(made_by_hand) {
    parsed t;
    parsed_open(&t, "", 0, 0);
    expr one = {.kind = EXPR_INT, .u.integer.magnitude = 1};
    expr x = {.kind = EXPR_NAME, .u.name.name = "x"};
    pattern name = {.kind = PATTERN_NAME, .name = "x"};
    const char *head[] = {NULL, "// Forward.", NULL, "// x: what it is"};
    const char *foot[] = {NULL, "// the end", NULL};
    item items[] = {
        {.kind = ITEM_LET, .pattern = &name, .value = &one, .before = {4, head}, .after = "// line 1"},
        {.kind = ITEM_EXPR, .value = &x, .semicolon = true, .before = {1, foot}},
    };
    expr *body = t.prog.main.body;
    body->u.block.count = 2;
    body->u.block.items = items;
    body->u.block.tail = &x;
    body->u.block.before_tail = (comments){1, foot + 1};
    body->u.block.after_tail = "// x";
    body->u.block.at_end = (comments){3, foot};
    ck_assert_str_eq(parsed_print(&t), "// Forward.\n\n// x: what it is\nlet x = 1; // line 1\n\nx;\n"
                                       "// the end\nx // x\n\n// the end\n");
    parsed_close(&t);
}
END_TEST

/* ---- any tree, and every program there is ---- */

/* Parsed again, a tree's text is the same tree with the same comments. */
START_TEST(random_trees) {
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        parsed first, second;
        parsed_open(&first, "", 0, 0);
        first.prog.main.body = make_tree(&first.a, seed);
        char *tree = strdup(parsed_tree(&first)), *print = strdup(parsed_print(&first));
        ck_assert(tree != NULL && print != NULL);
        parsed_open(&second, print, strlen(print), 0);
        bool same = second.ok && strcmp(parsed_tree(&second), tree) == 0 &&
                    strcmp(parsed_print(&second), print) == 0;
        if (!same) fprintf(stderr, "%s\n%s", print, parsed_diagnostics(&second, false));
        ck_assert_msg(same, "seed %d", (int)seed);
        parsed_close(&first);
        parsed_close(&second);
        free(tree);
        free(print);
    }
}
END_TEST

/* Where a text's tokens and comments stand, in their order; commas and parentheses left out. */
typedef struct words {
    const char *text;
    span token[20000];
    int tokens;
    char *comment[2000];
    int comments;
} words;

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_comments(words *w, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i + 1 < to; i++) {
        if (w->text[i] != '/' || w->text[i + 1] != '/') continue;
        uint32_t begin = i;
        while (i < to && w->text[i] != '\n' && w->text[i] != '\r') i++;
        uint32_t end = i;
        while (w->text[end - 1] == ' ' || w->text[end - 1] == '\t') end--;
        ck_assert_uint_lt((unsigned)w->comments, COUNT_OF(w->comment));
        w->comment[w->comments++] = strndup(w->text + begin, end - begin);
    }
}

static words *read_words(const source *src) {
    words *w = calloc(1, sizeof *w);
    ck_assert_ptr_nonnull(w);
    w->text = src->text;
    lexer l;
    lexer_init(&l, src);
    for (uint32_t from = 0;; from = l.position) {
        token t = lexer_next(&l);
        add_comments(w, from, t.at.begin);
        if (t.kind == TOKEN_END) break;
        bool loose = t.kind == TOKEN_COMMA || t.kind == TOKEN_PAREN_OPEN || t.kind == TOKEN_PAREN_CLOSE;
        if (loose) continue;
        ck_assert_uint_lt((unsigned)w->tokens, COUNT_OF(w->token));
        w->token[w->tokens++] = t.at;
    }
    qsort(w->comment, (size_t)w->comments, sizeof *w->comment, by_text);
    return w;
}

static void free_words(words *w) {
    for (int i = 0; i < w->comments; i++) free(w->comment[i]);
    free(w);
}

static bool same_words(const words *a, const words *b) {
    bool same = a->tokens == b->tokens && a->comments == b->comments;
    for (int i = 0; same && i < a->tokens; i++) {
        uint32_t length = a->token[i].end - a->token[i].begin;
        same = length == b->token[i].end - b->token[i].begin &&
               memcmp(a->text + a->token[i].begin, b->text + b->token[i].begin, length) == 0;
    }
    for (int i = 0; same && i < a->comments; i++) same = strcmp(a->comment[i], b->comment[i]) == 0;
    return same;
}

static int programs_met;

/* A program keeps its tree, its tokens and its comments, and its layout has itself. */
static void check_program_text(const char *path, const char *content, size_t length) {
    parsed first, second;
    parsed_open(&first, content, length, 0);
    if (first.ok) {
        programs_met++;
        char *tree = strdup(parsed_tree(&first)), *print = strdup(parsed_print(&first));
        ck_assert(tree != NULL && print != NULL);
        parsed_open(&second, print, strlen(print), 0);
        ck_assert_msg(second.ok, "%s", path);
        ck_assert_msg(strcmp(parsed_tree(&second), tree) == 0, "another tree: %s", path);
        ck_assert_msg(strcmp(parsed_print(&second), print) == 0, "another layout: %s", path);
        words *a = read_words(&first.src), *b = read_words(&second.src);
        ck_assert_msg(same_words(a, b), "other tokens or comments: %s", path);
        free_words(a);
        free_words(b);
        parsed_close(&second);
        free(tree);
        free(print);
    }
    parsed_close(&first);
}

/* The programs in a document's fences. */
static void check_document(const char *path, const char *content) {
    static const char fence[] = "```kina\n";
    for (const char *at = content; (at = strstr(at, fence)) != NULL;) {
        at += sizeof fence - 1;
        const char *end = strstr(at, "\n```");
        if (end == NULL) return;
        check_program_text(path, at, (size_t)(end + 1 - at));
        at = end;
    }
}

static bool ends_in(const char *path, const char *end) {
    size_t length = strlen(path), more = strlen(end);
    return length > more && strcmp(path + length - more, end) == 0;
}

static int check_file(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)place;
    bool whole = ends_in(path, ".kina"), document = ends_in(path, ".md");
    if (kind != FTW_F || (!whole && !document)) return 0;
    size_t length = (size_t)info->st_size;
    char *content = calloc(1, length + 1);
    FILE *f = fopen(path, "rb");
    ck_assert(content != NULL && f != NULL && fread(content, 1, length, f) == length);
    fclose(f);
    if (whole) check_program_text(path, content, length);
    if (document) check_document(path, content);
    free(content);
    return 0;
}

START_TEST(every_program_there_is) {
    static const char *const folders[] = {"examples", "tests/lang", "docs", "README.md"};
    programs_met = 0;
    for (size_t i = 0; i < COUNT_OF(folders); i++) ck_assert_int_eq(nftw(folders[i], check_file, 8, 0), 0);
    ck_assert_int_gt(programs_met, 300);
}
END_TEST

Suite *suite_format(void);
Suite *suite_format(void) {
    Suite *s = suite_create("format");
    TCase *layouts = tcase_create("layouts");
    tcase_add_test(layouts, short_forms);
    tcase_add_test(layouts, width);
    tcase_add_test(layouts, width_with_a_comma);
    tcase_add_test(layouts, long_forms);
    tcase_add_test(layouts, comments_and_empty_lines);
    tcase_add_test(layouts, comment_after_a_long_line);
    tcase_add_test(layouts, made_by_hand);
    suite_add_tcase(s, layouts);
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, random_trees);
    tcase_add_test(all, every_program_there_is);
    suite_add_tcase(s, all);
    return s;
}
