/* @checkpoint(...): which loop it rules, and its options. */
#include <string.h>

#include "interp/check.h"

/* A number that the text fixes: integers and + - * of them. */
static bool constant(const expr *e, int64_t *out) {
    int64_t a, b;
    if (e->kind == EXPR_INT) {
        if (e->u.integer.magnitude > INT64_MAX) return false;
        *out = (int64_t)e->u.integer.magnitude;
        if (e->u.integer.negative) *out = -*out;
        return true;
    }
    if (e->kind == EXPR_UNARY && e->u.unary.op == OP_neg)
        return constant(e->u.unary.a, &a) && !__builtin_sub_overflow((int64_t)0, a, out);
    if (e->kind != EXPR_BINARY || !constant(e->u.binary.a, &a) || !constant(e->u.binary.b, &b))
        return false;
    switch (e->u.binary.op) {
    case OP_add: return !__builtin_add_overflow(a, b, out);
    case OP_sub: return !__builtin_sub_overflow(a, b, out);
    case OP_mul: return !__builtin_mul_overflow(a, b, out);
    default: return false;
    }
}

static void report_small(checker *c, const decorator_option *o, span at, int64_t value) {
    diag *d = diag_error(c->d, ERROR_K0217, at, "`%s` is at least 1, not %lld", o->name,
                         (long long)value);
    if (strcmp(o->name, "k") == 0)
        diag_add_help(c->d, d,
                      "`k=4` keeps the carried values every 4 iterations; `k=auto` chooses");
}

static void check_count(checker *c, const decorator_option *o) {
    int64_t value;
    if (o->is_bytes || o->value == NULL) {
        diag_error(c->d, ERROR_K0217, o->at, "`%s` is a number, without a unit", o->name);
        return;
    }
    const type *t = check_expr(c, o->value, (expect){NULL, DT_I32, 1});
    if (t->kind == TYPE_ERROR) return;
    if (type_compare(c->dims, t, check_scalar(DT_I32)) != DIM_SAME)
        diag_error(c->d, ERROR_K0217, o->value->at, "`%s` is an I32, not `%s`", o->name,
                   check_show(c, t));
    else if (constant(o->value, &value) && value < 1)
        report_small(c, o, o->value->at, value);
}

static void check_bytes(checker *c, const decorator_option *o) {
    int64_t value = 0;
    if (o->is_bytes) {
        if (o->bytes < 1) report_small(c, o, o->at, o->bytes);
        return;
    }
    if (o->value != NULL && check_expr(c, o->value, (expect){NULL, DT_I64, 1})->kind == TYPE_ERROR)
        return;
    if (o->value == NULL || !type_is_scalar(o->value->type) ||
        !dtype_integer((dtype)o->value->type->tensor.dtype)) {
        diag *d = diag_error(c->d, ERROR_K0217, o->at, "`memory` is a number of bytes");
        diag_add_help(c->d, d, "`memory=64MiB`");
    } else if (constant(o->value, &value) && value < 1) {
        report_small(c, o, o->value->at, value);
    }
}

static void check_disk(checker *c, const decorator_option *o) {
    if (o->value != NULL && o->value->kind == EXPR_STRING) {
        o->value->type = &check_string_type;
        return;
    }
    diag *d = diag_error(c->d, ERROR_K0217, o->at, "`disk` is the path of a folder");
    diag_add_help(c->d, d, "`disk=\"states\"`");
}

static void report_unknown(checker *c, const decorator_option *o) {
    static const char *const known[] = {"k", "slots", "memory", "disk"};
    diag *d = diag_error(c->d, ERROR_K0217, o->at, "`@checkpoint` has no option `%s`", o->name);
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (names_distance(o->name, known[i], 2) > 2 || strlen(known[i]) < 3) continue;
        diag_add_help(c->d, d, "did you mean `%s`?", known[i]);
        return;
    }
    diag_add_help(
        c->d, d,
        "its options are `k=4`, `k=auto`, `slots=3`, `memory=64MiB` and `disk=\"folder\"`");
}

/* States go to disk where a policy bounds them. */
static void check_disk_alone(checker *c, const decorator *d) {
    const decorator_option *disk = NULL;
    bool bounded = false;
    for (int i = 0; i < d->count; i++) {
        const char *name = d->options[i].name;
        if (name == NULL) continue;
        if (strcmp(name, "disk") == 0) disk = &d->options[i];
        bounded |= strcmp(name, "slots") == 0 || strcmp(name, "memory") == 0;
    }
    if (disk == NULL || bounded) return;
    diag *e = diag_error(c->d, ERROR_K0217, disk->at, "`disk` goes with `slots` or `memory`");
    diag_add_help(c->d, e, "`@checkpoint(slots=20, disk=\"folder\")`");
}

static void check_option(checker *c, const decorator *d, int i) {
    const decorator_option *o = &d->options[i];
    if (o->name == NULL) {
        diag *e = diag_error(c->d, ERROR_K0217, o->at, "an option of `@checkpoint` has a name");
        diag_add_help(c->d, e, "`@checkpoint(k=4)`");
        return;
    }
    for (int k = 0; k < i; k++) {
        if (d->options[k].name == NULL || strcmp(d->options[k].name, o->name) != 0) continue;
        diag_error(c->d, ERROR_K0217, o->at, "the option `%s` is given twice", o->name);
        return;
    }
    bool is_k = strcmp(o->name, "k") == 0;
    if (is_k && o->is_auto) return;
    if (is_k || strcmp(o->name, "slots") == 0) {
        if (o->is_auto)
            diag_error(c->d, ERROR_K0217, o->at, "`%s` is a number; only `k` can be `auto`",
                       o->name);
        else
            check_count(c, o);
    } else if (strcmp(o->name, "memory") == 0) {
        check_bytes(c, o);
    } else if (strcmp(o->name, "disk") == 0) {
        check_disk(c, o);
    } else {
        report_unknown(c, o);
    }
}

void check_checkpoint(checker *c, decorator *d, expr *value) {
    if (strcmp(d->name, "checkpoint") != 0) {
        diag *e = diag_error(c->d, ERROR_K0107, d->at, "`@%s` does not belong here", d->name);
        diag_add_help(c->d, e, "`@vjp(rule)` and `@jvp(rule)` stand before a `fn`");
        return;
    }
    if (value->kind != EXPR_WHILE) {
        diag *e =
            diag_error(c->d, ERROR_K0107, d->at, "`@checkpoint` rules a loop, and this is none");
        diag_add_label(c->d, e, value->at, "not a `while`");
        diag_add_help(c->d, e, "it stands before a `while`, or before the `let` that binds one");
        return;
    }
    decorator *other = value->u.while_.checkpoint;
    if (other != NULL && other != d) {
        diag *e = diag_error(c->d, ERROR_K0107, d->at, "this loop has two `@checkpoint`s");
        diag_add_label(c->d, e, other->at, "the other one");
    }
    value->u.while_.checkpoint = d;
    for (int i = 0; i < d->count; i++) check_option(c, d, i);
    check_disk_alone(c, d);
}
