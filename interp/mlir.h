/* A checked program as MLIR text, for a compiler's pipeline (docs/mlir.md).
 *
 * The emitter walks the same code as the evaluator and asks the same type rules (op_result_type), with sizes
 * that only a run knows as SSA values of type index. What it writes computes, bit for bit, what
 * `--numerics compiled` computes. */
#ifndef KINA_MLIR_H
#define KINA_MLIR_H

#include "interp/engine.h"
#include "runtime/text.h"

typedef struct mlir_options {
    bool plain;                 /* neither llvm.emit_c_interface nor bufferization.writable */
} mlir_options;

/* How a tensor or number crosses the boundary of a function. */
typedef struct mlir_port {
    const char *name;           /* "x", "t.1", "primal"; parameters by name, results by position */
    op_type type;               /* dims: -1 where only a run knows the size */
    bool by_value;              /* a number spelled `F32`; else a memref descriptor, also of rank 0 */
} mlir_port;

/* A function that the module offers to a host as _mlir_ciface_NAME. */
typedef struct mlir_export {
    const char *name;
    int param_count, result_count;
    const mlir_port *params, *results;
} mlir_export;

typedef struct mlir_exports {
    int count, capacity;
    mlir_export *items;         /* in the engine's arena */
} mlir_exports;

/* Appends the module to out. False with the context's error set: out of memory, or K0701 with the place of
 * what cannot be lowered. The engine has loaded its program without errors. */
bool mlir_emit(engine *e, mlir_options options, text *out, mlir_exports *exports) MUST_CHECK;

#endif
