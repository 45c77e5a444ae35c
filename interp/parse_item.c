/* Blocks and the items in them: lets, and expressions with what ends them. */
#include "interp/parse.h"

#include <string.h>

/* ---- lets ---- */

/* let pattern [: type] = expr, without what ends it. */
static bool parse_let(parser *p, decorator *decorators, item *out) {
    *out = (item){.kind = ITEM_LET, .decorators = decorators};
    uint32_t begin = decorators != NULL ? decorators->at.begin : p->now.at.begin;
    parse_check_placement(p, decorators, false);
    parse_advance(p);
    out->pattern = parse_pattern(p);
    if (out->pattern == NULL) return false;
    if (p->now.kind == TOKEN_COLON) {
        parse_advance(p);
        out->type = parse_type(p);
        if (out->type == NULL) return false;
    }
    if (p->now.kind == TOKEN_EQUAL && parse_fails(p)) {
        diag *e = diag_error(p->d, ERROR_K0010, p->now.at, "expected `=`, found `==`");
        diag_add_help(p->d, e, "`let x = e` binds; `==` compares");
        return false;
    }
    if (!parse_expect(p, TOKEN_ASSIGN, "and the value after the name")) return false;
    out->value = parse_expr(p);
    out->at = parse_since(p, begin);
    if (out->value == NULL) return false;
    fn_decl *bound = item_function(out);
    if (bound != NULL) bound->known_as = out->pattern->name;
    return true;
}

/* The rest of a chain of lets: `now` is the first one's `in`. The chain is one block, however long.
 */
static expr *parse_chain(parser *p, const item *first) {
    size_t mark = p->used;
    expr *block = parse_new(p, EXPR_BLOCK, first->at, first->at);
    /* What stands before or inside the first let is the outer item's. */
    comment_place place = {p->comment_count, p->end, true};
    item next = *first;
    if (block == NULL) return NULL;
    for (;;) {
        parse_advance(p);
        parse_take_comments(p, &place, next.at.begin, &next.before, &next.after);
        if (!parse_push(p, &next, sizeof next)) return NULL;
        uint32_t begin = p->now.at.begin;
        decorator *decorators = parse_decorators(p);
        if (p->panic) return NULL;
        if (p->now.kind != TOKEN_LET) {
            block->u.block.tail = parse_statement(p, decorators);
            parse_take_comments(p, &place, begin, &block->u.block.before_tail, NULL);
            break;
        }
        if (!parse_let(p, decorators, &next)) return NULL;
        if (p->now.kind != TOKEN_IN) {
            diag *e = parse_unexpected(p, "`in`");
            if (e != NULL) diag_add_help(p->d, e, "a `let` after `in` needs an `in` of its own");
            return NULL;
        }
    }
    if (block->u.block.tail == NULL) return NULL;
    block->u.block.items = parse_take(p, mark, sizeof(item), &block->u.block.count);
    block->at = parse_since(p, first->at.begin);
    block->mark = block->u.block.tail->mark;
    return p->panic ? NULL : block;
}

/* let pattern [: type] = expr in expr, where an expression is asked for. */
expr *parse_let_in(parser *p, decorator *decorators) {
    item first;
    if (!parse_enter(p) || !parse_let(p, decorators, &first)) return NULL;
    parse_leave(p);
    if (p->now.kind == TOKEN_IN) return parse_chain(p, &first);
    diag *e = parse_unexpected(p, "`in`");
    if (e != NULL)
        diag_add_help(p->d, e, "a `let` inside an expression is written `let x = e in ...`");
    return NULL;
}

/* ---- the end of an item ---- */

static void report_assignment(parser *p) {
    diag *e = diag_error(p->d, ERROR_K0017, p->now.at, "values are not assigned to");
    diag_add_help(p->d, e,
                  "`let x = e;` binds a new `x`; a loop carries what changes: "
                  "`while (c) [x = init] { ... }`");
}

/* Blanks before the first token of the line that holds `offset`. */
static uint32_t indent_at(const parser *p, uint32_t offset) {
    const char *words = p->src->text;
    while (offset > 0 && words[offset - 1] != '\n' && words[offset - 1] != '\r') offset--;
    uint32_t indent = 0;
    while (words[offset + indent] == ' ' || words[offset + indent] == '\t') indent++;
    return indent;
}

/* True when `now` stands no deeper than the line that opened the block, while the block's content
 * does: the block's `}` is missing, more probably than a `;`. */
static bool is_outside(const parser *p, const token *open) {
    if (open->kind != TOKEN_BRACE_OPEN || !p->now.first_on_line) return false;
    lexer inside = {.src = p->src, .position = open->at.end};
    token first = lexer_next(&inside);
    uint32_t outer = indent_at(p, open->at.begin);
    bool deeper = !first.first_on_line || indent_at(p, first.at.begin) > outer;
    return deeper && indent_at(p, p->now.at.begin) <= outer;
}

/* Ends the block here, as if its `}` stood before `now`. */
static bool end_without_brace(parser *p, const token *open) {
    if (parse_may_report(p)) {
        diag *e = diag_error(p->d, ERROR_K0016, open->at, "`{` is never closed");
        diag_add_label(p->d, e, p->now.at, "`}` is missing before this");
    }
    p->brace_missing = !p->panic;
    return p->brace_missing;
}

/* Neither `;` nor the block's end follows an item. True when it is plain how to go on. */
static bool report_no_semicolon(parser *p, const token *open, const char *expected,
                                const expr *before) {
    token_kind kind = p->now.kind;
    if (p->panic) return false;
    bool outside = (kind == TOKEN_ELSE || kind == TOKEN_IN) && open->kind == TOKEN_BRACE_OPEN;
    if (kind == TOKEN_COMMA || kind == TOKEN_PAREN_CLOSE) {
        outside = p->brackets > 0 && parse_peek(p).kind != TOKEN_BRACE_CLOSE;
    }
    if (outside || is_outside(p, open)) return end_without_brace(p, open);
    if (p->now.first_on_line && parse_starts_item(kind)) {
        if (parse_may_report(p)) {
            diag *e =
                diag_error(p->d, ERROR_K0014, (span){p->end, p->end}, "expected %s", expected);
            diag_add_label(p->d, e, p->now.at, "before this");
        }
        return !p->stopped;
    }
    if (kind == TOKEN_ASSIGN || kind == TOKEN_COLON) {
        if (parse_fails(p)) report_assignment(p);
        return false;
    }
    const char *help = NULL;
    if (before->kind == EXPR_NAME) help = parse_foreign_word(p, before->at);
    if (help == NULL && kind == TOKEN_NAME) help = parse_foreign_word(p, p->now.at);
    if (kind == TOKEN_IN) help = "`in` belongs to a `let`, which is closed by `;` or `}` already";
    if (kind == TOKEN_ELSE) help = "`else` follows directly on the `}` of an `if`";
    diag *e = parse_unexpected(p, expected);
    if (e != NULL && help != NULL) diag_add_help(p->d, e, "%s", help);
    return false;
}

/* `let ...` after its value: `;` ends the item. */
static bool end_let(parser *p, const token *open, item *it) {
    if (p->now.kind == TOKEN_SEMICOLON) {
        parse_advance(p);
        return true;
    }
    if (p->now.kind == TOKEN_END && p->prog->session && open->kind != TOKEN_BRACE_OPEN) return true;
    bool at_end = p->now.kind == TOKEN_BRACE_CLOSE || p->now.kind == TOKEN_END;
    if (!at_end) return report_no_semicolon(p, open, "`;` or `in` after the `let`", it->value);
    if (!parse_may_report(p)) return false;
    span after = {p->end, p->end};
    diag *e = diag_error(p->d, ERROR_K0014, after, "expected `;` or `in` after the `let`");
    diag_add_help(p->d, e, "a block's value is the expression after its last `;`");
    return true;
}

static bool is_continuation(const parser *p) {
    token_kind kind = p->now.kind;
    if (kind == TOKEN_DOT) return true;
    return parse_at_infix(p) && kind != TOKEN_MINUS && kind != TOKEN_AT;
}

/* An expression as an item; *tail when it is the block's value. */
static bool end_expression(parser *p, const token *open, item *it, bool *tail) {
    bool closed = p->closed;
    if (p->now.kind == TOKEN_SEMICOLON) {
        parse_advance(p);
        it->semicolon = true;
        return true;
    }
    *tail = p->now.kind == TOKEN_END ||
            (p->now.kind == TOKEN_BRACE_CLOSE && open->kind == TOKEN_BRACE_OPEN);
    if (*tail) return true;
    if (!closed) return report_no_semicolon(p, open, "`;` or an operator", it->value);
    if (!is_continuation(p)) return true;
    diag *e = parse_unexpected(p, "`;` or the next item");
    if (e != NULL) {
        diag_add_label(p->d, e, it->value->at, "a statement of its own, which ends here");
        diag_add_help(p->d, e, "put the whole of it in parentheses to go on with an operator");
    }
    return false;
}

/* ---- items and blocks ---- */

/* item := decorator* fn NAME ... | decorator* let ... ; | expr ; */
static bool parse_item(parser *p, const token *open, item *it, bool *tail) {
    uint32_t begin = p->now.at.begin;
    decorator *decorators = parse_decorators(p);
    if (p->panic) return false;
    bool named = p->now.kind == TOKEN_FN && parse_peek(p).kind != TOKEN_PAREN_OPEN;
    if (named || (decorators != NULL && p->now.kind == TOKEN_FN)) {
        it->kind = ITEM_FN;
        it->decorators = NULL;
        it->fn = parse_fn(p, decorators);
        if (it->fn != NULL && it->fn->name == NULL) {
            diag *e = diag_error(p->d, ERROR_K0010, it->fn->at, "a function without a name");
            diag_add_help(p->d, e, "write `fn name(...) { ... }`");
        }
    } else if (p->now.kind == TOKEN_LET) {
        if (!parse_let(p, decorators, it)) return false;
        if (p->now.kind != TOKEN_IN) {
            if (!end_let(p, open, it)) return false;
        } else {
            expr *chain = parse_chain(p, it);
            *it = (item){.kind = ITEM_EXPR, .value = chain};
        }
    } else {
        it->kind = ITEM_EXPR;
        it->value = parse_statement(p, decorators);
    }
    if (p->panic) return false;
    if (it->kind == ITEM_EXPR && !end_expression(p, open, it, tail)) return false;
    it->at = parse_since(p, begin);
    return true;
}

/* After an error: to the token after the next `;`, to a `}` that closes the block, or to where an
 * item begins. */
static void recover(parser *p, uint32_t begin, bool top) {
    if (p->stopped) return;
    int braces = 0;
    bool moved = p->now.at.begin > begin;
    for (; p->now.kind != TOKEN_END; moved = true) {
        token_kind kind = p->now.kind;
        if (braces == 0 && kind == TOKEN_BRACE_CLOSE && !top) break;
        if (braces == 0 && moved && p->now.first_on_line) {
            if (kind == TOKEN_LET || (kind == TOKEN_FN && parse_peek(p).kind == TOKEN_NAME)) break;
        }
        if (kind == TOKEN_BRACE_OPEN) braces++;
        if (kind == TOKEN_BRACE_CLOSE && braces > 0) braces--;
        parse_advance(p);
        if (braces > 0) continue;
        if (kind == TOKEN_SEMICOLON) break;
        if (kind == TOKEN_BRACE_CLOSE && p->now.first_on_line && parse_starts_item(p->now.kind))
            break;
    }
    if (p->now.kind != TOKEN_END) p->panic = false;
}

/* Tokens that can stand at no item's beginning and say what is wrong by themselves. */
static bool skip_stray(parser *p, bool top) {
    token_kind kind = p->now.kind;
    bool bracket = kind == TOKEN_PAREN_CLOSE || kind == TOKEN_BRACKET_CLOSE ||
                   (top && kind == TOKEN_BRACE_CLOSE);
    if (!bracket && kind != TOKEN_SEMICOLON) return false;
    if (parse_may_report(p)) {
        if (bracket) {
            diag_error(p->d, ERROR_K0016, p->now.at, "`%s` closes nothing", token_spelling(kind));
        } else {
            diag *e = diag_error(p->d, ERROR_K0010, p->now.at, "`;` ends nothing");
            diag_add_help(p->d, e, "a `;` stands after an expression or a `let`; take it away");
        }
    }
    parse_advance(p);
    return true;
}

/* The items up to `}` (which is taken), or to the end of the text when nothing was opened. */
bool parse_items(parser *p, expr *block, const token *open) {
    bool top = open->kind != TOKEN_BRACE_OPEN;
    token_kind close = top ? TOKEN_END : TOKEN_BRACE_CLOSE;
    size_t mark = p->used;
    int depth = p->depth, brackets = p->brackets;
    comment_place place = parse_comments_from(p, open->at.end);
    bool good = true;
    while (p->now.kind != close && p->now.kind != TOKEN_END) {
        if (skip_stray(p, top)) {
            good = false;
            p->brackets = brackets;
            continue;
        }
        item it = {0};
        bool tail = false;
        size_t held = p->used;
        uint32_t begin = p->now.at.begin;
        if (!parse_item(p, open, &it, &tail)) {
            good = false;
            p->used = held;
            p->depth = depth;
            p->brackets = brackets;
            if (!p->panic) p->panic = true;
            recover(p, begin, top);
            p->brackets = brackets;
            continue;
        }
        parse_take_comments(p, &place, begin, &it.before, &it.after);
        if (tail) {
            block->u.block.tail = it.value;
            block->u.block.before_tail = it.before;
            block->u.block.after_tail = it.after;
            block->mark = it.value->mark;
        } else if (!parse_push(p, &it, sizeof it)) {
            return false;
        }
        if (p->brace_missing) break;
    }
    parse_last_comments(p, &place, &block->u.block.at_end);
    block->u.block.items = parse_take(p, mark, sizeof(item), &block->u.block.count);
    if (top) return good && !p->panic;
    if (block->u.block.tail == NULL) block->mark = p->now.at;
    if (p->brace_missing) {
        p->brace_missing = false;
        return false;
    }
    return parse_close(p, open, TOKEN_BRACE_CLOSE) && good;
}

/* What stands where `{` was expected: a block that only lacks it, or a branch without braces. */
static void parse_unbraced(parser *p, expr *block, const char *where) {
    bool unopened = p->now.kind == TOKEN_LET || p->now.kind == TOKEN_AT ||
                    parse_first_mark(p, true) == TOKEN_BRACE_CLOSE;
    token open = {.kind = TOKEN_BRACE_OPEN, .at = {p->end, p->end}};
    if (parse_may_report(p)) {
        char found[TOKEN_ROOM];
        lexer_describe(p->src, &p->now, found);
        diag *e =
            diag_error(p->d, ERROR_K0010, p->now.at, "expected `{` %s, found %s", where, found);
        const char *help = p->now.kind == TOKEN_NAME ? parse_foreign_word(p, p->now.at) : NULL;
        if (help != NULL) diag_add_help(p->d, e, "%s", help);
    }
    if (unopened) {
        (void)parse_items(p, block, &open);
    } else {
        block->u.block.tail = parse_statement(p, NULL);
    }
}

/* block := { item* expr? } */
expr *parse_block(parser *p, const char *where) {
    token open = p->now;
    bool opened = open.kind == TOKEN_BRACE_OPEN;
    if (p->panic) return NULL;
    if (!opened && (!parse_starts_item(open.kind) || open.kind == TOKEN_FN)) {
        (void)parse_expect(p, TOKEN_BRACE_OPEN, where);
        return NULL;
    }
    expr *block = parse_new(p, EXPR_BLOCK, open.at, open.at);
    if (block == NULL) return NULL;
    block->u.block.braces = true;
    if (!parse_enter(p)) return NULL;
    if (opened) {
        parse_advance(p);
        (void)parse_items(p, block, &open);
    } else {
        parse_unbraced(p, block, where);
    }
    parse_leave(p);
    block->at = parse_since(p, open.at.begin);
    return p->panic ? NULL : block;
}
