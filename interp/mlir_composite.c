/* Builtins that a run makes of several ops. */
#include "interp/mlir_emit.h"

mlir_value mlir_composite(emitter *e, const code *n, mlir_hint hint) {
    static const char *const words[] = {
#define BUILTIN(id, surface, signature, doc) [BUILTIN_##id] = surface,
#include "interp/builtins.def"
#undef BUILTIN
    };
    (void)hint;
    e->where = n->where;
    mlir_refuse(e, "`%s` cannot be lowered to MLIR", words[n->u.composite.use->builtin]);
    return (mlir_value){.kind = MLIR_NONE};
}
