/* Printing the syntax tree. Parentheses stand only where the grammar needs them.
 *
 * A construct that may stand on one line is first tried flat; the attempt gives up as soon as it
 * passes the line's width, so that the whole is linear in the size of the text. Long runs of infix
 * operators and postfixes are walked by a loop, not by recursion. */
#include "interp/ast_print.h"

#include <string.h>

#include "runtime/memory.h"

enum { WIDTH = 100, INDENT = 4 };

/* How tightly an expression binds; each place asks for a least one. */
enum {
    BIND_ANY, /* a let ... in */
    BIND_OR,
    BIND_AND,
    BIND_COMPARE,
    BIND_ADD,
    BIND_MULTIPLY,
    BIND_PREFIX,
    BIND_OPERAND, /* if, while, handle, fn: operands, but not before a postfix */
    BIND_POSTFIX,
};

typedef struct printer {
    text *out;
    int indent;
    size_t line; /* where the current line begins in `out` */
    bool flat;   /* an attempt to stay on this line */
    bool over;   /* the attempt failed; nothing more is printed */
} printer;

/* ---- output ---- */

static void put_bytes(printer *p, const char *s, size_t length) {
    if (p->over) return;
    text_add_bytes(p->out, s, length);
    if (p->flat && p->out->length - p->line > WIDTH) p->over = true;
}

static void put(printer *p, const char *s) {
    put_bytes(p, s, strlen(s));
}

static void put_line(printer *p) {
    if (p->flat) p->over = true;
    if (p->over) return;
    text_add_char(p->out, '\n');
    p->line = p->out->length;
    text_add_repeat(p->out, ' ', (size_t)p->indent * INDENT);
}

static void put_unsigned(printer *p, uint64_t n) {
    char digits[24];
    size_t i = sizeof digits;
    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    put_bytes(p, digits + i, sizeof digits - i);
}

/* An attempt begins; false when one is under way already, which then decides. */
static bool begin_flat(printer *p, size_t *mark) {
    *mark = p->out->length;
    if (p->flat) return false;
    p->flat = true;
    return true;
}

/* True when the attempt succeeded; else its text is taken back. */
static bool end_flat(printer *p, size_t mark) {
    bool good = !p->over;
    p->flat = p->over = false;
    if (!good && p->out->data != NULL) {
        p->out->length = mark;
        p->out->data[mark] = '\0';
    }
    return good;
}

static void print_expr(printer *p, const expr *e, int bind, bool statement);
static void print_block(printer *p, const expr *block, bool broken);
static void print_items(printer *p, const expr *block);

/* ---- types and patterns ---- */

static void print_type(printer *p, const type_expr *t);

static void print_types(printer *p, const type_expr *t) {
    put(p, "(");
    for (int i = 0; i < t->count; i++) {
        if (i > 0) put(p, ", ");
        print_type(p, t->items[i]);
    }
    put(p, ")");
}

static void print_type(printer *p, const type_expr *t) {
    switch (t->kind) {
    case TYPE_EXPR_TENSOR:
        put(p, "tensor<");
        put(p, dtype_name(t->dt));
        put(p, ", [");
        for (int i = 0; i < t->count; i++) {
            if (i > 0) put(p, ", ");
            print_expr(p, t->dims[i], BIND_ADD, false);
        }
        put(p, "]>");
        break;
    case TYPE_EXPR_SCALAR: put(p, dtype_name(t->dt)); break;
    case TYPE_EXPR_TUPLE:
    case TYPE_EXPR_UNIT: print_types(p, t); break;
    case TYPE_EXPR_FN:
        put(p, "fn");
        print_types(p, t);
        put(p, " -> ");
        print_type(p, t->result);
        break;
    case TYPE_EXPR_TAPE:
        put(p, "tape<");
        print_type(p, t->items[0]);
        put(p, ">");
        break;
    }
}

static void print_pattern(printer *p, const pattern *what) {
    switch (what->kind) {
    case PATTERN_NAME: put(p, what->name); break;
    case PATTERN_IGNORE: put(p, "_"); break;
    case PATTERN_TUPLE:
        put(p, "(");
        for (int i = 0; i < what->count; i++) {
            if (i > 0) put(p, ", ");
            print_pattern(p, what->items[i]);
        }
        put(p, ")");
        break;
    }
}

/* ---- functions and decorators ---- */

static void print_bytes_value(printer *p, int64_t bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    int64_t n = bytes / 1024;
    int unit = 0;
    for (; unit < 2 && n > 0 && n % 1024 == 0; unit++) n /= 1024;
    put_unsigned(p, (uint64_t)n);
    put(p, units[unit]);
}

static void print_decorators(printer *p, const decorator *d) {
    for (; d != NULL; d = d->next) {
        put(p, "@");
        put(p, d->name);
        if (d->count > 0) put(p, "(");
        for (int i = 0; i < d->count; i++) {
            const decorator_option *o = &d->options[i];
            if (i > 0) put(p, ", ");
            if (o->name != NULL) {
                put(p, o->name);
                put(p, "=");
            }
            if (o->is_auto) {
                put(p, "auto");
            } else if (o->is_bytes) {
                print_bytes_value(p, o->bytes);
            } else {
                print_expr(p, o->value, BIND_ANY, false);
            }
        }
        put(p, d->count > 0 ? ") " : " ");
    }
}

static void print_fn(printer *p, const fn_decl *f) {
    print_decorators(p, f->decorators);
    put(p, "fn");
    if (f->name != NULL) {
        put(p, " ");
        put(p, f->name);
    }
    put(p, "(");
    for (int i = 0; i < f->count; i++) {
        if (i > 0) put(p, ", ");
        put(p, f->params[i].name);
        put(p, ": ");
        print_type(p, f->params[i].type);
    }
    put(p, ")");
    if (f->result != NULL) {
        put(p, " -> ");
        print_type(p, f->result);
    }
    put(p, " ");
    print_block(p, f->body, false);
}

/* ---- leaves ---- */

static void print_string(printer *p, const char *bytes, uint32_t length) {
    static const char hex[] = "0123456789ABCDEF";
    put(p, "\"");
    for (uint32_t i = 0; i < length; i++) {
        unsigned char ch = (unsigned char)bytes[i];
        switch (ch) {
        case '"': put(p, "\\\""); break;
        case '\\': put(p, "\\\\"); break;
        case '\n': put(p, "\\n"); break;
        case '\t': put(p, "\\t"); break;
        case '\r': put(p, "\\r"); break;
        default:
            if (ch < 0x20 || ch == 0x7F) {
                char escape[] = {'\\', 'u', '{', hex[ch >> 4], hex[ch & 15], '}', '\0'};
                put(p, escape);
            } else {
                put_bytes(p, bytes + i, 1);
            }
        }
    }
    put(p, "\"");
}

static void print_expr_list(printer *p, const expr *e) {
    for (int i = 0; i < e->u.list.count; i++) {
        if (i > 0) put(p, ", ");
        print_expr(p, e->u.list.items[i], BIND_ANY, false);
    }
}

static void print_arguments(printer *p, const argument *args, int count) {
    put(p, "(");
    for (int i = 0; i < count; i++) {
        if (i > 0) put(p, ", ");
        if (args[i].name != NULL) {
            put(p, args[i].name);
            put(p, "=");
        }
        print_expr(p, args[i].value, BIND_ANY, false);
    }
    put(p, ")");
}

static void print_if_parts(printer *p, const expr *e, bool broken) {
    for (;;) {
        put(p, "if (");
        print_expr(p, e->u.if_.condition, BIND_ANY, false);
        put(p, ") ");
        print_block(p, e->u.if_.then, broken);
        put(p, " else ");
        if (e->u.if_.otherwise->kind != EXPR_IF || p->over) break;
        e = e->u.if_.otherwise;
    }
    if (!p->over) print_block(p, e->u.if_.otherwise, broken);
}

/* All branches on one line, or each on lines of its own. */
static void print_if(printer *p, const expr *e) {
    size_t mark;
    bool tried = begin_flat(p, &mark);
    print_if_parts(p, e, false);
    if (tried && !end_flat(p, mark)) print_if_parts(p, e, true);
}

static void print_while(printer *p, const expr *e) {
    print_decorators(p, e->u.while_.decorators);
    put(p, "while (");
    print_expr(p, e->u.while_.condition, BIND_ANY, false);
    put(p, ") [");
    for (int i = 0; i < e->u.while_.count; i++) {
        const carry *one = &e->u.while_.carries[i];
        if (i > 0) put(p, ", ");
        put(p, one->name);
        if (one->type != NULL) {
            put(p, ": ");
            print_type(p, one->type);
        }
        put(p, " = ");
        print_expr(p, one->init, BIND_ANY, false);
    }
    put(p, "] ");
    print_block(p, e->u.while_.body, false);
}

static void print_handle(printer *p, const expr *e) {
    put(p, "handle ");
    print_expr(p, e->u.handle.call, BIND_POSTFIX, false);
    put(p, e->u.handle.forward ? " with forwardMode" : " with reverseMode");
    if (e->u.handle.count > 0) print_arguments(p, e->u.handle.options, e->u.handle.count);
}

static void print_leaf(printer *p, const expr *e) {
    switch (e->kind) {
    case EXPR_INT:
        if (e->u.integer.negative) put(p, "-");
        put_unsigned(p, e->u.integer.magnitude);
        break;
    case EXPR_FLOAT: put(p, e->u.floating.digits); break;
    case EXPR_BOOL: put(p, e->u.boolean ? "true" : "false"); break;
    case EXPR_STRING: print_string(p, e->u.string.bytes, e->u.string.length); break;
    case EXPR_NAME: put(p, e->u.name.name); break;
    case EXPR_UNKNOWN_DIM: put(p, "?"); break;
    case EXPR_LIST:
    case EXPR_TUPLE:
        put(p, e->kind == EXPR_LIST ? "[" : "(");
        print_expr_list(p, e);
        put(p, e->kind == EXPR_LIST ? "]" : ")");
        break;
    case EXPR_UNARY:
        put(p, e->u.unary.op == OP_neg ? "-" : "!");
        print_expr(p, e->u.unary.a, BIND_PREFIX, false);
        break;
    case EXPR_IF: print_if(p, e); break;
    case EXPR_WHILE: print_while(p, e); break;
    case EXPR_HANDLE: print_handle(p, e); break;
    case EXPR_FN: print_fn(p, e->u.fn); break;
    case EXPR_BLOCK: print_items(p, e); break;
    case EXPR_TENSOR:
        print_type(p, e->u.tensor.form);
        if (e->u.tensor.fill == NULL) break;
        put(p, "(");
        print_expr(p, e->u.tensor.fill, BIND_ANY, false);
        put(p, ")");
        break;
    default: break;
    }
}

/* ---- operators and postfixes ---- */

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

/* What a call, index, projection or infix operator has on its left, and how tightly that must bind;
 * NULL for an expression that begins with a token of its own. */
static const expr *left_of(const expr *e, int *bind) {
    *bind = BIND_POSTFIX;
    switch (e->kind) {
    case EXPR_CALL: return e->u.call.method ? e->u.call.args[0].value : e->u.call.callee;
    case EXPR_INDEX: return e->u.index.base;
    case EXPR_PROJECT: return e->u.project.base;
    case EXPR_BINARY:
        *bind = bind_of_op(e->u.binary.op);
        if (*bind == BIND_COMPARE) ++*bind; /* comparisons do not chain */
        return e->u.binary.a;
    default: return NULL;
    }
}

static void print_subscripts(printer *p, const expr *e) {
    put(p, "[");
    for (int i = 0; i < e->u.index.count; i++) {
        const subscript *s = &e->u.index.subscripts[i];
        if (i > 0) put(p, ", ");
        if (s->lo != NULL) print_expr(p, s->lo, BIND_ANY, false);
        if (s->range) put(p, ":");
        if (s->hi != NULL) print_expr(p, s->hi, BIND_ANY, false);
        if (s->step == NULL) continue;
        put(p, ":");
        print_expr(p, s->step, BIND_ANY, false);
    }
    put(p, "]");
}

/* What follows the left part. */
static void print_right(printer *p, const expr *e) {
    switch (e->kind) {
    case EXPR_CALL:
        if (e->u.call.method) {
            put(p, ".");
            put(p, e->u.call.callee->u.name.name);
            print_arguments(p, e->u.call.args + 1, e->u.call.count - 1);
        } else {
            print_arguments(p, e->u.call.args, e->u.call.count);
        }
        break;
    case EXPR_INDEX: print_subscripts(p, e); break;
    case EXPR_PROJECT:
        put(p, ".");
        put_unsigned(p, e->u.project.field);
        break;
    default:
        put(p, " ");
        put(p, e->u.binary.op == OP_matmul ? "@" : op_table[e->u.binary.op].surface);
        put(p, " ");
        print_expr(p, e->u.binary.b, bind_of_op(e->u.binary.op) + 1, false);
    }
}

static bool is_closed_form(const expr *e) {
    return e->kind == EXPR_IF || e->kind == EXPR_WHILE || e->kind == EXPR_HANDLE ||
           e->kind == EXPR_FN;
}

/* One step down the left edge: the expression there, unless `e` begins with a token of its own or
 * needs parentheses, which *parens says. */
static const expr *descend(const expr *e, const expr *parent, int *bind, bool statement,
                           bool *parens) {
    bool digits = parent != NULL && parent->kind == EXPR_PROJECT && e->kind == EXPR_INT;
    bool ends_early = statement && parent != NULL && is_closed_form(e);
    *parens = bind_of(e) < *bind || digits || ends_early;
    return *parens ? NULL : left_of(e, bind);
}

/* An expression that binds at least as tightly as `bind`. In statement position an if, while,
 * handle or fn on its left edge would end the statement, so it stands in parentheses. */
static void print_expr(printer *p, const expr *e, int bind, bool statement) {
    if (p->over || e == NULL) return;
    enum { FEW = 16 };
    const expr *few[FEW];
    const expr **spine = few;
    size_t count = 0;
    bool parens;
    int level = bind;
    const expr *parent = NULL, *leaf = e, *left;
    for (; (left = descend(leaf, parent, &level, statement, &parens)) != NULL; leaf = left) {
        parent = leaf;
        count++;
    }
    if (count > FEW) spine = take(p->out->c, sizeof(void *) * count);
    if (spine == NULL) {
        p->out->failed = true;
        return;
    }
    const expr *next = e;
    for (size_t i = 0; i < count; i++) {
        spine[i] = next;
        next = left_of(next, &level);
    }
    if (parens) {
        put(p, "(");
        print_expr(p, leaf, BIND_ANY, false);
        put(p, ")");
    } else {
        print_leaf(p, leaf);
    }
    for (size_t i = count; i > 0 && !p->over; i--) print_right(p, spine[i - 1]);
    if (spine != few) give_back(p->out->c, spine, sizeof(void *) * count);
}

/* ---- blocks ---- */

static void print_item(printer *p, const item *it, bool in) {
    switch (it->kind) {
    case ITEM_FN: print_fn(p, it->fn); break;
    case ITEM_EXPR:
        print_expr(p, it->value, BIND_ANY, true);
        if (it->semicolon) put(p, ";");
        break;
    case ITEM_LET:
        print_decorators(p, it->decorators);
        put(p, "let ");
        print_pattern(p, it->pattern);
        if (it->type != NULL) {
            put(p, ": ");
            print_type(p, it->type);
        }
        put(p, " = ");
        print_expr(p, it->value, BIND_ANY, false);
        put(p, in ? " in" : ";");
        break;
    }
}

/* The items and the tail, a line each; a chain of let ... in stays on one line where it fits. */
static void print_lines(printer *p, const expr *block, bool in) {
    const expr *tail = block->u.block.tail;
    for (int i = 0; i < block->u.block.count && !p->over; i++) {
        print_item(p, &block->u.block.items[i], in);
        if (i + 1 == block->u.block.count && tail == NULL) break;
        if (in && p->flat) {
            put(p, " ");
        } else {
            put_line(p);
        }
    }
    if (tail != NULL) print_expr(p, tail, BIND_ANY, true);
}

static void print_items(printer *p, const expr *block) {
    size_t mark;
    bool in = !block->u.block.braces;
    bool tried = in && begin_flat(p, &mark);
    if (tried) {
        print_lines(p, block, in);
        if (end_flat(p, mark)) return;
    }
    print_lines(p, block, in);
}

/* broken: on several lines even if it would fit on one. */
static void print_block(printer *p, const expr *block, bool broken) {
    size_t mark;
    bool empty = block->u.block.count == 0 && block->u.block.tail == NULL;
    if (empty) {
        put(p, "{ }");
        return;
    }
    if (p->flat || (block->u.block.count == 0 && !broken)) {
        bool tried = begin_flat(p, &mark);
        put(p, "{ ");
        if (block->u.block.count > 0) p->over = true;
        print_expr(p, block->u.block.tail, BIND_ANY, true);
        put(p, " }");
        if (!tried || end_flat(p, mark)) return;
    }
    put(p, "{");
    p->indent++;
    put_line(p);
    print_lines(p, block, false);
    p->indent--;
    put_line(p);
    put(p, "}");
}

void ast_print(const program *p, text *out) {
    printer to = {.out = out, .line = out->length};
    const expr *body = p->main.body;
    if (body == NULL || (body->u.block.count == 0 && body->u.block.tail == NULL)) return;
    print_lines(&to, body, false);
    put(&to, "\n");
}

void ast_print_expr(const expr *e, text *out) {
    printer to = {.out = out, .line = out->length};
    print_expr(&to, e, BIND_ANY, false);
}

void ast_print_type(const type_expr *t, text *out) {
    printer to = {.out = out, .line = out->length};
    print_type(&to, t);
}
