/* The evaluator: a recursive walk over code. It knows frames, calls, branches and loops; every op goes
 * through the door, so it never knows whether it is being differentiated. */
#ifndef KINA_EVAL_H
#define KINA_EVAL_H

#include "ad/ad.h"
#include "interp/code.h"
#include "interp/engine.h"

typedef struct evaluator {
    context *c;
    const engine_options *options;
    handler *bottom;            /* conditions are evaluated there: nothing that feeds a Bool has a derivative */
    ad_applier applier;
    bool again;                 /* inside of a step that is so */
} evaluator;

void evaluator_init(evaluator *ev, context *c, const engine_options *options);

/* Evaluates code in a frame; *out is owned by the caller. */
bool eval(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;
/* The same for code whose value is a tuple of `count` items, without making the tuple; count 1: as eval. */
bool eval_many(evaluator *ev, value *frame, const code *n, int count, value *out) MUST_CHECK;

/* Calls f. args are taken over, also on failure; captured are borrowed. fresh: the arguments are a handler's
 * parameters already. */
bool eval_call(evaluator *ev, const code_function *f, value *args, const value *captured, bool fresh,
               span where, value *out) MUST_CHECK;

/* ---- parts, each in its own file ---- */
bool eval_block(evaluator *ev, value *frame, const code *n, int count, value *out) MUST_CHECK;
bool eval_if(evaluator *ev, value *frame, const code *n, int count, value *out) MUST_CHECK;
bool eval_while(evaluator *ev, value *frame, const code *n, int count, value *out) MUST_CHECK;
/* The shapes of a loop's carries where only the run can see that they stay; *out is NULL where the checker
 * was certain. Given back with eval_shapes_close. */
bool eval_shapes(evaluator *ev, const code *n, const value *carries, op_type **out) MUST_CHECK;
void eval_shapes_close(evaluator *ev, const code *n, op_type *shapes);
/* K0502 when a carried value would change its shape. */
bool eval_shapes_hold(evaluator *ev, const code *n, const op_type *shapes, const value *next) MUST_CHECK;
/* A loop whose tape is thinned by a policy, once its inits are evaluated (taken over). *done is false, and
 * nothing has happened, where no policy acts. */
bool eval_checkpointed(evaluator *ev, value *frame, const code *n, value *carries, uint8_t handlers,
                       uint32_t tangents, const value *const *reads, int count, bool *done, uint64_t *trips) MUST_CHECK;
bool eval_handle(evaluator *ev, value *frame, const code *n, int count, value *out) MUST_CHECK;
bool eval_jacobian(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;
bool eval_call_node(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;
bool eval_closure(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;
bool eval_index(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;
bool eval_composite(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;
bool eval_effect(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;
bool eval_push(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;
/* out[0] is the rest, out[1] what was on top. */
bool eval_pop(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;
bool eval_is_empty(evaluator *ev, value *frame, const code *n, value *out) MUST_CHECK;

/* ---- helpers ---- */
/* K0701 where the run forbids files. what: the builtin or option that wants one. */
bool eval_files_allowed(evaluator *ev, span where, const char *what) MUST_CHECK;
/* Runs the steps of a block (not its tail). */
bool eval_steps(evaluator *ev, value *frame, const code *block) MUST_CHECK;
/* Puts v, taken over, where the binding says. */
void eval_bind(evaluator *ev, value *frame, const binding *to, value v);
/* One value out of count: itself, or a tuple. Takes them over, also on failure. */
bool eval_pack(evaluator *ev, const value *items, int count, value *out) MUST_CHECK;
/* Count values out of a tuple, taken over. */
bool eval_unpack(evaluator *ev, value v, int count, value *out) MUST_CHECK;
bool eval_condition(evaluator *ev, value *frame, const code *n, bool *out) MUST_CHECK;
/* Holds v against what the text says of its dims, binding dim names. */
bool eval_check(evaluator *ev, value *frame, const shape_check *check, const value *v, const char *what,
                span where) MUST_CHECK;
/* What a call needs of its callee: the function and its captured values, borrowed for the call. */
typedef struct called {
    const code_function *f;
    const value *captured;
    value closure;              /* to be released after the call */
    value *gathered;            /* captured values copied out of the frame, or NULL */
} called;
bool eval_callee(evaluator *ev, value *frame, const callee *c, called *out) MUST_CHECK;
void called_close(evaluator *ev, called *f);
bool eval_args(evaluator *ev, value *frame, code *const *args, int count, value *out) MUST_CHECK;
void values_release(context *c, const value *v, int count);

/* Applies what (ad_parameter, ad_popped, ad_join, ad_carry or ad_spread, with its handlers) to every floating leaf; tapes
 * are active for the handlers from now on. */
typedef enum boundary {
    BOUNDARY_PARAMETER,
    BOUNDARY_POPPED,
    BOUNDARY_JOIN,
    BOUNDARY_CARRY,
    BOUNDARY_TANGENT,
} boundary;
bool eval_boundary(evaluator *ev, boundary kind, uint32_t handlers, span where, value *v) MUST_CHECK;
/* Forward mode alone: forgets records from mark on but for what the values hold. */
void eval_reclaim(evaluator *ev, uint32_t mark, value *v, int count);

/* A growing list of borrowed values. */
typedef struct value_list {
    context *c;
    const value **item;
    int count, capacity;
    bool tapes;                 /* a tape is among what was added */
    uint8_t held;               /* the reverse handlers for which tapes are active */
    bool failed;
} value_list;
/* Adds every leaf of v, those that closures hold too; of tapes only what is known of all that they hold. */
void value_list_add(value_list *list, const value *v);
/* The reverse handlers for which something in the list is active. */
uint8_t value_list_active(const value_list *list);
/* The forward handlers for which something of it has a tangent; a tape always has. */
uint32_t value_list_tangents(const value_list *list);
void value_list_close(value_list *list);

#endif
