/* Reductions and the ops along an axis: values, one tree for every layout and thread count, edges.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "tests/unit/kernel_check.h"

typedef struct reduce_case {
    int rank;
    int64_t dims[4];
    uint8_t axes;
} reduce_case;

static const reduce_case cases[] = {
    {1, {1}, 1},         {1, {7}, 1},           {1, {300}, 1},        {1, {70000}, 1},
    {2, {5, 6}, 1},      {2, {5, 6}, 2},        {2, {5, 6}, 3},       {2, {5, 6}, 0},
    {2, {700, 130}, 1},  {2, {130, 700}, 2},    {3, {4, 9, 5}, 2},    {3, {4, 9, 5}, 5},
    {3, {40, 3, 50}, 5}, {4, {2, 3, 4, 5}, 10}, {4, {2, 3, 4, 5}, 6}, {2, {0, 3}, 1},
    {2, {3, 0}, 1},      {2, {3, 0}, 2},        {1, {0}, 1},          {2, {600, 200}, 1},
};

/* A contiguous tensor with v's elements. */
static value dense_copy(kernel_fixture *f, const value *v) {
    tensor *t = tensor_new(&f->c, (dtype)v->dtype, value_rank(v), value_dims(v));
    ck_assert_ptr_nonnull(t);
    size_t element = dtype_size((dtype)v->dtype);
    for (int64_t i = 0; i < t->size; i++)
        memcpy((char *)t->data + (size_t)i * element, kernel_at(v, i), element);
    return value_tensor(t);
}

/* The reduced entries of one result, visited in order: start 0, join by op, in long double. */
static long double naive(op_id op, const reduce_case *r, const value *x, const int64_t *kept,
                         int64_t *count, long double *scale) {
    int64_t index[MAX_RANK], reduced[MAX_RANK] = {0}, dims[MAX_RANK];
    int n = 0;
    bool empty = false;
    for (int i = 0; i < r->rank; i++)
        if (((r->axes >> i) & 1) != 0) {
            dims[n++] = r->dims[i];
            empty |= r->dims[i] == 0;
        }
    long double acc = op == OP_prod || op == OP_all ? 1 : op == OP_max ? -(long double)INFINITY : 0;
    if (op == OP_min) acc = (long double)INFINITY;
    *count = 0;
    *scale = 0;
    if (empty) return op == OP_mean ? (long double)NAN : acc;
    do {
        int at_kept = 0, at_reduced = 0;
        for (int i = 0; i < r->rank; i++)
            index[i] = ((r->axes >> i) & 1) != 0 ? reduced[at_reduced++] : kept[at_kept++];
        int64_t position = 0;
        for (int i = 0; i < r->rank; i++) position = position * r->dims[i] + index[i];
        long double y = (long double)kernel_double(x, position);
        *scale += fabsl(y);
        ++*count;
        if (op == OP_prod || op == OP_all) acc *= y;
        if (op == OP_sum || op == OP_mean) acc += y;
        if (op == OP_max) acc = y > acc ? y : acc;
        if (op == OP_min) acc = y < acc ? y : acc;
        if (op == OP_any) acc = acc != 0 || y != 0;
    } while (kernel_next(n, dims, reduced));
    return op == OP_mean ? acc / *count : acc;
}

static void check_values(op_id op, const reduce_case *r, const value *x, const value *out) {
    int64_t kept[MAX_RANK] = {0}, dims[MAX_RANK];
    int n = 0;
    for (int i = 0; i < r->rank; i++)
        if (((r->axes >> i) & 1) == 0) dims[n++] = r->dims[i];
    for (int64_t i = 0; i < value_size(out); i++) {
        int64_t count;
        long double scale, want = naive(op, r, x, kept, &count, &scale);
        long double got = (long double)kernel_double(out, i);
        long double unit = x->dtype == DT_F32 ? 0x1p-22L : x->dtype == DT_F64 ? 0x1p-51L : 0;
        long double allowed =
            op == OP_prod ? unit * (long double)count * fabsl(want) * 2 : unit * scale * 8;
        if (op == OP_max || op == OP_min) allowed = 0;
        /* Integers wrap, and a long product leaves the range of floats on the way. */
        bool leaves_range = op == OP_prod && (unit == 0 || count > 40);
        bool nan = want != want && got != got;
        if (!leaves_range && !nan && !(fabsl(got - want) <= allowed) && got != want)
            ck_abort_msg("%s: %Lg, not %Lg", op_table[op].name, got, want);
        kernel_next(n, dims, kept);
    }
}

START_TEST(test_values_and_layouts) {
    kernel_fixture f;
    kernel_open(&f);
    static const op_id ops[] = {OP_sum, OP_mean, OP_prod, OP_max, OP_min, OP_any, OP_all};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t k = 0; k < COUNT_OF(ops); k++)
            for (int t = 0; t < DTYPE_COUNT; t++)
                for (int how = 0; how < LAYOUTS; how++) {
                    const reduce_case *r = &cases[i];
                    bool booleans = ops[k] == OP_any || ops[k] == OP_all;
                    if (booleans != (t == DT_Bool)) continue;
                    if (ops[k] == OP_mean && t > DT_F64) continue;
                    if (r->dims[0] > 1000 && ops[k] != OP_sum) continue;
                    op_attrs attrs = {.axes = r->axes};
                    value x = kernel_operand(&f, (dtype)t, r->rank, r->dims, (layout)how);
                    bool nothing = false;
                    for (int a = 0; a < r->rank; a++)
                        nothing |= ((r->axes >> a) & 1) != 0 && r->dims[a] == 0;
                    if (nothing && (ops[k] == OP_max || ops[k] == OP_min)) {
                        ck_assert_int_eq(kernel_fails(&f, ops[k], &attrs, 1, &x), ERROR_K0504);
                        value_release(&f.c, x);
                        continue;
                    }
                    value out = kernel_do(&f, ops[k], &attrs, 1, &x);
                    check_values(ops[k], r, &x, &out);
                    value copy = dense_copy(&f, &x);
                    value again = kernel_do(&f, ops[k], &attrs, 1, &copy);
                    if (!kernel_same(&out, &again)) ck_abort_msg("a view and its copy differ");
                    f.c.threads = 2;
                    value two = kernel_do(&f, ops[k], &attrs, 1, &x);
                    f.c.threads = 1;
                    if (!kernel_same(&out, &two)) ck_abort_msg("one thread and two differ");
                    kernel_release(&f, 5, (value[]){x, out, copy, again, two});
                }
    kernel_close(&f);
}
END_TEST

/* The column and row forms follow one tree: reducing axis 0 of x is reducing axis 1 of its
 * transpose. */
START_TEST(test_rows_and_columns) {
    kernel_fixture f;
    kernel_open(&f);
    for (int64_t n = 1; n < 1500; n += 1 + n / 3) {
        int64_t dims[2] = {n, 37};
        value x = kernel_operand(&f, DT_F32, 2, dims, LAYOUT_DENSE);
        value turned = kernel_do(&f, OP_permute, &(op_attrs){.perm = {1, 0}}, 1, &x);
        value copy = dense_copy(&f, &turned);
        value a = kernel_do(&f, OP_sum, &(op_attrs){.axes = 1}, 1, &x);
        value b = kernel_do(&f, OP_sum, &(op_attrs){.axes = 2}, 1, &copy);
        ck_assert(kernel_same(&a, &b));
        kernel_release(&f, 5, (value[]){x, turned, copy, a, b});
    }
    kernel_close(&f);
}
END_TEST

START_TEST(test_edges) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t one = 1, three = 3;
    float zero = -0.0f;
    value z = kernel_floats(&f, 1, &one, &zero);
    value s = kernel_do(&f, OP_sum, &(op_attrs){.axes = 1}, 1, &z);
    ck_assert_int_eq(s.kind, VALUE_NUMBER);
    ck_assert(!signbit(s.as.f32));
    value n = value_f32(2.5f), same = kernel_do(&f, OP_sum, NULL, 1, &n);
    ck_assert(same.as.f32 == 2.5f);
    value x = kernel_floats(&f, 1, &three, (float[]){1, NAN, 3});
    value m = kernel_do(&f, OP_max, &(op_attrs){.axes = 1}, 1, &x);
    ck_assert(m.as.f32 != m.as.f32);
    value at = kernel_do(&f, OP_argmax, &(op_attrs){.axes = 1}, 1, &x);
    ck_assert_int_eq(at.as.i64, 1);
    at = kernel_do(&f, OP_argmin, &(op_attrs){.axes = 1}, 1, &x);
    ck_assert_int_eq(at.as.i64, 1);
    value big[2] = {value_i32(INT32_MAX), value_i32(1)};
    value wrapped = kernel_do(&f, OP_add, NULL, 2, big);
    ck_assert_int_eq(wrapped.as.i32, INT32_MIN);
    value_release(&f.c, z);
    value_release(&f.c, x);
    kernel_close(&f);
}
END_TEST

START_TEST(test_arguments) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[2] = {2, 3};
    value x = kernel_floats(&f, 2, dims, (float[]){1, 5, 5, 7, 0, 7});
    value rows = kernel_do(&f, OP_argmax, &(op_attrs){.axes = 2}, 1, &x);
    value columns = kernel_do(&f, OP_argmin, &(op_attrs){.axes = 1, .keepdims = true}, 1, &x);
    value all = kernel_do(&f, OP_argmax, &(op_attrs){.axes = 3}, 1, &x);
    ck_assert_double_eq(kernel_double(&rows, 0), 1);
    ck_assert_double_eq(kernel_double(&rows, 1), 0);
    ck_assert_int_eq(value_rank(&columns), 2);
    ck_assert_double_eq(kernel_double(&columns, 0), 0);
    ck_assert_double_eq(kernel_double(&columns, 1), 1);
    ck_assert_int_eq(all.as.i64, 3);
    kernel_release(&f, 3, (value[]){x, rows, columns});
    kernel_close(&f);
}
END_TEST

START_TEST(test_sum_to) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[3] = {4, 3, 5};
    value x = kernel_operand(&f, DT_F64, 3, dims, LAYOUT_TURNED);
    value a = kernel_do(&f, OP_sum_to, &(op_attrs){.axes = 5, .drop = 1}, 1, &x);
    value b = kernel_do(&f, OP_sum, &(op_attrs){.axes = 5}, 1, &x);
    ck_assert_int_eq(value_rank(&a), 2);
    ck_assert_int_eq(value_dims(&a)[1], 1);
    for (int64_t i = 0; i < 3; i++) ck_assert_double_eq(kernel_double(&a, i), kernel_double(&b, i));
    kernel_release(&f, 3, (value[]){x, a, b});
    kernel_close(&f);
}
END_TEST

/* softmax and its relatives against long double, on every layout and axis, in both numerics. */
START_TEST(test_softmax) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[3] = {3, 5, 4}, wide[2] = {3, 1000};
    for (int k = 0; k < 24; k++) {
        int axis = k % 3, t = k / 3 % 2;
        f.c.numerics = k / 6 % 2 == 0 ? NUMERICS_FAST : NUMERICS_REFERENCE;
        f.c.threads = 1 + k % 2;
        layout how = (layout)(k % LAYOUTS);
        value x = axis == 2 && k >= 12 ? kernel_operand(&f, (dtype)t, 2, wide, how)
                                       : kernel_operand(&f, (dtype)t, 3, dims, how);
        if (value_rank(&x) == 2) axis = 1;
        op_attrs attrs = {.axis = (uint8_t)axis, .axes = (uint8_t)(1 << axis), .keepdims = true};
        value p = kernel_do(&f, OP_softmax, &attrs, 1, &x);
        value q = kernel_do(&f, OP_log_softmax, &attrs, 1, &x);
        value l = kernel_do(&f, OP_logsumexp, &attrs, 1, &x);
        int64_t index[MAX_RANK] = {0};
        double unit = t == DT_F32 ? 1e-6 : 1e-14;
        do {
            int64_t row[MAX_RANK];
            memcpy(row, index, sizeof row);
            long double sum = 0;
            for (row[axis] = 0; row[axis] < value_dims(&x)[axis]; row[axis]++) {
                const void *e = kernel_at_index(&x, row);
                sum += expl(t == DT_F32 ? (long double)*(const float *)e
                                        : (long double)*(const double *)e);
            }
            int64_t position = 0, of_row = 0;
            for (int i = 0; i < value_rank(&x); i++) {
                position = position * value_dims(&x)[i] + index[i];
                of_row = of_row * value_dims(&l)[i] + (i == axis ? 0 : index[i]);
            }
            double v = kernel_double(&x, position), log_sum = (double)logl(sum);
            double want = (double)(expl((long double)v) / sum);
            if (fabs(kernel_double(&p, position) - want) > unit ||
                fabs(kernel_double(&q, position) - (v - log_sum)) > 16 * unit ||
                fabs(kernel_double(&l, of_row) - log_sum) > 16 * unit)
                ck_abort_msg("softmax, case %d", k);
        } while (kernel_next(value_rank(&x), value_dims(&x), index));
        kernel_release(&f, 4, (value[]){x, p, q, l});
    }
    kernel_close(&f);
}
END_TEST

START_TEST(test_softmax_edges) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[2] = {3, 3}, empty[2] = {2, 0};
    const float inf = INFINITY;
    for (int k = 0; k < 2; k++) {
        f.c.numerics = k == 0 ? NUMERICS_FAST : NUMERICS_REFERENCE;
        value x =
            kernel_floats(&f, 2, dims, (float[]){1e4f, -1e4f, -inf, -inf, -inf, -inf, inf, 0, 1});
        op_attrs attrs = {.axis = 1, .axes = 2};
        value p = kernel_do(&f, OP_softmax, &attrs, 1, &x);
        value q = kernel_do(&f, OP_log_softmax, &attrs, 1, &x);
        value l = kernel_do(&f, OP_logsumexp, &attrs, 1, &x);
        ck_assert_double_eq(kernel_double(&p, 0), 1);
        ck_assert_double_eq(kernel_double(&p, 2), 0);
        ck_assert_double_nan(kernel_double(&p, 3));
        ck_assert_double_eq(kernel_double(&q, 1), -2e4);
        ck_assert_double_eq(kernel_double(&q, 2), -(double)INFINITY);
        ck_assert_double_eq(kernel_double(&l, 0), 1e4);
        ck_assert_double_eq(kernel_double(&l, 1), -(double)INFINITY);
        ck_assert_double_eq(kernel_double(&l, 2), (double)INFINITY);
        value none = kernel_operand(&f, DT_F32, 2, empty, LAYOUT_DENSE);
        value e = kernel_do(&f, OP_logsumexp, &attrs, 1, &none);
        ck_assert_double_eq(kernel_double(&e, 1), -(double)INFINITY);
        value s = kernel_do(&f, OP_softmax, &attrs, 1, &none);
        kernel_release(&f, 7, (value[]){x, p, q, l, none, e, s});
    }
    kernel_close(&f);
}
END_TEST

START_TEST(test_shift_and_scan) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[3] = {2, 5, 3};
    for (int how = 0; how < LAYOUTS; how++)
        for (int axis = 0; axis < 3; axis++) {
            int64_t n = dims[axis], index[3] = {0};
            value in[2] = {kernel_operand(&f, DT_F64, 3, dims, (layout)how),
                           kernel_operand(&f, DT_F64, 3, dims, LAYOUT_DENSE)};
            op_attrs attrs = {.axis = (uint8_t)axis, .lo = {how == 0 ? -1 : how == 1 ? 1 : 9}};
            value moved = kernel_do(&f, OP_shift, &attrs, 1, in);
            value up = kernel_do(&f, OP_scan_linear, &attrs, 2, in);
            attrs.reversed = true;
            value down = kernel_do(&f, OP_scan_linear, &attrs, 2, in);
            do {
                int64_t from[3], before[3], after[3];
                memcpy(from, index, sizeof from);
                memcpy(before, index, sizeof before);
                memcpy(after, index, sizeof after);
                from[axis] -= attrs.lo[0];
                before[axis]--;
                after[axis]++;
                double want = from[axis] < 0 || from[axis] >= n
                                  ? 0.0
                                  : *(const double *)kernel_at_index(in, from);
                ck_assert_double_eq(*(const double *)kernel_at_index(&moved, index), want);
                double a = *(const double *)kernel_at_index(in, index);
                double b = *(const double *)kernel_at_index(in + 1, index);
                want = before[axis] < 0 ? b : a * *(const double *)kernel_at_index(&up, before) + b;
                ck_assert_double_eq(*(const double *)kernel_at_index(&up, index), want);
                want =
                    after[axis] >= n ? b : a * *(const double *)kernel_at_index(&down, after) + b;
                ck_assert_double_eq(*(const double *)kernel_at_index(&down, index), want);
            } while (kernel_next(3, dims, index));
            kernel_release(&f, 5, (value[]){in[0], in[1], moved, up, down});
        }
    kernel_close(&f);
}
END_TEST

START_TEST(test_reference_sums) {
    kernel_fixture f;
    kernel_open(&f);
    f.c.numerics = NUMERICS_REFERENCE;
    int64_t n = 4;
    value x = kernel_floats(&f, 1, &n, (float[]){1e8f, 1, -1e8f, 1});
    value s = kernel_do(&f, OP_sum, &(op_attrs){.axes = 1}, 1, &x);
    value m = kernel_do(&f, OP_mean, &(op_attrs){.axes = 1}, 1, &x);
    ck_assert(s.as.f32 == 2.0f);
    ck_assert(m.as.f32 == 0.5f);
    value_release(&f.c, x);
    kernel_close(&f);
}
END_TEST

Suite *suite_reduce(void);
Suite *suite_reduce(void) {
    Suite *s = suite_create("reduce");
    TCase *t = tcase_create("reduce");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_values_and_layouts);
    tcase_add_test(t, test_rows_and_columns);
    tcase_add_test(t, test_edges);
    tcase_add_test(t, test_arguments);
    tcase_add_test(t, test_sum_to);
    tcase_add_test(t, test_softmax);
    tcase_add_test(t, test_softmax_edges);
    tcase_add_test(t, test_shift_and_scan);
    tcase_add_test(t, test_reference_sums);
    suite_add_tcase(s, t);
    return s;
}
