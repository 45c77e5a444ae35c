/* Symbolic dims: polynomials over dim names in a normal form, interned so that equal ones have
 * equal ids.
 *
 * A polynomial is a sorted list of terms, each a factor times a sorted product of symbols.
 * Polynomials beyond the stated limits, which no program writes by hand, become unknown dims: their
 * comparison is then left to the run, which is always right. */
#include "interp/dims.h"

#include <string.h>

enum {
    TERMS_MOST = 64, /* terms of a polynomial */
    WORK_MOST = 256, /* terms while multiplying */
};

typedef struct dim_term {
    int64_t factor;
    uint32_t degree;
    uint32_t symbols[DIM_DEGREE_MOST]; /* numbers, ascending */
} dim_term;

typedef struct dim_poly {
    uint32_t count;
    dim_term terms[];
} dim_poly;

typedef struct dim_symbol {
    dim_kind kind;
    const char *name;
    span origin;
    int64_t id;
} dim_symbol;

struct dims {
    arena *a;
    dim_symbol *symbols;
    uint32_t symbol_count, symbol_capacity;
    const dim_poly **polys; /* number n has the id -(n + 1) */
    uint32_t poly_count, poly_capacity;
    uint32_t *slots; /* hash table: number + 1, 0 for a free slot */
    uint32_t slot_capacity;
};

/* The terms of a dim; a constant's one term is kept in the view itself. */
typedef struct dim_view {
    uint32_t count;
    const dim_term *terms;
    dim_term own;
} dim_view;

dims *dims_new(arena *a) {
    dims *d = ARENA_NEW(a, dims);
    if (d != NULL) d->a = a;
    return d;
}

/* ---- storage ---- */

/* An arena array with room for one more element; NULL when out of memory. */
static void *grown(arena *a, void *old, uint32_t count, uint32_t *capacity, size_t size) {
    if (count < *capacity) return old;
    uint32_t larger = *capacity == 0 ? 16 : *capacity * 2;
    void *p = arena_take(a, size * larger);
    if (p == NULL) return NULL;
    if (count > 0) memcpy(p, old, size * count);
    *capacity = larger;
    return p;
}

static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash ^= word;
    hash *= 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

static uint32_t terms_hash(const dim_term *terms, uint32_t count) {
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) {
        hash = mixed(hash, (uint64_t)terms[i].factor);
        for (uint32_t k = 0; k < terms[i].degree; k++) hash = mixed(hash, terms[i].symbols[k]);
    }
    return (uint32_t)(hash >> 16);
}

static int product_compare(const dim_term *a, const dim_term *b) {
    if (a->degree != b->degree) return a->degree > b->degree ? -1 : 1;
    for (uint32_t k = 0; k < a->degree; k++)
        if (a->symbols[k] != b->symbols[k]) return a->symbols[k] < b->symbols[k] ? -1 : 1;
    return 0;
}

static bool terms_equal(const dim_term *a, const dim_term *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (a[i].factor != b[i].factor || product_compare(&a[i], &b[i]) != 0) return false;
    return true;
}

static bool slots_grow(dims *d) {
    uint32_t capacity = d->slot_capacity == 0 ? 64 : d->slot_capacity * 2;
    uint32_t *slots = ARENA_ARRAY(d->a, uint32_t, capacity);
    if (slots == NULL) return false;
    for (uint32_t n = 0; n < d->poly_count; n++) {
        uint32_t i = terms_hash(d->polys[n]->terms, d->polys[n]->count) & (capacity - 1);
        while (slots[i] != 0) i = (i + 1) & (capacity - 1);
        slots[i] = n + 1;
    }
    d->slots = slots;
    d->slot_capacity = capacity;
    return true;
}

/* The id of a polynomial in normal form; 0 when out of memory, which the context's error then says.
 */
static int64_t intern(dims *d, const dim_term *terms, uint32_t count) {
    if (count == 0) return 0;
    if (count == 1 && terms[0].degree == 0 && terms[0].factor >= 0) return terms[0].factor;
    if (d->poly_count * 2 >= d->slot_capacity && !slots_grow(d)) return 0;
    uint32_t i = terms_hash(terms, count) & (d->slot_capacity - 1);
    for (; d->slots[i] != 0; i = (i + 1) & (d->slot_capacity - 1)) {
        const dim_poly *p = d->polys[d->slots[i] - 1];
        if (p->count == count && terms_equal(p->terms, terms, count)) return -(int64_t)d->slots[i];
    }
    const dim_poly **polys =
        grown(d->a, (void *)d->polys, d->poly_count, &d->poly_capacity, sizeof *d->polys);
    if (polys == NULL) return 0;
    d->polys = polys;
    dim_poly *p = arena_take(d->a, sizeof *p + sizeof(dim_term) * count);
    if (p == NULL) return 0;
    p->count = count;
    memcpy(p->terms, terms, sizeof(dim_term) * count);
    d->polys[d->poly_count++] = p;
    d->slots[i] = d->poly_count;
    return -(int64_t)d->poly_count;
}

static const dim_poly *poly_of(const dims *d, int64_t dim) {
    return d->polys[-dim - 1];
}

static void view_open(const dims *d, int64_t dim, dim_view *v) {
    if (dim >= 0) {
        v->own = (dim_term){.factor = dim};
        v->count = dim > 0;
        v->terms = &v->own;
    } else {
        v->count = poly_of(d, dim)->count;
        v->terms = poly_of(d, dim)->terms;
    }
}

/* ---- symbols ---- */

int64_t dims_symbol(dims *d, dim_kind kind, const char *name, span origin) {
    dim_symbol *symbols =
        grown(d->a, d->symbols, d->symbol_count, &d->symbol_capacity, sizeof *symbols);
    if (symbols == NULL) return 0;
    d->symbols = symbols;
    dim_term term = {.factor = 1, .degree = 1, .symbols = {d->symbol_count}};
    int64_t id = intern(d, &term, 1);
    if (id < 0)
        d->symbols[d->symbol_count++] =
            (dim_symbol){.kind = kind, .name = name, .origin = origin, .id = id};
    return id;
}

bool dims_is_symbol(const dims *d, int64_t dim) {
    if (dim >= 0) return false;
    const dim_poly *p = poly_of(d, dim);
    return p->count == 1 && p->terms[0].degree == 1 && p->terms[0].factor == 1;
}

static const dim_symbol *symbol_of(const dims *d, int64_t dim) {
    /* Where memory ran out while a symbol was made, its dim is 0. */
    static const dim_symbol none = {.kind = DIM_UNKNOWN};
    if (!dims_is_symbol(d, dim)) return &none;
    return &d->symbols[poly_of(d, dim)->terms[0].symbols[0]];
}

dim_kind dims_kind(const dims *d, int64_t symbol) {
    return symbol_of(d, symbol)->kind;
}

const char *dims_name(const dims *d, int64_t symbol) {
    return symbol_of(d, symbol)->name;
}

span dims_origin(const dims *d, int64_t dim) {
    return dims_is_symbol(d, dim) ? symbol_of(d, dim)->origin : (span){0, 0};
}

uint32_t dims_symbol_number(const dims *d, int64_t symbol) {
    return dims_is_symbol(d, symbol) ? poly_of(d, symbol)->terms[0].symbols[0] : 0;
}

uint32_t dims_symbol_count(const dims *d) {
    return d->symbol_count;
}

int dims_symbols(const dims *d, int64_t dim, int64_t *out, int room) {
    int count = 0;
    if (dim >= 0) return 0;
    const dim_poly *p = poly_of(d, dim);
    for (uint32_t i = 0; i < p->count; i++) {
        for (uint32_t k = 0; k < p->terms[i].degree; k++) {
            int64_t id = d->symbols[p->terms[i].symbols[k]].id;
            int seen = 0;
            while (seen < count && out[seen] != id) seen++;
            if (seen == count && count < room) out[count++] = id;
        }
    }
    return count;
}

int dims_term_count(const dims *d, int64_t dim) {
    return dim >= 0 ? dim > 0 : (int)poly_of(d, dim)->count;
}

int dims_term(const dims *d, int64_t dim, int i, int64_t *factor, int64_t *out) {
    dim_view v;
    view_open(d, dim, &v);
    const dim_term *term = &v.terms[i];
    *factor = term->factor;
    for (uint32_t k = 0; k < term->degree; k++) out[k] = d->symbols[term->symbols[k]].id;
    return (int)term->degree;
}

bool dims_constant(const dims *d, int64_t dim, int64_t *value) {
    *value = dim;
    if (dim >= 0) return true;
    const dim_poly *p = poly_of(d, dim);
    *value = p->terms[0].factor;
    return p->count == 1 && p->terms[0].degree == 0;
}

bool dims_below_zero(const dims *d, int64_t dim) {
    int64_t value;
    return dim < 0 && dims_constant(d, dim, &value);
}

/* ---- arithmetic ---- */

static int64_t unknown(dims *d) {
    return dims_symbol(d, DIM_UNKNOWN, NULL, (span){0, 0});
}

/* a + sign * b into out[0..TERMS_MOST); false when it does not fit. */
static bool merge(const dim_view *a, const dim_view *b, int64_t sign, dim_term *out,
                  uint32_t *count) {
    uint32_t i = 0, k = 0, n = 0;
    while (i < a->count || k < b->count) {
        int order = i == a->count   ? 1
                    : k == b->count ? -1
                                    : product_compare(&a->terms[i], &b->terms[k]);
        dim_term term = order <= 0 ? a->terms[i] : b->terms[k];
        if (order >= 0) {
            int64_t part;
            if (__builtin_mul_overflow(b->terms[k].factor, sign, &part)) return false;
            if (order > 0)
                term.factor = part;
            else if (__builtin_add_overflow(term.factor, part, &term.factor))
                return false;
        }
        i += order <= 0;
        k += order >= 0;
        if (term.factor == 0) continue;
        if (n == TERMS_MOST) return false;
        out[n++] = term;
    }
    *count = n;
    return true;
}

static int64_t sum(dims *d, int64_t a, int64_t b, int64_t sign) {
    dim_view x, y;
    dim_term terms[TERMS_MOST];
    uint32_t count;
    view_open(d, a, &x);
    view_open(d, b, &y);
    return merge(&x, &y, sign, terms, &count) ? intern(d, terms, count) : unknown(d);
}

int64_t dims_add(dims *d, int64_t a, int64_t b) {
    return sum(d, a, b, 1);
}

int64_t dims_sub(dims *d, int64_t a, int64_t b) {
    return sum(d, a, b, -1);
}

static bool product(const dim_term *a, const dim_term *b, dim_term *out) {
    uint32_t i = 0, k = 0;
    *out = (dim_term){.degree = a->degree + b->degree};
    if (__builtin_mul_overflow(a->factor, b->factor, &out->factor)) return false;
    if (out->degree > DIM_DEGREE_MOST) return false;
    for (uint32_t n = 0; n < out->degree; n++) {
        bool first = k == b->degree || (i < a->degree && a->symbols[i] <= b->symbols[k]);
        out->symbols[n] = first ? a->symbols[i++] : b->symbols[k++];
    }
    return true;
}

/* Adds a term to a sorted list of at most TERMS_MOST. */
static bool insert(dim_term *terms, uint32_t *count, const dim_term *term) {
    uint32_t at = 0;
    while (at < *count && product_compare(&terms[at], term) < 0) at++;
    if (at < *count && product_compare(&terms[at], term) == 0) {
        if (__builtin_add_overflow(terms[at].factor, term->factor, &terms[at].factor)) return false;
        if (terms[at].factor != 0) return true;
        (*count)--;
        memmove(&terms[at], &terms[at + 1], sizeof *terms * (*count - at));
        return true;
    }
    if (*count == TERMS_MOST) return false;
    memmove(&terms[at + 1], &terms[at], sizeof *terms * (*count - at));
    terms[at] = *term;
    (*count)++;
    return true;
}

int64_t dims_mul(dims *d, int64_t a, int64_t b) {
    dim_view x, y;
    dim_term terms[TERMS_MOST], term;
    uint32_t count = 0;
    view_open(d, a, &x);
    view_open(d, b, &y);
    if (x.count * y.count > WORK_MOST) return unknown(d);
    for (uint32_t i = 0; i < x.count; i++)
        for (uint32_t k = 0; k < y.count; k++)
            if (!product(&x.terms[i], &y.terms[k], &term) || !insert(terms, &count, &term))
                return unknown(d);
    return intern(d, terms, count);
}

dim_verdict dims_compare(dims *d, int64_t a, int64_t b) {
    dim_view x, y;
    dim_term terms[TERMS_MOST];
    uint32_t count;
    if (a == b) return DIM_SAME;
    if (a >= 0 && b >= 0) return DIM_DIFFERENT;
    view_open(d, a, &x);
    view_open(d, b, &y);
    if (!merge(&x, &y, -1, terms, &count)) return DIM_LATER;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < terms[i].degree; k++)
            if (d->symbols[terms[i].symbols[k]].kind != DIM_RIGID) return DIM_LATER;
    return count == 0 ? DIM_SAME : DIM_DIFFERENT;
}

static int64_t replaced(int64_t symbol, int count, const int64_t *from, const int64_t *to) {
    for (int i = 0; i < count; i++)
        if (from[i] == symbol) return to[i];
    return symbol;
}

int64_t dims_substitute(dims *d, int64_t dim, int count, const int64_t *from, const int64_t *to) {
    if (dim >= 0 || count == 0) return dim;
    if (dims_is_symbol(d, dim)) return replaced(dim, count, from, to);
    const dim_poly *p = poly_of(d, dim);
    int64_t total = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        dim_term constant = {.factor = p->terms[i].factor};
        int64_t term = intern(d, &constant, 1);
        for (uint32_t k = 0; k < p->terms[i].degree; k++) {
            int64_t id = d->symbols[p->terms[i].symbols[k]].id;
            term = dims_mul(d, term, replaced(id, count, from, to));
        }
        total = dims_add(d, total, term);
    }
    return total;
}

/* ---- the algebra that the ops' type rules use ---- */

static dim_verdict algebra_compare(void *self, int64_t a, int64_t b) {
    return dims_compare(self, a, b);
}

static int64_t algebra_add(void *self, int64_t a, int64_t b) {
    return dims_add(self, a, b);
}

static int64_t algebra_mul(void *self, int64_t a, int64_t b) {
    return dims_mul(self, a, b);
}

static int64_t algebra_sub(void *self, int64_t a, int64_t b) {
    return dims_sub(self, a, b);
}

static int64_t algebra_unknown(void *self) {
    return unknown(self);
}

static int algebra_symbols(void *self, int64_t dim, int64_t *out, int room) {
    return dims_symbols(self, dim, out, room);
}

static int64_t algebra_substitute(void *self, int64_t dim, int count, const int64_t *from,
                                  const int64_t *to) {
    return dims_substitute(self, dim, count, from, to);
}

/* A division has no normal form, so that only a stride of 1 gives a dim that says more. */
static int64_t algebra_windows(void *self, int64_t size, int64_t window, int64_t stride,
                               int64_t padding, int64_t dilation) {
    dims *d = self;
    if (stride != 1) return unknown(d);
    return dims_sub(d, dims_add(d, size, 2 * padding + dilation), dims_mul(d, dilation, window));
}

dim_algebra dims_algebra(dims *d) {
    return (dim_algebra){.self = d,
                         .compare = algebra_compare,
                         .add = algebra_add,
                         .mul = algebra_mul,
                         .sub = algebra_sub,
                         .unknown = algebra_unknown,
                         .symbols = algebra_symbols,
                         .substitute = algebra_substitute,
                         .windows = algebra_windows};
}

/* ---- printing ---- */

static void term_print(const dims *d, const dim_term *term, uint64_t factor, text *out) {
    bool starred = factor != 1 || term->degree == 0;
    if (starred) text_format(out, "%llu", (unsigned long long)factor);
    for (uint32_t k = 0; k < term->degree; k++) {
        const char *name = d->symbols[term->symbols[k]].name;
        if (starred) text_add_char(out, '*');
        text_add(out, name == NULL ? "?" : name);
        starred = true;
    }
}

void dims_print(const dims *d, int64_t dim, text *out) {
    dim_view v;
    view_open(d, dim, &v);
    if (v.count == 0) text_add_char(out, '0');
    for (uint32_t i = 0; i < v.count; i++) {
        int64_t factor = v.terms[i].factor;
        if (i > 0)
            text_add(out, factor < 0 ? " - " : " + ");
        else if (factor < 0)
            text_add_char(out, '-');
        term_print(d, &v.terms[i], factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor, out);
    }
}
