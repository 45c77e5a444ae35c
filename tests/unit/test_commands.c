/* The table of the prompt's commands: each is found by its word, its abbreviation and every beginning that is its alone,
 * and what is said of them fits the page. */
#include <check.h>
#include <string.h>

#include "interp/tools/repl/commands.h"
#include "runtime/context.h"

static command_id found(const char *word) {
    command_id id = COMMAND_COUNT;
    error e = {.code = ERROR_NONE};
    ck_assert_msg(commands_find(word, strlen(word), &id, &e), "%s: %s", word, e.message);
    return id;
}

static const char *refused(const char *word) {
    static error e;
    command_id id;
    error_clear(&e);
    ck_assert_msg(!commands_find(word, strlen(word), &id, &e), "%s is found", word);
    ck_assert_int_eq(e.code, ERROR_K0801);
    return e.message;
}

START_TEST(words_and_abbreviations) {
    for (int i = 0; i < COMMAND_COUNT; i++) {
        const command *c = &command_table[i];
        ck_assert_int_eq(found(c->word), i);
        ck_assert_int_eq(found(c->abbreviation), i);
        ck_assert_uint_le(strlen(c->abbreviation), 3);
    }
}
END_TEST

START_TEST(beginnings) {
    ck_assert_int_eq(found("gra"), COMMAND_grad);
    ck_assert_int_eq(found("so"), COMMAND_source);
    ck_assert_int_eq(found("rel"), COMMAND_reload);
    ck_assert_int_eq(found("h"), COMMAND_help);
    ck_assert_str_eq(refused("re"), ":re may be :reload, :read, :reset");
    ck_assert_str_eq(refused("s_"), "unknown command :s_");
    ck_assert_str_eq(refused("garde"), "unknown command :garde, did you mean :grad?");
    ck_assert_str_eq(refused("plots"), "unknown command :plots, did you mean :plot?");
    ck_assert_str_eq(refused(""), "unknown command :");
    ck_assert_str_eq(refused("x2345678901234567890123456789012345678901234567890"),
                     "unknown command :x23456789012345678901234567890123456789");
}
END_TEST

START_TEST(misuse) {
    error e = {.code = ERROR_NONE};
    ck_assert(!commands_misused(COMMAND_plot, &e));
    ck_assert_str_eq(e.message, ":plot is written :plot f A B [FILE]");
    ck_assert_str_eq(e.help, ":help plot shows an example");
    error_clear(&e);
    ck_assert(!commands_misused(COMMAND_vars, &e));
    ck_assert_str_eq(e.message, ":vars takes nothing");
}
END_TEST

static void fits(const char *p) {
    while (*p != '\0') {
        size_t length = strcspn(p, "\n");
        ck_assert_msg(length <= 80, "too wide: %.*s", (int)length, p);
        p += length + 1;
    }
}

START_TEST(help_fits_the_page) {
    context c;
    text t;
    context_init(&c);
    text_init(&t, &c);
    commands_list(&t);
    fits(text_data(&t));
    for (int i = 0; i < COMMAND_COUNT; i++) {
        text_clear(&t);
        commands_help(&t, (command_id)i);
        ck_assert_ptr_nonnull(strstr(text_data(&t), command_table[i].word));
        fits(text_data(&t));
    }
    text_close(&t);
    context_close(&c);
}
END_TEST

Suite *suite_commands(void);
Suite *suite_commands(void) {
    Suite *s = suite_create("commands");
    TCase *t = tcase_create("commands");
    tcase_add_test(t, words_and_abbreviations);
    tcase_add_test(t, beginnings);
    tcase_add_test(t, misuse);
    tcase_add_test(t, help_fits_the_page);
    suite_add_tcase(s, t);
    return s;
}
