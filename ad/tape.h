/* The tape: what happened to active values, in order (a Wengert list; Griewank & Walther, Evaluating
 * Derivatives, 2008, ch. 2 and 4).
 *
 * One per context, shared by all handlers. A record is of fixed size; its position is the tape index of its
 * result, and index 0 means passive, so the first record is never used. A reverse handler is a mark on the
 * tape: a value is active for it when its index is at or behind the mark and the record carries the handler's
 * bit, which says that the value depends on the handler's own parameters. Records hold shapes as interned
 * numbers, so that an adjoint of zeros can be made for any record and no rule needs to save a shape. */
#ifndef KINA_TAPE_H
#define KINA_TAPE_H

#include "ad/pile.h"
#include "ad/trail.h"
#include "runtime/door.h"

/* What a record is, besides the ops of ops.def. */
enum {
    RECORD_INPUT = OP_COUNT,    /* a fresh value that depends on nothing recorded */
    RECORD_SCALAR,              /* an elementwise op on numbers: operands and partials */
    RECORD_BRANCH,              /* behind the joins of an `if`: its tag and what it reads */
    RECORD_LOOP,                /* behind a loop: its trip count and what it reads */
    RECORD_CHECKPOINT,          /* behind the results of a checkpointed loop (checkpoint.h), which it owns */
};

enum {
    SAVED_ATTRS = 128,          /* in `saves`: the record owns a copy of its attributes */
    TAPE_HANDLERS = 8,          /* reverse handlers told apart by a bit; deeper ones share the last */
};

typedef struct record {
    uint8_t op;                 /* op_id or one of the kinds above */
    uint8_t ones;               /* literal-one axes of the result, a fact of the text */
    uint8_t n;                  /* operands */
    uint8_t saves;              /* NEED_ bits of what was saved, in the order IN0 IN1 IN2 OUT; BRANCH, LOOP: 1 where
                                   it gives a tape */
    uint32_t shape : 24;        /* of the result: tape_shape */
    uint32_t handlers : 8;      /* the reverse handlers that the result is active for */
    uint32_t in[2];             /* operands' indices; n > 3: in[0] is their place among the operands;
                                   BRANCH, LOOP, CHECKPOINT: in[0] is the region's first record */
    union {
        struct {
            const op_attrs *attrs;
            uint32_t saved;     /* place of the first saved value */
            uint32_t in2;       /* the third operand; a carry: operands in the pile before it */
        } op;
        double partial[2];      /* SCALAR */
        struct {
            uint32_t place;     /* among the operands: the results' indices, then those of what is read */
            uint32_t results, reads;    /* how many of each */
            uint32_t tag;       /* BRANCH: 0 then, 1 else; LOOP: trip count modulo 2^32; CHECKPOINT: its
                                   place among the loops */
        } region;
    } u;
    span where;
} record;

_Static_assert(RECORD_CHECKPOINT <= UINT8_MAX, "a record's kind is a byte");
_Static_assert(sizeof(record) == 40, "records are small and of one size");

/* A budget of bytes is shared: the loop that has it says what those inside an iteration may take together, and they say
 * what they did take. */
typedef struct budget_share {
    size_t left;                /* SIZE_MAX: no loop around has a budget */
    size_t unclaimed;           /* what of it loops still to come need at least, as far as is known */
    uint32_t parts;             /* how many those are */
    uint32_t loops;             /* with budgets, that were run; */
    bool over;                  /* one of them could not keep all that it taped; */
    size_t held, extra;         /* what they hold, and what the sweep of one may take beyond that; */
    size_t least, least_extra;  /* the same if each had the smallest budget that works */
} budget_share;

typedef struct tape {
    context *c;
    pile records, saved, operands;
    pile loops;                 /* struct checkpointed *, owned; NULL once swept */
    trail *trail;               /* what a run inside a checkpointed loop writes or obeys */
    trail_mode trail_mode;
    trail_mark trail_at;        /* READ: the place of the next decision */
    op_type *shapes;            /* interned; the first DTYPE_COUNT are the numbers */
    uint32_t shape_count, shape_capacity;
    uint32_t *shape_slot;       /* open hash table over shapes, shape_capacity * 2 entries */
    uint32_t last_shape;
    int depth;                  /* live reverse handlers */
    uint32_t mark[TAPE_HANDLERS];
    int forward_depth;          /* live forward handlers */
    budget_share share;         /* what loops further in have of the budget of the one around them */
    const struct ad_applier *applier;   /* how the sweep calls the rule of a custom call */
} tape;

/* The context's tape, made when first asked for; NULL with the error set. */
tape *tape_of(context *c) MUST_CHECK;
/* Frees the context's tape. Every handler has been left. */
void tape_close(context *c);

static inline record *tape_record(const tape *t, uint32_t index) { return pile_at(&t->records, index); }
static inline value *tape_saved(const tape *t, uint32_t place) { return pile_at(&t->saved, place); }
static inline uint32_t tape_operand(const tape *t, uint32_t place) {
    return *(uint32_t *)pile_at(&t->operands, place);
}
static inline uint32_t tape_top(const tape *t) { return t->records.count; }
static inline const op_type *tape_shape(const tape *t, const record *r) { return &t->shapes[r->shape]; }
uint32_t record_operand(const tape *t, const record *r, int k);
/* How many values a record saved. */
uint32_t tape_saved_count(const record *r);

/* The live reverse handlers that the value at this index is active for. */
uint8_t tape_active(const tape *t, uint32_t index);

/* A bare record for a value of v's shape; `from` is its operand or 0. Sets v->index. */
bool tape_fresh(tape *t, uint8_t op, uint32_t from, uint8_t handlers, span where, value *v) MUST_CHECK;
/* A record of the call with what its rule needs; sets out->index. */
bool tape_note(tape *t, const op_call *call, uint8_t handlers, value *out) MUST_CHECK;
/* A record of an elementwise op on numbers by its partials (0 for a passive operand). */
bool tape_note_scalar(tape *t, const op_call *call, uint8_t handlers, const double *partial,
                      value *out) MUST_CHECK;
/* A branch or loop record, with the indices of its results and of those of the `reads` that are active. */
bool tape_note_region(tape *t, uint8_t kind, uint32_t first, uint32_t tag, const value *const *results,
                      int result_count, const value *const *reads, int count, span where) MUST_CHECK;
/* A record of a custom call: saves all operands, the result and the reverse rule. */
bool tape_note_custom(tape *t, const struct custom_call *call, uint8_t handlers, value *out) MUST_CHECK;

/* Drops what a record saved; the record stays, and can not be swept again. */
void tape_unsave(tape *t, record *r);
/* Records [from, to), unsaved here, are of no use any more, as those from `floor` on before them: gives back what holds
 * them. They count on, but nobody may reach for them. All three are indices of carries; that at `floor` stays. */
void tape_forget(tape *t, uint32_t floor, uint32_t from, uint32_t to);
/* Drops records from index on, with what they saved. */
void tape_truncate(tape *t, uint32_t index);
/* Keeps `count` records from mark on, as inputs that saved nothing, and drops those behind them. */
void tape_compact(tape *t, uint32_t mark, uint32_t count);

#endif
