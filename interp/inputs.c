/* Drawing arguments (inputs.h). */
#include "interp/inputs.h"

#include <math.h>
#include <string.h>

#include "interp/dims.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

uint64_t inputs_next(inputs_stream *s) {
    uint64_t z = s->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inputs_stream stream_of(uint64_t seed, int parameter) {
    inputs_stream s = {seed};
    s.state = inputs_next(&s) + (uint64_t)parameter * 0xD1B54A32D192ED03u;
    return s;
}

/* ---- numbers ---- */

static double special_float(inputs_stream *s, dtype t) {
    double least = t == DT_F32 ? 0x1p-149 : 0x1p-1074, most = t == DT_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    const double list[] = {0.0,  -0.0,  1.0,  -1.0,  2.0,      0.5,       (double)INFINITY, -(double)INFINITY,
                           (double)NAN, least, -least, most, -most};
    return list[inputs_next(s) % COUNT_OF(list)];
}

/* In [-4, 4) with all digits, now and then a number that others are likely to equal, or a special one. */
static double draw_float(inputs_stream *s, dtype t, const inputs_range *r) {
    static const double plain[] = {0.0, -0.0, 1.0, -1.0};
    uint64_t z = inputs_next(s);
    if (z % 100 < r->special) return special_float(s, t);
    if (z % 16 == 0) return plain[z / 16 % COUNT_OF(plain)];
    return (double)(z >> 11) * 0x1p-50 - 4.0;
}

static value draw_number(inputs_stream *s, dtype t, const inputs_range *r) {
    int64_t whole = r->low + (int64_t)(inputs_next(s) % (uint64_t)(r->high - r->low + 1));
    switch (t) {
    case DT_F32: return value_f32((float)draw_float(s, t, r));
    case DT_F64: return value_f64(draw_float(s, t, r));
    case DT_I32: return value_i32((int32_t)whole);
    case DT_I64: return value_i64(whole);
    default: return value_bool(inputs_next(s) % 2 != 0);
    }
}

bool inputs_draw(context *c, inputs_stream *s, const op_type *shape, const inputs_range *r, value *out) {
    dtype t = (dtype)shape->dtype;
    if (shape->rank == 0) {
        *out = draw_number(s, t, r);
        return true;
    }
    tensor *made = tensor_new(c, t, shape->rank, shape->dims);
    if (made == NULL) return false;
    size_t element = dtype_size(t);
    for (int64_t i = 0; i < made->size; i++) {
        value v = draw_number(s, t, r);
        memcpy((char *)made->data + (size_t)i * element, &v.as, element);
    }
    *out = value_tensor(made);
    return true;
}

/* ---- sizes ---- */

static int64_t draw_size(inputs_stream *s, const inputs_range *r) {
    return r->least_size + (int64_t)(inputs_next(s) % (uint64_t)(r->most_size - r->least_size + 1));
}

/* The size of a dim name where an argument that is there shows it alone; -1 for nowhere. */
static int64_t shown_size(const fn_decl *fn, const value *args, int64_t dim) {
    for (int i = 0; i < fn->count; i++) {
        if (args[i].kind != VALUE_TENSOR || fn->type->items[i]->kind != TYPE_TENSOR) continue;
        const op_type *t = &fn->type->items[i]->tensor;
        for (int k = 0; k < t->rank; k++) {
            if (t->dims[k] == dim) return value_dims(&args[i])[k];
        }
    }
    return -1;
}

bool inputs_fill(context *c, const program *p, const fn_decl *fn, uint64_t seed, const inputs_range *r,
                 value *args) {
    int count = fn->type->generic_count;
    int64_t *sizes = take(c, (size_t)count * sizeof *sizes);
    if (sizes == NULL) return false;
    inputs_stream of_dims = stream_of(seed, -1);
    for (int g = 0; g < count; g++) {
        int64_t drawn = draw_size(&of_dims, r), shown = shown_size(fn, args, fn->type->generic[g]);
        sizes[g] = shown >= 0 ? shown : drawn;
    }
    bool ok = true;
    for (int i = 0; ok && i < fn->count; i++) {
        const type *t = fn->type->items[i];
        if (args[i].kind != VALUE_NONE || t->kind != TYPE_TENSOR) continue;
        inputs_stream s = stream_of(seed, i);
        op_type shape = t->tensor;
        for (int k = 0; k < shape.rank; k++) {
            shape.dims[k] = dims_substitute(p->dims, shape.dims[k], count, fn->type->generic, sizes);
            if (shape.dims[k] < 0) shape.dims[k] = draw_size(&s, r);
        }
        ok = inputs_draw(c, &s, &shape, r, &args[i]);
    }
    give_back(c, sizes, (size_t)count * sizeof *sizes);
    return ok;
}
