/* From options to a context and to what engines are opened with. */
#include "interp/tools/settings.h"

#include <sched.h>

#include "interp/policy.h"

static int processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count;
}

void settings_apply(const options *o, context *c) {
    const option_value *given = o->value;
    c->numerics = options_numerics(o, NUMERICS_FAST);
    c->threads = options_given(o, OPTION_threads) ? (int)given[OPTION_threads].number : processors();
}

void settings_start(const options *o, context *c) {
    settings_rest(c);
    c->mem.limit = (size_t)o->value[OPTION_max_memory].number;
    if (!options_given(o, OPTION_time_limit)) return;
    int64_t now = monotonic_nanoseconds(), limit = o->value[OPTION_time_limit].number;
    c->deadline = limit > INT64_MAX - now ? INT64_MAX : now + limit;
}

void settings_rest(context *c) {
    c->deadline = 0;
    c->mem.limit = 0;
}

bool settings_engine(const options *o, context *c, engine_options *with) {
    const char *given = o->value[OPTION_checkpoint].text;
    with->no_files = options_given(o, OPTION_no_files);
    with->print_full = options_given(o, OPTION_full);
    with->checkpoint = (policy){.kind = POLICY_ALL};
    if (given == NULL || policy_read(given, &with->checkpoint)) return true;
    error_set(&c->err, ERROR_K0801, (span){0, 0}, "`%s` is no checkpoint policy", given);
    error_help(&c->err, "--checkpoint takes all, auto, k=4, slots=20 or memory=64MiB");
    return false;
}
