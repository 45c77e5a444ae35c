/* Entries in memory, and their file (history.h). */
#include "interp/tools/repl/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interp/utf8.h"
#include "runtime/context.h"
#include "runtime/text.h"

static const span nowhere = {0, 0};

/* ---- entries ---- */

static bool same_as_last(const input_history *h, const char *s, size_t length) {
    if (h->count == 0) return false;
    const char *last = h->entries[h->count - 1];
    return strlen(last) == length && memcmp(last, s, length) == 0;
}

static bool keep(input_history *h, const char *s, size_t length) {
    if (h->count == h->room) {
        size_t room = h->room == 0 ? 256 : 2 * h->room;
        char **grown = resize(h->c, h->entries, h->room * sizeof *grown, room * sizeof *grown);
        if (grown == NULL) return false;
        h->entries = grown;
        h->room = room;
    }
    char *entry = take(h->c, length + 1);
    if (entry == NULL) return false;
    memcpy(entry, s, length);
    entry[length] = '\0';
    h->entries[h->count++] = entry;
    return true;
}

ptrdiff_t history_search(const input_history *h, const char *words, ptrdiff_t from) {
    while (--from >= 0) {
        if (strstr(h->entries[from], words) != NULL) return from;
    }
    return -1;
}

/* ---- the file's text ---- */

/* Resolves \n and \\ where it stands; the length that is left. */
static size_t unescape(char *s, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        bool pair = s[i] == '\\' && i + 1 < length && (s[i + 1] == 'n' || s[i + 1] == '\\');
        if (pair) i++;
        s[n++] = pair && s[i] == 'n' ? '\n' : s[i];
    }
    return n;
}

static void write_entry(text *t, const char *s, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (s[i] == '\n') {
            text_add(t, "\\n");
        } else {
            if (s[i] == '\\') text_add_char(t, '\\');
            text_add_char(t, s[i]);
        }
    }
    text_add_char(t, '\n');
}

/* A line without its end was being written when the machine stopped; it counts too. */
static bool take_lines(input_history *h, char *s, size_t length) {
    char *end = s + length;
    while (s < end) {
        char *line_end = memchr(s, '\n', (size_t)(end - s));
        if (line_end == NULL) line_end = end;
        size_t n = unescape(s, (size_t)(line_end - s));
        if (n > 0 && !same_as_last(h, s, n) && !keep(h, s, n)) return false;
        s = line_end + 1;
    }
    return true;
}

/* ---- the file ---- */

/* The whole lines among the last HISTORY_BYTES of a file. */
typedef struct file_end {
    char *bytes;
    size_t room, from, length;  /* the lines are the `length` bytes at bytes + from */
} file_end;

/* False with errno set, or with c's error. */
static bool read_end(context *c, int file, file_end *out) {
    struct stat s;
    if (fstat(file, &s) != 0) return false;
    off_t start = s.st_size > HISTORY_BYTES ? s.st_size - HISTORY_BYTES : 0;
    *out = (file_end){.room = (size_t)(s.st_size - start)};
    out->bytes = take(c, out->room);
    if (out->bytes == NULL) return false;
    size_t count = 0;
    while (count < out->room) {
        ssize_t n = pread(file, out->bytes + count, out->room - count, start + (off_t)count);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        if (n == 0) break;
        count += (size_t)n;
    }
    if (start > 0) {
        const char *first = memchr(out->bytes, '\n', count);
        out->from = first == NULL ? count : (size_t)(first + 1 - out->bytes);
    }
    out->length = count - out->from;
    return true;
}

static bool write_all(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t n = write(file, bytes, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

/* Puts a file of these bytes in the place of the one at `path`, whose lock is held. Failing is no harm: the
 * old one stays. */
static void replace_file(const char *path, const char *bytes, size_t length) {
    char *real = realpath(path, NULL), *beside = NULL;
    if (real == NULL) return;
    if (asprintf(&beside, "%s.XXXXXX", real) >= 0) {
        int file = mkostemp(beside, O_CLOEXEC);
        if (file >= 0) {
            bool whole = write_all(file, bytes, length) && fsync(file) == 0;
            if (close(file) != 0 || !whole || rename(beside, real) != 0) unlink(beside);
        }
        free(beside);
    }
    free(real);
}

/* Opened, and locked where the file system has locks; the file that `path` still names when the lock is
 * there. -1 with errno set. */
static int open_locked(const char *path, int flags) {
    for (;;) {
        /* Without O_NONBLOCK a pipe of that name would be waited for. */
        int file = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);
        if (file < 0) return -1;
        struct stat held, named;
        if (fstat(file, &held) == 0 && !S_ISREG(held.st_mode)) {
            close(file);
            errno = S_ISDIR(held.st_mode) ? EISDIR : EINVAL;
            return -1;
        }
        while (flock(file, LOCK_EX) != 0 && errno == EINTR) continue;
        if (stat(path, &named) == 0 && named.st_dev == held.st_dev && named.st_ino == held.st_ino) return file;
        close(file);
    }
}

static bool cannot_read(input_history *h, const char *path) {
    return error_set(&h->c->err, ERROR_K0601, nowhere, "cannot read the history '%s': %s", path, strerror(errno));
}

static bool load_file(input_history *h, const char *path) {
    int file = open_locked(path, O_RDONLY);
    if (file < 0) return errno == ENOENT || cannot_read(h, path);
    file_end end = {0};
    bool ok = read_end(h->c, file, &end) || cannot_read(h, path);
    char *lines = end.bytes + end.from;
    if (ok && !utf8_is_text(lines, end.length)) {
        ok = error_set(&h->c->err, ERROR_K0603, nowhere, "the history '%s' is not text; it is left alone", path);
    }
    struct stat s;
    if (ok && fstat(file, &s) == 0 && s.st_size > 2 * (off_t)HISTORY_BYTES) replace_file(path, lines, end.length);
    close(file);
    ok = ok && take_lines(h, lines, end.length);
    give_back(h->c, end.bytes, end.room);
    return ok;
}

bool history_open(input_history *h, context *c, const char *path) {
    *h = (input_history){.c = c};
    if (path != NULL && !load_file(h, path)) return false;
    h->path = path;
    return true;
}

void history_close(input_history *h) {
    for (size_t i = 0; i < h->count; i++) give_back(h->c, h->entries[i], strlen(h->entries[i]) + 1);
    give_back(h->c, h->entries, h->room * sizeof *h->entries);
    *h = (input_history){.c = h->c};
}

/* Behind a line that was cut off a new one begins. */
static bool ends_in_line(int file) {
    struct stat s;
    char last;
    return fstat(file, &s) != 0 || s.st_size == 0 || pread(file, &last, 1, s.st_size - 1) != 1 || last == '\n';
}

static bool append_to_file(input_history *h, const char *s, size_t length) {
    text line;
    text_init(&line, h->c);
    int file = open_locked(h->path, O_RDWR | O_APPEND | O_CREAT);
    if (file >= 0 && !ends_in_line(file)) text_add_char(&line, '\n');
    write_entry(&line, s, length);
    bool ok = !line.failed;
    if (ok && (file < 0 || !write_all(file, line.data, line.length))) {
        ok = error_set(&h->c->err, ERROR_K0602, nowhere, "cannot write the history '%s': %s", h->path, strerror(errno));
        h->path = NULL;
    }
    if (file >= 0) close(file);
    text_close(&line);
    return ok;
}

bool history_add(input_history *h, const char *entry, size_t length) {
    if (length == 0 || length > HISTORY_ENTRY || same_as_last(h, entry, length)) return true;
    return keep(h, entry, length) && (h->path == NULL || append_to_file(h, entry, length));
}
