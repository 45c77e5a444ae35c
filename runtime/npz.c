/* Array files as streams: plain files and members of zip archives. Nothing that a file claims about
 * itself is believed before it was compared with the file's real size. */
#include "runtime/npz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    INPUT_BYTES = 64 * 1024,
    END_BYTES = 22, /* of a zip's end record without its comment */
    COMMENT_MOST = 65535,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,    /* of the fixed part of the two headers of a member */
    INFLATE_MOST = 1032, /* no deflated byte yields more than this many */
};

/* zlib at work, and raw bytes on their way to it. */
struct inflater {
    z_stream z;
    uint8_t input[INPUT_BYTES];
};

static uint32_t get16(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const uint8_t *p) {
    return get16(p) | get16(p + 2) << 16;
}

/* Its name is in parentheses because clang's analyser has a macro of that name, see npz.h. */
bool(npz_malformed)(npz_source *s, const char *format, ...) {
    char words[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    return error_set(&s->c->err, ERROR_K0603, s->where, "'%.100s' is malformed: %s", s->path,
                     words);
}

static bool unreadable(npz_source *s, const char *why) {
    return error_set(&s->c->err, ERROR_K0601, s->where, "cannot read '%.100s': %s", s->path, why);
}

/* strerror is not safe between threads; this form of strerror_r returns the text. */
static bool unreadable_by_system(npz_source *s) {
    char text[128];
    return unreadable(s, strerror_r(errno, text, sizeof text));
}

static bool read_at(npz_source *s, uint64_t at, void *out, uint64_t bytes) {
    uint8_t *p = out;
    while (bytes > 0) {
        size_t part = bytes < ((uint64_t)1 << 30) ? (size_t)bytes : (size_t)1 << 30;
        ssize_t n = pread(s->file, p, part, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return unreadable_by_system(s);
        if (n == 0) return npz_malformed(s, "it ends too early");
        p += n;
        at += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return true;
}

/* zlib's allocator over the context's. zlib does not state sizes when it frees, so they go in
 * front. */
static voidpf inflate_take(voidpf opaque, uInt items, uInt size) {
    size_t bytes = (size_t)items * size + TENSOR_ALIGN;
    char *block = take(opaque, bytes);
    if (block == NULL) return NULL;
    memcpy(block, &bytes, sizeof bytes);
    return block + TENSOR_ALIGN;
}

static void inflate_free(voidpf opaque, voidpf address) {
    if (address == NULL) return;
    char *block = (char *)address - TENSOR_ALIGN;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    give_back(opaque, block, bytes);
}

static bool start_inflating(npz_source *s) {
    struct inflater *made = take(s->c, sizeof *made);
    if (made == NULL) return false;
    made->z = (z_stream){.zalloc = inflate_take, .zfree = inflate_free, .opaque = s->c};
    int state = inflateInit2(&made->z, -MAX_WBITS);
    if (state == Z_OK) {
        s->inflater = made;
        return true;
    }
    give_back(s->c, made, sizeof *made);
    return error_set(&s->c->err, state == Z_MEM_ERROR ? ERROR_K0506 : ERROR_K0901, s->where,
                     "zlib cannot start inflating '%.100s'", s->path);
}

/* A zip's central directory, while a member is looked for. */
typedef struct directory {
    uint8_t *bytes;
    size_t size;
    uint32_t entries;
} directory;

typedef struct entry {
    const uint8_t *head; /* ENTRY_BYTES, then the name */
    const char *name;
    size_t name_length;
} entry;

/* Finds the end record, which stands before a comment of unknown length, and reads the directory.
 */
static bool read_directory(npz_source *s, directory *d) {
    size_t tail = s->size < END_BYTES + COMMENT_MOST ? (size_t)s->size : END_BYTES + COMMENT_MOST;
    if (tail < END_BYTES) return npz_malformed(s, "it is too short for a zip archive");
    uint64_t from = s->size - tail;
    uint8_t *end = take(s->c, tail);
    if (end == NULL) return false;
    uint32_t disk = 0, start = 0, bytes = 0;
    size_t i = tail - END_BYTES + 1;
    bool found = false, ok = read_at(s, from, end, tail);
    while (ok && !found && i-- > 0) {
        found = get32(end + i) == 0x06054b50 && i + END_BYTES + get16(end + i + 20) <= tail;
    }
    if (found) {
        disk = get16(end + i + 4) | get16(end + i + 6);
        d->entries = get16(end + i + 10);
        bytes = get32(end + i + 12);
        start = get32(end + i + 16);
    }
    give_back(s->c, end, tail);
    if (!ok) return false;
    if (!found) return npz_malformed(s, "it is no zip archive, or it ends too early");
    if (d->entries == 0xFFFF || bytes == 0xFFFFFFFF || start == 0xFFFFFFFF) {
        return npz_malformed(s, "it is a zip64 archive, which is not supported");
    }
    if (disk != 0) return npz_malformed(s, "it is one part of a split archive");
    if ((uint64_t)start + bytes > from + i) {
        return npz_malformed(s, "its directory lies outside of the file");
    }
    d->size = bytes;
    d->bytes = take(s->c, bytes);
    return d->bytes != NULL && read_at(s, start, d->bytes, bytes);
}

/* The entry at *offset, which moves behind it. */
static bool next_entry(npz_source *s, const directory *d, size_t *offset, entry *out) {
    size_t room = d->size - *offset;
    const uint8_t *p = d->bytes + *offset;
    if (room < ENTRY_BYTES || get32(p) != 0x02014b50) {
        return npz_malformed(s, "its directory is damaged");
    }
    size_t name = get16(p + 28);
    size_t whole = ENTRY_BYTES + name + get16(p + 30) + get16(p + 32);
    if (whole > room) return npz_malformed(s, "its directory is damaged");
    *out = (entry){p, (const char *)p + ENTRY_BYTES, name};
    *offset += whole;
    return true;
}

/* "w" names the member "w" or "w.npy". */
static bool has_name(const entry *e, const char *member) {
    size_t n = strlen(member);
    if (e->name_length < n || memcmp(e->name, member, n) != 0) return false;
    return e->name_length == n || (e->name_length == n + 4 && memcmp(e->name + n, ".npy", 4) == 0);
}

/* The names in the archive for a message, as far as they fit; what is not plain text becomes '?'.
 */
static void list_names(npz_source *s, const directory *d, char *out, size_t room) {
    size_t used = 0, offset = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < d->entries; i++) {
        entry e;
        if (!next_entry(s, d, &offset, &e)) return;
        size_t n = e.name_length;
        if (n > 4 && memcmp(e.name + n - 4, ".npy", 4) == 0) n -= 4;
        if (used + n + 8 > room) {
            snprintf(out + used, room - used, used > 0 ? ", …" : "…");
            return;
        }
        if (used > 0) used += (size_t)snprintf(out + used, room - used, ", ");
        for (size_t k = 0; k < n; k++) {
            unsigned char ch = (unsigned char)e.name[k];
            out[used++] = ch < 0x20 || ch > 0x7E ? '?' : (char)ch;
        }
        out[used] = '\0';
    }
}

static bool find_entry(npz_source *s, const directory *d, const char *member, entry *out) {
    size_t offset = 0;
    bool found = false;
    for (uint32_t i = 0; i < d->entries && !found; i++) {
        if (!next_entry(s, d, &offset, out)) return false;
        found = member == NULL || has_name(out, member);
    }
    if (found && (member != NULL || d->entries == 1)) return true;
    char names[256];
    list_names(s, d, names, sizeof names);
    if (d->entries == 0) {
        unreadable(s, "the archive is empty");
    } else if (member == NULL) {
        unreadable(s, "the archive holds several arrays");
        error_help(&s->c->err,
                   "name one of them behind a colon, as in 'file.npz:name'; it holds %s", names);
    } else {
        unreadable(s, "the archive holds no array of that name");
        error_help(&s->c->err, "it holds %s", names);
    }
    return false;
}

/* Sets the source to the member's bytes. Sizes come from the directory: the header in front of the
 * bytes may leave them out. */
static bool enter_member(npz_source *s, const entry *e) {
    uint32_t flags = get16(e->head + 8), method = get16(e->head + 10);
    uint32_t packed = get32(e->head + 20), size = get32(e->head + 24), start = get32(e->head + 42);
    s->sum_claimed = get32(e->head + 16);
    if (packed == 0xFFFFFFFF || size == 0xFFFFFFFF || start == 0xFFFFFFFF) {
        return npz_malformed(s, "it is a zip64 archive, which is not supported");
    }
    if ((flags & 1) != 0) return npz_malformed(s, "it is encrypted");
    if (method != 0 && method != 8) {
        return npz_malformed(s, "its compression method %u is not supported", method);
    }
    uint8_t local[LOCAL_BYTES];
    if ((uint64_t)start + LOCAL_BYTES > s->size) {
        return npz_malformed(s, "a member lies outside of the file");
    }
    if (!read_at(s, start, local, LOCAL_BYTES)) return false;
    if (get32(local) != 0x04034b50) return npz_malformed(s, "a member's header is damaged");
    s->at = (uint64_t)start + LOCAL_BYTES + get16(local + 26) + get16(local + 28);
    if (s->at + packed > s->size) {
        return npz_malformed(s, "a member lies outside of the file");
    }
    if (method == 0 ? size != packed : (uint64_t)size > (uint64_t)packed * INFLATE_MOST + 64) {
        return npz_malformed(s, "a member's size is not true");
    }
    s->stretch = packed;
    s->left = size;
    s->member = true;
    s->sum = (uint32_t)crc32(0, NULL, 0);
    return method == 0 || start_inflating(s);
}

static bool open_member(npz_source *s, const char *member) {
    directory d = {0};
    entry e;
    bool ok = read_directory(s, &d) && find_entry(s, &d, member, &e) && enter_member(s, &e);
    give_back(s->c, d.bytes, d.size);
    return ok;
}

static bool open_file(npz_source *s, const char *name) {
    /* Not blocking: a pipe without a writer would otherwise never open. */
    s->file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (s->file < 0) return unreadable_by_system(s);
    struct stat about;
    if (fstat(s->file, &about) != 0) return unreadable_by_system(s);
    if (S_ISDIR(about.st_mode)) return unreadable(s, "it is a directory");
    if (!S_ISREG(about.st_mode)) return unreadable(s, "it is not a regular file");
    s->size = (uint64_t)about.st_size;
    return true;
}

/* The last ".npz:" of a path, where an archive's name ends and a member's begins; NULL when there
 * is none. */
static const char *find_member(const char *path) {
    const char *colon = NULL;
    for (const char *p = path; (p = strstr(p, ".npz:")) != NULL; p++) colon = p + 4;
    return colon;
}

static bool open_path(npz_source *s, const char *path) {
    const char *colon = find_member(path);
    if (colon != NULL) {
        size_t length = (size_t)(colon - path);
        char *name = take(s->c, length + 1);
        if (name == NULL) return false;
        memcpy(name, path, length);
        name[length] = '\0';
        bool ok = open_file(s, name);
        give_back(s->c, name, length + 1);
        return ok && open_member(s, colon + 1);
    }
    if (!open_file(s, path)) return false;
    /* What begins as a zip archive is one, whatever it is called. */
    uint8_t magic[4] = {0};
    size_t length = strlen(path);
    bool named = length >= 4 && strcmp(path + length - 4, ".npz") == 0;
    if (s->size >= sizeof magic && !read_at(s, 0, magic, sizeof magic)) return false;
    if (named || get32(magic) == 0x04034b50 || get32(magic) == 0x06054b50) {
        return open_member(s, NULL);
    }
    s->at = 0;
    s->stretch = s->left = s->size;
    return true;
}

bool npz_open(npz_source *s, context *c, const char *path, span where) {
    *s = (npz_source){.c = c, .path = path, .where = where, .file = -1};
    bool ok = open_path(s, path);
    if (!ok) npz_close(s);
    return ok;
}

static bool read_inflated(npz_source *s, uint8_t *out, size_t bytes) {
    z_stream *z = &s->inflater->z;
    z->next_out = out;
    z->avail_out = (uInt)bytes;
    while (z->avail_out > 0) {
        if (z->avail_in == 0 && s->stretch > 0) {
            size_t part = s->stretch < INPUT_BYTES ? (size_t)s->stretch : INPUT_BYTES;
            if (!read_at(s, s->at, s->inflater->input, part)) return false;
            s->at += part;
            s->stretch -= part;
            z->next_in = s->inflater->input;
            z->avail_in = (uInt)part;
        }
        int state = inflate(z, Z_NO_FLUSH);
        if (state == Z_STREAM_END && z->avail_out == 0) return true;
        if (state == Z_MEM_ERROR) {
            return error_set(&s->c->err, ERROR_K0506, s->where, "zlib got no memory for '%.100s'",
                             s->path);
        }
        if (state != Z_OK) return npz_malformed(s, "its compressed bytes are damaged");
    }
    return true;
}

bool npz_read(npz_source *s, void *out, uint64_t bytes) {
    if (bytes > s->left) return npz_malformed(s, "it ends too early");
    uint8_t *p = out;
    while (bytes > 0) {
        /* zlib counts in 32 bits. */
        size_t part = bytes < ((uint64_t)1 << 30) ? (size_t)bytes : (size_t)1 << 30;
        if (s->inflater != NULL) {
            if (!read_inflated(s, p, part)) return false;
        } else {
            if (!read_at(s, s->at, p, part)) return false;
            s->at += part;
            s->stretch -= part;
        }
        if (s->member) s->sum = (uint32_t)crc32(s->sum, p, (uInt)part);
        s->left -= part;
        p += part;
        bytes -= part;
    }
    return true;
}

bool npz_finish(npz_source *s) {
    if (!s->member) return true;
    uint8_t rest[4096];
    while (s->left > 0) {
        uint64_t part = s->left < sizeof rest ? s->left : sizeof rest;
        if (!npz_read(s, rest, part)) return false;
    }
    return s->sum == s->sum_claimed || npz_malformed(s, "its checksum does not fit its bytes");
}

void npz_close(npz_source *s) {
    if (s->inflater != NULL) inflateEnd(&s->inflater->z);
    give_back(s->c, s->inflater, sizeof *s->inflater);
    s->inflater = NULL;
    if (s->file >= 0) close(s->file);
    s->file = -1;
}
