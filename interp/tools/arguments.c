/* Matching --arg options with the parameters of the function that --fn names. */
#include "interp/tools/arguments.h"

#include <stdio.h>
#include <string.h>

#include "interp/tools/literal.h"
#include "interp/tools/nearest.h"
#include "runtime/context.h"
#include "runtime/npy.h"
#include "runtime/print.h"

static const span nowhere = {0, 0};

/* ---- the function ---- */

fn_decl *arguments_function(context *c, const program *p, const char *name) {
    fn_decl *found = program_find(p, name);
    if (found != NULL) return found;
    nearest n = nearest_to(name);
    for (const expr *block = p->main.body; block != NULL; block = program_goes_on(block)) {
        for (int i = 0; i < block->u.block.count; i++) {
            const fn_decl *f = item_function(&block->u.block.items[i]);
            if (f != NULL) nearest_try(&n, f->known_as);
        }
    }
    if (n.found != NULL) {
        error_set(&c->err, ERROR_K0802, nowhere,
                  "the program has no top-level function '%s', did you mean '%s'?", name, n.found);
    } else {
        error_set(&c->err, ERROR_K0802, nowhere, "the program has no top-level function '%s'",
                  name);
    }
    return NULL;
}

/* ---- messages ---- */

void arguments_signature(const program *p, const fn_decl *fn, bool tall, text *t) {
    text_format(t, "%s(%s", fn->known_as, tall ? "\n" : "");
    for (int i = 0; i < fn->count; i++) {
        text_format(t, "%s%s: ", tall ? "    " : i > 0 ? ", " : "", fn->params[i].name);
        type_print(p->dims, fn->type->items[i], t);
        if (tall) text_add(t, ",\n");
    }
    text_add(t, ") -> ");
    type_print(p->dims, fn->type->result, t);
}

static void help_signature(context *c, const program *p, const fn_decl *fn) {
    text t;
    text_init(&t, c);
    arguments_signature(p, fn, false, &t);
    error_help(&c->err, "it is %s", text_data(&t));
    text_close(&t);
}

static bool mismatch(context *c, const program *p, const fn_decl *fn, int i, const value *found) {
    text want, have;
    text_init(&want, c);
    text_init(&have, c);
    type_print(p->dims, fn->type->items[i], &want);
    value_print_type(&have, found);
    error_set(&c->err, ERROR_K0802, nowhere, "--arg %s: expected %s, found %s", fn->params[i].name,
              text_data(&want), text_data(&have));
    text_close(&want);
    text_close(&have);
    return false;
}

/* ---- values ---- */

static bool read_file(context *c, const char *who, const char *path, dtype t, value *out) {
    if (npy_load(c, path, (int)t, nowhere, out)) return true;
    if (c->err.code == ERROR_K0604) {
        /* The file is sound and holds another type: that is the command line's fault. */
        const error cause = c->err;
        error_clear(&c->err);
        error_set(&c->err, ERROR_K0802, nowhere, "%s: expected %s, and %s", who, dtype_name(t),
                  cause.message);
    } else {
        error_add_note(&c->err, nowhere, "read for %s", who);
    }
    return false;
}

static bool read_value(context *c, const program *p, const fn_decl *fn, int i, const char *given,
                       value *out) {
    const type *want = fn->type->items[i];
    char who[80];
    snprintf(who, sizeof who, "--arg %.60s", fn->params[i].name);
    if (want->kind != TYPE_TENSOR) {
        text t;
        text_init(&t, c);
        type_print(p->dims, want, &t);
        error_set(&c->err, ERROR_K0802, nowhere,
                  "parameter '%s' is %s, and --arg passes numbers and tensors", fn->params[i].name,
                  text_data(&t));
        text_close(&t);
        return false;
    }
    dtype t = (dtype)want->tensor.dtype;
    bool ok = given[0] == '@'
                  ? read_file(c, who, given + 1, t, out)
                  : literal_read(c, who, given, t, want->tensor.rank, want->tensor.dims, out);
    if (!ok) return false;
    bool same = want->tensor.rank == value_rank(out);
    for (int k = 0; same && k < want->tensor.rank; k++) {
        same = want->tensor.dims[k] < 0 || want->tensor.dims[k] == value_dims(out)[k];
    }
    if (same) return true;
    mismatch(c, p, fn, i, out);
    value_release(c, *out);
    *out = value_none();
    return false;
}

/* ---- dims ---- */

/* The parameter and axis where a dim stands by itself first, of the arguments that are there; false
 * when it stands nowhere. */
static bool find_dim(const fn_decl *fn, const arguments *a, int64_t dim, int *which, int *axis) {
    for (int i = 0; i < fn->count; i++) {
        if (a->values[i].kind == VALUE_NONE) continue;
        const op_type *t = &fn->type->items[i]->tensor;
        for (int k = 0; k < t->rank; k++) {
            if (t->dims[k] != dim) continue;
            *which = i;
            *axis = k;
            return true;
        }
    }
    return false;
}

void arguments_sizes(const fn_decl *fn, const arguments *a, int64_t *sizes) {
    for (int g = 0; g < fn->type->generic_count; g++) {
        int i = 0, axis = 0;
        bool found = find_dim(fn, a, fn->type->generic[g], &i, &axis);
        sizes[g] = found ? value_dims(&a->values[i])[axis] : -1;
    }
}

static bool dims_differ(context *c, const program *p, const fn_decl *fn, const arguments *a, int i,
                        int axis, int64_t size, int64_t wanted) {
    int64_t dim = fn->type->items[i]->tensor.dims[axis];
    int first = i, first_axis = axis;
    (void)find_dim(fn, a, dim, &first, &first_axis);
    text t;
    text_init(&t, c);
    dims_print(p->dims, dim, &t);
    if (first != i) {
        error_set(&c->err, ERROR_K0802, nowhere, "%s is %lld in --arg %s and %lld in --arg %s",
                  text_data(&t), (long long)wanted, fn->params[first].name, (long long)size,
                  fn->params[i].name);
    } else {
        error_set(&c->err, ERROR_K0802, nowhere, "--arg %s: %s is %lld, found %lld on axis %d",
                  fn->params[i].name, text_data(&t), (long long)wanted, (long long)size, axis);
    }
    text_close(&t);
    return false;
}

/* A name is of one size in all arguments, and what is computed from names agrees with it. */
static bool check_dims(context *c, const program *p, const fn_decl *fn, const arguments *a) {
    int names_count = fn->type->generic_count;
    size_t room = (size_t)names_count * sizeof(int64_t);
    int64_t *sizes = take(c, room);
    if (sizes == NULL) return false;
    arguments_sizes(fn, a, sizes);
    bool ok = true;
    for (int i = 0; ok && i < a->count; i++) {
        for (int axis = 0; ok && axis < value_rank(&a->values[i]); axis++) {
            int64_t size = value_dims(&a->values[i])[axis];
            int64_t wanted = dims_substitute(p->dims, fn->type->items[i]->tensor.dims[axis],
                                             names_count, fn->type->generic, sizes);
            /* What is still symbolic here is the call's to check. */
            if (wanted >= 0 && wanted != size) ok = dims_differ(c, p, fn, a, i, axis, size, wanted);
        }
    }
    give_back(c, sizes, room);
    return ok && c->err.code == ERROR_NONE;
}

/* ---- names ---- */

static int find_param(const fn_decl *fn, const char *name, size_t length) {
    for (int i = 0; i < fn->count; i++) {
        if (strlen(fn->params[i].name) == length && memcmp(fn->params[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static bool read_given(context *c, const program *p, const fn_decl *fn, const char *given,
                       arguments *out) {
    const char *equals = strchr(given, '=');
    if (equals == NULL || equals == given) {
        return error_set(&c->err, ERROR_K0802, nowhere, "--arg takes NAME=VALUE, not '%s'", given);
    }
    int length = (int)(equals - given);
    int i = find_param(fn, given, (size_t)length);
    if (i < 0) {
        error_set(&c->err, ERROR_K0802, nowhere, "'%s' has no parameter '%.*s'", fn->known_as, length,
                  given);
        help_signature(c, p, fn);
        return false;
    }
    if (out->values[i].kind != VALUE_NONE) {
        return error_set(&c->err, ERROR_K0802, nowhere, "--arg %s is given twice",
                         fn->params[i].name);
    }
    return read_value(c, p, fn, i, equals + 1, &out->values[i]);
}

static bool check_complete(context *c, const program *p, const fn_decl *fn, const arguments *a) {
    text missing;
    text_init(&missing, c);
    for (int i = 0; i < fn->count; i++) {
        if (a->values[i].kind != VALUE_NONE) continue;
        text_format(&missing, "%s'%s'", missing.length > 0 ? ", " : "", fn->params[i].name);
    }
    bool complete = missing.length == 0 && !missing.failed;
    if (!complete) {
        error_set(&c->err, ERROR_K0802, nowhere, "'%s' needs an --arg for %s", fn->known_as,
                  text_data(&missing));
        help_signature(c, p, fn);
    }
    text_close(&missing);
    return complete;
}

bool arguments_gather(context *c, const program *p, const fn_decl *fn, char *const *given,
                      int count, arguments *out) {
    *out = (arguments){.count = fn->count};
    out->values = take_zeroed(c, sizeof *out->values * (size_t)fn->count);
    if (out->values == NULL) return false;
    bool ok = true;
    for (int i = 0; ok && i < count; i++) ok = read_given(c, p, fn, given[i], out);
    if (!ok) arguments_release(c, out);
    return ok;
}

bool arguments_check(context *c, const program *p, const fn_decl *fn, const arguments *a) {
    return check_complete(c, p, fn, a) && check_dims(c, p, fn, a);
}

bool arguments_read(context *c, const program *p, const fn_decl *fn, char *const *given, int count,
                    arguments *out) {
    if (!arguments_gather(c, p, fn, given, count, out)) return false;
    if (arguments_check(c, p, fn, out)) return true;
    arguments_release(c, out);
    return false;
}

void arguments_release(context *c, arguments *a) {
    if (a->values == NULL) return;
    for (int i = 0; i < a->count; i++) value_release(c, a->values[i]);
    give_back(c, a->values, sizeof *a->values * (size_t)a->count);
    *a = (arguments){.count = 0};
}
