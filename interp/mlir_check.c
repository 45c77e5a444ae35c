/* What a run has to check, as cf.assert: what the evaluator reports as a run-time error ends a compiled
 * program. */
#include "interp/mlir_emit.h"

void mlir_assert(emitter *e, const char *condition, const char *format, ...) {
    text t;
    va_list arguments;
    text_init(&t, e->c);
    va_start(arguments, format);
    text_format_list(&t, format, arguments);
    va_end(arguments);
    text_add_repeat(e->f.to, ' ', 2 * (size_t)e->f.depth);
    text_format(e->f.to, "cf.assert %s, \"", condition);
    for (const char *p = text_data(&t); *p != '\0'; p++) {
        unsigned char ch = (unsigned char)*p;
        if (ch < 0x20 || ch == '"' || ch == '\\' || ch >= 0x7f)
            text_format(e->f.to, "\\%02X", ch);
        else
            text_add_char(e->f.to, *p);
    }
    text_add(e->f.to, "\"\n");
    if (t.failed) e->failed = true;
    text_close(&t);
}

void mlir_assert_equal(emitter *e, int64_t a, int64_t b, const char *what) {
    if (a == b) return;
    const char *same = mlir_let(e, "arith.cmpi eq, %s, %s : index", mlir_dim(e, a), mlir_dim(e, b));
    mlir_assert(e, same, "%s", what);
}

void mlir_assert_within(emitter *e, const char *index, const char *size) {
    const char *within = mlir_let(e, "arith.cmpi ult, %s, %s : index", index, size);
    mlir_assert(e, within, "index out of range");
}

/* ---- dims at boundaries ---- */

void mlir_bind_dims(emitter *e, const shape_check *check, const mlir_value *v) {
    for (int i = 0; i < check->count && i < v->count; i++) mlir_bind_dims(e, &check->items[i], &v->items[i]);
    for (int i = 0; i < check->rank; i++) {
        if (check->bind[i] < 0) continue;
        mlir_value n = mlir_number_value(e, DT_I64, NULL);
        n.dim = v->type.dims[i];
        e->f.frame[check->bind[i]] = n;
    }
}

/* A size that is as written takes the written one's name, so that both are known to be equal from here on. */
void mlir_hold_dims(emitter *e, const shape_check *check, mlir_value *v, const char *what) {
    for (int i = 0; i < check->count && i < v->count; i++)
        mlir_hold_dims(e, &check->items[i], &v->items[i], what);
    for (int i = 0; i < check->rank; i++) {
        if (check->equals[i] == NULL) continue;
        int64_t want = mlir_size(e, check->equals[i]);
        mlir_assert_equal(e, v->type.dims[i], want, what);
        if (v->type.dims[i] < 0 && want < 0) v->type.dims[i] = want;
    }
}
