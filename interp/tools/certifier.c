/* Which functions are certified, and what is said of it. */
#include "interp/tools/certifier.h"

#include "interp/tools/arguments.h"
#include "runtime/context.h"

static const span nowhere = {0, 0};

static void print_counts(text *t, const certify_counts *n) {
    text_format(t, "%lld function%s certified\n", (long long)n->functions, n->functions == 1 ? "" : "s");
    text_format(t, "  %lld runs of the engine agree with the printed programs in %lld values\n", (long long)n->runs,
                (long long)n->values);
    if (n->stopped > 0) text_format(t, "  on %lld inputs both stopped with a run-time error\n", (long long)n->stopped);
    if (n->left_out > 0)
        text_format(t, "  %lld runs only the engine stopped, at a value that no result needs\n", (long long)n->left_out);
    if (n->late > 0)
        text_format(t, "  %lld runs would take longer than %d ms and were broken off\n", (long long)n->late,
                    CERTIFY_RUN_MILLISECONDS);
    if (n->untried > 0)
        text_format(t, "  %lld inputs were not tried: the others had taken %d ms for a function and mode\n",
                    (long long)n->untried, CERTIFY_MODE_MILLISECONDS);
    text_add(t, "functions that hold a\n");
    for (int i = 0; i < CONSTRUCT_COUNT; i++) {
        if (n->holds[i] > 0) text_format(t, "  %-22s %lld\n", construct_names[i], (long long)n->holds[i]);
    }
}

static bool certify_named(engine *e, const char *name, const certify_wish *w, certify_counts *n, bool *differs, text *t) {
    const fn_decl *fn = arguments_function(e->c, &e->program, name);
    if (fn == NULL) return false;
    if (certify_may(fn)) return certify_function(e, fn, w, n, differs, t);
    error_set(&e->c->err, ERROR_K0209, fn->at, "`%s` has no gradient to be certified", name);
    error_help(&e->c->err, "a function with floating parameters, tensors and numbers alone, and one floating result has");
    return false;
}

static bool certify_all(engine *e, const certify_wish *w, certify_counts *n, bool *differs, text *t) {
    for (const expr *block = e->program.main.body; block != NULL; block = program_goes_on(block)) {
        for (int i = 0; i < block->u.block.count && !*differs; i++) {
            const fn_decl *fn = item_function(&block->u.block.items[i]);
            if (fn != NULL && certify_may(fn) && !certify_function(e, fn, w, n, differs, t)) return false;
        }
    }
    if (n->functions > 0 || *differs) return true;
    error_set(&e->c->err, ERROR_K0209, nowhere, "the program has no function with a gradient to be certified");
    error_help(&e->c->err, "a function with floating parameters, tensors and numbers alone, and one floating result has");
    return false;
}

bool certifier_check(engine *e, const char *name, const certify_wish *w, text *out, bool *differs) {
    certify_counts n = {0};
    bool ok = name != NULL ? certify_named(e, name, w, &n, differs, out) : certify_all(e, w, &n, differs, out);
    if (ok && !*differs) print_counts(out, &n);
    return ok && !out->failed;
}

bool certifier_run(const options *o, engine *e, output *out, bool *differs) {
    certify_wish w = {.seed = (uint64_t)o->value[OPTION_seed].number, .inputs = CERTIFIER_INPUTS, .order = 2};
    if (options_given(o, OPTION_random)) w.inputs = (int)o->value[OPTION_random].number;
    text t;
    text_init(&t, e->c);
    bool ok = certifier_check(e, o->value[OPTION_fn].text, &w, &t, differs);
    if (ok) output_text(out, &t);
    text_close(&t);
    return ok;
}
