/* Keys out of bytes and signals, read from a pipe. */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "interp/tools/process.h"
#include "interp/tools/repl/keys.h"

static int ends[2];
static keys k;

static void set_up(void) {
    ck_assert_int_eq(pipe(ends), 0);
    keys_init(&k, ends[0]);
    keys_begin(&k);
}

static void tear_down(void) {
    keys_end(&k);
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
}

static void type(const char *bytes, size_t length) {
    ck_assert_int_eq(write(ends[1], bytes, length), (ssize_t)length);
}

static void expect(uint32_t expected) {
    uint32_t character;
    ck_assert_int_eq(keys_next(&k, &character), KEYS_CHARACTER);
    ck_assert_uint_eq(character, expected);
}

START_TEST(characters) {
    const char text[] = "aé∂\U0001F600\x1B";
    type(text, sizeof text); /* the NUL is passed over */
    type("\xFF\xC3(\xE2\x88x\x80y", 9);
    expect('a');
    expect(0xE9);
    expect(0x2202);
    expect(0x1F600);
    expect(0x1B);
    expect('(');
    expect('x');
    expect('y');
}
END_TEST

/* A character that two reads share. */
START_TEST(cut_characters) {
    static char block[sizeof k.bytes];
    memset(block, 'a', sizeof block);
    memcpy(block + sizeof block - 2, "\xF0\x9F", 2);
    type(block, sizeof block);
    type("\x98\x80" "b", 3);
    for (size_t i = 0; i < sizeof block - 2; i++) expect('a');
    expect(0x1F600);
    expect('b');
}
END_TEST

START_TEST(signals) {
    uint32_t character;
    type("a", 1);
    raise(SIGWINCH);
    /* What was read already comes first, what was not comes after. */
    ck_assert_int_eq(keys_next(&k, &character), KEYS_RESIZED);
    expect('a');
    raise(SIGTSTP);
    ck_assert_int_eq(keys_next(&k, &character), KEYS_STOPPED);
    type("bc", 2);
    expect('b');
    process_interrupted = 1;
    expect('c');
    ck_assert_int_eq(keys_next(&k, &character), KEYS_INTERRUPTED);
    ck_assert_int_eq(process_interrupted, 0);
}
END_TEST

START_TEST(end) {
    uint32_t character;
    type("a\xC3", 2);
    close(ends[1]);
    ends[1] = -1;
    expect('a');
    ck_assert_int_eq(keys_next(&k, &character), KEYS_END);
    ck_assert_int_eq(keys_next(&k, &character), KEYS_END);
}
END_TEST

Suite *suite_keys(void);
Suite *suite_keys(void) {
    Suite *s = suite_create("keys");
    TCase *t = tcase_create("keys");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, characters);
    tcase_add_test(t, cut_characters);
    tcase_add_test(t, signals);
    tcase_add_test(t, end);
    suite_add_tcase(s, t);
    return s;
}
