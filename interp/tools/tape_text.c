/* A tape and its sweep for people: a table of 80 columns, and the steps of the way back. */
#include <stdio.h>
#include <string.h>

#include "interp/policy.h"
#include "interp/tools/tape_print.h"
#include "runtime/tensor.h"

enum {
    WIDTH = 80,
    GAP = 2,
    INDEX_WIDTH = 5,
    HALF = 20,                  /* rows or steps at each end of a list that is shortened */
    STATES = 8,                 /* kept states that are named */
};

typedef enum column { COLUMN_OP, COLUMN_OPERANDS, COLUMN_TYPE, COLUMN_SAVES, COLUMNS } column;

/* The source takes what the others leave of the line. */
static const size_t widest[COLUMNS] = {12, 12, 12, 16};
static const char *const titles[COLUMNS] = {"record", "operands", "type", "saves"};

typedef struct row {
    text cell[COLUMNS];
} row;

static void row_init(row *r, context *c) {
    for (int k = 0; k < COLUMNS; k++) text_init(&r->cell[k], c);
}

static void row_close(row *r) {
    for (int k = 0; k < COLUMNS; k++) text_close(&r->cell[k]);
}

/* ---- cells ---- */

static void add_operands(text *cell, const tape *t, uint32_t index, uint32_t count) {
    for (uint32_t k = 0; k < count && cell->length <= widest[COLUMN_OPERANDS]; k++) {
        uint32_t operand = tape_view_operand(t, index, k);
        if (k > 0) text_add_char(cell, ' ');
        if (operand == 0) {
            text_add_char(cell, '-');
        } else {
            text_format(cell, "%%%u", operand);
        }
    }
}

static void add_bytes(text *cell, uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    while (bytes >= 10240 && unit + 1 < COUNT_OF(units)) {
        bytes /= 1024;
        unit++;
    }
    text_format(cell, "%llu%s", (unsigned long long)bytes, units[unit]);
}

static void add_saved(text *cell, const tape_entry *e) {
    if (e->custom) text_add(cell, "all ");
    for (int bit = 0; bit < TAPE_SAVES; bit++) {
        if (e->saves >> bit & 1) text_format(cell, "%s ", tape_save_words[bit]);
    }
    if (e->saves != 0 || e->custom) add_bytes(cell, e->saved_bytes);
}

static void add_type(text *cell, const op_type *type) {
    char dims[160];
    text_add(cell, dtype_name((dtype)type->dtype));
    if (type->rank == 0) return;
    shape_print(dims, sizeof dims, type->rank, type->dims);
    text_add_char(cell, ' ');
    text_add(cell, dims);
}

static void fill_row(row *r, const tape *t, uint32_t index, const tape_entry *e) {
    text *saves = &r->cell[COLUMN_SAVES];
    for (int k = 0; k < COLUMNS; k++) text_clear(&r->cell[k]);
    text_add(&r->cell[COLUMN_OP], e->name);
    add_operands(&r->cell[COLUMN_OPERANDS], t, index, e->operands);
    if (e->kind <= ENTRY_SCALAR) add_type(&r->cell[COLUMN_TYPE], &e->type);
    switch (e->kind) {
    case ENTRY_INPUT:
    case ENTRY_FORGOTTEN: break;
    case ENTRY_OP: add_saved(saves, e); break;
    case ENTRY_SCALAR:
        for (uint32_t k = 0; k < e->operands; k++) text_format(saves, "%s%.4g", k > 0 ? " " : "d ", e->partial[k]);
        break;
    case ENTRY_BRANCH: text_add(saves, e->tag == 0 ? "then" : "else"); break;
    case ENTRY_LOOP:
    case ENTRY_CHECKPOINT: text_format(saves, "%llu trips", (unsigned long long)e->trips); break;
    }
}

/* ---- lines ---- */

/* At most `width` characters, the last one an ellipsis where there are more. Returns how many were written. */
static size_t add_cut(text *out, const char *words, size_t bytes, size_t width) {
    size_t characters = 0;
    for (size_t i = 0; i < bytes; i++) characters += ((unsigned char)words[i] & 0xC0) != 0x80;
    bool cut = characters > width;
    size_t room = cut ? width - 1 : characters, done = 0;
    for (size_t i = 0; i < bytes; i++) {
        bool begins = ((unsigned char)words[i] & 0xC0) != 0x80;
        if (begins && done++ == room) break;
        text_add_char(out, (unsigned char)words[i] < ' ' ? ' ' : words[i]);
    }
    if (cut) text_add(out, "…");
    return cut ? width : characters;
}

static void add_row(text *out, const row *r, const size_t *width) {
    for (int k = 0; k < COLUMNS; k++) {
        size_t used = add_cut(out, text_data(&r->cell[k]), r->cell[k].length, width[k]);
        text_add_repeat(out, ' ', width[k] - used + GAP);
    }
}

static void add_source(text *out, const tape_shown *s, span where, size_t begin) {
    size_t line = out->length;
    span first = tape_source(s, where);
    text_format(out, "%u: ", tape_line(s, where));
    add_cut(out, s->src->text + first.begin, first.end - first.begin, WIDTH - begin - (out->length - line));
}

static void add_range(text *out, const char *sign, uint64_t first, uint64_t last) {
    text_format(out, "%s%llu", sign, (unsigned long long)first);
    if (first != last) text_format(out, " to %s%llu", sign, (unsigned long long)last);
}

/* Under the row of a checkpointed loop. */
static void add_checkpoint(text *out, const tape *t, uint32_t index) {
    checkpoint_facts f = tape_view_checkpoint(t, index);
    uint32_t at = 0;
    uint64_t iteration;
    text_add_repeat(out, ' ', INDEX_WIDTH + GAP);
    policy_print(out, f.policy, f.amount);
    text_format(out, ": %llu states of ", (unsigned long long)f.states);
    add_bytes(out, f.state_bytes);
    text_add(out, f.states > 0 ? ", before iterations" : "");
    for (uint64_t n = 0; tape_view_state(t, index, &at, &iteration); n++) {
        if (f.states <= STATES || n + 1 < STATES || n + 1 == f.states) {
            text_format(out, " %llu", (unsigned long long)iteration);
        } else if (n + 1 == STATES) {
            text_add(out, " …");
        }
    }
    text_add_char(out, '\n');
    if (f.taped_from == f.taped_to) return;
    text_add_repeat(out, ' ', INDEX_WIDTH + GAP);
    text_add(out, "taped ahead: iterations ");
    add_range(out, "", f.taped_from, f.taped_to - 1);
    text_add_char(out, '\n');
}

static bool left_out(const tape_shown *s, uint64_t i, uint64_t count) {
    return !s->full && count > 2 * HALF && i >= HALF && i < count - HALF;
}

static void widen(const row *r, size_t *width) {
    for (int k = 0; k < COLUMNS; k++) {
        size_t wanted = r->cell[k].length < widest[k] ? r->cell[k].length : widest[k];
        if (wanted > width[k]) width[k] = wanted;
    }
}

static void add_entry(text *out, const tape_shown *s, const tape *t, uint32_t index, const tape_entry *e, const row *r,
                      const size_t *width) {
    size_t place = INDEX_WIDTH + GAP;
    for (int k = 0; k < COLUMNS; k++) place += width[k] + GAP;
    text_format(out, "%*u  ", INDEX_WIDTH, index);
    add_row(out, r, width);
    add_source(out, s, e->where, place);
    text_add_char(out, '\n');
    if (e->kind == ENTRY_CHECKPOINT) add_checkpoint(out, t, index);
}

static uint64_t count_entries(const tape *t, const tape_range *range) {
    uint64_t count = 0;
    for (uint32_t i = range->first; i < range->end; i = tape_view_entry(t, i).next) count++;
    return count;
}

/* Twice the same walk: first the rows go into the widths of the columns, then onto the page. */
static void add_records(text *out, const tape_shown *s, const tape *t, const tape_range *range, row *r, size_t *width,
                        bool measure) {
    uint64_t count = count_entries(t, range), n = 0;
    for (uint32_t i = range->first; i < range->end; n++) {
        tape_entry e = tape_view_entry(t, i);
        if (left_out(s, n, count)) {
            if (n == HALF && !measure) text_format(out, "    …  %llu records\n", (unsigned long long)count - 2 * HALF);
        } else if (e.kind == ENTRY_FORGOTTEN) {
            if (!measure) text_format(out, "%*u  forgotten, to %%%u\n", INDEX_WIDTH, i, e.next - 1);
        } else {
            fill_row(r, t, i, &e);
            if (measure) widen(r, width);
            if (!measure) add_entry(out, s, t, i, &e, r, width);
        }
        i = e.next;
    }
}

void tape_print_records(text *out, const tape_shown *s, const tape *t, const tape_range *range) {
    size_t width[COLUMNS];
    row r;
    row_init(&r, out->c);
    for (int k = 0; k < COLUMNS; k++) width[k] = strlen(titles[k]);
    add_records(out, s, t, range, &r, width, true);
    for (int k = 0; k < COLUMNS; k++) {
        text_clear(&r.cell[k]);
        text_add(&r.cell[k], titles[k]);
    }
    text_format(out, "%*s  ", INDEX_WIDTH, "%");
    add_row(out, &r, width);
    text_add(out, "source\n");
    add_records(out, s, t, range, &r, width, false);
    for (int k = 0; k < COLUMNS; k++) out->failed = out->failed || r.cell[k].failed;
    row_close(&r);
}

/* ---- the way back ---- */

static void add_move(text *out, const tape_shown *s, const tape_move *m) {
    text_add_repeat(out, ' ', 2 * ((size_t)m->depth + 1));
    switch (m->kind) {
    case MOVE_RECORDS: add_range(out, "%", m->to - 1, m->from); break;
    case MOVE_LOOP:
        text_format(out, "%%%u, the loop of line %u: %llu iterations", m->record, tape_line(s, m->where),
                    (unsigned long long)m->to);
        break;
    case MOVE_ADVANCE:
        text_add(out, "advance ");
        add_range(out, "", m->from, m->to - 1);
        if (m->keeps) text_format(out, ", keep the state before %llu", (unsigned long long)m->to);
        break;
    case MOVE_TAPE:
        text_add(out, "tape ");
        add_range(out, "", m->from, m->to - 1);
        break;
    case MOVE_SWEEP:
        text_add(out, "sweep ");
        add_range(out, "", m->to - 1, m->from);
        if (m->ahead) text_add(out, ", taped ahead");
        break;
    }
    text_add_char(out, '\n');
}

void tape_print_moves(text *out, const tape_shown *s, const tape_move *moves, size_t count) {
    if (count == 0) {
        text_add(out, "\nthe result depends on no parameter: nothing is swept\n");
        return;
    }
    text_add(out, "\nthe way back:\n");
    for (size_t i = 0; i < count; i++) {
        if (!left_out(s, i, count)) {
            add_move(out, s, &moves[i]);
        } else if (i == HALF) {
            text_format(out, "  … %zu steps\n", count - 2 * HALF);
        }
    }
}
