/* Formatting in place: a file is replaced by a whole one or not at all. */
#include "interp/tools/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interp/ast_print.h"
#include "interp/tools/session.h"

/* One program's text and what becomes of it. */
typedef struct formatting {
    context *c;
    const char *path; /* NULL: standard input */
    session s;
    arena a;
    source src;
    diagnostics d;
    text printed;
} formatting;

/* ---- the new text ---- */

static bool print_canonically(formatting *f) {
    if (!source_init(&f->src, &f->a, f->s.path, f->s.text, f->s.length)) return false;
    names n;
    names_init(&n, &f->a);
    diagnostics_init(&f->d, &f->a, &f->src);
    program p = {.a = &f->a, .names = &n, .src = &f->src};
    if (!parse_program(&p, &f->d)) return false;
    ast_print(&p, &f->printed);
    return !f->printed.failed;
}

static bool differs(const formatting *f) {
    size_t length = f->printed.length;
    return length != f->s.length || (length > 0 && memcmp(f->printed.data, f->s.text, length) != 0);
}

/* ---- replacing a file ---- */

static bool cannot_write(const formatting *f) {
    return error_set(&f->c->err, ERROR_K0602, (span){0, 0}, "cannot write '%s': %s", f->path,
                     strerror(errno));
}

static bool write_all(int file, const text *t) {
    for (size_t done = 0; done < t->length;) {
        ssize_t n = write(file, t->data + done, t->length - done);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) done += (size_t)n;
    }
    return true;
}

/* Into a new file beside the old one, which then takes its place and its permissions. */
static bool replace(const formatting *f, const char *target, char *beside) {
    struct stat old;
    int file = stat(target, &old) == 0 ? mkstemp(beside) : -1;
    if (file < 0) return cannot_write(f);
    bool ok = write_all(file, &f->printed) && fchmod(file, old.st_mode & 07777) == 0 && fsync(file) == 0;
    if (close(file) != 0) ok = false;
    ok = ok && rename(beside, target) == 0;
    if (ok) return true;
    (void)cannot_write(f);
    unlink(beside);
    return false;
}

/* A link stays one: what it leads to is replaced. */
static bool write_back(const formatting *f) {
    char *target = realpath(f->path, NULL);
    if (target == NULL) return cannot_write(f);
    text beside;
    text_init(&beside, f->c);
    text_format(&beside, "%s.XXXXXX", target);
    bool ok = !beside.failed && replace(f, target, beside.data);
    text_close(&beside);
    free(target);
    return ok;
}

/* ---- one after the other ---- */

static bool format_one(formatting *f, bool check, output *out, bool *different) {
    if (!session_read(&f->s, f->path != NULL ? f->path : "-") || !print_canonically(f)) return false;
    *different = differs(f);
    if (check && *different) {
        text line;
        text_init(&line, f->c);
        text_format(&line, "%s\n", f->s.path);
        if (!line.failed) output_print(out, text_data(&line), line.length);
        bool ok = !line.failed;
        text_close(&line);
        return ok;
    }
    if (check) return true;
    if (f->path == NULL) output_print(out, text_data(&f->printed), f->printed.length);
    return f->path == NULL || !*different || write_back(f);
}

/* What is wrong with one file, said at once. */
static exit_code report(formatting *f, diag_style style) {
    const source *src = f->src.text != NULL ? &f->src : NULL;
    if (f->c->err.code == ERROR_NONE && report_diagnostics(f->c, &f->d, style)) return EXIT_SOURCE;
    return report_error(f->c, src, style);
}

exit_code format_files(const options *o, output *out, diag_style style) {
    exit_code code = EXIT_DONE;
    bool check = options_given(o, OPTION_check);
    for (int i = 0; i < o->file_count && out->failure == 0; i++) {
        const char *path = strcmp(o->files[i], "-") == 0 ? NULL : o->files[i];
        formatting f = {.c = out->c, .path = path};
        session_init(&f.s, f.c);
        arena_init(&f.a, f.c);
        text_init(&f.printed, f.c);
        bool different = false;
        bool ok = format_one(&f, check, out, &different);
        exit_code one = !ok ? report(&f, style) : check && different ? EXIT_DIFFERS : EXIT_DONE;
        /* An error matters more than a difference; the first of each kind counts. */
        if (code == EXIT_DONE || (code == EXIT_DIFFERS && one != EXIT_DONE)) code = one;
        text_close(&f.printed);
        arena_close(&f.a);
        session_close(&f.s);
        if (code == EXIT_INTERRUPTED) break;
    }
    return code;
}
