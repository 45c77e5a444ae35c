/* What a program does besides computing: print, assert, load, save, drop. */
#include "interp/eval.h"

#include <string.h>

#include "runtime/npy.h"
#include "runtime/print.h"

/* ---- print ---- */

static void print_item(text *t, const code *n, int i, const value *v, bool full) {
    if (i > 0) text_add_char(t, ' ');
    const expr *string = n->u.print.strings[i];
    if (string != NULL) {
        text_add_bytes(t, string->u.string.bytes, string->u.string.length);
    } else {
        value_print(t, v, full);
    }
}

static bool eval_print(evaluator *ev, value *frame, const code *n) {
    text t;
    text_init(&t, ev->c);
    bool ok = true;
    for (int i = 0; i < n->u.print.count && ok; i++) {
        value v = value_unit();
        ok = n->u.print.strings[i] != NULL || eval(ev, frame, n->u.print.items[i], &v);
        if (ok) print_item(&t, n, i, &v, ev->options->print_full);
        if (ok) value_release(ev->c, v);
    }
    if (ok) text_add_char(&t, '\n');
    if (ok && !t.failed && ev->options->print != NULL && !ev->options->repeated) {
        ev->options->print(ev->options->print_self, text_data(&t), t.length);
    }
    ok = ok && !t.failed;
    text_close(&t);
    return ok;
}

/* ---- assert ---- */

static bool eval_assert(evaluator *ev, value *frame, const code *n) {
    bool holds;
    if (!eval_condition(ev, frame, n->u.assert_.condition, &holds)) return false;
    if (holds) return true;
    const char *message = n->u.assert_.message;
    return error_set(&ev->c->err, ERROR_K0505, n->where, "assertion failed%s%s", message[0] ? ": " : "",
                     message);
}

/* ---- files ---- */

bool eval_files_allowed(evaluator *ev, span where, const char *what) {
    if (!ev->options->no_files) return true;
    error_set(&ev->c->err, ERROR_K0701, where, "`%s` is refused: files are forbidden for this run", what);
    error_help(&ev->c->err, "run without --no-files if you trust the program");
    return false;
}

/* A relative path of `load` starts at the program's own folder. */
static bool load_path(evaluator *ev, const code *n, text *out) {
    const char *path = n->u.file.path;
    const char *folder = n->u.file.folder != NULL ? n->u.file.folder : ev->options->load_folder;
    if (path[0] != '/' && folder != NULL && folder[0] != '\0') {
        text_add(out, folder);
        text_add_char(out, '/');
    }
    text_add(out, path);
    return !out->failed;
}

static bool eval_load(evaluator *ev, const code *n, value *out) {
    if (!eval_files_allowed(ev, n->where, "load")) return false;
    text path;
    text_init(&path, ev->c);
    bool ok = load_path(ev, n, &path) &&
              npy_load(ev->c, text_data(&path), n->dtype, n->where, out);
    text_close(&path);
    if (!ok) return false;
    if (value_rank(out) == n->rank) {
        if (ad_trail(ev->c) != TRAIL_WRITE || ad_keep_value(ev->c, out)) return true;
        value_release(ev->c, *out);
        return false;
    }
    error_set(&ev->c->err, ERROR_K0604, n->where, "%s has rank %d, but the program asks for rank %d",
              n->u.file.path, value_rank(out), n->rank);
    value_release(ev->c, *out);
    return false;
}

static bool eval_save(evaluator *ev, value *frame, const code *n) {
    value v;
    if (!eval_files_allowed(ev, n->where, "save")) return false;
    if (ev->options->repeated)
        return error_set(&ev->c->err, ERROR_K0701, n->where, "`save` is refused: this is run again and again");
    if (!eval(ev, frame, n->u.file.value, &v)) return false;
    bool ok = npy_save(ev->c, n->u.file.path, &v, n->dtype, n->where);
    value_release(ev->c, v);
    return ok;
}

static bool eval_drop(evaluator *ev, value *frame, const code *n) {
    value v;
    if (!eval(ev, frame, n->u.size.a, &v)) return false;
    value_release(ev->c, v);
    return true;
}

/* In a replay nothing happens twice, and what was read is not read again. */
static bool eval_silently(evaluator *ev, const code *n, value *out) {
    if (n->kind == CODE_LOAD) *out = ad_past_value(ev->c);
    return true;
}

/* What only feeds an effect is not run again, so its decisions are not kept. */
static bool eval_paused(evaluator *ev, value *frame, const code *n) {
    trail_mode mode = ad_trail_pause(ev->c);
    bool ok = n->kind == CODE_PRINT ? eval_print(ev, frame, n) : eval_save(ev, frame, n);
    ad_trail_resume(ev->c, mode);
    return ok;
}

bool eval_effect(evaluator *ev, value *frame, const code *n, value *out) {
    *out = value_unit();
    if (ad_trail(ev->c) == TRAIL_READ && n->kind != CODE_DROP) return eval_silently(ev, n, out);
    if (ev->again && (n->kind == CODE_PRINT || n->kind == CODE_SAVE)) return true;
    switch ((code_kind)n->kind) {
    case CODE_PRINT:
    case CODE_SAVE: return eval_paused(ev, frame, n);
    case CODE_ASSERT: return eval_assert(ev, frame, n);
    case CODE_LOAD: return eval_load(ev, n, out);
    default: return eval_drop(ev, frame, n);
    }
}
