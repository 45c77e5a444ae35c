/* From a program's text to its results: the whole pipeline behind one small interface, for the command
 * line, the tests and (later) other hosts.
 *
 *   text -> parse -> check -> own -> lower -> evaluate
 *
 * Nothing runs before every source error has been found. */
#ifndef KINA_ENGINE_H
#define KINA_ENGINE_H

#include "ad/schedule.h"
#include "interp/results.h"

typedef void (*engine_print)(void *self, const char *text, size_t length);

typedef struct engine_options {
    const char *load_folder;    /* relative paths of `load` start here; NULL: the working directory */
    bool no_files;              /* load and save are refused (K0701) */
    bool repeated;              /* one of many runs for their figures: `print` writes nothing, save is refused (K0701) */
    bool print_full;            /* print shows all of a long tensor */
    engine_print print;         /* where `print` writes; NULL: nowhere */
    void *print_self;
    policy checkpoint;          /* of loops that have no @checkpoint of their own; zero: keep everything */
    const global *globals;      /* what is there before the program; borrowed until the engine closes */
    int global_count;
    bool session;               /* see program.session; engine_keep needs it */
    const value *seed;          /* cotangent for the outermost handle of the main expression; NULL: its own */
} engine_options;

typedef struct engine {
    context *c;
    engine_options options;
    arena a;
    source src;
    names names;
    program program;
    diagnostics diags;          /* of parse, check and ownership; warnings too */
    struct code_program *code;  /* NULL until lowered */
} engine;

/* An engine without a program. The context must outlive it and have its kernels installed. */
void engine_init(engine *e, context *c, engine_options options);
void engine_close(engine *e);

/* Takes a program (bytes, copied) through all source phases. False when diagnostics hold an error, or when the context's
 * error is set (out of memory, interrupt). */
bool engine_load(engine *e, const char *path, const char *bytes, size_t length) MUST_CHECK;

/* The same for a program in pieces, a list of items each, of which the last may have a final expression too. */
bool engine_load_pieces(engine *e, const source_text *pieces, int count) MUST_CHECK;

/* The first phase alone: what the text is made of. */
bool engine_parse(engine *e, const source_text *pieces, int count) MUST_CHECK;

/* Makes e->code, once. */
bool engine_lower(engine *e) MUST_CHECK;

/* True when the program has a final expression. */
bool engine_has_main(const engine *e);

/* Runs the top-level items and the final expression. False with the context's error set. */
bool engine_run(engine *e, results *out) MUST_CHECK;

/* Runs the top-level items, then calls the top-level function `fn` on args (borrowed; numbers, tensors),
 * whose dtypes and dims are checked like a call's: K0604-like faults come as K0502 with the parameter's name. */
bool engine_call(engine *e, const fn_decl *fn, const value *args, int count, results *out) MUST_CHECK;

/* Runs the top-level items, then evaluates the arguments of the final expression, which is a call of a function: one for
 * each parameter, in their order; the caller's. */
bool engine_arguments(engine *e, value *args) MUST_CHECK;

/* As engine_call, under reverseMode: the primal, then the gradients of the parameters in wrt (by parameter; only floating
 * ones). seed: the primal's cotangent, or NULL for ones. */
bool engine_reverse(engine *e, const fn_decl *fn, const value *args, int count, const bool *wrt, const value *seed,
                    results *out) MUST_CHECK;
/* Under forwardMode: the primal and its tangent; tangents: one for each floating parameter. */
bool engine_forward(engine *e, const fn_decl *fn, const value *args, int count, const value *tangents,
                    results *out) MUST_CHECK;

/* Runs the program. bound[i] is then what symbols[i] of the top level is bound to, *last the value of the final
 * expression, () without one: whole values, which outlive the engine unless they hold functions; the caller's. */
bool engine_keep(engine *e, const symbol *const *symbols, int count, value *bound, value *last) MUST_CHECK;

/* Runs the top-level items and gives what they bind to these symbols of the top level, dims as I64. */
bool engine_values(engine *e, const symbol *const *symbols, int count, results *out) MUST_CHECK;

#endif
