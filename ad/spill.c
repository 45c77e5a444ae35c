/* Writing states to disk and reading them back. */
#include "ad/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernel.h"

void spill_init(spill *s) { *s = (spill){.file = -1}; }

bool spill_is_open(const spill *s) { return s->file >= 0; }

static bool cannot(context *c, span where, const char *what) {
    return error_set(&c->err, ERROR_K0602, where, "%s the states of this loop: %s", what, strerror(errno));
}

/* Where the file system has no unnamed files, a named one is unlinked at once. */
static int open_named(context *c, const char *folder) {
    static const char name[] = "/kina-states-XXXXXX";
    size_t bytes = strlen(folder) + sizeof name;
    char *path = take(c, bytes);
    if (path == NULL) return -1;
    snprintf(path, bytes, "%s%s", folder, name);
    int file = mkstemp(path);
    if (file >= 0) unlink(path);
    give_back(c, path, bytes);
    return file;
}

bool spill_open(context *c, spill *s, const char *folder, span where) {
    s->file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) s->file = open_named(c, folder);
    if (s->file >= 0) return true;
    if (c->err.code == ERROR_NONE) {
        error_set(&c->err, ERROR_K0602, where, "cannot keep states in `%s`: %s", folder, strerror(errno));
        error_help(&c->err, "`disk` names a folder that exists and can be written");
    }
    return false;
}

void spill_close(context *c, spill *s) {
    if (s->file >= 0) close(s->file);
    give_back(c, s->hole, (size_t)s->hole_room * sizeof *s->hole);
    spill_init(s);
}

static int64_t place_for(spill *s, int64_t bytes) {
    for (int i = s->holes - 1; i >= 0; i--) {
        if (s->hole[i].bytes != bytes) continue;
        int64_t offset = s->hole[i].offset;
        s->hole[i] = s->hole[--s->holes];
        return offset;
    }
    int64_t offset = s->end;
    s->end += bytes;
    return offset;
}

void spill_free(context *c, spill *s, int64_t offset, int64_t bytes) {
    if (s->holes == s->hole_room) {
        int wider = s->hole_room ? 2 * s->hole_room : 16;
        spill_hole *grown = memory_resize(&c->mem, s->hole, (size_t)s->hole_room * sizeof *grown,
                                          (size_t)wider * sizeof *grown);
        if (grown == NULL) return; /* the place is merely not used again */
        s->hole = grown;
        s->hole_room = wider;
    }
    s->hole[s->holes++] = (spill_hole){offset, bytes};
}

static size_t tensor_bytes(const tensor *t) { return (size_t)t->size * dtype_size((dtype)t->dtype); }

bool spill_write(context *c, spill *s, tensor *t, span where, int64_t *offset) {
    tensor *whole = kernel_contiguous(c, t);
    if (whole == NULL) return false;
    size_t left = tensor_bytes(whole);
    const char *from = whole->data;
    *offset = place_for(s, (int64_t)left);
    int64_t at = *offset;
    bool ok = true;
    while (left > 0 && ok) {
        ssize_t written = pwrite(s->file, from, left, at);
        if (written < 0 && errno == EINTR) continue;
        ok = written > 0 || cannot(c, where, "cannot write");
        if (!ok) break;
        from += written;
        at += written;
        left -= (size_t)written;
    }
    tensor_release(c, whole);
    return ok;
}

tensor *spill_read(context *c, const spill *s, int64_t offset, dtype type, int rank, const int64_t *dims,
                   span where) {
    tensor *t = tensor_new(c, type, rank, dims);
    if (t == NULL) return NULL;
    size_t left = tensor_bytes(t);
    char *to = t->data;
    while (left > 0) {
        ssize_t got = pread(s->file, to, left, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            if (got == 0) errno = EIO;
            cannot(c, where, "cannot read back");
            tensor_release(c, t);
            return NULL;
        }
        to += got;
        offset += got;
        left -= (size_t)got;
    }
    return t;
}
