/* Ops: ids, attributes and type rules, generated from ops.def.
 *
 * An op's attributes are everything about it that is not an operand. What the text of a program fixes
 * (axes, which operand axes are a literal 1) is set by the checker; sizes that only the run knows (dims,
 * lo) are filled in before the op is performed. */
#ifndef KINA_OP_H
#define KINA_OP_H

#include "runtime/dtype.h"

typedef enum op_id {
#define OP(id, surface, class, arity, needs, rule, signature, doc) OP_##id,
#include "runtime/ops.def"
#undef OP
    OP_COUNT
} op_id;

typedef enum op_class {
    CLASS_UNARY,            /* float -> same; polygamma: attr lo[0], its order */
    CLASS_UNARY_NUMERIC,    /* float or integer -> same */
    CLASS_UNARY_BOOL,
    CLASS_CAST,             /* attr dtype */
    CLASS_IDENTITY,
    CLASS_BINARY,           /* two floats of one dtype -> same; attr ones[0..1] */
    CLASS_BINARY_NUMERIC, CLASS_BINARY_INTEGER, CLASS_BINARY_BOOL,
    CLASS_COMPARE,          /* any dtype -> Bool */
    CLASS_COMPARE_ORDER,    /* float or integer -> Bool */
    CLASS_WHERE,            /* Bool, T, T -> T; attr ones[0..2] */
    CLASS_TERNARY_NUMERIC,  /* attr ones[0..2] */
    CLASS_REDUCE,           /* float or integer; attr axes, keepdims */
    CLASS_REDUCE_ONE,       /* float or integer; one axis, or all of a rank-1 tensor (see lowering of prod) */
    CLASS_REDUCE_NONEMPTY,  /* float or integer; K0504 when nothing is reduced */
    CLASS_REDUCE_FLOAT, CLASS_REDUCE_BOOL,
    CLASS_ARG_REDUCE,       /* -> I64; attr axes has one bit, or all bits: index in the flattened tensor */
    CLASS_SUM_TO,           /* attr axes: summed; drop: the subset that vanishes (the others keep size 1) */
    CLASS_ALONG,            /* attr axis; float */
    CLASS_SHIFT,            /* attr axis, lo[0]: how far, negative to the front; float or integer */
    CLASS_SCAN,             /* attr axis, reversed; two floats of one shape */
    CLASS_CUMULATE,         /* attr axis, reversed (cumsum alone); float or integer */
    CLASS_CUMULATE_FLOAT,   /* attr axis */
    CLASS_ORDER,            /* attr axis; float or integer -> I64 places along the axis */
    CLASS_TOP_K,            /* attr axis, dims[0]: how many places */
    CLASS_RESHAPE,          /* attr rank, dims */
    CLASS_PERMUTE,          /* attr perm */
    CLASS_BROADCAST,        /* attr rank, dims; ones[0] operand, ones[1] result */
    CLASS_EXPAND, CLASS_SQUEEZE,    /* attr axis */
    CLASS_CONCAT,           /* attr axis */
    CLASS_SLICE,            /* attr per operand axis: lo, dims = how many, step; drop: axes that vanish (dims 1) */
    CLASS_SLICE_ADD,        /* operands acc, y; attributes as for the slice of acc that has y's shape */
    CLASS_TAKE,             /* x, integer indices; attr axis */
    CLASS_TAKE_ALONG,       /* x and indices of one rank, sizes equal but on axis */
    CLASS_SCATTER, CLASS_SCATTER_ALONG,
    CLASS_ONE_HOT,          /* attr dims[0] = n */
    CLASS_MATMUL,           /* attr ones[0..1] for the batch axes */
    CLASS_MATMUL_ADD,
    CLASS_MATRIX,           /* square floating matrices on the last two axes -> same */
    CLASS_MATRIX_PAIR,      /* two of one shape -> same */
    CLASS_DETERMINANT,      /* such matrices -> a number for each */
    CLASS_SOLVE,            /* such matrices, and a vector or matrices as a product takes; attr ones[0..1],
                             * of a triangular one reversed: it is the upper */
    CLASS_TRIANGLE,         /* matrices -> same; attr lo[0]: the last diagonal kept, reversed: the first */
    CLASS_CONV,             /* x, w; attr per spatial axis i: step[i] stride, step[2 + i] dilation, lo[i]
                             * padding; lo[2] groups */
    CLASS_CONV_INPUT_GRAD,  /* cotangent, w; the same, and rank, dims: x's shape; ones[2]: x's literal ones */
    CLASS_CONV_WEIGHT_GRAD, /* x, cotangent; the same of w */
    CLASS_POOL,             /* x of rank 4; attr per spatial axis i: step[i] stride, step[2 + i] window,
                             * lo[i] padding, less than the window */
    CLASS_POOL_PLACE,       /* the same -> I64 */
    CLASS_POOL_GRAD,        /* cotangent; the same, and rank, dims: x's shape; ones[1]: x's literal ones */
    CLASS_FULL,             /* number; attr rank, dims (rank 0: the number itself) */
    CLASS_FULL_LIKE,        /* any tensor or number, number -> the number's dtype, the first's shape */
    CLASS_ARANGE,           /* attr dims[0], dtype (an integer) */
    CLASS_EYE,              /* attr dims[0], dtype */
    CLASS_RANDOM,           /* I64 key; attr rank, dims, dtype */
    CLASS_CUSTOM,
} op_class;

typedef enum op_rule { OP_RULE_NONE, OP_RULE_PARTIAL, OP_RULE_LINEAR, OP_RULE_RULE } op_rule;

/* Bits of the `needs` column. */
enum {
    NEED_IN0 = 1, NEED_IN1 = 2, NEED_IN2 = 4, NEED_OUT = 8,
    NEED_SIZES = 16,        /* the operands' sizes along attrs.axis */
};
enum { ARITY_MANY = 255 };

typedef struct op_attrs {
    uint8_t ones[3];        /* bit i: axis i of that operand is a literal 1 in the text, so it may stretch */
    uint8_t dtype;          /* cast and making: the result's element type */
    uint8_t axis;           /* along one axis; counted from the front */
    uint8_t axes;           /* reductions: bit i set when axis i is reduced */
    uint8_t drop;
    bool keepdims;
    bool reversed;          /* scan: from the last entry down */
    bool strong_zero;       /* products that are added up (matrix products, convolutions, scans): 0 times
                             * infinity or NaN is 0; elementwise that is strong_mul */
    uint8_t rank;           /* how many of dims count */
    uint8_t perm[MAX_RANK];
    int64_t dims[MAX_RANK];
    int64_t lo[MAX_RANK], step[MAX_RANK];
    bool stays;             /* the attributes live as long as the program: the tape need not copy them */
} op_attrs;

typedef struct op_info {
    const char *name, *surface, *signature, *doc;
    uint8_t class, arity, rule;
    uint32_t needs;         /* 8 bits an operand: (needs >> 8*k) & 255 for operand k */
} op_info;

extern const op_info op_table[OP_COUNT];

/* The type of a tensor or number. In a run dims are sizes. In the checker a dim is a size when >= 0 and
 * the id of a symbolic expression when negative (interp/dims.h). */
typedef struct op_type {
    uint8_t dtype, rank;
    int64_t dims[MAX_RANK];
} op_type;

/* How the checker lets dims be compared and combined; NULL in a run, where they are plain sizes. */
typedef enum dim_verdict { DIM_SAME, DIM_DIFFERENT, DIM_LATER } dim_verdict;
typedef struct dim_algebra {
    void *self;
    dim_verdict (*compare)(void *self, int64_t a, int64_t b);   /* LATER: only the run can tell */
    int64_t (*add)(void *self, int64_t a, int64_t b);
    int64_t (*mul)(void *self, int64_t a, int64_t b);
    int64_t (*sub)(void *self, int64_t a, int64_t b);
    int64_t (*unknown)(void *self);     /* a new size that only the run knows */
    /* The different symbols in a dim, at most room of them; returns how many were written. */
    int (*symbols)(void *self, int64_t dim, int64_t *out, int room);
    /* The dim with the symbols from[i] replaced by to[i]. */
    int64_t (*substitute)(void *self, int64_t dim, int count, const int64_t *from, const int64_t *to);
    /* How many windows fit, as op_windows says it of sizes; size or window is no plain size. */
    int64_t (*windows)(void *self, int64_t size, int64_t window, int64_t stride, int64_t padding,
                       int64_t dilation);
} dim_algebra;

/* Why operands do not fit. */
typedef enum op_fault_kind {
    FAULT_NONE,
    FAULT_DTYPE,            /* operand a has a dtype that the op does not take */
    FAULT_DTYPES,           /* operands a and b differ in dtype */
    FAULT_DIMS,             /* axis_a of operand a and axis_b of operand b differ */
    FAULT_RANK,             /* operand a has the wrong rank */
    FAULT_AXIS,             /* attribute axis or axes out of range for operand a */
    FAULT_EMPTY,            /* nothing to reduce along axis_a of operand a */
    FAULT_SIZE,             /* reshape: sizes differ; broadcast, squeeze: axis_a of operand a does not fit */
    FAULT_OVERFLOW,         /* a size beyond int64, or a rank beyond MAX_RANK */
} op_fault_kind;
typedef struct op_fault {
    op_fault_kind kind;
    int a, b, axis_a, axis_b;
    char expects[80];       /* what would fit, in words: "a floating tensor", "rank 2 or more" */
} op_fault;

/* The result type of an op on operands of the given types: the one rule that the checker and the run
 * share. False with *fault filled in when they do not fit. Where dims can only be compared LATER the
 * result takes the more definite one. Never looks at elements; K0503-style index checks are the kernel's. */
bool op_result_type(op_id op, const op_attrs *attrs, const op_type *in, int n, const dim_algebra *algebra,
                    op_type *out, op_fault *fault) MUST_CHECK;

enum { POLYGAMMA_MOST = 100 };  /* its highest order in programs */

/* Whether `count` places from lo on in steps of `step` lie within an axis of a size. */
bool op_slice_fits(int64_t lo, int64_t count, int64_t step, int64_t size);

/* One sentence without codes: "shapes [2, 3] and [4] differ in the last dim: 3 and 4". In a run only. */
void op_fault_describe(op_id op, const op_type *in, int n, const op_fault *fault, char *out, size_t room);

/* The op of this surface name, or OP_COUNT. */
op_id op_find(const char *surface, size_t length);

#endif
