/* See write_check.h. */
#include "tests/unit/write_check.h"

#include <check.h>
#include <stdarg.h>
#include <string.h>

#include "interp/ast_print.h"
#include "interp/write.h"
#include "kernels/kernel.h"

void write_open(write_fixture *f) {
    memset(f, 0, sizeof *f);
    context_init(&f->c);
    kernel_install(&f->c);
    arena_init(&f->a, &f->c);
    names_init(&f->names, &f->a);
    f->dims = dims_new(&f->a);
    ck_assert_ptr_nonnull(f->dims);
    f->algebra = dims_algebra(f->dims);
    graph_init(&f->g, &f->a, &f->algebra);
    text_init(&f->out, &f->c);
}

void write_close(write_fixture *f) {
    text_close(&f->out);
    arena_close(&f->a);
    ck_assert_uint_eq(f->c.mem.live, 0);
    context_close(&f->c);
}

int64_t write_named_dim(write_fixture *f, const char *name) {
    int64_t id = dims_symbol(f->dims, DIM_RIGID, name, (span){0, 0});
    graph_witness(&f->g, id, name, VAR_NONE, -1);
    return id;
}

var write_param(write_fixture *f, const char *name, dtype t, int rank, ...) {
    op_type of = {.dtype = (uint8_t)t, .rank = (uint8_t)rank};
    va_list list;
    va_start(list, rank);
    for (int i = 0; i < rank; i++) of.dims[i] = va_arg(list, int64_t);
    va_end(list);
    return region_param(&f->g, f->g.top, graph_var_new(&f->g, &of, name));
}

var write_unary_op(write_fixture *f, region *r, op_id op, var x) {
    return graph_op(&f->g, r, op, NULL, 1, &x, (span){0, 0});
}

var write_binary_op(write_fixture *f, region *r, op_id op, var x, var y) {
    return graph_op(&f->g, r, op, NULL, 2, (var[]){x, y}, (span){0, 0});
}

var write_f32(write_fixture *f, region *r, double x) {
    return graph_number(&f->g, r, value_number(DT_F32, x));
}

var write_named(write_fixture *f, var v, const char *name) {
    graph_at(&f->g, v)->name = name;
    return v;
}

const char *write_text(write_fixture *f) {
    program p = {.a = &f->a, .names = &f->names};
    ck_assert_msg(!graph_bad(&f->g), "%s", f->g.refusal != NULL ? f->g.refusal : "out of memory");
    program from = {.a = &f->a, .src = &f->src};
    ck_assert(write_program(&f->g, "f", f->src.text != NULL ? &from : NULL, &p));
    text_clear(&f->out);
    ast_print(&p, &f->out);
    return text_data(&f->out);
}

void write_call_text(write_fixture *f, const value *args, int count, engine *e, results *out) {
    const char *words = write_text(f);
    engine_init(e, &f->c, (engine_options){0});
    if (!engine_load(e, "written.kina", words, strlen(words))) {
        text why;
        text_init(&why, &f->c);
        for (const diag *d = e->diags.first; d != NULL; d = d->next) text_format(&why, "%s\n", d->message);
        ck_abort_msg("%s\nis no program: %s%s", words, text_data(&why), f->c.err.message);
    }
    text again;
    text_init(&again, &f->c);
    ast_print(&e->program, &again);
    ck_assert_str_eq(text_data(&again), words);
    text_close(&again);
    const fn_decl *fn = program_find(&e->program, "f");
    ck_assert_ptr_nonnull(fn);
    ck_assert_msg(engine_call(e, fn, args, count, out), "%s\nfails: %s", words, f->c.err.message);
}
