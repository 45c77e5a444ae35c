/* What the files of the ownership pass share; interp/ast.h has its one entry, own_program.
 *
 * The pass walks the checked tree once, in the order in which the program would run, and follows
 * tensors, not names. Three things are kept apart:
 *
 *   - what a value is made of (held, holding): which known tensors an expression's value is, or may
 * be;
 *   - whether a tensor has ended, by a drop or by a move into a loop (owned, ending);
 *   - whether anything needs a binding (use_node), for the leaks of loop bodies.
 *
 * A value that an operator or a call has just made is no known tensor: it becomes one when a name
 * is bound to it. All of this lives in an arena of the pass and is gone when the pass returns. */
#ifndef KINA_OWN_STATE_H
#define KINA_OWN_STATE_H

#include "interp/ast.h"

typedef struct owned owned;
typedef struct holding holding;
typedef struct use_node use_node;

/* ---- what values are made of ---- */

/* The value of one expression. `of` is NULL when it holds no tensor, or only ones without a name.
 */
typedef struct held {
    const holding *of;
    span at; /* the mention of it in the text; 0,0 inside of a settled tuple */
} held;

struct holding {
    int count;    /* 0: one tensor; else the items of a tuple */
    bool settled; /* every tensor in it is known */
    union {
        owned *tensor;
        const held *items;
    } u;
};

/* The values that the branches of an `if` may give. */
typedef struct choice_branch {
    held value;
    struct choice_branch *next;
} choice_branch;

/* ---- tensors and their ends ---- */
typedef enum end_kind {
    END_DROP,
    END_MOVE, /* into a loop */
    END_TAKE, /* of a tape: by whatever else uses it up */
} end_kind;

/* One tensor's end. Endings are listed in the order they happened, so that those of one branch can
 * be taken back before the other branch is walked, and be put in force again behind the `if`. */
typedef struct ending {
    end_kind kind;
    span at;
    const char *taker; /* MOVE: the carried name that took it; TAKE: who did */
    owned *tensor;
    owned *cause; /* the tensor that the program ended; `tensor` is that one or may be it */
    struct ending *next;
} ending;

/* A list of endings that are not in force. */
typedef struct endings {
    ending *first, *last;
} endings;

/* A list of tensors; see owned. */
typedef struct owned_link {
    owned *tensor;
    span at; /* of a choice's member: its mention in the branch */
    struct owned_link *next;
} owned_link;

/* A known tensor or tape. A tensor that an `if` chose is a tensor of its own, with those it may be as its
 * members: it ends when one of them does, and ends all of them when it ends. */
struct owned {
    holding self;
    const char *name;    /* the name it was bound to first, "t.1" inside a tuple; NULL: none yet */
    span at;             /* where that was */
    int depth;           /* of the loop body it was made in */
    bool fresh;          /* made here, or, of a choice, may be */
    bool quiet;          /* an error about it was reported */
    bool session;        /* a variable of the session, or a part of one (own_session.c) */
    bool linear;         /* a tape, which must end exactly once on every path, in its own function */
    const fn_decl *home; /* LINEAR: that function */
    owned *older;        /* LINEAR: the one made before it */
    unsigned number;     /* LINEAR: how many were made before it */
    ending *end;         /* NULL: it can be used */
    owned_link *members; /* of a choice */
    owned_link *choices; /* those that it is a member of */
    unsigned stamp;      /* own.stamp of the last search that came by */
    int place;           /* the yielded position at which that was, and where in the text */
    span place_at;
    owned *next; /* of the search's work list */
};

/* ---- who needs what ---- */

/* A binding in a loop body, or a loop, as a reader and as something that is read. Its level is the
 * depth of the outermost loop body whose yields, conditions or effects need it: 0 for the program's
 * own, LEVEL_UNUSED for a binding that nothing needs. What is read for a binding is needed as much
 * as the binding. */
enum { LEVEL_UNUSED = INT32_MAX };

typedef struct use_edge {
    use_node *to;
    struct use_edge *next;
} use_edge;

struct use_node {
    int level;
    bool queued, quiet;
    const char *name; /* NULL for a loop */
    use_edge *reads;
    use_node *read_by; /* the first reader that was itself not needed so far */
    span read_at;
    use_node *next; /* of the work list */
};

/* A binding in a loop body that must not go unused. */
typedef struct candidate {
    const symbol *of;
    use_node *use;
    struct candidate *next;
} candidate;

/* ---- the state of the walk ---- */
typedef struct bound_name {
    const symbol *of; /* NULL: a free place of the table */
    const holding *holds;
    use_node *use; /* NULL outside of loops */
} bound_name;

typedef struct loop_body {
    const expr *loop;
    int depth;
    candidate *first, **last;
} loop_body;

typedef struct own {
    context *c;
    arena a;
    const program *program;
    diagnostics *diags;
    bool failed; /* out of memory or of stack: the walk unwinds, what it returns means nothing */

    bound_name *table; /* by symbol, open addressing */
    uint32_t table_count, table_size;

    owned *tapes; /* the newest linear one that may still be in use */
    unsigned tape_count;
    const fn_decl *function; /* that is walked */

    ending *last; /* the newest in force; the first of the list is `start` */
    ending start;
    unsigned stamp;

    int depth;          /* loop bodies around, of enclosing functions too */
    int function_depth; /* the same where the innermost function begins */
    bool in_condition;  /* of a loop, in the same function */
    loop_body *loop;  /* the innermost one of the same function; NULL in none and in a condition */
    use_node *reader; /* what is being read for */
    use_node program_use; /* the reader of level 0 */
} own;

/* own_bind.c: from names to what they hold. */
bool own_type_holds(const type *t);
void own_bind(own *o, const symbol *s, const holding *holds, use_node *use);
bound_name own_find(const own *o, const symbol *s);
/* Gives every tensor of a value that is bound to `name` an identity. *fresh: one of them was made
 * here. */
const holding *own_settle(own *o, const type *t, held v, const char *name, span at, bool *fresh);
/* The i-th item of a tuple's value. */
held own_item(held v, int i);

/* own_end.c: tensors' ends and choices. */
owned *own_tensor(own *o, const char *name, span at);
held own_choose(own *o, const type *t, choice_branch *branches, span at);
void own_end(own *o, held v, end_kind kind, const char *taker);
/* Takes back the endings since `mark`, and adds them to `taken`. */
void own_take_back(own *o, ending *mark, endings *taken);
void own_put_back(own *o, endings *taken);
/* Reports every tensor of v that has ended. */
void own_check_alive(own *o, held v);
void own_check_yields(own *o, const loop_body *loop, held v);

/* own_tape.c: tapes. */
bool own_type_linear(const type *t);
owned *own_tape(own *o, const char *name, span at);
/* Ends the tapes in v, which `taker` uses up. */
void own_take(own *o, held v, const char *taker);
/* v of this type is not used: what it holds must have a name that can be. */
void own_unused(own *o, const type *t, held v, span at);
/* Reports the tapes in v that are another function's. */
void own_check_home(own *o, held v);
/* The tapes made since `mark`, which is o->tapes as it was, have all to be ended by now. */
void own_check_left(own *o, owned *mark);
/* What the branches of an `if`, of which there are `count`, have ended: each tape that was there before, which
 * `first` were, by all of them or by none; the program's own drops of session variables likewise. */
void own_check_paths(own *o, const endings *taken, int count, unsigned first, span at);

/* own_session.c: the variables of a session. */
/* Binds them, each with tensors of its own; once, before the walk. */
void own_bind_session(own *o);
/* Behind the walk: notes in their symbols which of them the program has dropped. A function that drops one drops its
 * own share. */
void own_note_dropped(own *o);
/* Whether a copy of t ends in its place. */
bool own_session_moved(const owned *t, end_kind kind);

/* own_use.c: who needs what. */
use_node *own_use_new(own *o, const char *name);
/* The present reader reads n. */
void own_use_read(own *o, use_node *n, span at);
void own_use_check(own *o, const loop_body *loop);

/* own_report.c: the errors. */
void own_report_used(own *o, owned *t, span at);
void own_report_outer_end(own *o, owned *t, end_kind kind, span at);
void own_report_outer_yield(own *o, owned *t, span at);
void own_report_twice(own *o, owned *t, span first, span again);
void own_report_leak(own *o, const symbol *carried, use_node *n);
void own_report_unused(own *o, const symbol *let, use_node *n);
void own_report_left(own *o, owned *t);
void own_report_unnamed(own *o, span at);
void own_report_path(own *o, owned *t, const ending *end, span at);
void own_report_maybe(own *o, owned *t, const ending *end, span at);
void own_report_captured(own *o, owned *t, span at);

#endif
