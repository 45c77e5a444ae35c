/* The text of a program as pieces, lines and columns, and the table of its names. */
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

/* All pieces together, a line end between each two; NULL when out of memory. */
static char *join(arena *a, const source_text *pieces, int count, size_t length) {
    char *all = arena_take(a, length + 1);
    if (all == NULL) return NULL;
    char *end = all;
    for (int i = 0; i < count; i++) {
        if (i > 0) *end++ = '\n';
        if (pieces[i].length > 0) memcpy(end, pieces[i].text, pieces[i].length);
        end += pieces[i].length;
    }
    return all;
}

static bool find_lines(source *s, arena *a) {
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

static bool place_pieces(source *s, arena *a, const source_text *pieces, int count) {
    s->pieces = ARENA_ARRAY(a, source_piece, count);
    if (s->pieces == NULL) return false;
    s->piece_count = count;
    size_t begin = 0;
    for (int i = 0; i < count; i++) {
        const source_text *given = &pieces[i];
        source_piece *p = &s->pieces[i];
        *p = (source_piece){.begin = (uint32_t)begin, .first_line = given->first_line};
        p->line = source_line(s, p->begin);
        p->path = arena_text(a, given->path, strlen(given->path));
        if (given->folder != NULL) p->folder = arena_text(a, given->folder, strlen(given->folder));
        if (p->path == NULL || (given->folder != NULL && p->folder == NULL)) return false;
        begin += given->length + 1;
    }
    return true;
}

bool source_init_pieces(source *s, arena *a, const source_text *pieces, int count) {
    size_t length = (size_t)count - 1;
    *s = (source){.length = 0};
    for (int i = 0; i < count; i++) length += pieces[i].length;
    if (length >= (size_t)1 << 31) {
        error_set(&a->c->err, ERROR_K0511, (span){0, 0}, "the program's text has %zu bytes",
                  length);
        error_help(&a->c->err, "a program has less than 2 GiB");
        return false;
    }
    s->text = join(a, pieces, count, length);
    s->length = s->text != NULL ? (uint32_t)length : 0;
    return s->text != NULL && find_lines(s, a) && place_pieces(s, a, pieces, count);
}

bool source_init(source *s, arena *a, const char *path, const char *text, size_t length) {
    const source_text whole = {.path = path, .text = text, .length = length, .first_line = 1};
    return source_init_pieces(s, a, &whole, 1);
}

/* ---- places ---- */

const source_piece *source_piece_at(const source *s, uint32_t offset) {
    int low = 0, high = s->piece_count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (s->pieces[middle].begin <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &s->pieces[low];
}

uint32_t source_line(const source *s, uint32_t offset) {
    uint32_t low = 0, high = s->line_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->line_start[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t source_line_number(const source *s, uint32_t line) {
    const source_piece *p = source_piece_at(s, s->line_start[line]);
    return line - p->line + p->first_line;
}

void source_position(const source *s, uint32_t offset, uint32_t *line, uint32_t *column) {
    if (offset > s->length) offset = s->length;
    uint32_t at = source_line(s, offset);
    *line = source_line_number(s, at);
    *column = 1;
    uint32_t begin = s->line_start[at];
    bool mark = begin == 0 && s->length >= 3 && memcmp(s->text, "\xEF\xBB\xBF", 3) == 0;
    if (mark) begin = 3; /* a byte order mark is no character of the line */
    for (uint32_t i = begin; i < offset;) {
        unsigned length;
        (void)utf8_decode(s->text + i, s->length - i, &length);
        i += length;
        if (i <= offset) ++*column;
    }
}

const char *source_elsewhere(const source *s, uint32_t offset) {
    const char *path = source_piece_at(s, offset)->path;
    return strcmp(path, s->pieces[s->piece_count - 1].path) != 0 ? path : NULL;
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
