/* Arguments by chance, the same for the same seed everywhere. */
#include <string.h>

#include "interp/tools/oracle.h"
#include "runtime/tensor.h"

enum { SIZE_MOST = 5 }; /* of a dim that nothing fixes */

typedef struct stream {
    uint64_t state;
} stream;

/* Steele, Lea and Flood's SplitMix64. */
static uint64_t next(stream *s) {
    uint64_t z = s->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* A stream of its own for each parameter, so that giving one changes no other. */
static stream stream_of(uint64_t seed, int parameter) {
    stream s = {seed};
    s.state = next(&s) + (uint64_t)parameter * 0xD1B54A32D192ED03u;
    return s;
}

/* In [-4, 4), now and then a zero of either sign or a one of either sign. */
static double draw_float(stream *s) {
    static const double special[] = {0.0, -0.0, 1.0, -1.0};
    uint64_t z = next(s);
    if (z % 16 == 0) return special[z / 16 % COUNT_OF(special)];
    return (double)(z >> 11) * 0x1p-50 - 4.0;
}

/* Divisors and indices have to suit the program, which is tried again with fewer. */
static int64_t draw_integer(stream *s, int attempt) {
    static const int64_t low[ORACLE_ATTEMPTS] = {-9, 0, 0, 1},
                         count[ORACLE_ATTEMPTS] = {19, 4, 2, 1};
    return low[attempt] + (int64_t)(next(s) % (uint64_t)count[attempt]);
}

static value draw_number(stream *s, dtype t, int attempt) {
    switch (t) {
    case DT_F32: return value_f32((float)draw_float(s));
    case DT_F64: return value_f64(draw_float(s));
    case DT_I32: return value_i32((int32_t)draw_integer(s, attempt));
    case DT_I64: return value_i64(draw_integer(s, attempt));
    case DT_Bool:
    case DTYPE_COUNT: break;
    }
    return value_bool(next(s) % 2 != 0);
}

static bool draw(context *c, stream *s, dtype t, int rank, const int64_t *sizes, int attempt,
                 value *out) {
    if (rank == 0) {
        *out = draw_number(s, t, attempt);
        return true;
    }
    tensor *made = tensor_new(c, t, rank, sizes);
    if (made == NULL) return false;
    size_t element = dtype_size(t);
    for (int64_t i = 0; i < made->size; i++) {
        value v = draw_number(s, t, attempt);
        memcpy((char *)made->data + (size_t)i * element, &v.as, element);
    }
    *out = value_tensor(made);
    return true;
}

/* The dims of parameter i under the sizes of the names; what is still open is drawn. */
static void place_sizes(const program *p, const fn_decl *fn, int i, const int64_t *named, stream *s,
                        int64_t *out) {
    const op_type *t = &fn->type->items[i]->tensor;
    for (int k = 0; k < t->rank; k++) {
        out[k] =
            dims_substitute(p->dims, t->dims[k], fn->type->generic_count, fn->type->generic, named);
        if (out[k] < 0) out[k] = 1 + (int64_t)(next(s) % SIZE_MOST);
    }
}

bool oracle_fill(context *c, const program *p, const fn_decl *fn, uint64_t seed, int attempt,
                 arguments *a) {
    int count = fn->type->generic_count;
    int64_t sizes[MAX_RANK], *named = take(c, (size_t)count * sizeof *named);
    if (named == NULL) return false;
    arguments_sizes(fn, a, named);
    stream of_dims = stream_of(seed, -1);
    for (int g = 0; g < count; g++) {
        int64_t drawn = 1 + (int64_t)(next(&of_dims) % SIZE_MOST);
        if (named[g] < 0) named[g] = drawn;
    }
    bool ok = true;
    for (int i = 0; ok && i < a->count; i++) {
        const type *t = fn->type->items[i];
        if (a->values[i].kind != VALUE_NONE || t->kind != TYPE_TENSOR) continue;
        stream s = stream_of(seed, i);
        place_sizes(p, fn, i, named, &s, sizes);
        ok = draw(c, &s, (dtype)t->tensor.dtype, t->tensor.rank, sizes, attempt, &a->values[i]);
    }
    give_back(c, named, (size_t)count * sizeof *named);
    return ok;
}
