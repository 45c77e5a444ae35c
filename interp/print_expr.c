/* Printing expressions. Parentheses stand only where the grammar needs them. Runs of infix operators and of
 * postfixes are walked by a loop, not by recursion. */
#include "interp/print.h"

#include <string.h>

#include "runtime/memory.h"

/* ---- precedence ---- */

static int bind_of_op(op_id op) {
    switch (op) {
    case OP_or: return BIND_OR;
    case OP_and: return BIND_AND;
    case OP_add:
    case OP_sub: return BIND_ADD;
    case OP_mul:
    case OP_div:
    case OP_rem:
    case OP_matmul: return BIND_MULTIPLY;
    default: return BIND_COMPARE;
    }
}

static int bind_of(const expr *e) {
    switch (e->kind) {
    case EXPR_BINARY: return bind_of_op(e->u.binary.op);
    case EXPR_UNARY: return BIND_PREFIX;
    case EXPR_INT: return e->u.integer.negative ? BIND_PREFIX : BIND_POSTFIX;
    case EXPR_IF:
    case EXPR_WHILE:
    case EXPR_HANDLE:
    case EXPR_FN: return BIND_OPERAND;
    case EXPR_BLOCK: return BIND_ANY;
    default: return BIND_POSTFIX;
    }
}

/* What an infix operator, a call, an index or a projection has on its left; NULL for others. */
static const expr *left_of(const expr *e) {
    switch (e->kind) {
    case EXPR_BINARY: return e->u.binary.a;
    case EXPR_CALL: return e->u.call.method ? e->u.call.args[0].value : e->u.call.callee;
    case EXPR_INDEX: return e->u.index.base;
    case EXPR_PROJECT: return e->u.project.base;
    default: return NULL;
    }
}

static bool is_closed_form(const expr *e) {
    return e->kind == EXPR_IF || e->kind == EXPR_WHILE || e->kind == EXPR_HANDLE ||
           e->kind == EXPR_FN;
}

/* ---- runs ---- */

/* The expressions from `e` down its left edge, innermost last. */
typedef struct run {
    const expr *few[16];
    const expr **items;
    size_t count;
} run;

/* True when `left`, at the left of `e`, is walked together with it. */
static bool in_one_run(const expr *e, const expr *left) {
    int bind = bind_of(e);
    if (e->kind == EXPR_BINARY) {
        return bind != BIND_COMPARE && left->kind == EXPR_BINARY && bind_of(left) == bind;
    }
    return left->kind == EXPR_CALL || left->kind == EXPR_INDEX || left->kind == EXPR_PROJECT;
}

static bool run_open(layout *out, run *r, const expr *e) {
    r->count = 1;
    for (const expr *at = e; in_one_run(at, left_of(at)); at = left_of(at)) r->count++;
    r->items = r->few;
    if (r->count > COUNT_OF(r->few)) r->items = take(out->words.c, sizeof(void *) * r->count);
    if (r->items == NULL) {
        out->failed = true;
        return false;
    }
    for (size_t i = 0; i < r->count; i++, e = left_of(e)) r->items[i] = e;
    return true;
}

static void run_close(layout *out, run *r) {
    if (r->items != r->few) give_back(out->words.c, r->items, sizeof(void *) * r->count);
}

/* Operands of one precedence: on one line, or an operand a line with its operator at the end. */
static void print_infix(layout *out, const expr *e, print_place place) {
    run r;
    if (!run_open(out, &r, e)) return;
    int bind = bind_of(e);
    layout_open(out);
    const expr *first = r.items[r.count - 1]->u.binary.a;
    print_expr(out, first, bind == BIND_COMPARE ? bind + 1 : bind, place);
    layout_indent(out);
    for (size_t i = r.count; i > 0; i--) {
        const expr *one = r.items[i - 1];
        op_id op = one->u.binary.op;
        layout_put(out, " ");
        layout_put(out, op == OP_matmul ? "@" : op_table[op].surface);
        layout_break(out, true, false);
        print_expr(out, one->u.binary.b, bind + 1, PRINT_INSIDE);
    }
    layout_dedent(out);
    layout_shut(out);
    run_close(out, &r);
}

/* ---- calls, indices, projections ---- */

/* True for a value in brackets of its own, which needs no lines around it. */
static bool is_bracketed(const argument *only) {
    expr_kind kind = only->value->kind;
    return only->name == NULL && (kind == EXPR_LIST || kind == EXPR_TUPLE || kind == EXPR_FN);
}

void print_arguments(layout *out, const argument *args, int count) {
    if (count == 0) {
        layout_put(out, "()");
        return;
    }
    if (count == 1 && is_bracketed(args)) {
        layout_put(out, "(");
        print_expr(out, args[0].value, BIND_ANY, PRINT_INSIDE);
        layout_put(out, ")");
        return;
    }
    print_list_open(out, "(");
    for (int i = 0; i < count; i++) {
        if (i > 0) print_list_next(out);
        if (args[i].name != NULL) {
            layout_put(out, args[i].name);
            layout_put(out, "=");
        }
        print_expr(out, args[i].value, BIND_ANY, PRINT_INSIDE);
    }
    print_list_shut(out, ")", true);
}

static void print_subscripts(layout *out, const expr *e) {
    print_list_open(out, "[");
    for (int i = 0; i < e->u.index.count; i++) {
        const subscript *s = &e->u.index.subscripts[i];
        if (i > 0) print_list_next(out);
        if (s->lo != NULL) print_expr(out, s->lo, BIND_ANY, PRINT_INSIDE);
        if (s->range) layout_put(out, ":");
        if (s->hi != NULL) print_expr(out, s->hi, BIND_ANY, PRINT_INSIDE);
        if (s->step == NULL) continue;
        layout_put(out, ":");
        print_expr(out, s->step, BIND_ANY, PRINT_INSIDE);
    }
    print_list_shut(out, "]", true);
}

static bool is_method(const expr *e) {
    return e->kind == EXPR_CALL && e->u.call.method;
}

static void print_postfix(layout *out, const expr *e, bool chain) {
    switch (e->kind) {
    case EXPR_INDEX: print_subscripts(out, e); break;
    case EXPR_PROJECT:
        layout_put(out, ".");
        layout_put_unsigned(out, e->u.project.field);
        break;
    default:
        if (!is_method(e)) {
            print_arguments(out, e->u.call.args, e->u.call.count);
            break;
        }
        if (chain) layout_break(out, false, false);
        layout_put(out, ".");
        layout_put(out, e->u.call.callee->u.name.name);
        print_arguments(out, e->u.call.args + 1, e->u.call.count - 1);
    }
}

/* Digits before a projection would be read as a float, and arguments behind `tensor<...>` as its fill. */
static bool is_misread(const expr *postfix, const expr *base) {
    if (postfix->kind == EXPR_PROJECT) return base->kind == EXPR_INT;
    return postfix->kind == EXPR_CALL && !is_method(postfix) && base->kind == EXPR_TENSOR &&
           base->u.tensor.fill == NULL;
}

/* A postfix chain; one of several methods has each on a line of its own when it is too long. */
static void print_postfixes(layout *out, const expr *e, print_place place) {
    run r;
    if (!run_open(out, &r, e)) return;
    int methods = 0;
    for (size_t i = 0; i < r.count; i++) methods += is_method(r.items[i]);
    bool chain = methods > 1;
    const expr *inner = r.items[r.count - 1], *base = left_of(inner);
    if (chain) layout_open(out);
    if (is_misread(inner, base)) {
        layout_put(out, "(");
        print_expr(out, base, BIND_ANY, PRINT_INSIDE);
        layout_put(out, ")");
    } else {
        print_expr(out, base, BIND_POSTFIX, place);
    }
    if (chain) layout_indent(out);
    for (size_t i = r.count; i > 0; i--) print_postfix(out, r.items[i - 1], chain);
    if (chain) {
        layout_dedent(out);
        layout_shut(out);
    }
    run_close(out, &r);
}

/* ---- literals and lists ---- */

/* A byte that a string may hold as it is. */
static bool is_plain(unsigned char ch) {
    return ch >= 0x20 && ch != 0x7F && ch != '"' && ch != '\\';
}

static void print_string(layout *out, const char *bytes, uint32_t length) {
    static const char hex[] = "0123456789ABCDEF";
    layout_put(out, "\"");
    for (uint32_t i = 0; i < length; i++) {
        uint32_t plain = i;
        while (plain < length && is_plain((unsigned char)bytes[plain])) plain++;
        layout_put_bytes(out, bytes + i, plain - i);
        i = plain;
        if (i == length) break;
        unsigned char ch = (unsigned char)bytes[i];
        switch (ch) {
        case '"': layout_put(out, "\\\""); break;
        case '\\': layout_put(out, "\\\\"); break;
        case '\n': layout_put(out, "\\n"); break;
        case '\t': layout_put(out, "\\t"); break;
        case '\r': layout_put(out, "\\r"); break;
        default: {
            char escape[] = {'\\', 'u', '{', hex[ch >> 4], hex[ch & 15], '}', '\0'};
            layout_put(out, escape);
        }
        }
    }
    layout_put(out, "\"");
}

static bool is_number(const expr *e) {
    if (e->kind == EXPR_UNARY && e->u.unary.op == OP_neg) e = e->u.unary.a;
    return e->kind == EXPR_INT || e->kind == EXPR_FLOAT || e->kind == EXPR_BOOL;
}

/* Many numbers share lines; other entries have one each. */
static void print_sequence(layout *out, const expr *e, const char *open, const char *shut) {
    int count = e->u.list.count;
    bool numbers = true;
    for (int i = 0; i < count && numbers; i++) numbers = is_number(e->u.list.items[i]);
    if (count == 0) {
        layout_put(out, open);
        layout_put(out, shut);
        return;
    }
    print_list_open(out, open);
    for (int i = 0; i < count; i++) {
        if (i > 0 && !numbers) print_list_next(out);
        if (i > 0 && numbers) {
            layout_put(out, ",");
            layout_fill(out);
        }
        print_expr(out, e->u.list.items[i], BIND_ANY, PRINT_INSIDE);
    }
    print_list_shut(out, shut, true);
}

static void print_tensor(layout *out, const expr *e) {
    print_type(out, e->u.tensor.form);
    if (e->u.tensor.fill == NULL) return;
    argument fill = {.value = e->u.tensor.fill};
    print_arguments(out, &fill, 1);
}

/* ---- control ---- */

static void print_condition(layout *out, const char *keyword, const expr *condition) {
    layout_put(out, keyword);
    print_list_open(out, "(");
    print_expr(out, condition, BIND_ANY, PRINT_INSIDE);
    print_list_shut(out, ")", false);
    layout_put(out, " ");
}

/* All branches on one line, or each on lines of its own. */
static void print_if(layout *out, const expr *e) {
    layout_open(out);
    for (; e->kind == EXPR_IF; e = e->u.if_.otherwise) {
        print_condition(out, "if ", e->u.if_.condition);
        print_block(out, e->u.if_.then, true);
        layout_put(out, " else ");
    }
    print_block(out, e, true);
    layout_shut(out);
}

static void print_while(layout *out, const expr *e, print_place place) {
    print_decorators(out, e->u.while_.decorators, place == PRINT_STATEMENT);
    print_condition(out, "while ", e->u.while_.condition);
    print_list_open(out, "[");
    for (int i = 0; i < e->u.while_.count; i++) {
        const carry *one = &e->u.while_.carries[i];
        if (i > 0) print_list_next(out);
        layout_put(out, one->name);
        if (one->type != NULL) {
            layout_put(out, ": ");
            print_type(out, one->type);
        }
        layout_put(out, " = ");
        print_expr(out, one->init, BIND_ANY, PRINT_INSIDE);
    }
    print_list_shut(out, "]", true);
    layout_put(out, " ");
    print_block(out, e->u.while_.body, false);
}

static void print_handle(layout *out, const expr *e) {
    layout_put(out, "handle ");
    print_expr(out, e->u.handle.call, BIND_POSTFIX, PRINT_INSIDE);
    layout_put(out, e->u.handle.forward ? " with forwardMode" : " with reverseMode");
    if (e->u.handle.count > 0) print_arguments(out, e->u.handle.options, e->u.handle.count);
}

/* ---- all together ---- */

void print_expr(layout *out, const expr *e, int bind, print_place place) {
    if (out->failed) return;
    bool parens = bind_of(e) < bind || (place == PRINT_FIRST && is_closed_form(e));
    if (parens) {
        layout_put(out, "(");
        print_expr(out, e, BIND_ANY, PRINT_INSIDE);
        layout_put(out, ")");
        return;
    }
    print_place first = place == PRINT_INSIDE ? PRINT_INSIDE : PRINT_FIRST;
    switch (e->kind) {
    case EXPR_INT:
        if (e->u.integer.negative) layout_put(out, "-");
        layout_put_unsigned(out, e->u.integer.magnitude);
        break;
    case EXPR_FLOAT: layout_put(out, e->u.floating.digits); break;
    case EXPR_BOOL: layout_put(out, e->u.boolean ? "true" : "false"); break;
    case EXPR_STRING: print_string(out, e->u.string.bytes, e->u.string.length); break;
    case EXPR_NAME: layout_put(out, e->u.name.name); break;
    case EXPR_UNKNOWN_DIM: layout_put(out, "?"); break;
    case EXPR_LIST: print_sequence(out, e, "[", "]"); break;
    case EXPR_TUPLE: print_sequence(out, e, "(", ")"); break;
    case EXPR_UNARY:
        layout_put(out, e->u.unary.op == OP_neg ? "-" : "!");
        print_expr(out, e->u.unary.a, BIND_PREFIX, PRINT_INSIDE);
        break;
    case EXPR_BINARY: print_infix(out, e, first); break;
    case EXPR_CALL:
    case EXPR_INDEX:
    case EXPR_PROJECT: print_postfixes(out, e, first); break;
    case EXPR_IF: print_if(out, e); break;
    case EXPR_WHILE: print_while(out, e, place); break;
    case EXPR_HANDLE: print_handle(out, e); break;
    case EXPR_FN: print_fn(out, e->u.fn); break;
    case EXPR_BLOCK: print_chain(out, e); break;
    case EXPR_TENSOR: print_tensor(out, e); break;
    }
}
