/* Nodes of the tree that is written. They have no spans, as there is no text yet. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "interp/writing.h"

/* ---- memory ---- */

void *write_take(writing *w, size_t bytes) {
    void *block = w->failed ? NULL : arena_take(w->a, bytes > 0 ? bytes : 1);
    if (block == NULL) w->failed = true;
    return block;
}

const char *write_word(writing *w, const char *format, ...) {
    va_list rest, again;
    va_start(rest, format);
    va_copy(again, rest);
    size_t length = (size_t)vsnprintf(NULL, 0, format, rest);
    char *word = write_take(w, length + 1);
    if (word != NULL) vsnprintf(word, length + 1, format, again);
    va_end(again);
    va_end(rest);
    if (word == NULL) return "";
    const char *made = names_intern(w->names, word, length);
    if (made == NULL) w->failed = true;
    return made != NULL ? made : "";
}

expr *write_expr_new(writing *w, expr_kind kind) {
    expr *e = write_take(w, sizeof *e);
    if (e == NULL) {
        w->nothing = (expr){.kind = EXPR_TUPLE};
        return &w->nothing;
    }
    e->kind = kind;
    return e;
}

/* ---- names and literals ---- */

expr *write_name(writing *w, const char *name) {
    expr *e = write_expr_new(w, EXPR_NAME);
    if (!w->failed) e->u.name.name = name;
    return e;
}

expr *write_var(writing *w, var v) {
    expr *e = write_expr_new(w, EXPR_NAME);
    if (w->failed) return e;
    written *of = write_of(w, v);
    e->u.name.symbol = &of->symbol;
    e->u.name.name = of->wish != NULL ? of->wish : "t00";   /* for its width; write_names gives the name */
    return e;
}

expr *write_integer(writing *w, int64_t x) {
    expr *e = write_expr_new(w, EXPR_INT);
    if (w->failed) return e;
    e->u.integer.negative = x < 0;
    e->u.integer.magnitude = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    return e;
}

expr *write_flag(writing *w, bool x) {
    expr *e = write_expr_new(w, EXPR_BOOL);
    if (!w->failed) e->u.boolean = x;
    return e;
}

expr *write_string(writing *w, const char *bytes) {
    expr *e = write_expr_new(w, EXPR_STRING);
    if (w->failed) return e;
    e->u.string.bytes = bytes;
    e->u.string.length = (uint32_t)strlen(bytes);
    return e;
}

/* ---- operators and lists ---- */

expr *write_unary(writing *w, op_id op, expr *a) {
    expr *e = write_expr_new(w, EXPR_UNARY);
    if (w->failed) return e;
    e->u.unary.op = op;
    e->u.unary.a = a;
    return e;
}

expr *write_binary(writing *w, op_id op, expr *a, expr *b) {
    expr *e = write_expr_new(w, EXPR_BINARY);
    if (w->failed) return e;
    e->u.binary.op = op;
    e->u.binary.a = a;
    e->u.binary.b = b;
    return e;
}

expr *write_list(writing *w, expr_kind kind, int count, expr *const *items) {
    expr *e = write_expr_new(w, kind);
    expr **own = WRITE_ARRAY(w, expr *, count);
    if (w->failed) return e;
    for (int i = 0; i < count; i++) own[i] = items[i];
    e->u.list.count = count;
    e->u.list.items = own;
    return e;
}

expr *write_integers(writing *w, int count, const int64_t *list) {
    expr *items[MAX_RANK];
    for (int i = 0; i < count; i++) items[i] = write_integer(w, list[i]);
    return write_list(w, EXPR_LIST, count, items);
}

/* ---- calls ---- */

static expr *call_with_room(writing *w, const char *callee, int room) {
    expr *e = write_expr_new(w, EXPR_CALL);
    argument *args = WRITE_ARRAY(w, argument, room);
    expr *name = write_name(w, callee);
    if (w->failed) return e;
    e->u.call.callee = name;
    e->u.call.args = args;
    return e;
}

expr *write_call(writing *w, const char *callee) {
    return call_with_room(w, callee, BUILTIN_PARAMS);
}

void write_argument(writing *w, expr *call, const char *name, expr *given) {
    if (!w->failed) call->u.call.args[call->u.call.count++] = (argument){.name = name, .value = given};
}

expr *write_call_of(writing *w, const char *callee, int count, expr *const *args) {
    expr *e = call_with_room(w, callee, count);
    for (int i = 0; i < count; i++) write_argument(w, e, NULL, args[i]);
    return e;
}

/* ---- patterns and lines ---- */

pattern *write_pattern(writing *w, pattern_kind kind) {
    static pattern ignored = {.kind = PATTERN_IGNORE};
    pattern *p = write_take(w, sizeof *p);
    if (p == NULL) return &ignored;
    p->kind = kind;
    return p;
}

item *write_line(writing *w, lines *l, item_kind kind) {
    if (l->count == l->room) {
        int wider = l->room > 0 ? 2 * l->room : 8;
        item *list = WRITE_ARRAY(w, item, wider);
        if (list == NULL) return NULL;
        if (l->count > 0) memcpy(list, l->list, (size_t)l->count * sizeof *list);
        l->list = list;
        l->room = wider;
    }
    item *made = &l->list[l->count++];
    made->kind = kind;
    return made;
}

/* ---- what a tree is like ---- */

enum { WIDTH_MOST = 1000 };     /* more counts for no more */

static int width_of_arguments(const expr *e) {
    int sum = 2;
    for (int i = 0; i < e->u.call.count && sum < WIDTH_MOST; i++) {
        const argument *a = &e->u.call.args[i];
        sum += write_width(a->value) + (i > 0 ? 2 : 0);
        if (a->name != NULL) sum += (int)strlen(a->name) + 1;
    }
    return sum;
}

static int width_of_index(const expr *e) {
    int sum = write_width(e->u.index.base) + 2;
    for (int i = 0; i < e->u.index.count; i++) {
        const subscript *s = &e->u.index.subscripts[i];
        expr *const parts[3] = {s->lo, s->hi, s->step};
        for (int k = 0; k < 3; k++) sum += parts[k] != NULL ? write_width(parts[k]) : 0;
        sum += (i > 0 ? 2 : 0) + s->range + (s->step != NULL);
    }
    return sum;
}

static int width_of_list(const expr *e) {
    int sum = 2;
    for (int i = 0; i < e->u.list.count && sum < WIDTH_MOST; i++)
        sum += write_width(e->u.list.items[i]) + (i > 0 ? 2 : 0);
    return sum;
}

/* About as long as it is printed; parentheses are not foreseen. */
int write_width(const expr *e) {
    switch (e->kind) {
    case EXPR_INT: {
        int digits = 1 + e->u.integer.negative;
        for (uint64_t n = e->u.integer.magnitude; n >= 10; n /= 10) digits++;
        return digits;
    }
    case EXPR_FLOAT: return (int)strlen(e->u.floating.digits);
    case EXPR_NAME: return (int)strlen(e->u.name.name);
    case EXPR_UNARY: return 1 + write_width(e->u.unary.a);
    case EXPR_BINARY: return write_width(e->u.binary.a) + 4 + write_width(e->u.binary.b);
    case EXPR_CALL: return write_width(e->u.call.callee) + width_of_arguments(e);
    case EXPR_INDEX: return width_of_index(e);
    case EXPR_LIST:
    case EXPR_TUPLE: return width_of_list(e);
    case EXPR_TENSOR: return 30 + (e->u.tensor.fill != NULL ? write_width(e->u.tensor.fill) : 0);
    default: return 5;
    }
}

static bool flexible_call(const expr *e) {
    const char *name = e->u.call.callee->u.name.name;
    int builtin = builtin_named(name);
    if (builtin < 0 || builtin_literals(builtin) == LITERAL_NONE) return false;
    for (int i = 0; i < e->u.call.count; i++) {
        const argument *a = &e->u.call.args[i];
        param_role role = builtin_place(builtin, a->name, i);
        if ((role == ROLE_OPERAND || role == ROLE_PARTS) && !write_flexible(a->value)) return false;
    }
    return true;
}

bool write_flexible(const expr *e) {
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT: return true;
    case EXPR_UNARY: return e->u.unary.op == OP_neg && write_flexible(e->u.unary.a);
    case EXPR_BINARY:
        return check_keeps_dtype(e->u.binary.op) && write_flexible(e->u.binary.b) &&
               write_flexible(e->u.binary.a);
    case EXPR_INDEX: return write_flexible(e->u.index.base);
    case EXPR_LIST:
    case EXPR_TUPLE:
        for (int i = 0; i < e->u.list.count; i++)
            if (!write_flexible(e->u.list.items[i])) return false;
        return true;
    case EXPR_CALL: return e->u.call.callee->kind == EXPR_NAME && flexible_call(e);
    default: return false;
    }
}
