/* What the evaluator asks of differentiation: entering and leaving handlers, and telling the tape of the
 * control flow between ops.
 *
 * The order in which contributions are added to adjoints is fixed once, here, for the tape, its replays and
 * any printed or emitted form of a gradient:
 *   1. Reverse execution order. Of several operands of one op, the first comes first. In straight-line code
 *      the first contribution is written, later ones are added.
 *   2. A call's parameters are fresh values (ad_parameter): contributions are summed inside the call and
 *      added once at its boundary.
 *   3. The results of an `if` and the carried values of a loop are fresh values too (ad_join, ad_carry).
 *      Before the backward part of an `if` or `while` that has a live result or gives a tape, every active value that it
 *      reads or carries and whose adjoint is absent becomes +0.0, also for zero trips and for the branch
 *      not taken: whether an adjoint is present is a property of the text, never of a run.
 *   4. A matrix product added to a present adjoint is matmul_add; slices and gathers likewise add in place.
 *   5. Nothing is skipped because its value is zero.
 */
#ifndef KINA_AD_H
#define KINA_AD_H

#include "ad/tape.h"

/* ---- reverse mode ---- */

typedef struct reverse_scope {
    handler h;
    uint32_t mark;              /* the first record of this handler */
    uint32_t body;              /* the first record behind the parameters' own */
    uint8_t bit;
    bool alone;                 /* no other handler outside: scalar records, records freed in the sweep */
    bool keep;                  /* swept more than once: no loop is checkpointed and no sweep frees
                                   anything; the caller sets it after reverse_enter */
    uint32_t end;               /* once stopped: behind its last record */
    bool strong_zero;           /* 0 times anything is 0 in every product of a rule; the caller sets it
                                   after reverse_enter */
    int64_t batch;              /* seed and gradients of a sweep are batches of so many (batch.h); 0: they are
                                   single; the caller sets it before a sweep */
} reverse_scope;

/* Puts the handler on the stack. The scope lives in the caller's frame until left or abandoned. */
bool reverse_enter(context *c, reverse_scope *s) MUST_CHECK;
/* Makes a differentiated parameter out of a floating number or tensor: the same value, a fresh index. */
bool reverse_parameter(context *c, reverse_scope *s, span where, value *v) MUST_CHECK;
/* Takes the handler off the stack and sweeps. primal: a floating number or tensor (its index is cleared when
 * no handler is left); seed: its cotangent, of its shape, or NULL for ones; gradients[i], owned by the
 * caller, is that of parameter[i] (as reverse_parameter left it), zeros where nothing reaches it. On failure
 * the scope is abandoned, and no gradient is owned. */
bool reverse_leave(context *c, reverse_scope *s, value *primal, const value *seed, const value *parameter,
                   int count, span where, value *gradients) MUST_CHECK;
/* The same in parts, for a scope that keeps: off the stack; any number of sweeps, which may fail without
 * harm; and the end of it. */
void reverse_stop(context *c, reverse_scope *s);
bool reverse_sweep(context *c, reverse_scope *s, const value *primal, const value *seed,
                   const value *parameter, int count, span where, value *gradients) MUST_CHECK;
void reverse_close(context *c, reverse_scope *s);
/* Takes the handler off the stack after an error. */
void reverse_abandon(context *c, reverse_scope *s);

/* ---- forward mode ---- */

typedef struct forward_scope {
    handler h;
    uint32_t base;              /* the first record of this handler */
    value *tangent;             /* of record base + i; NONE where absent */
    uint32_t capacity;
    int64_t batch;              /* tangents are batches of so many (batch.h); 0: they are single; the caller sets it
                                   after forward_enter */
} forward_scope;

bool forward_enter(context *c, forward_scope *s) MUST_CHECK;
/* As reverse_parameter, with the parameter's tangent (borrowed, of its shape). */
bool forward_parameter(context *c, forward_scope *s, const value *tangent, span where, value *v) MUST_CHECK;
/* Takes the handler off; tangent[i] (owned by the caller) is that of primal[i], a floating number or tensor,
 * zeros where there is none. On failure no tangent is owned. */
bool forward_leave(context *c, forward_scope *s, value *primal, int count, span where,
                   value *tangent) MUST_CHECK;
void forward_abandon(context *c, forward_scope *s);
/* The handler as a forward scope, or NULL; the tangent of the value at this index, or NULL. */
forward_scope *forward_of(handler *h);
const value *forward_tangent(const forward_scope *s, uint32_t index);

/* ---- control flow, told by the evaluator ---- */

/* True when a reverse handler sees what is performed now: the calls below do nothing otherwise. */
static inline bool ad_recording(const context *c) { return c->top->recorders > 0; }
/* True when any handler does. (Handlers further in may be live and see nothing: in a condition, in a sweep.) */
static inline bool ad_handling(const context *c) { return c->top->outer != NULL; }
/* True when a forward handler does. */
static inline bool ad_pushes(const context *c) { return c->top->pushers > 0; }
/* The live reverse handlers for which one of the values is active. */
uint8_t ad_active(const context *c, const value *const *values, int count);

/* A call's parameter: an active value gets a fresh index. */
bool ad_parameter(context *c, span where, value *v) MUST_CHECK;
/* A floating leaf of what is popped: active for the handlers for which the tape is, whatever was pushed. */
bool ad_popped(context *c, uint8_t handlers, span where, value *v) MUST_CHECK;
/* A floating result of an `if`, a floating carried value at an iteration's boundary: a fresh index, active
 * for `handlers` even when v is passive (the text alone decides). */
bool ad_join(context *c, uint8_t handlers, span where, value *v) MUST_CHECK;
bool ad_carry(context *c, uint8_t handlers, span where, value *v) MUST_CHECK;
/* Behind the joins of an `if`: the tape_top before its branch, the joins, whether it gives tapes, the tag, 0 for then and 1 for else, and every outer value that
 * either branch reads. */
bool ad_branch(context *c, uint32_t first, const value *const *results, int result_count, bool tapes, uint32_t tag,
               const value *const *reads, int count, span where) MUST_CHECK;
/* Behind a loop: the tape_top before its first carry was made, its last carries, the trip count, and every
 * outer value that the body reads. */
bool ad_loop(context *c, uint32_t first, const value *const *results, int result_count, bool tapes, uint64_t trips,
             const value *const *reads, int count, span where) MUST_CHECK;

/* The forward handlers on the stack for which one of the values has a tangent. What an `if` or a loop reads or takes
 * in decides by this whether its floating results and carries have tangents: a property of the text, as rule 3 has it
 * of adjoints. */
uint32_t ad_tangents(const context *c, const value *const *values, int count);
/* All forward handlers on the stack: those for which what a tape holds has tangents, since only a run would tell what
 * it holds. */
uint32_t ad_pushing(const context *c);
/* v, a floating number or tensor, has a tangent for these handlers and no others from now on: zeros where it has none,
 * and none where only a tape that was made inside gave it one. */
bool ad_spread(context *c, uint32_t handlers, span where, value *v) MUST_CHECK;

/* In forward mode alone nothing needs the records of values that died: keeps those of `values` (whose
 * indices are adjusted) and of their tangents, and forgets all others from index `mark` on. Does nothing
 * while recording, nor where it finds no memory for it. */
void ad_reclaim(context *c, uint32_t mark, value *const *values, size_t count);
/* Forgets the tangents of the value at this index, which is dead; its record stays. */
void ad_forget_tangents(context *c, uint32_t index);

/* ---- decisions, for what may be run again ---- */

/* WRITE: the run's decisions are kept (ad_keep_...); READ: it obeys those of an earlier run (ad_past_...),
 * asks no condition and has no effects. */
static inline trail_mode ad_trail(const context *c) {
    return c->tape != NULL ? c->tape->trail_mode : TRAIL_OFF;
}
bool ad_keep_tag(context *c, bool tag) MUST_CHECK;
bool ad_past_tag(context *c);
bool ad_hold_trips(context *c, uint32_t *place) MUST_CHECK;
bool ad_keep_trips(context *c, uint32_t place, uint64_t trips) MUST_CHECK;
uint64_t ad_past_trips(context *c);
bool ad_keep_value(context *c, const value *v) MUST_CHECK;
/* Owned by the caller. */
value ad_past_value(context *c);
/* Turns the trail off and returns what it was, for ad_trail_resume: a condition's inner decisions are asked
 * only while it is. */
trail_mode ad_trail_pause(context *c);
void ad_trail_resume(context *c, trail_mode mode);

/* ---- functions with rules of their own ---- */

/* How ad/ calls a function value: the one thing that it needs of the evaluator here. */
typedef struct ad_applier {
    void *self;
    bool (*apply)(void *self, const value *function, const value *args, int count, value *out);
} ad_applier;

/* A call of a function under @vjp or @jvp. Its body was run on passive copies of the arguments. */
typedef struct custom_call {
    const ad_applier *applier;  /* must outlive the handlers */
    value vjp, jvp;             /* the rules as function values; NONE where there is none */
    const char *name;           /* for the refusal (K0702) where a rule is missing */
    const value *args;          /* as given, active or not */
    int count;                  /* at most 250 */
    value result;               /* passive */
    span where;
} custom_call;

/* The call's result under the handlers on the stack, each of which applies its own rule; *out is owned. */
bool ad_custom(context *c, const custom_call *call, value *out) MUST_CHECK;

#endif
