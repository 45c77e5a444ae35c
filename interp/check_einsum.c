/* einsum: its equation, read against the operands' ranks and dims. */
#include "interp/einsum.h"

#include <string.h>

#include "interp/check.h"

const char *einsum_index_name(const einsum_plan *p, int index, char room[4]) {
    if (index >= EINSUM_ELLIPSIS) return "...";
    if (p->names != NULL) return p->names[index];
    room[0] = (char)(index < 26 ? 'A' + index : 'a' + index - 26);
    room[1] = '\0';
    return room;
}

uint64_t einsum_bits(const einsum_operand *x) {
    uint64_t bits = 0;
    for (int i = 0; i < x->rank; i++)
        if (((x->stretched >> i) & 1) == 0) bits |= einsum_bit(x->index[i]);
    return bits;
}

/* The equation while it is read. */
typedef struct reading {
    checker *c;
    builtin_call *b;
    const expr *equation;
    const char *at, *end;
    expr **operands;
    einsum_plan *plan;
    const char **names;           /* of the indices in an equation of names, by number; NULL: letters */
    int name_count;
    bool implied;                 /* the terms are the operands' dims */
    int ellipsis;                 /* the most axes that it stands for */
    int64_t size[EINSUM_INDICES]; /* a dim of each index: not a literal 1, where there is one */
    const expr *first[EINSUM_INDICES]; /* the operand that has it */
    int uses[EINSUM_INDICES];
} reading;

static const op_type *type_of(const reading *r, int k) {
    return &r->operands[k]->type->tensor;
}

static diag *bad(const reading *r, const char *why) {
    return diag_error(r->c->d, ERROR_K0218, r->equation->at, "the equation of `einsum` %s", why);
}

/* ---- terms ---- */

static int letter_index(char letter) {
    if (letter >= 'A' && letter <= 'Z') return letter - 'A';
    return letter >= 'a' && letter <= 'z' ? letter - 'a' + 26 : -1;
}

static void skip_spaces(reading *r) {
    while (r->at < r->end && *r->at == ' ') r->at++;
}

static bool takes(reading *r, const char *word) {
    size_t length = strlen(word);
    skip_spaces(r);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
    r->at += length;
    return true;
}

/* A term as written: letters, and -1 for an ellipsis. */
typedef struct written {
    int count, ellipsis; /* ellipsis: its place, or -1 */
    int index[MAX_RANK + 1];
} written;

/* ---- terms of names ---- */

static bool is_letter(char x) { return letter_index(x) >= 0 || x == '_'; }

/* The index of a name; -1 when there are too many. */
static int index_of(reading *r, const char *name) {
    for (int i = 0; i < r->name_count; i++)
        if (r->names[i] == name) return i;
    if (r->name_count == EINSUM_ELLIPSIS) return -1;
    r->names[r->name_count] = name;
    return r->name_count++;
}

/* The index of the name that comes next; -1 when there is none, or there are too many. */
static int read_name(reading *r) {
    const char *begin = r->at;
    if (r->at == r->end || !is_letter(*r->at)) return -1;
    while (r->at < r->end && (is_letter(*r->at) || (*r->at >= '0' && *r->at <= '9'))) r->at++;
    const char *name = names_intern(r->c->p->names, begin, (size_t)(r->at - begin));
    if (name == NULL) return r->c->failed = true, -1;
    return index_of(r, name);
}

static bool bad_name(const reading *r) {
    diag *d = bad(r, "has no name where there should be one");
    diag_add_help(r->c->d, d, "terms are lists of names: \"[B, D], [D, K] -> [B, K]\"");
    return false;
}

/* [B, D, ...] */
static bool read_names(reading *r, written *w) {
    *w = (written){.ellipsis = -1};
    if (!takes(r, "[")) return bad_name(r);
    if (takes(r, "]")) return true;
    do {
        if (w->count > MAX_RANK) return bad(r, "has a term of more than 8 names"), false;
        bool ellipsis = takes(r, "...");
        int index = ellipsis ? -1 : read_name(r);
        if (!ellipsis && index < 0) return bad_name(r);
        if (ellipsis && w->ellipsis >= 0) return bad(r, "has two ellipses in one term"), false;
        if (ellipsis) w->ellipsis = w->count;
        w->index[w->count++] = index;
    } while (takes(r, ","));
    if (!takes(r, "]")) return bad_name(r);
    skip_spaces(r);
    return true;
}

/* A name that is a dim's stands for axes of that dim alone. */
static bool names_fit(const reading *r, int k) {
    const einsum_operand *x = &r->plan->operand[k];
    for (int i = 0; r->names != NULL && i < x->rank; i++) {
        if (x->index[i] >= EINSUM_ELLIPSIS) continue;
        const binding *found = check_lookup(r->c, r->names[x->index[i]]);
        int64_t dim = type_of(r, k)->dims[i];
        if (found == NULL || found->symbol->kind != SYMBOL_DIM || dim == 1) continue;
        if (dims_compare(r->c->dims, dim, found->symbol->dim) != DIM_DIFFERENT) continue;
        diag *d = diag_error(r->c->d, ERROR_K0301, r->equation->at,
                             "term %d of the equation names axis %d `%s`, and that axis has the dim `%s`", k + 1, i,
                             r->names[x->index[i]], check_show_dim(r->c, dim));
        diag_add_label(r->c->d, d, r->operands[k]->at, "`%s`", check_show(r->c, r->operands[k]->type));
        return false;
    }
    return true;
}

/* ---- terms left out ---- */

static bool no_term(const reading *r, int k, int axis, const char *why) {
    diag *d = diag_error(r->c->d, ERROR_K0218, r->equation->at,
                         "the equation of `einsum` has no terms, and axis %d of operand %d %s", axis, k + 1, why);
    diag_add_label(r->c->d, d, r->operands[k]->at, "`%s`", check_show(r->c, r->operands[k]->type));
    diag_add_help(r->c->d, d, "write a term for each operand: \"[B, D], [D, K] -> [B, K]\"");
    return false;
}

/* The dims name the axes, where each is the name of a dim in scope, and no operand has one twice. */
static bool imply_terms(reading *r) {
    for (int k = 0; k < r->plan->count; k++) {
        einsum_operand *x = &r->plan->operand[k];
        uint64_t seen = 0;
        x->rank = type_of(r, k)->rank;
        for (int i = 0; i < x->rank; i++) {
            int64_t dim = type_of(r, k)->dims[i];
            const char *name = dim < 0 && dims_is_symbol(r->c->dims, dim) ? dims_name(r->c->dims, dim) : NULL;
            const binding *found = name != NULL ? check_lookup(r->c, name) : NULL;
            if (found == NULL || found->symbol->dim != dim) return no_term(r, k, i, "has no dim with a name");
            int index = index_of(r, found->symbol->name);
            if (index < 0) return bad(r, "has more than 52 names"), false;
            if ((seen & einsum_bit(index)) != 0) return no_term(r, k, i, "has the dim of another one");
            seen |= einsum_bit(index);
            x->index[i] = (uint8_t)index;
        }
    }
    return true;
}

/* ---- terms as written ---- */

static bool read_term(reading *r, written *w) {
    if (r->names != NULL) return read_names(r, w);
    *w = (written){.ellipsis = -1};
    for (skip_spaces(r); r->at < r->end && *r->at != ',' && *r->at != '-'; skip_spaces(r)) {
        int index = letter_index(*r->at);
        if (w->count > MAX_RANK) return bad(r, "has a term of more than 8 indices"), false;
        if (index >= 0) {
            r->at++;
        } else if (r->end - r->at >= 3 && memcmp(r->at, "...", 3) == 0) {
            if (w->ellipsis >= 0) return bad(r, "has two ellipses in one term"), false;
            w->ellipsis = w->count;
            r->at += 3;
        } else {
            diag *d = bad(r, "has an unexpected character");
            diag_add_help(r->c->d, d,
                          "indices are letters; terms are separated by `,`, the result follows "
                          "`->`: \"ij,jk->ik\"");
            return false;
        }
        w->index[w->count++] = index;
    }
    return true;
}

/* The axes of operand k: its letters, and what is left for the ellipsis. */
static bool place_term(reading *r, const written *w, int k) {
    einsum_operand *x = &r->plan->operand[k];
    int rank = type_of(r, k)->rank, letters = w->count - (w->ellipsis >= 0);
    int rest = w->ellipsis >= 0 ? rank - letters : 0;
    if (letters > rank || (w->ellipsis < 0 && letters < rank)) {
        diag *d = diag_error(r->c->d, ERROR_K0302, r->equation->at,
                             "term %d of the equation has %d indices, and its operand %d axes",
                             k + 1, letters, rank);
        diag_add_label(r->c->d, d, r->operands[k]->at, "`%s`",
                       check_show(r->c, r->operands[k]->type));
        if (letters < rank)
            diag_add_help(r->c->d, d, "`...` in a term stands for all axes without a letter");
        return false;
    }
    x->rank = (uint8_t)rank;
    if (rest > r->ellipsis) r->ellipsis = rest;
    for (int i = 0, axis = 0; i < w->count; i++) {
        if (w->index[i] >= 0) x->index[axis++] = (uint8_t)w->index[i];
        for (int j = rest - 1; w->index[i] < 0 && j >= 0; j--)
            x->index[axis++] = (uint8_t)(EINSUM_ELLIPSIS + j);
    }
    return names_fit(r, k);
}

static bool read_operands(reading *r) {
    int k = 0, given = r->plan->count;
    for (;; k++) {
        written w;
        if (!read_term(r, &w)) return false;
        if (k < given && !place_term(r, &w, k)) return false;
        if (r->at == r->end || *r->at != ',') break;
        r->at++;
    }
    if (k + 1 == given) return true;
    diag *d = diag_error(r->c->d, ERROR_K0106, r->equation->at,
                         "the equation of `einsum` has %d terms for %d operands", k + 1, given);
    diag_add_help(r->c->d, d, "there is one term for each operand, separated by `,`");
    return false;
}

/* ---- the result ---- */

static bool add_out(reading *r, int index) {
    einsum_operand *out = &r->plan->out;
    if (out->rank == MAX_RANK) return bad(r, "has a result of more than 8 axes"), false;
    out->index[out->rank++] = (uint8_t)index;
    return true;
}

static bool add_ellipsis(reading *r) {
    for (int j = r->ellipsis - 1; j >= 0; j--)
        if (!add_out(r, EINSUM_ELLIPSIS + j)) return false;
    return true;
}

/* Without `->`: the ellipsis, then the letters that occur once, in the order of the alphabet. */
static bool implicit_out(reading *r) {
    if (!add_ellipsis(r)) return false;
    for (int i = 0; i < EINSUM_ELLIPSIS; i++)
        if (r->uses[i] == 1 && !add_out(r, i)) return false;
    return true;
}

static bool explicit_out(reading *r) {
    written w;
    uint64_t seen = 0;
    char room[4];
    if (*r->at != '-') return bad(r, "goes on behind its terms"), false;
    if (r->end - r->at < 2 || r->at[1] != '>') return bad(r, "has a `-` without its `>`"), false;
    r->at += 2;
    if (!read_term(r, &w)) return false;
    if (r->at < r->end) return bad(r, "goes on behind its result"), false;
    for (int i = 0; i < w.count; i++) {
        int index = w.index[i];
        if (index < 0) {
            if (!add_ellipsis(r)) return false;
            continue;
        }
        const char *why = r->uses[index] == 0               ? "occurs in no operand"
                          : (seen & einsum_bit(index)) != 0 ? "occurs twice in the result"
                                                            : NULL;
        if (why != NULL) {
            diag_error(r->c->d, ERROR_K0218, r->equation->at,
                       "the index `%s` of the result of `einsum` %s",
                       einsum_index_name(r->plan, index, room), why);
            return false;
        }
        seen |= einsum_bit(index);
        if (!add_out(r, index)) return false;
    }
    return true;
}

/* ---- dims ---- */

static bool differs(const reading *r, int index, int64_t dim, const expr *operand) {
    char room[4];
    if (dims_compare(r->c->dims, r->size[index], dim) != DIM_DIFFERENT) return false;
    diag *d = diag_error(r->c->d, ERROR_K0301, r->equation->at,
                         "the index `%s` of `einsum` has the dims `%s` and `%s`",
                         einsum_index_name(r->plan, index, room), check_show_dim(r->c, r->size[index]),
                         check_show_dim(r->c, dim));
    diag_add_label(r->c->d, d, r->first[index]->at, "`%s`",
                   check_show(r->c, r->first[index]->type));
    if (operand != r->first[index])
        diag_add_label(r->c->d, d, operand->at, "`%s`", check_show(r->c, operand->type));
    check_note_dims(r->c, d, (int64_t[]){r->size[index], dim}, 2);
    return true;
}

/* What size each index has: that of an axis which is no literal 1, if there is one. */
static bool measure(reading *r) {
    for (int k = 0; k < r->plan->count; k++) {
        const einsum_operand *x = &r->plan->operand[k];
        for (int i = 0; i < x->rank; i++) {
            int index = x->index[i];
            int64_t dim = type_of(r, k)->dims[i], *size = &r->size[index];
            if (r->uses[index]++ == 0 || *size == 1) {
                *size = dim;
                r->first[index] = r->operands[k];
            } else if (dim != 1) {
                if (differs(r, index, dim, r->operands[k])) return false;
                if (*size < 0 && dim >= 0) *size = dim;
            }
        }
    }
    return true;
}

static void mark_stretched(reading *r) {
    for (int k = 0; k < r->plan->count; k++) {
        einsum_operand *x = &r->plan->operand[k];
        for (int i = 0; i < x->rank; i++)
            if (type_of(r, k)->dims[i] == 1 && r->size[x->index[i]] != 1)
                x->stretched |= (uint8_t)(1u << i);
    }
}

/* Operands are taken in from left to right; what is made on the way is a tensor too. */
static bool ranks_fit(const reading *r) {
    uint64_t needed = einsum_bits(&r->plan->out), made = einsum_bits(&r->plan->operand[0]);
    for (int k = 1; k < r->plan->count; k++) {
        uint64_t later = needed;
        for (int j = k + 1; j < r->plan->count; j++) later |= einsum_bits(&r->plan->operand[j]);
        made = (made | einsum_bits(&r->plan->operand[k])) & later;
        if (__builtin_popcountll(made) <= MAX_RANK) continue;
        diag *d = diag_error(r->c->d, ERROR_K0302, r->equation->at,
                             "the first %d operands of `einsum` give a tensor of %d axes, and 8 "
                             "are the most",
                             k + 1, __builtin_popcountll(made));
        diag_add_help(r->c->d, d, "another order of the operands may sum over indices earlier");
        return false;
    }
    return true;
}

/* Lists of names, which may be left out, or letters: what begins it tells. */
static bool begin_equation(reading *r) {
    skip_spaces(r);
    r->implied = r->end - r->at >= 2 && memcmp(r->at, "->", 2) == 0;
    if (!r->implied && (r->at == r->end || *r->at != '[')) return true;
    r->names = ARENA_ARRAY(r->c->a, const char *, EINSUM_ELLIPSIS);
    r->plan->names = r->names;
    if (r->names == NULL) r->c->failed = true;
    return r->names != NULL;
}

static const type *read_equation(reading *r) {
    op_type out = {.dtype = type_of(r, 0)->dtype};
    if (!begin_equation(r)) return &check_error_type;
    if (!(r->implied ? imply_terms(r) : read_operands(r)) || !measure(r)) return &check_error_type;
    bool arrow = r->at < r->end;
    if (r->names != NULL && !arrow) {
        diag *d = bad(r, "has names and no result");
        diag_add_help(r->c->d, d, "write it behind `->`, as in \"[B, D], [D, K] -> [B, K]\"");
        return &check_error_type;
    }
    if (!(arrow ? explicit_out(r) : implicit_out(r))) return &check_error_type;
    mark_stretched(r);
    if (!ranks_fit(r)) return &check_error_type;
    out.rank = r->plan->out.rank;
    for (int i = 0; i < out.rank; i++) out.dims[i] = r->size[r->plan->out.index[i]];
    r->b->use->einsum = r->plan;
    return check_tensor_type(r->c, &out);
}

/* ---- the call ---- */

static bool place(checker *c, builtin_call *b) {
    const expr *e = b->e;
    int count = e->u.call.count;
    b->use->count = count;
    b->use->args = ARENA_ARRAY(c->a, expr *, count);
    if (b->use->args == NULL) return c->failed = true, false;
    for (int i = 0; i < count; i++) {
        const argument *a = &e->u.call.args[i];
        b->use->args[i] = a->value;
        if (a->name == NULL) continue;
        diag_error(c->d, ERROR_K0105, a->name_at, "`einsum` has no parameter `%s`", a->name);
        return false;
    }
    if (count >= 2 && count <= 64) return true;
    diag *d =
        diag_error(c->d, ERROR_K0106, e->at, "`einsum` takes an equation and 1 to 63 operands");
    diag_add_help(c->d, d, "`einsum(\"ij,jk->ik\", a, b)`");
    return false;
}

/* All of one type, on which products and sums are. */
static bool operands_fit(checker *c, const builtin_call *b, expr **operands, int n) {
    op_type *in = ARENA_ARRAY(c->a, op_type, n);
    bool good = true;
    if (in == NULL) return c->failed = true, false;
    for (int k = 0; k < n; k++) good = check_operand(c, operands[k], b->name, &in[k]) && good;
    for (int k = 0; good && k < n; k++) {
        op_fault fault = {.kind = FAULT_DTYPES, .a = 0, .b = k};
        if (in[k].dtype == DT_Bool) {
            fault = (op_fault){.kind = FAULT_DTYPE, .a = k};
            strcpy(fault.expects, "floating or integer operands");
        } else if (in[k].dtype == in[0].dtype) {
            continue;
        }
        check_fault(c, b->name, b->e->u.call.callee->at, operands, in, n, &fault);
        good = false;
    }
    return good;
}

const type *check_einsum(checker *c, builtin_call *b) {
    if (!place(c, b)) return &check_error_type;
    expr *equation = b->use->args[0], **operands = b->use->args + 1;
    int n = b->use->count - 1;
    check_adopting(c, operands, n, b->asked);
    if (equation->kind != EXPR_STRING) {
        if (check_expr(c, equation, expect_one)->kind != TYPE_ERROR) {
            diag *d = diag_error(c->d, ERROR_K0216, equation->at,
                                 "`einsum` takes a written string as its equation");
            diag_add_help(c->d, d, "`einsum(\"ij,jk->ik\", a, b)`");
        }
        return &check_error_type;
    }
    equation->type = &check_string_type;
    if (!operands_fit(c, b, operands, n)) return &check_error_type;
    reading *r = ARENA_NEW(c->a, reading);
    einsum_plan *plan = ARENA_NEW(c->a, einsum_plan);
    einsum_operand *each = ARENA_ARRAY(c->a, einsum_operand, n);
    if (r == NULL || plan == NULL || each == NULL) return c->failed = true, &check_error_type;
    *plan = (einsum_plan){.count = n, .operand = each};
    r->c = c;
    r->b = b;
    r->equation = equation;
    r->at = equation->u.string.bytes;
    r->end = r->at + equation->u.string.length;
    r->operands = operands;
    r->plan = plan;
    return read_equation(r);
}
