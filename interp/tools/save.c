/* --out: the results as files. They are written into a folder of their own within the one that was
 * asked for, and moved into place when all of them are whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interp/tools/output.h"
#include "runtime/context.h"
#include "runtime/npy.h"

enum { NAME_MOST = 100 };

typedef struct saving {
    context *c;
    arena a;
    const char *folder, *stage;
    const char **names; /* of the files, without their folder */
    int count, written; /* files in the stage */
} saving;

static bool cannot_write(saving *s, const char *path) {
    return error_set(&s->c->err, ERROR_K0602, (span){0, 0}, "cannot write '%s': %s", path,
                     strerror(errno));
}

static bool is_taken(const saving *s, int count, const char *name) {
    for (int i = 0; i < count; i++) {
        if (strcmp(s->names[i], name) == 0) return true;
    }
    return false;
}

/* The result's name with everything but letters, digits, '-', '_' and '.' replaced; numbered when
 * an earlier result has the same. */
static bool name_file(saving *s, int i, const char *name) {
    char base[NAME_MOST + 1];
    size_t n = 0;
    for (; n < NAME_MOST && name[n] != '\0'; n++) {
        char ch = name[n];
        bool safe = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                    (ch >= '0' && ch <= '9') || (ch != '\0' && strchr("-_", ch) != NULL) ||
                    (ch == '.' && n > 0);
        base[n] = safe ? ch : '_';
    }
    base[n] = '\0';
    const char *made = arena_format(&s->a, "%s.npy", base);
    for (int k = 2; made != NULL && is_taken(s, i, made); k++)
        made = arena_format(&s->a, "%s_%d.npy", base, k);
    s->names[i] = made;
    return made != NULL;
}

/* Makes the folder and what is missing above it. */
static bool make_folder(saving *s) {
    char *path = arena_text(&s->a, s->folder, strlen(s->folder));
    if (path == NULL) return false;
    for (char *p = path; *p != '\0';) {
        p += strspn(p, "/");
        p += strcspn(p, "/");
        char kept = *p;
        *p = '\0';
        if (path[0] != '\0' && mkdir(path, 0777) != 0 && errno != EEXIST)
            return cannot_write(s, path);
        *p = kept;
    }
    char *stage = arena_format(&s->a, "%s/.kina-XXXXXX", s->folder);
    if (stage == NULL) return false;
    if (mkdtemp(stage) == NULL) return cannot_write(s, s->folder);
    s->stage = stage;
    return true;
}

static const char *staged(saving *s, int i) {
    return arena_format(&s->a, "%s/%s", s->stage, s->names[i]);
}

static bool write_files(saving *s, const results *r) {
    for (; s->written < r->count; s->written++) {
        const char *path = staged(s, s->written);
        if (path == NULL || !npy_save(s->c, path, &r->items[s->written].v, -1, (span){0, 0}))
            return false;
    }
    return true;
}

/* All paths are made before the first file moves, so that nothing but the system can stop halfway.
 */
static bool move_files(saving *s) {
    const char **path = ARENA_ARRAY(&s->a, const char *, 2 * (size_t)s->count + 1);
    if (path == NULL) return false;
    for (int i = 0; i < s->count; i++) {
        path[2 * i] = staged(s, i);
        path[2 * i + 1] = arena_format(&s->a, "%s/%s", s->folder, s->names[i]);
        if (path[2 * i] == NULL || path[2 * i + 1] == NULL) return false;
    }
    for (int i = 0; i < s->count; i++) {
        if (rename(path[2 * i], path[2 * i + 1]) != 0) return cannot_write(s, path[2 * i + 1]);
    }
    return true;
}

/* Removes what is left of the stage. */
static void remove_stage(saving *s) {
    if (s->stage == NULL) return;
    for (int i = 0; i < s->written; i++) {
        const char *path = staged(s, i);
        if (path != NULL) unlink(path);
    }
    rmdir(s->stage);
}

bool output_save(context *c, const char *folder, const results *r) {
    saving s = {.c = c, .folder = folder, .count = r->count};
    size_t limit = c->mem.limit;
    c->mem.limit = 0;
    arena_init(&s.a, c);
    s.names = ARENA_ARRAY(&s.a, const char *, (size_t)r->count + 1);
    bool ok = s.names != NULL;
    for (int i = 0; ok && i < r->count; i++) ok = name_file(&s, i, r->items[i].name);
    ok = ok && make_folder(&s) && write_files(&s, r) && move_files(&s);
    remove_stage(&s);
    arena_close(&s.a);
    c->mem.limit = limit;
    return ok;
}
