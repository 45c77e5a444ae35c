/* Reading a program and taking it through the source phases. */
#include "interp/tools/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/context.h"

static const span nowhere = {0, 0};

void session_init(session *s, context *c) {
    *s = (session){.c = c};
}

void session_close(session *s) {
    if (s->e.c != NULL) engine_close(&s->e);
    give_back(s->c, s->folder, s->folder_room);
    give_back(s->c, s->text, s->room);
}

/* path NULL: standard input, here and below. */
static bool cannot_read(session *s, const char *path) {
    error *e = &s->c->err;
    if (path == NULL) {
        return error_set(e, ERROR_K0601, nowhere, "cannot read standard input: %s",
                         strerror(errno));
    }
    return error_set(e, ERROR_K0601, nowhere, "cannot read '%s': %s", path, strerror(errno));
}

static bool read_all(session *s, int file, const char *path) {
    for (;;) {
        if (s->length == s->room) {
            size_t room = s->room < 8192 ? 8192 : 2 * s->room;
            char *grown = resize(s->c, s->text, s->room, room);
            if (grown == NULL) return false;
            s->text = grown;
            s->room = room;
        }
        ssize_t n = read(file, s->text + s->length, s->room - s->length);
        if (n == 0) return true;
        if (n < 0 && errno != EINTR) return cannot_read(s, path);
        if (n > 0) s->length += (size_t)n;
        /* Longer than any program may be: the parser says so. */
        if (s->length > UINT32_MAX) return true;
        if (!context_may_go_on(s->c, nowhere)) return false;
    }
}

/* `load` starts at the program's folder. */
static bool find_folder(session *s, const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return true;
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    s->folder = take(s->c, length + 1);
    if (s->folder == NULL) return false;
    s->folder_room = length + 1;
    memcpy(s->folder, path, length);
    s->folder[length] = '\0';
    return true;
}

bool session_read(session *s, const char *path) {
    if (path != NULL && strcmp(path, "-") != 0) {
        s->path = path;
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return cannot_read(s, path);
        bool ok = find_folder(s, path) && read_all(s, file, path);
        close(file);
        return ok;
    }
    s->path = "<stdin>";
    if (path == NULL && isatty(STDIN_FILENO)) {
        error_set(&s->c->err, ERROR_K0801, nowhere, "no program is named");
        error_help(
            &s->c->err,
            "kina-interp prog.kina, or kina-interp -e '1.0 + 2.0'; kina-interp --help shows more");
        return false;
    }
    return read_all(s, STDIN_FILENO, NULL);
}

bool session_load(session *s, const char *expression, engine_options with, bool deny_warnings) {
    with.load_folder = s->folder;
    engine_init(&s->e, s->c, with);
    bool ok = expression != NULL ? engine_load(&s->e, "<-e>", expression, strlen(expression))
                                 : engine_load(&s->e, s->path, s->text, s->length);
    diagnostics *d = &s->e.diags;
    if (deny_warnings && d->warnings > 0) {
        for (diag *e = d->first; e != NULL; e = e->next) e->warning = false;
        d->errors += d->warnings;
        d->warnings = 0;
        ok = false;
    }
    return ok;
}
