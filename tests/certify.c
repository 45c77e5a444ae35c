/* Printed gradients of random programs against the engine's, bit for bit.
 *
 *   build/tests/certify [COUNT [SEED]]     programs of the seeds SEED, SEED + 1, ...; 2000 from 1 on if not given
 *   build/tests/certify draw COUNT SEED    prints the programs, each behind a line `// program SEED`, and how often they
 *                                          hold each op, as lines `// op NAME TIMES`
 *
 * A program that differs, is refused or is no program at all is printed with its seed. The list of what the programs
 * hold follows, and anything of it that none held is a failure too. The last line is 'N passed, M failed'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/builtin.h"
#include "interp/certify.h"
#include "kernels/kernel.h"
#include "runtime/threads.h"
#include "tests/certify/draw.h"

enum {
    PROGRAMS = 2000,
    INPUTS = 4,             /* plain, special, empty dims and few trips, in this order */
    ORDER_2_EVERY = 8,
    SHOWN = 5,              /* failures that are printed whole */
};

typedef struct suite {
    bool complete;          /* enough programs that each construct has to be among them */
    int passed, failed;
    certify_counts counts;
    int64_t template_uses[sizeof(int64_t) * 64];
    int64_t op_uses[OP_COUNT], forms[FORM_COUNT];
} suite;

static void fail(suite *s, uint64_t seed, const char *words, const char *why) {
    s->failed++;
    if (s->failed > SHOWN) return;
    printf("FAIL the program of seed %llu: %s\n%s\n", (unsigned long long)seed, why, words);
}

/* ---- one program ---- */

/* To second order, on f alone. */
static bool certify_second(suite *s, engine *e, const fn_decl *f, uint64_t seed, text *why) {
    certify_wish w = {.seed = seed, .inputs = INPUTS, .order = 2};
    certify_counts n = {0};
    bool differs = false;
    bool ok = certify_function(e, f, &w, &n, &differs, why);
    s->counts.holds[CONSTRUCT_ORDER_2] += n.holds[CONSTRUCT_ORDER_2];
    return ok;
}

/* What went wrong, appended to *why; nothing when all is well. */
static void certify_text(suite *s, context *c, uint64_t seed, const char *words, text *why) {
    engine e;
    engine_init(&e, c, (engine_options){0});
    if (engine_load(&e, "<drawn>", words, strlen(words))) {
        certify_wish w = {.seed = seed, .inputs = INPUTS, .order = 1};
        bool differs = false;
        const fn_decl *f = program_find(&e.program, "f");
        bool ok = certify_function(&e, f, &w, &s->counts, &differs, why);
        if (ok && !differs && seed % ORDER_2_EVERY == 0) ok = certify_second(s, &e, f, seed, why);
        if (!ok && c->err.code == ERROR_NONE) text_add(why, "certify_function failed without a word");
    } else {
        diagnostics_render(&e.diags, (diag_style){0}, why);
    }
    if (c->err.code != ERROR_NONE) text_format(why, "%s: %s", error_code_name(c->err.code), c->err.message);
    engine_close(&e);
}

static void certify_seed(suite *s, uint64_t seed) {
    context c;
    text drawn, why;
    context_init(&c);
    kernel_install(&c);
    text_init(&drawn, &c);
    text_init(&why, &c);
    drawing d = {.out = &drawn, .template_uses = s->template_uses};
    draw_program(&d, seed);
    certify_text(s, &c, seed, text_data(&drawn), &why);
    for (int i = 0; i < OP_COUNT; i++) s->op_uses[i] += d.op_uses[i];
    for (int i = 0; i < FORM_COUNT; i++) s->forms[i] += d.forms[i];
    if (why.length > 0) {
        fail(s, seed, text_data(&drawn), text_data(&why));
    } else {
        s->passed++;
    }
    text_close(&why);
    text_close(&drawn);
    threads_close(&c);
    context_close(&c);
}

/* ---- what they held ---- */

static void held(suite *s, const char *what, int64_t count, bool shown) {
    if (shown) printf("  %-22s %lld\n", what, (long long)count);
    if (count > 0) {
        s->passed += !shown;
        return;
    }
    if (!s->complete) return;
    printf("FAIL no program held: %s\n", what);
    s->failed++;
}

static void report(suite *s) {
    printf("%lld programs: %lld runs of the engine, %lld values; on %lld inputs both stopped with an error, on "
           "%lld the engine alone\n",
           (long long)s->counts.functions, (long long)s->counts.runs, (long long)s->counts.values,
           (long long)s->counts.stopped, (long long)s->counts.left_out);
    printf("programs that held a\n");
    for (int i = 0; i < CONSTRUCT_COUNT; i++) held(s, construct_names[i], s->counts.holds[i], true);
    for (int i = 0; i < FORM_COUNT; i++) held(s, draw_form_names[i], s->forms[i], true);
    printf("ops drawn\n");
    for (int i = 0; i < OP_COUNT; i++) held(s, op_table[i].name, s->op_uses[i], true);
    for (int i = 0; i < draw_template_count; i++) held(s, draw_templates[i].text, s->template_uses[i], false);
}

/* Every builtin stands in a template, but for those that statements draw, that have an effect, or that differentiate. */
static bool belongs_in_template(builtin_id id) {
    switch (builtin_kind_of(id)) {
    case BUILTIN_KIND_PLAIN:
    case BUILTIN_KIND_COMPOSITE: return true;
    case BUILTIN_KIND_CAST: return !dtype_floating(builtin_dtype(id));
    default: return false;
    }
}

static void check_builtins(suite *s) {
    for (int i = 0; i < BUILTIN_COUNT; i++) {
        char call[32];
        const char *name = builtin_name((int)OP_COUNT + i);
        snprintf(call, sizeof call, "%s(", name);
        bool found = !belongs_in_template((builtin_id)i);
        for (int k = 0; k < draw_template_count && !found; k++) found = strstr(draw_templates[k].text, call) != NULL;
        held(s, name, found, false);
    }
}

static int draw_alone(uint64_t count, uint64_t first) {
    static int64_t template_uses[sizeof(int64_t) * 64];
    drawing d = {.template_uses = template_uses};
    context c;
    context_init(&c);
    for (uint64_t i = 0; i < count; i++) {
        text drawn;
        text_init(&drawn, &c);
        d.out = &drawn;
        draw_program(&d, first + i);
        printf("// program %llu\n%s", (unsigned long long)(first + i), text_data(&drawn));
        text_close(&drawn);
    }
    for (int i = 0; i < OP_COUNT; i++) printf("// op %s %lld\n", op_table[i].name, (long long)d.op_uses[i]);
    context_close(&c);
    return 0;
}

int main(int argc, char **argv) {
    static suite s;
    if (argc == 4 && strcmp(argv[1], "draw") == 0) return draw_alone(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : PROGRAMS, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    s.complete = count >= PROGRAMS;
    check_builtins(&s);
    for (uint64_t i = 0; i < count; i++) certify_seed(&s, first + i);
    report(&s);
    printf("%d passed, %d failed\n", s.passed, s.failed);
    return s.failed > 0;
}
