/* Array files: what is written reads back, what NumPy writes is understood, and what lies is
 * refused. */
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/context.h"
#include "runtime/npy.h"
#include "runtime/storage.h"

static const span nowhere = {0, 0};

/* A context and a directory of its own. */
static context c;
static char directory[256], path[300];

static void set_up(void) {
    context_init(&c);
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%.200s/kina-npy-XXXXXX", base != NULL ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/x.npy", directory);
}

/* How many files are in the directory. */
static int count_files(void) {
    int count = 0;
    DIR *d = opendir(directory);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        count += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return count;
}

static void tear_down(void) {
    ck_assert_uint_eq(c.mem.live, 0);
    unlink(path);
    ck_assert_int_eq(count_files(), 0);
    ck_assert_int_eq(rmdir(directory), 0);
    context_close(&c);
}

static void write_bytes(const void *bytes, size_t count) {
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, count, f), count);
    ck_assert_int_eq(fclose(f), 0);
}

static size_t read_bytes(void *out, size_t room) {
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(out, 1, room, f);
    fclose(f);
    return n;
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* A file of format `version` with this header text and these elements. Returns its size. */
static size_t make_npy(uint8_t *out, int version, const char *header, const void *elements,
                       size_t bytes) {
    size_t length = strlen(header), head = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)version;
    out[7] = 0;
    for (size_t i = 8; i < head; i++) out[i] = (uint8_t)(length >> 8 * (i - 8));
    memcpy(out + head, header, length);
    if (bytes > 0) memcpy(out + head + length, elements, bytes);
    return head + length + bytes;
}

static void write_npy(const char *header, const void *elements, size_t bytes) {
    uint8_t file[2048];
    write_bytes(file, make_npy(file, 1, header, elements, bytes));
}

static void expect_error(const char *name, int want, error_code code, const char *words) {
    value v;
    ck_assert(!npy_load(&c, name, want, (span){1, 2}, &v));
    ck_assert_msg(c.err.code == code && strstr(c.err.message, words) != NULL, "%s: %s",
                  error_code_name(c.err.code), c.err.message);
    ck_assert_uint_eq(c.err.where.end, 2);
    ck_assert_uint_eq(c.mem.live, 0);
    error_clear(&c.err);
}

static value expect_load(const char *name, int want, dtype type, int rank, const int64_t *dims) {
    value v;
    ck_assert_msg(npy_load(&c, name, want, nowhere, &v), "%s", c.err.message);
    ck_assert_int_eq(v.dtype, type);
    ck_assert(shape_same(value_rank(&v), value_dims(&v), rank, dims));
    return v;
}

START_TEST(what_is_written_reads_back) {
    static const int64_t shapes[][3] = {{7, 0, 0}, {2, 3, 0}, {2, 3, 4}, {0, 5, 0}, {3000, 1, 0}};
    static const int ranks[] = {1, 2, 3, 2, 2};
    for (int type = 0; type < DTYPE_COUNT; type++) {
        size_t element = dtype_size((dtype)type);
        for (size_t k = 0; k < COUNT_OF(shapes); k++) {
            tensor *t = tensor_new(&c, (dtype)type, ranks[k], shapes[k]);
            for (size_t i = 0; i < (size_t)t->size * element; i++) {
                ((uint8_t *)t->data)[i] = type == DT_Bool ? i % 3 == 0 : (uint8_t)(i * 37 + 11);
            }
            value v = value_tensor(t);
            ck_assert(npy_save(&c, path, &v, -1, nowhere));
            value back = expect_load(path, -1, (dtype)type, ranks[k], shapes[k]);
            ck_assert_mem_eq(back.as.t->data, t->data, (size_t)t->size * element);
            value_release(&c, back);
            value_release(&c, v);
        }
    }
    value v = value_f64(0.1);
    ck_assert(npy_save(&c, path, &v, -1, nowhere));
    value back = expect_load(path, DT_F64, DT_F64, 0, NULL);
    ck_assert(back.kind == VALUE_NUMBER && back.as.f64 == 0.1);
    ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(the_bytes_are_those_of_numpy) {
    tensor *t = tensor_new(&c, DT_I32, 2, (int64_t[]){2, 3});
    for (int i = 0; i < 6; i++) ((int32_t *)t->data)[i] = i;
    value v = value_tensor(t);
    ck_assert(npy_save(&c, path, &v, -1, nowhere));
    value_release(&c, v);
    uint8_t file[512];
    size_t n = read_bytes(file, sizeof file);
    ck_assert_uint_eq(n, 128 + 24);
    ck_assert_mem_eq(
        file,
        "\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }  ",
        70);
    ck_assert_int_eq(file[127], '\n');
    ck_assert_mem_eq(file + 128, "\0\0\0\0\1\0\0\0\2\0\0\0", 12);
}
END_TEST

/* The number that 16 bits stand for, by the formula of the type. */
static double of_bits(uint32_t bits, int exponent_bits, int fraction_bits) {
    int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    double fraction = (double)(bits & ((1u << fraction_bits) - 1)) / (double)(1 << fraction_bits);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double size = exponent == 0               ? ldexp(fraction, 1 - bias)
                  : exponent < 2 * bias + 1   ? ldexp(1 + fraction, exponent - bias)
                  : fraction == 0             ? (double)INFINITY
                                              : (double)NAN;
    return (bits & 0x8000) != 0 ? -size : size;
}

/* The storage types of 16 bits, as they are in a file. */
static const struct {
    storage as;
    const char *descr;
    int exponent_bits, fraction_bits;
} narrow[] = {{STORAGE_F16, "f2", 5, 10}, {STORAGE_BF16, "V2", 8, 7}};

/* The elements of the file at `path`, one axis of 65536 in little-endian order, as they are stored. */
static void expect_stored(const char *descr, const uint8_t *elements) {
    static uint8_t file[128 + 131072 + 1];
    char header[64];
    int n = snprintf(header, sizeof header, "{'descr': '<%s', 'fortran_order': False, 'shape': (65536,), }",
                     descr);
    ck_assert_uint_eq(read_bytes(file, sizeof file), 128 + 131072);
    ck_assert_mem_eq(file + 10, header, (size_t)n);
    ck_assert_mem_eq(file + 128, elements, 131072);
}

START_TEST(every_pattern_of_16_bits_comes_back) {
    static uint8_t elements[131072], file[256 + 131072];
    for (size_t i = 0; i < 65536; i++) {
        elements[2 * i] = (uint8_t)i;
        elements[2 * i + 1] = (uint8_t)(i >> 8);
    }
    for (size_t k = 0; k < 2 * COUNT_OF(narrow); k++) {
        dtype type = k % 2 == 0 ? DT_F32 : DT_F64;
        char header[96];
        snprintf(header, sizeof header, "{'descr': '<%s', 'fortran_order': False, 'shape': (65536,)}",
                 narrow[k / 2].descr);
        write_bytes(file, make_npy(file, 1, header, elements, sizeof elements));
        value v = expect_load(path, (int)type, type, 1, (int64_t[]){65536});
        for (uint32_t i = 0; i < 65536; i++) {
            double expected = of_bits(i, narrow[k / 2].exponent_bits, narrow[k / 2].fraction_bits);
            double x = type == DT_F32 ? (double)((float *)v.as.t->data)[i] : ((double *)v.as.t->data)[i];
            ck_assert_msg(isnan(x) ? isnan(expected) : x == expected && signbit(x) == signbit(expected),
                          "%s %#x: %a", narrow[k / 2].descr, i, x);
        }
        ck_assert(npy_save(&c, path, &v, (int)narrow[k / 2].as, nowhere));
        value_release(&c, v);
        expect_stored(narrow[k / 2].descr, elements);
    }
}
END_TEST

/* Between two neighbours among the finite numbers and the first beyond them: the middle goes to the even one, and
 * what an F64 has less or more than the middle to the nearer one, also where an F32 would show no difference. */
START_TEST(storing_rounds_to_nearest_even) {
    for (size_t k = 0; k < COUNT_OF(narrow); k++) {
        int exponent_bits = narrow[k].exponent_bits, fraction_bits = narrow[k].fraction_bits;
        uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
        for (uint32_t i = 0; i < infinity; i++) {
            double below = of_bits(i, exponent_bits, fraction_bits);
            double step = i + 1 < infinity ? of_bits(i + 1, exponent_bits, fraction_bits) - below
                                           : below - of_bits(i - 1, exponent_bits, fraction_bits);
            double middle = below + step / 2;
            const double numbers[] = {nextafter(middle, 0), middle, nextafter(middle, (double)INFINITY)};
            const uint32_t expected[] = {i, i + (i & 1), i + 1};
            for (size_t j = 0; j < COUNT_OF(numbers); j++) {
                uint64_t bits;
                memcpy(&bits, &numbers[j], sizeof bits);
                uint64_t sign = (uint64_t)1 << 63;
                ck_assert_uint_eq(storage_convert(bits, (storage)DT_F64, narrow[k].as), expected[j]);
                ck_assert_uint_eq(storage_convert(bits | sign, (storage)DT_F64, narrow[k].as),
                                  expected[j] | 0x8000);
            }
        }
        const double huge = 1e300, tiny = 1e-300;
        uint64_t bits;
        memcpy(&bits, &huge, sizeof bits);
        ck_assert_uint_eq(storage_convert(bits, (storage)DT_F64, narrow[k].as), infinity);
        memcpy(&bits, &tiny, sizeof bits);
        ck_assert_uint_eq(storage_convert(bits, (storage)DT_F64, narrow[k].as), 0);
        /* The payload of a NaN that has nothing in its upper part. */
        uint64_t nan = storage_convert(0x7FF0000000000001, (storage)DT_F64, narrow[k].as);
        ck_assert_uint_eq(nan, infinity | 1u << (fraction_bits - 1));
    }
}
END_TEST

/* The machine's own conversions are the reference. */
START_TEST(storing_as_f32_is_the_machines_rounding) {
    uint32_t state = 7;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = (uint64_t)next_random(&state) << 40 ^ (uint64_t)next_random(&state) << 20 ^
                        next_random(&state);
        if (i % 2 == 0) bits = (bits & 0x800FFFFFFFFFFFFF) | (uint64_t)(1023 - 160 + i % 300) << 52;
        double wide;
        memcpy(&wide, &bits, sizeof wide);
        if (isnan(wide)) continue;
        float single = (float)wide;
        uint32_t expected;
        memcpy(&expected, &single, sizeof expected);
        ck_assert_uint_eq(storage_convert(bits, (storage)DT_F64, (storage)DT_F32), expected);
    }
}
END_TEST

START_TEST(views_and_numbers_are_stored_narrow) {
    tensor *t = tensor_new(&c, DT_F64, 2, (int64_t[]){2, 3});
    for (int i = 0; i < 6; i++) ((double *)t->data)[i] = i + 0x1p-30;
    value v = value_tensor(tensor_view(&c, t, 0, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}));
    tensor_release(&c, t);
    ck_assert(npy_save(&c, path, &v, STORAGE_BF16, nowhere));
    value back = expect_load(path, DT_F64, DT_F64, 2, (int64_t[]){3, 2});
    const double expected[] = {0x1p-30, 3, 1, 4, 2, 5};
    for (int i = 0; i < 6; i++) ck_assert(((double *)back.as.t->data)[i] == expected[i]);
    value_release(&c, back);
    value_release(&c, v);
    v = value_f32(-1.5F);
    ck_assert(npy_save(&c, path, &v, STORAGE_F16, nowhere));
    back = expect_load(path, -1, DT_F32, 0, NULL);
    ck_assert(value_as_double(&back) == -1.5);
}
END_TEST

START_TEST(views_are_written_in_row_major_order) {
    tensor *t = tensor_new(&c, DT_I64, 2, (int64_t[]){60, 50});
    for (int64_t i = 0; i < t->size; i++) ((int64_t *)t->data)[i] = i;
    value v = value_tensor(tensor_view(&c, t, 49, 2, (int64_t[]){50, 60}, (int64_t[]){-1, 50}));
    tensor_release(&c, t);
    ck_assert(npy_save(&c, path, &v, -1, nowhere));
    value_release(&c, v);
    value back = expect_load(path, DT_I64, DT_I64, 2, (int64_t[]){50, 60});
    for (int64_t i = 0; i < 50; i++) {
        for (int64_t k = 0; k < 60; k++) {
            ck_assert_int_eq(((int64_t *)back.as.t->data)[i * 60 + k], 49 - i + 50 * k);
        }
    }
    value_release(&c, back);
}
END_TEST

START_TEST(conversions_are_exact) {
    const struct {
        const char *descr, *bytes;
        size_t count;
        int want;
        dtype type;
        double expected;
    } cases[] = {
        {"|i1", "\xfe", 1, -1, DT_I32, -2},
        {"|u1", "\xfe", 1, DT_I64, DT_I64, 254},
        {"<i2", "\xfe\xff", 2, -1, DT_I32, -2},
        {">u2", "\xff\xfe", 2, -1, DT_I32, 65534},
        {"<u4", "\xff\xff\xff\xff", 4, -1, DT_I64, 4294967295.0},
        {">i4", "\xff\xff\xff\xfe", 4, DT_I64, DT_I64, -2},
        {">i8", "\0\0\0\0\0\0\1\0", 8, -1, DT_I64, 256},
        {"<f2", "\x00\x3c", 2, -1, DT_F32, 1},
        {">f2", "\x00\x01", 2, DT_F64, DT_F64, 0x1p-24},
        {"<f2", "\x00\x80", 2, DT_F32, DT_F32, -0.0},
        {"<f2", "\xff\x7b", 2, DT_F32, DT_F32, 65504},
        {"|V2", "\xc0\x3f", 2, -1, DT_F32, 1.5},
        {">V2", "\x3f\xc0", 2, DT_F64, DT_F64, 1.5},
        {"<f4", "\x00\x00\xc0\x3f", 4, DT_F64, DT_F64, 1.5},
        {">f8", "\x3f\xf8\0\0\0\0\0\0", 8, DT_F64, DT_F64, 1.5},
        {"|b1", "\x02", 1, -1, DT_Bool, 1},
        {"?", "\x00", 1, DT_Bool, DT_Bool, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char header[128];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': ()}",
                 cases[i].descr);
        write_npy(header, cases[i].bytes, cases[i].count);
        value v = expect_load(path, cases[i].want, cases[i].type, 0, NULL);
        ck_assert_msg(value_as_double(&v) == cases[i].expected, "case %zu", i);
    }
    static const struct {
        const char *descr;
        int want;
    } refused[] = {{"<f8", DT_F32}, {"<i8", DT_I32}, {"<u4", DT_I32}, {"<i4", DT_F64},
                   {"<f4", DT_I64}, {"|b1", DT_I32}, {"<u8", -1},     {"|O", -1},
                   {"<c8", -1},     {"<U3", -1},     {"<V2", DT_I32}, {"|V4", -1}};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        char header[128];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1,)}",
                 refused[i].descr);
        write_npy(header, "01234567", 8);
        expect_error(path, refused[i].want, ERROR_K0604, "holds");
    }
}
END_TEST

START_TEST(fortran_order_is_turned) {
    const int32_t columns[] = {0, 3, 1, 4, 2, 5};
    write_npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }  \n", columns,
              sizeof columns);
    value v = expect_load(path, -1, DT_I32, 2, (int64_t[]){2, 3});
    for (int i = 0; i < 6; i++) ck_assert_int_eq(((int32_t *)v.as.t->data)[i], i);
    value_release(&c, v);
}
END_TEST

START_TEST(headers_are_read_leniently_where_numpy_does) {
    static const char *const headers[] = {
        "{\"shape\":(2L,),\"descr\":\"<i4\",\"fortran_order\":False}",
        "{ 'fortran_order' : False , 'shape' : ( 2 , ) , 'descr' : 'i4' , } \n",
    };
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        for (int version = 1; version <= 3; version++) {
            uint8_t file[512];
            write_bytes(file, make_npy(file, version, headers[i], "\1\0\0\0\2\0\0\0trailing", 16));
            value v = expect_load(path, -1, DT_I32, 1, (int64_t[]){2});
            ck_assert_int_eq(((int32_t *)v.as.t->data)[1], 2);
            value_release(&c, v);
        }
    }
}
END_TEST

START_TEST(lying_headers_are_refused) {
    static const struct {
        const char *header, *words;
    } cases[] = {
        {"", "header"},
        {"{", "header"},
        {"{}", "header"},
        {"{'descr': '<f4', 'fortran_order': False}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "header"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [2]}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,", "header"},
        {"{'descr': <f4', 'fortran_order': False, 'shape': (2,)}", "header"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "negative"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 0, 4294967296)}",
         "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", "promises"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "promises"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1)}", "promises"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "9 axes"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        write_npy(cases[i].header, "01234567", 8);
        expect_error(path, -1, ERROR_K0603, cases[i].words);
    }
    write_npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}", "01234567", 8);
    expect_error(path, -1, ERROR_K0604, "records");
    write_bytes("\x93NUMPY\x04\x00\x10\x00 0123456789", 21);
    expect_error(path, -1, ERROR_K0603, "version");
    write_bytes("\x93NUMPY\x02\x00\xff\xff\xff\xff 0123456789", 23);
    expect_error(path, -1, ERROR_K0603, "within its header");
    write_bytes("hello, I am no array", 20);
    expect_error(path, -1, ERROR_K0603, "begin");
    write_bytes("", 0);
    expect_error(path, -1, ERROR_K0603, "short");
    unlink(path);
    expect_error(path, -1, ERROR_K0601, "cannot read");
    expect_error(directory, -1, ERROR_K0601, "directory");
    expect_error("/dev/null", -1, ERROR_K0601, "regular");
}
END_TEST

/* Loads a file in which bytes were changed or lost. Whatever comes out, nothing may leak or
 * overrun. */
static void load_damaged(const uint8_t *file, size_t size, int rounds) {
    uint8_t damaged[2048];
    uint32_t seed = 11;
    for (size_t cut = 0; cut <= size; cut++) {
        value v;
        write_bytes(file, cut);
        if (npy_load(&c, path, -1, nowhere, &v)) value_release(&c, v);
        error_clear(&c.err);
        ck_assert_uint_eq(c.mem.live, 0);
    }
    for (int round = 0; round < rounds; round++) {
        memcpy(damaged, file, size);
        for (uint32_t i = next_random(&seed) % 3 + 1; i > 0; i--) {
            damaged[next_random(&seed) % size] =
                (uint8_t)(next_random(&seed) % 4 == 0 ? 255 : next_random(&seed));
        }
        value v;
        write_bytes(damaged, size);
        if (npy_load(&c, path, -1, nowhere, &v)) value_release(&c, v);
        error_clear(&c.err);
        ck_assert_uint_eq(c.mem.live, 0);
    }
}

START_TEST(damaged_files_do_no_harm) {
    uint8_t file[2048];
    const int32_t elements[] = {1, 2, 3, 4, 5, 6};
    size_t size = make_npy(file, 1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
                           elements, sizeof elements);
    load_damaged(file, size, 1000);
}
END_TEST

/* An archive in the making. */
typedef struct archive {
    uint8_t bytes[2048];
    size_t size;
    uint8_t directory[512];
    size_t directory_size;
    unsigned entries;
} archive;

static void put16(uint8_t *p, size_t x) {
    p[0] = (uint8_t)x;
    p[1] = (uint8_t)(x >> 8);
}

static void put32(uint8_t *p, size_t x) {
    put16(p, x & 0xFFFF);
    put16(p + 2, x >> 16);
}

/* The local header leaves the sizes out, as a writer to a pipe does. */
static void add_member(archive *a, const char *name, const uint8_t *member, size_t size,
                       bool deflate_it) {
    uint8_t packed[1024];
    size_t packed_size = size, name_length = strlen(name);
    if (deflate_it) {
        z_stream z = {.next_in = (Bytef *)(uintptr_t)member,
                      .avail_in = (uInt)size,
                      .next_out = packed,
                      .avail_out = sizeof packed};
        ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
        ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
        packed_size = z.total_out;
        deflateEnd(&z);
    } else {
        memcpy(packed, member, size);
    }
    uint8_t *local = a->bytes + a->size, *entry = a->directory + a->directory_size;
    memset(local, 0, 30);
    put32(local, 0x04034b50);
    put16(local + 8, deflate_it ? 8 : 0);
    put16(local + 26, name_length);
    memcpy(local + 30, name, name_length);
    memcpy(local + 30 + name_length, packed, packed_size);
    memset(entry, 0, 46);
    put32(entry, 0x02014b50);
    put16(entry + 10, deflate_it ? 8 : 0);
    put32(entry + 16, crc32(crc32(0, NULL, 0), member, (uInt)size));
    put32(entry + 20, packed_size);
    put32(entry + 24, size);
    put16(entry + 28, name_length);
    put32(entry + 42, a->size);
    memcpy(entry + 46, name, name_length);
    a->size += 30 + name_length + packed_size;
    a->directory_size += 46 + name_length;
    a->entries++;
}

static void end_archive(archive *a, const char *comment) {
    size_t start = a->size, length = strlen(comment);
    memcpy(a->bytes + a->size, a->directory, a->directory_size);
    uint8_t *end = a->bytes + a->size + a->directory_size;
    memset(end, 0, 22);
    put32(end, 0x06054b50);
    put16(end + 8, a->entries);
    put16(end + 10, a->entries);
    put32(end + 12, a->directory_size);
    put32(end + 16, start);
    put16(end + 20, length);
    memcpy(end + 22, comment, length);
    a->size += a->directory_size + 22 + length;
}

static void make_archive(archive *a, bool deflate_it, int members) {
    uint8_t member[512];
    const float elements[] = {1, 2, 3, 4};
    *a = (archive){.size = 0};
    size_t size = make_npy(member, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
                           elements, sizeof elements);
    add_member(a, "w.npy", member, size, deflate_it);
    if (members > 1) {
        size = make_npy(member, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
                        elements, 4);
        add_member(a, "bias.npy", member, size, deflate_it);
    }
    end_archive(a, members > 1 ? "a comment" : "");
}

START_TEST(archives_are_read_by_member) {
    snprintf(path, sizeof path, "%s/x.npz", directory);
    char name[320];
    for (int deflate_it = 0; deflate_it < 2; deflate_it++) {
        archive a;
        make_archive(&a, deflate_it, 1);
        write_bytes(a.bytes, a.size);
        value v = expect_load(path, DT_F64, DT_F64, 1, (int64_t[]){4});
        ck_assert(((double *)v.as.t->data)[3] == 4);
        value_release(&c, v);
        make_archive(&a, deflate_it, 2);
        write_bytes(a.bytes, a.size);
        snprintf(name, sizeof name, "%s:bias", path);
        v = expect_load(name, -1, DT_F32, 0, NULL);
        ck_assert(value_as_double(&v) == 1);
        snprintf(name, sizeof name, "%s:w.npy", path);
        v = expect_load(name, -1, DT_F32, 1, (int64_t[]){4});
        value_release(&c, v);
        value unused;
        ck_assert(!npy_load(&c, path, -1, nowhere, &unused));
        ck_assert_int_eq(c.err.code, ERROR_K0601);
        ck_assert_ptr_nonnull(strstr(c.err.help, "w, bias"));
        error_clear(&c.err);
        snprintf(name, sizeof name, "%s:bia", path);
        expect_error(name, -1, ERROR_K0601, "no array of that name");
    }
}
END_TEST

START_TEST(lying_archives_are_refused) {
    snprintf(path, sizeof path, "%s/x.npz", directory);
    const struct {
        size_t back; /* from the start of the directory (0 … 255) or of the end record (256 …) */
        size_t bytes, x;
        const char *words;
    } cases[] = {
        {8, 2, 1, "encrypted"},         {10, 2, 12, "method 12"},
        {16, 4, 77, "checksum"},        {20, 4, 0xFFFFFFFF, "zip64"},
        {20, 4, 5000, "outside"},       {24, 4, 4000000, "not true"},
        {42, 4, 100000, "outside"},     {42, 4, 3, "damaged"},
        {28, 2, 60000, "damaged"},      {0, 4, 0, "damaged"},
        {256 + 10, 2, 0xFFFF, "zip64"}, {256 + 12, 4, 90000, "outside"},
        {256 + 4, 2, 1, "split"},       {256, 4, 0, "no zip"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        archive a;
        make_archive(&a, true, 1);
        size_t end = a.size - 22, at = cases[i].back;
        uint8_t *p = at >= 256 ? a.bytes + end + at - 256 : a.bytes + end - a.directory_size + at;
        if (cases[i].bytes == 2) {
            put16(p, cases[i].x);
        } else {
            put32(p, cases[i].x);
        }
        write_bytes(a.bytes, a.size);
        char name[320];
        snprintf(name, sizeof name, "%s:w", path);
        expect_error(name, -1, ERROR_K0603, cases[i].words);
    }
    for (int deflate_it = 0; deflate_it < 2; deflate_it++) {
        archive a;
        make_archive(&a, deflate_it, 1);
        load_damaged(a.bytes, a.size, 1000);
    }
    unlink(path);
}
END_TEST

START_TEST(every_failing_allocation_is_survived) {
    archive a;
    make_archive(&a, true, 2);
    write_bytes(a.bytes, a.size);
    char name[340], other[320];
    snprintf(other, sizeof other, "%s/x.npz", directory);
    ck_assert_int_eq(rename(path, other), 0);
    snprintf(name, sizeof name, "%s:w", other);
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        value v;
        c.mem.fail_at = c.mem.requests + n;
        done = npy_load(&c, name, -1, nowhere, &v);
        if (!done) ck_assert_int_eq(c.err.code, ERROR_K0507);
        if (done) done = npy_save(&c, path, &v, -1, nowhere);
        value_release(&c, v);
        ck_assert_uint_eq(c.mem.live, 0);
        ck_assert_int_eq(count_files(), done ? 2 : 1);
        error_clear(&c.err);
    }
    c.mem.fail_at = 0;
    unlink(other);
}
END_TEST

START_TEST(a_failed_save_leaves_the_file_whole) {
    value v = value_f32(7);
    char name[400];
    snprintf(name, sizeof name, "%s/none/x.npy", directory);
    ck_assert(!npy_save(&c, name, &v, -1, nowhere));
    ck_assert_int_eq(c.err.code, ERROR_K0602);
    error_clear(&c.err);
    ck_assert(!npy_save(&c, directory, &v, -1, nowhere));
    ck_assert_int_eq(c.err.code, ERROR_K0602);
    error_clear(&c.err);
    /* A device that is always full, and that must not be replaced by a file. */
    struct stat about;
    if (stat("/dev/full", &about) == 0 && S_ISCHR(about.st_mode)) {
        ck_assert(!npy_save(&c, "/dev/full", &v, -1, nowhere));
        ck_assert_int_eq(c.err.code, ERROR_K0602);
        error_clear(&c.err);
        ck_assert(stat("/dev/full", &about) == 0 && S_ISCHR(about.st_mode));
    }
    ck_assert(npy_save(&c, path, &v, -1, nowhere));
    /* A limit on file sizes stands in for a full disk. */
    struct rlimit before, small;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    value large = value_tensor(tensor_new(&c, DT_F64, 1, (int64_t[]){5000}));
    memset(large.as.t->data, 0, 40000);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool saved = npy_save(&c, path, &large, -1, nowhere);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    ck_assert(!saved);
    ck_assert_int_eq(c.err.code, ERROR_K0602);
    error_clear(&c.err);
    value_release(&c, large);
    ck_assert_int_eq(count_files(), 1);
    value back = expect_load(path, DT_F32, DT_F32, 0, NULL);
    ck_assert(value_as_double(&back) == 7);
}
END_TEST

START_TEST(a_link_stays_a_link) {
    char link[320];
    snprintf(link, sizeof link, "%s/link.npy", directory);
    value v = value_i32(1);
    ck_assert(npy_save(&c, path, &v, -1, nowhere));
    ck_assert_int_eq(symlink("x.npy", link), 0);
    v = value_i32(2);
    ck_assert(npy_save(&c, link, &v, -1, nowhere));
    value back = expect_load(path, -1, DT_I32, 0, NULL);
    ck_assert_int_eq(back.as.i32, 2);
    struct stat about;
    ck_assert(lstat(link, &about) == 0 && S_ISLNK(about.st_mode));
    unlink(link);
}
END_TEST

Suite *suite_npy(void);
Suite *suite_npy(void) {
    Suite *s = suite_create("npy");
    TCase *t = tcase_create("npy");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, what_is_written_reads_back);
    tcase_add_test(t, the_bytes_are_those_of_numpy);
    tcase_add_test(t, every_pattern_of_16_bits_comes_back);
    tcase_add_test(t, storing_rounds_to_nearest_even);
    tcase_add_test(t, storing_as_f32_is_the_machines_rounding);
    tcase_add_test(t, views_and_numbers_are_stored_narrow);
    tcase_add_test(t, views_are_written_in_row_major_order);
    tcase_add_test(t, conversions_are_exact);
    tcase_add_test(t, fortran_order_is_turned);
    tcase_add_test(t, headers_are_read_leniently_where_numpy_does);
    tcase_add_test(t, lying_headers_are_refused);
    tcase_add_test(t, damaged_files_do_no_harm);
    tcase_add_test(t, a_failed_save_leaves_the_file_whole);
    tcase_add_test(t, a_link_stays_a_link);
    suite_add_tcase(s, t);
    t = tcase_create("npz");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, archives_are_read_by_member);
    tcase_add_test(t, lying_archives_are_refused);
    tcase_add_test(t, every_failing_allocation_is_survived);
    suite_add_tcase(s, t);
    return s;
}
