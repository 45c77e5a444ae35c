/* Printing the syntax tree: blocks and their items, comments, functions, types, patterns. */
#include "interp/ast_print.h"

#include <string.h>

#include "interp/print.h"

/* ---- types and patterns ---- */

static void print_dims(layout *out, const type_expr *t) {
    layout_put(out, "[");
    for (int i = 0; i < t->count; i++) {
        if (i > 0) layout_put(out, ", ");
        print_expr(out, t->dims[i], BIND_ADD, PRINT_INSIDE);
    }
    layout_put(out, "]");
}

static void print_types(layout *out, const type_expr *t) {
    if (t->count == 0) {
        layout_put(out, "()");
        return;
    }
    print_list_open(out, "(");
    for (int i = 0; i < t->count; i++) {
        if (i > 0) print_list_next(out);
        print_type(out, t->items[i]);
    }
    print_list_shut(out, ")", true);
}

void print_type(layout *out, const type_expr *t) {
    switch (t->kind) {
    case TYPE_EXPR_TENSOR:
        layout_put(out, "tensor<");
        layout_put(out, dtype_name(t->dt));
        layout_put(out, ", ");
        print_dims(out, t);
        layout_put(out, t->host ? ", @host>" : ">");
        break;
    case TYPE_EXPR_SCALAR: layout_put(out, dtype_name(t->dt)); break;
    case TYPE_EXPR_TUPLE:
    case TYPE_EXPR_UNIT: print_types(out, t); break;
    case TYPE_EXPR_FN:
        layout_put(out, "fn");
        print_types(out, t);
        layout_put(out, " -> ");
        print_type(out, t->result);
        break;
    case TYPE_EXPR_TAPE:
        layout_put(out, "tape<");
        print_type(out, t->items[0]);
        layout_put(out, ">");
        break;
    }
}

static void print_pattern(layout *out, const pattern *what) {
    switch (what->kind) {
    case PATTERN_NAME: layout_put(out, what->name); break;
    case PATTERN_IGNORE: layout_put(out, "_"); break;
    case PATTERN_TUPLE:
        print_list_open(out, "(");
        for (int i = 0; i < what->count; i++) {
            if (i > 0) print_list_next(out);
            print_pattern(out, what->items[i]);
        }
        print_list_shut(out, ")", true);
        break;
    }
}

/* ---- functions and decorators ---- */

static void print_bytes_value(layout *out, const decorator_option *o) {
    static const char *const units[] = {"KiB", "KiB", "MiB", "GiB"};
    unsigned unit = o->unit / 10 < COUNT_OF(units) ? o->unit / 10 : 0;
    layout_put_unsigned(out, (uint64_t)o->bytes >> (unit > 0 ? 10 * unit : 10));
    layout_put(out, units[unit]);
}

static void print_option(layout *out, const decorator_option *o) {
    if (o->name != NULL) {
        layout_put(out, o->name);
        layout_put(out, "=");
    }
    if (o->is_auto) {
        layout_put(out, "auto");
    } else if (o->is_bytes) {
        print_bytes_value(out, o);
    } else {
        print_expr(out, o->value, BIND_ANY, PRINT_INSIDE);
    }
}

void print_decorators(layout *out, const decorator *d, bool own_line) {
    for (; d != NULL; d = d->next) {
        layout_put(out, "@");
        layout_put(out, d->name);
        if (d->count > 0) print_list_open(out, "(");
        for (int i = 0; i < d->count; i++) {
            if (i > 0) print_list_next(out);
            print_option(out, &d->options[i]);
        }
        if (d->count > 0) print_list_shut(out, ")", true);
        if (own_line) {
            layout_line(out, false);
        } else {
            layout_put(out, " ");
        }
    }
}

void print_fn(layout *out, const fn_decl *f) {
    print_decorators(out, f->decorators, true);
    layout_put(out, f->name != NULL ? "fn " : "fn");
    if (f->name != NULL) layout_put(out, f->name);
    if (f->count > 0) print_list_open(out, "(");
    for (int i = 0; i < f->count; i++) {
        if (i > 0) print_list_next(out);
        layout_put(out, f->params[i].name);
        layout_put(out, ": ");
        print_type(out, f->params[i].type);
    }
    if (f->count > 0) {
        print_list_shut(out, ")", true);
    } else {
        layout_put(out, "()");
    }
    if (f->result != NULL) {
        layout_put(out, " -> ");
        print_type(out, f->result);
    }
    layout_put(out, " ");
    print_block(out, f->body, false);
}

/* ---- lines of a block ---- */

typedef enum line_kind {
    LINES_PROGRAM,          /* the first begins where the text does */
    LINES_BRACES,           /* the first begins a line of its own */
    LINES_CHAIN,            /* the first begins where the chain does, and all may share a line */
} line_kind;

typedef struct lines {
    layout *out;
    line_kind kind;
    bool first;             /* nothing is printed yet */
    bool empty;             /* an empty line comes before the next */
    bool comment;           /* the last line was a comment */
} lines;

static void begin_line(lines *at) {
    bool here = at->first && at->kind != LINES_BRACES;
    bool may_share = at->kind == LINES_CHAIN && !at->empty && !at->comment;
    if (!here && may_share) layout_break(at->out, true, false);
    if (!here && !may_share) layout_line(at->out, at->empty && !at->first);
    at->first = at->empty = at->comment = false;
}

static void print_comments(lines *at, const comments *c) {
    for (int i = 0; i < c->count; i++) {
        if (c->lines[i] == NULL) {
            at->empty = true;
            continue;
        }
        begin_line(at);
        layout_comment(at->out, c->lines[i]);
        at->comment = true;
    }
}

static void print_item(layout *out, const item *it, bool in) {
    switch (it->kind) {
    case ITEM_FN: print_fn(out, it->fn); break;
    case ITEM_EXPR:
        print_expr(out, it->value, BIND_ANY, PRINT_STATEMENT);
        if (it->semicolon) layout_put(out, ";");
        break;
    case ITEM_LET:
        print_decorators(out, it->decorators, true);
        layout_put(out, "let ");
        print_pattern(out, it->pattern);
        if (it->type != NULL) {
            layout_put(out, ": ");
            print_type(out, it->type);
        }
        layout_put(out, " = ");
        print_expr(out, it->value, BIND_ANY, PRINT_INSIDE);
        layout_put(out, in ? " in" : ";");
        break;
    }
}

static void print_lines(layout *out, const expr *block, line_kind kind) {
    lines at = {.out = out, .kind = kind, .first = true};
    for (int i = 0; i < block->u.block.count; i++) {
        const item *it = &block->u.block.items[i];
        print_comments(&at, &it->before);
        begin_line(&at);
        print_item(out, it, kind == LINES_CHAIN);
        if (it->after != NULL) layout_comment(out, it->after);
        at.comment = it->after != NULL;
    }
    const expr *tail = block->u.block.tail;
    if (tail != NULL) {
        print_comments(&at, &block->u.block.before_tail);
        begin_line(&at);
        print_expr(out, tail, BIND_ANY, PRINT_STATEMENT);
    }
    if (kind == LINES_CHAIN) return;
    if (tail != NULL && block->u.block.after_tail != NULL) layout_comment(out, block->u.block.after_tail);
    print_comments(&at, &block->u.block.at_end);
}

void print_chain(layout *out, const expr *block) {
    layout_open(out);
    print_lines(out, block, LINES_CHAIN);
    layout_shut(out);
}

/* ---- blocks ---- */

static bool has_comment(const comments *c) {
    for (int i = 0; i < c->count; i++) {
        if (c->lines[i] != NULL) return true;
    }
    return false;
}

/* Nothing but a tail, which may stand on the line of its braces. */
static bool is_short(const expr *block) {
    return block->u.block.count == 0 && block->u.block.tail != NULL &&
           block->u.block.after_tail == NULL && !has_comment(&block->u.block.before_tail) &&
           !has_comment(&block->u.block.at_end);
}

void print_block(layout *out, const expr *block, bool grouped) {
    bool empty = block->u.block.count == 0 && block->u.block.tail == NULL &&
                 !has_comment(&block->u.block.at_end);
    if (empty) {
        layout_put(out, "{ }");
        return;
    }
    bool shorts = is_short(block);
    if (!grouped) layout_open(out);
    layout_put(out, "{");
    layout_indent(out);
    if (shorts) {
        layout_break(out, true, false);
        print_expr(out, block->u.block.tail, BIND_ANY, PRINT_STATEMENT);
    } else {
        print_lines(out, block, LINES_BRACES);
    }
    layout_dedent(out);
    if (shorts) {
        layout_break(out, true, false);
    } else {
        layout_line(out, false);
    }
    layout_put(out, "}");
    if (!grouped) layout_shut(out);
}

/* ---- the whole ---- */

void ast_print(const program *p, text *out) {
    layout l;
    layout_init(&l, out->c);
    if (p->main.body != NULL) {
        print_lines(&l, p->main.body, LINES_PROGRAM);
        if (l.count > 0) layout_line(&l, false);
    }
    layout_write(&l, out);
    layout_close(&l);
}

void ast_print_expr(const expr *e, text *out) {
    layout l;
    layout_init(&l, out->c);
    print_expr(&l, e, BIND_ANY, PRINT_INSIDE);
    layout_write(&l, out);
    layout_close(&l);
}

void ast_print_type(const type_expr *t, text *out) {
    layout l;
    layout_init(&l, out->c);
    print_type(&l, t);
    layout_write(&l, out);
    layout_close(&l);
}
