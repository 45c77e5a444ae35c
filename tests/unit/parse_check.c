/* A text parsed for a test, and the dump of its tree: prefix notation in parentheses. */
#include "tests/unit/parse_check.h"

#include <check.h>

#include "interp/ast_print.h"

void parsed_open(parsed *t, const char *words, size_t length, uint64_t fail_at) {
    context_init(&t->c);
    t->c.mem.fail_at = fail_at;
    arena_init(&t->a, &t->c);
    names_init(&t->names, &t->a);
    text_init(&t->out, &t->c);
    diagnostics_init(&t->d, &t->a, &t->src);
    t->prog = (program){.a = &t->a, .names = &t->names, .src = &t->src};
    t->ok = source_init(&t->src, &t->a, "prog.kina", words, length);
    t->ok = t->ok && parse_program(&t->prog, &t->d);
}

void parsed_close(parsed *t) {
    text_close(&t->out);
    arena_close(&t->a);
    context_close(&t->c);
    ck_assert_uint_eq(t->c.mem.live, 0);
}

static void dump(text *out, const expr *e);

static void dump_type(text *out, const type_expr *t) {
    static const char *const kinds[] = {
        [TYPE_EXPR_TENSOR] = "tensor", [TYPE_EXPR_SCALAR] = "scalar", [TYPE_EXPR_TUPLE] = "types",
        [TYPE_EXPR_UNIT] = "unit",     [TYPE_EXPR_FN] = "fntype",     [TYPE_EXPR_TAPE] = "tape",
    };
    text_format(out, "(%s", kinds[t->kind]);
    bool element = t->kind == TYPE_EXPR_TENSOR || t->kind == TYPE_EXPR_SCALAR;
    if (element) text_format(out, " %s", dtype_name(t->dt));
    for (int i = 0; i < t->count; i++) {
        text_add(out, " ");
        if (t->kind == TYPE_EXPR_TENSOR) {
            dump(out, t->dims[i]);
        } else {
            dump_type(out, t->items[i]);
        }
    }
    if (t->result != NULL) {
        text_add(out, " -> ");
        dump_type(out, t->result);
    }
    text_add(out, ")");
}

static void dump_pattern(text *out, const pattern *p) {
    if (p->kind == PATTERN_NAME) text_add(out, p->name);
    if (p->kind == PATTERN_IGNORE) text_add(out, "_");
    if (p->kind != PATTERN_TUPLE) return;
    for (int i = 0; i < p->count; i++) {
        text_add(out, i == 0 ? "(" : " ");
        dump_pattern(out, p->items[i]);
    }
    text_add(out, ")");
}

static void dump_arguments(text *out, const argument *args, int count) {
    for (int i = 0; i < count; i++) {
        text_add(out, " ");
        if (args[i].name != NULL) text_format(out, "%s=", args[i].name);
        dump(out, args[i].value);
    }
}

static void dump_decorators(text *out, const decorator *d) {
    for (; d != NULL; d = d->next) {
        text_format(out, " @%s", d->name);
        for (int i = 0; i < d->count; i++) {
            const decorator_option *o = &d->options[i];
            text_format(out, " %s=", o->name != NULL ? o->name : "");
            if (o->is_auto) text_add(out, "auto");
            if (o->is_bytes) text_format(out, "%lldB", (long long)o->bytes);
            if (o->value != NULL) dump(out, o->value);
        }
    }
}

static void dump_fn(text *out, const fn_decl *f) {
    text_format(out, "(fn %s", f->name != NULL ? f->name : "_");
    dump_decorators(out, f->decorators);
    for (int i = 0; i < f->count; i++) {
        text_format(out, " %s:", f->params[i].name);
        dump_type(out, f->params[i].type);
    }
    if (f->result != NULL) {
        text_add(out, " -> ");
        dump_type(out, f->result);
    }
    text_add(out, " ");
    dump(out, f->body);
    text_add(out, ")");
}

static void dump_item(text *out, const item *it) {
    if (it->kind == ITEM_FN) dump_fn(out, it->fn);
    if (it->kind == ITEM_EXPR) {
        text_add(out, it->semicolon ? "(do " : "(end ");
        dump(out, it->value);
        text_add(out, ")");
    }
    if (it->kind != ITEM_LET) return;
    text_add(out, "(let");
    dump_decorators(out, it->decorators);
    text_add(out, " ");
    dump_pattern(out, it->pattern);
    text_add(out, " ");
    if (it->type != NULL) {
        dump_type(out, it->type);
        text_add(out, " ");
    }
    dump(out, it->value);
    text_add(out, ")");
}

static void dump_block(text *out, const expr *e) {
    text_add(out, e->u.block.braces ? "{" : "<");
    for (int i = 0; i < e->u.block.count; i++) {
        if (i > 0) text_add(out, " ");
        dump_item(out, &e->u.block.items[i]);
    }
    if (e->u.block.count > 0 && e->u.block.tail != NULL) text_add(out, " ");
    if (e->u.block.tail != NULL) dump(out, e->u.block.tail);
    text_add(out, e->u.block.braces ? "}" : ">");
}

static void dump_part(text *out, const expr *e) {
    text_add(out, " ");
    if (e == NULL) {
        text_add(out, "_");
    } else {
        dump(out, e);
    }
}

static void dump_index(text *out, const expr *e) {
    text_add(out, "(index ");
    dump(out, e->u.index.base);
    for (int i = 0; i < e->u.index.count; i++) {
        const subscript *s = &e->u.index.subscripts[i];
        if (s->range) text_add(out, " (range");
        dump_part(out, s->lo);
        if (!s->range) continue;
        dump_part(out, s->hi);
        dump_part(out, s->step);
        text_add(out, ")");
    }
    text_add(out, ")");
}

static void dump_while(text *out, const expr *e) {
    text_add(out, "(while");
    dump_decorators(out, e->u.while_.decorators);
    dump_part(out, e->u.while_.condition);
    for (int i = 0; i < e->u.while_.count; i++) {
        const carry *one = &e->u.while_.carries[i];
        text_format(out, " %s", one->name);
        if (one->type != NULL) dump_type(out, one->type);
        text_add(out, "=");
        dump(out, one->init);
    }
    dump_part(out, e->u.while_.body);
    text_add(out, ")");
}

static void dump_list(text *out, const char *kind, const expr *e) {
    text_format(out, "(%s", kind);
    for (int i = 0; i < e->u.list.count; i++) dump_part(out, e->u.list.items[i]);
    text_add(out, ")");
}

static void dump_operator(text *out, const expr *e) {
    bool unary = e->kind == EXPR_UNARY;
    op_id op = unary ? e->u.unary.op : e->u.binary.op;
    text_format(out, "(%s", op == OP_matmul ? "@" : op_table[op].surface);
    dump_part(out, unary ? e->u.unary.a : e->u.binary.a);
    if (!unary) dump_part(out, e->u.binary.b);
    text_add(out, ")");
}

static void dump(text *out, const expr *e) {
    switch (e->kind) {
    case EXPR_INT:
        text_format(out, "%s%llu", e->u.integer.negative ? "-" : "",
                    (unsigned long long)e->u.integer.magnitude);
        break;
    case EXPR_FLOAT: text_format(out, "%s", e->u.floating.digits); break;
    case EXPR_BOOL: text_add(out, e->u.boolean ? "true" : "false"); break;
    case EXPR_STRING:
        text_add(out, "\"");
        text_add_bytes(out, e->u.string.bytes, e->u.string.length);
        text_add(out, "\"");
        break;
    case EXPR_NAME: text_add(out, e->u.name.name); break;
    case EXPR_UNKNOWN_DIM: text_add(out, "?"); break;
    case EXPR_LIST: dump_list(out, "list", e); break;
    case EXPR_TUPLE: dump_list(out, "tuple", e); break;
    case EXPR_UNARY:
    case EXPR_BINARY: dump_operator(out, e); break;
    case EXPR_CALL:
        text_add(out, e->u.call.method ? "(method " : "(call ");
        dump(out, e->u.call.callee);
        dump_arguments(out, e->u.call.args, e->u.call.count);
        text_add(out, ")");
        break;
    case EXPR_INDEX: dump_index(out, e); break;
    case EXPR_PROJECT:
        text_add(out, "(project");
        dump_part(out, e->u.project.base);
        text_format(out, " %u)", e->u.project.field);
        break;
    case EXPR_IF:
        text_add(out, "(if");
        dump_part(out, e->u.if_.condition);
        dump_part(out, e->u.if_.then);
        dump_part(out, e->u.if_.otherwise);
        text_add(out, ")");
        break;
    case EXPR_WHILE: dump_while(out, e); break;
    case EXPR_HANDLE:
        text_add(out, e->u.handle.forward ? "(forward" : "(reverse");
        dump_part(out, e->u.handle.call);
        dump_arguments(out, e->u.handle.options, e->u.handle.count);
        text_add(out, ")");
        break;
    case EXPR_FN: dump_fn(out, e->u.fn); break;
    case EXPR_BLOCK: dump_block(out, e); break;
    case EXPR_TENSOR:
        text_add(out, "(make ");
        dump_type(out, e->u.tensor.form);
        if (e->u.tensor.fill != NULL) dump_part(out, e->u.tensor.fill);
        text_add(out, ")");
        break;
    }
}

const char *parsed_tree(parsed *t) {
    return parsed_expr_tree(t, t->prog.main.body);
}

const char *parsed_expr_tree(parsed *t, const expr *e) {
    text_clear(&t->out);
    dump(&t->out, e);
    return text_data(&t->out);
}

const char *parsed_print(parsed *t) {
    text_clear(&t->out);
    ast_print(&t->prog, &t->out);
    return text_data(&t->out);
}

const char *parsed_diagnostics(parsed *t, bool json) {
    text_clear(&t->out);
    diag_from_error(&t->d, &t->c.err);
    diagnostics_render(&t->d, (diag_style){.json = json}, &t->out);
    return text_data(&t->out);
}
