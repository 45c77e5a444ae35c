/* A tape and its sweep, as lines for people and as an object for programs. Internal to the verb `tape`. */
#ifndef KINA_TAPE_PRINT_H
#define KINA_TAPE_PRINT_H

#include "ad/tape_view.h"
#include "interp/source.h"
#include "runtime/text.h"

typedef enum move_kind { MOVE_RECORDS, MOVE_LOOP, MOVE_ADVANCE, MOVE_TAPE, MOVE_SWEEP } move_kind;

/* One step of the way back. */
typedef struct tape_move {
    move_kind kind;
    int depth;                  /* of the checkpointed loops around it */
    uint64_t from, to;          /* RECORDS: records [from, to), the last first; else iterations; LOOP: all of them */
    uint32_t record;            /* LOOP: its own */
    bool keeps;                 /* ADVANCE: the state behind it is kept */
    bool ahead;                 /* SWEEP: of what the forward run taped */
    span where;                 /* of the loop */
} tape_move;

/* What all the printing reads. */
typedef struct tape_shown {
    const source *src;
    bool full;                  /* nothing is left out in the middle */
} tape_shown;

void tape_print_records(text *out, const tape_shown *s, const tape *t, const tape_range *range);
void tape_print_moves(text *out, const tape_shown *s, const tape_move *moves, size_t count);
/* Members of an object. */
void tape_json_records(text *out, const tape_shown *s, const tape *t, const tape_range *range);
void tape_json_moves(text *out, const tape_shown *s, const tape_move *moves, size_t count);

/* The words for the bits of `saves`, in order of the bits. */
enum { TAPE_SAVES = 5 };
extern const char *const tape_save_words[TAPE_SAVES];
uint32_t tape_line(const tape_shown *s, span where);
/* The first line of the source text there. */
span tape_source(const tape_shown *s, span where);

#endif
