/* Options to a wish, and the printed program. */
#include "interp/tools/grad.h"

#include <string.h>

#include "interp/tools/arguments.h"
#include "interp/tools/compile.h"
#include "interp/tools/nearest.h"

static const span nowhere = {0, 0};

static derivative_mode mode_of(const options *o) {
    static const char *const words[] = {"value_and_grad", "grad", "vjp", "jvp"};
    for (int i = 0; i < (int)COUNT_OF(words); i++) {
        if (options_is(o, OPTION_mode, words[i])) return (derivative_mode)i;
    }
    return DERIVATIVE_VALUE_AND_GRAD;
}

/* ---- --wrt ---- */

static bool no_such_parameter(context *c, const fn_decl *fn, const char *name) {
    nearest n = nearest_to(name);
    for (int i = 0; i < fn->count; i++) nearest_try(&n, fn->params[i].name);
    if (n.found != NULL)
        return error_set(&c->err, ERROR_K0802, nowhere, "--wrt: `%s` has no parameter '%s', did you mean '%s'?",
                         fn->known_as, name, n.found);
    return error_set(&c->err, ERROR_K0802, nowhere, "--wrt: `%s` has no parameter '%s'", fn->known_as, name);
}

static bool choose(context *c, const fn_decl *fn, const char *name, bool *wrt) {
    int i = 0;
    while (i < fn->count && strcmp(fn->params[i].name, name) != 0) i++;
    if (i == fn->count) return no_such_parameter(c, fn, name);
    if (!type_is_floating(fn->type->items[i]))
        return error_set(&c->err, ERROR_K0802, nowhere, "--wrt: the parameter '%s' of `%s` is no floating tensor", name,
                         fn->known_as);
    wrt[i] = true;
    return true;
}

static bool read_wrt(const options *o, engine *e, derivative_wish *w) {
    if (!options_given(o, OPTION_wrt)) return true;
    const char *rest = o->value[OPTION_wrt].text;
    bool *wrt = ARENA_ARRAY(&e->a, bool, w->fn->count);
    if (wrt == NULL) return false;
    for (;;) {
        size_t length = strcspn(rest, ",");
        const char *name = arena_text(&e->a, rest, length);
        if (name == NULL || !choose(e->c, w->fn, name, wrt)) return false;
        if (rest[length] == '\0') break;
        rest += length + 1;
    }
    w->wrt = wrt;
    return true;
}

/* ---- the verb ---- */

bool grad_wish(const options *o, engine *e, derivative_wish *out) {
    *out = (derivative_wish){.mode = mode_of(o)};
    if (options_is(o, OPTION_emit, "c")) out->form = DERIVATIVE_C;
    out->fn = arguments_function(e->c, &e->program, o->value[OPTION_fn].text);
    return out->fn != NULL && read_wrt(o, e, out);
}

static bool write_out(const options *o, engine *e, output *out, const text *t, const text *header) {
    const char *path = o->value[OPTION_output].text, *header_path = o->value[OPTION_emit_header].text;
    if (header_path != NULL && !compile_write(e->c, header_path, text_data(header), header->length)) return false;
    if (path != NULL) return compile_write(e->c, path, text_data(t), t->length);
    output_text(out, t);
    return true;
}

bool grad_print(const options *o, engine *e, output *out) {
    derivative_wish wish;
    derivative made;
    text t, header;
    if (!grad_wish(o, e, &wish)) return false;
    if (options_given(o, OPTION_emit_header) && wish.form != DERIVATIVE_C)
        return error_set(&e->c->err, ERROR_K0801, nowhere, "--emit-header goes with --emit c");
    text_init(&t, e->c);
    text_init(&header, e->c);
    wish.header = &header;
    bool ok = derive_program(e, &wish, &t, &made) && write_out(o, e, out, &t, &header);
    text_close(&header);
    text_close(&t);
    return ok;
}
