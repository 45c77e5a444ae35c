/* The text of a program as lines and columns, and the table of its names. */
#include "interp/source.h"

#include <string.h>

#include "interp/utf8.h"
#include "runtime/context.h"

/* The bytes of the line end at text[i]; 0 when there is none. */
static uint32_t line_end_length(const char *text, uint32_t length, uint32_t i) {
    if (text[i] == '\n') return 1;
    if (text[i] != '\r') return 0;
    return i + 1 < length && text[i + 1] == '\n' ? 2 : 1;
}

static uint32_t count_lines(const char *text, uint32_t length) {
    uint32_t lines = 1;
    for (uint32_t i = 0; i < length;) {
        uint32_t end = line_end_length(text, length, i);
        lines += end > 0;
        i += end > 0 ? end : 1;
    }
    return lines;
}

bool source_init(source *s, arena *a, const char *path, const char *text, size_t length) {
    *s = (source){.path = path};
    if (length >= (size_t)1 << 31) {
        error_set(&a->c->err, ERROR_K0511, (span){0, 0}, "the program's text has %zu bytes",
                  length);
        error_help(&a->c->err, "a program has less than 2 GiB");
        return false;
    }
    s->path = arena_text(a, path, strlen(path));
    s->text = arena_text(a, text, length);
    if (s->path == NULL || s->text == NULL) return false;
    s->length = (uint32_t)length;
    s->line_count = count_lines(s->text, s->length);
    s->line_start = ARENA_ARRAY(a, uint32_t, s->line_count);
    if (s->line_start == NULL) return false;
    uint32_t line = 1;
    for (uint32_t i = 0; i < s->length;) {
        uint32_t end = line_end_length(s->text, s->length, i);
        i += end > 0 ? end : 1;
        if (end > 0) s->line_start[line++] = i;
    }
    return true;
}

void source_position(const source *s, uint32_t offset, uint32_t *line, uint32_t *column) {
    if (offset > s->length) offset = s->length;
    uint32_t low = 0, high = s->line_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->line_start[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *line = low + 1;
    *column = 1;
    uint32_t begin = s->line_start[low];
    bool mark = begin == 0 && s->length >= 3 && memcmp(s->text, "\xEF\xBB\xBF", 3) == 0;
    if (mark) begin = 3; /* a byte order mark is no character of the line */
    for (uint32_t i = begin; i < offset;) {
        unsigned length;
        (void)utf8_decode(s->text + i, s->length - i, &length);
        i += length;
        if (i <= offset) ++*column;
    }
}

/* ---- names ---- */

void names_init(names *n, arena *a) {
    *n = (names){.a = a};
}

static uint32_t hash_text(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash ^ hash >> 15;
}

/* The slot that holds the name, or the empty one where it belongs. */
static const char **find_slot(const names *n, const char *text, size_t length) {
    uint32_t i = hash_text(text, length) & (n->capacity - 1);
    while (n->slot[i] != NULL) {
        if (strlen(n->slot[i]) == length && memcmp(n->slot[i], text, length) == 0) break;
        i = (i + 1) & (n->capacity - 1);
    }
    return &n->slot[i];
}

/* The old table stays in the arena: all of them together are as large as the last. */
static bool grow(names *n) {
    names bigger = {.a = n->a, .count = n->count, .capacity = n->capacity ? n->capacity * 2 : 64};
    bigger.slot = ARENA_ARRAY(n->a, const char *, bigger.capacity);
    if (bigger.slot == NULL) return false;
    for (uint32_t i = 0; i < n->capacity; i++) {
        if (n->slot[i] == NULL) continue;
        *find_slot(&bigger, n->slot[i], strlen(n->slot[i])) = n->slot[i];
    }
    *n = bigger;
    return true;
}

const char *names_intern(names *n, const char *text, size_t length) {
    if (n->count >= n->capacity / 2 && !grow(n)) return NULL;
    const char **slot = find_slot(n, text, length);
    if (*slot == NULL) {
        *slot = arena_text(n->a, text, length);
        if (*slot != NULL) n->count++;
    }
    return *slot;
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

unsigned names_distance(const char *a, const char *b, unsigned limit) {
    enum { LONGEST = 64 }; /* longer names are not worth a guess */
    size_t m = strlen(a), n = strlen(b);
    size_t gap = m > n ? m - n : n - m;
    if (gap > limit || m > LONGEST || n > LONGEST) return limit + 1;
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= n; j++) last[j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        row[0] = (unsigned)i;
        unsigned smallest = row[0];
        for (size_t j = 1; j <= n; j++) {
            unsigned changed = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(changed, least(last[j], row[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = least(row[j], before[j - 2] + 1);
            smallest = least(smallest, row[j]);
        }
        if (smallest > limit) return limit + 1;
        unsigned *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return least(last[n], limit + 1);
}
