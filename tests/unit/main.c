/* Runs the unit suites: one for each file tests/unit/test_NAME.c, which defines `Suite *suite_NAME(void)`.
 * The Makefile makes suites.def from the file names, so that no list is kept by hand.
 *
 * Every test runs in this process unless CK_FORK=yes, so that sanitizers and debuggers see all of it.
 * Check's own variables work: CK_RUN_SUITE, CK_RUN_CASE, CK_VERBOSITY. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define SUITE(name) Suite *suite_##name(void);
#include "suites.def"
#undef SUITE

int main(void) {
    SRunner *runner = srunner_create(NULL);
#define SUITE(name) srunner_add_suite(runner, suite_##name());
#include "suites.def"
#undef SUITE
    if (getenv("CK_FORK") == NULL) srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    int run = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    printf("%d passed, %d failed\n", run - failed, failed);
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
