/* Decorators and functions. */
#include "interp/parse.h"

#include <string.h>

/* ---- decorators ---- */

static bool is_word(const parser *p, span at, const char *word) {
    size_t length = strlen(word);
    return at.end - at.begin == length && memcmp(p->src->text + at.begin, word, length) == 0;
}

/* INT followed at once by KiB, MiB or GiB. */
static bool parse_bytes(parser *p, decorator_option *o) {
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    for (unsigned i = 0; i < COUNT_OF(units); i++) {
        if (!is_word(p, p->now.unit, units[i])) continue;
        unsigned shift = 10 * (i + 1);
        o->is_bytes = true;
        if (p->now.integer > (uint64_t)INT64_MAX >> shift) {
            if (parse_may_report(p)) {
                diag_error(p->d, ERROR_K0003, p->now.at, "a size beyond 64 bits");
            }
        } else {
            o->bytes = (int64_t)(p->now.integer << shift);
            o->unit = shift;
        }
        parse_advance(p);
        return true;
    }
    return false;
}

/* option := [NAME =] (expr | INT(KiB|MiB|GiB) | auto) */
static bool parse_option(parser *p, decorator_option *o) {
    uint32_t begin = p->now.at.begin;
    if (p->now.kind == TOKEN_NAME && parse_peek(p).kind == TOKEN_ASSIGN) {
        o->name = parse_name(p);
        parse_advance(p);
    }
    if (p->now.kind == TOKEN_NAME && is_word(p, p->now.at, "auto")) {
        token next = parse_peek(p);
        if (next.kind == TOKEN_COMMA || next.kind == TOKEN_PAREN_CLOSE) {
            o->is_auto = true;
            parse_advance(p);
        }
    }
    bool bytes = p->now.kind == TOKEN_INT && parse_bytes(p, o);
    if (!o->is_auto && !bytes) o->value = parse_expr(p);
    o->at = parse_since(p, begin);
    return !p->panic;
}

static bool parse_options(parser *p, decorator *d) {
    token open = p->now;
    parse_advance(p);
    if (!parse_enter(p)) return false;
    size_t mark = p->used;
    bool more = p->now.kind != TOKEN_PAREN_CLOSE;
    if (!more && !parse_close(p, &open, TOKEN_PAREN_CLOSE)) return false;
    while (more) {
        decorator_option o = {0};
        if (!parse_option(p, &o) || !parse_push(p, &o, sizeof o)) return false;
        if (!parse_more(p, &open, TOKEN_PAREN_CLOSE, &more)) return false;
    }
    d->options = parse_take(p, mark, sizeof(decorator_option), &d->count);
    parse_leave(p);
    return !p->panic;
}

static void check_decorator_name(parser *p, span at) {
    static const char *const known[] = {"checkpoint", "vjp", "jvp"};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (is_word(p, at, known[i])) return;
    }
    if (!parse_may_report(p)) return;
    int length = (int)(at.end - at.begin);
    diag *e =
        diag_error(p->d, ERROR_K0018, at, "no decorator `@%.*s`", length, p->src->text + at.begin);
    diag_add_help(p->d, e,
                  "there are `@checkpoint(...)` before a loop and `@vjp(...)` and "
                  "`@jvp(...)` before a function");
}

/* decorator := @ NAME [( option, ... )] */
decorator *parse_decorators(parser *p) {
    decorator *first = NULL, **last = &first;
    while (p->now.kind == TOKEN_AT) {
        uint32_t begin = p->now.at.begin;
        parse_advance(p);
        if (p->now.kind != TOKEN_NAME) {
            parse_unexpected(p, "a decorator's name after `@`");
            return NULL;
        }
        check_decorator_name(p, p->now.at);
        decorator *d = ARENA_NEW(p->a, decorator);
        if (d == NULL) {
            parse_stop(p);
            return NULL;
        }
        d->name = parse_name(p);
        if (p->now.kind == TOKEN_PAREN_OPEN && !parse_options(p, d)) return NULL;
        d->at = parse_since(p, begin);
        *last = d;
        last = &d->next;
    }
    return first;
}

void parse_check_placement(parser *p, const decorator *d, bool before_fn) {
    for (; d != NULL; d = d->next) {
        bool of_loop = strcmp(d->name, "checkpoint") == 0;
        bool of_fn = strcmp(d->name, "vjp") == 0 || strcmp(d->name, "jvp") == 0;
        if ((before_fn && !of_loop) || (!before_fn && !of_fn) || !parse_may_report(p)) continue;
        diag *e = diag_error(p->d, ERROR_K0018, d->at, "`@%s` before %s", d->name,
                             before_fn ? "a function" : "a `let` or a loop");
        diag_add_help(p->d, e, "%s",
                      of_loop ? "`@checkpoint` stands before a `while` or the `let` that binds one"
                              : "a rule stands before the `fn` that it belongs to");
    }
}

/* ---- functions ---- */

/* param := NAME : type */
static bool parse_param(parser *p, param *out) {
    if (p->now.kind != TOKEN_NAME) {
        parse_unexpected(p, "a parameter's name");
        return false;
    }
    out->at = p->now.at;
    out->name = parse_name(p);
    bool untyped = p->now.kind == TOKEN_COMMA || p->now.kind == TOKEN_PAREN_CLOSE;
    if (!untyped) {
        if (!parse_expect(p, TOKEN_COLON, "after the parameter's name")) return false;
        out->type = parse_type(p);
    } else if (parse_may_report(p)) {
        diag *e =
            diag_error(p->d, ERROR_K0010, out->at, "the parameter `%s` has no type", out->name);
        diag_add_help(p->d, e, "write for example `%s: F32` or `%s: tensor<F32, [N]>`", out->name,
                      out->name);
    }
    return !p->panic;
}

static bool parse_params(parser *p, fn_decl *f) {
    token open = p->now;
    if (!parse_expect(p, TOKEN_PAREN_OPEN, "before the parameters")) return false;
    size_t mark = p->used;
    bool more = p->now.kind != TOKEN_PAREN_CLOSE;
    if (!more && !parse_close(p, &open, TOKEN_PAREN_CLOSE)) return false;
    while (more) {
        param one = {0};
        if (!parse_param(p, &one) || !parse_push(p, &one, sizeof one)) return false;
        if (!parse_more(p, &open, TOKEN_PAREN_CLOSE, &more)) return false;
    }
    f->params = parse_take(p, mark, sizeof(param), &f->count);
    return !p->panic;
}

/* [-> type]; other languages' `:` and `=>`, or nothing before the type, are pointed out and passed
 * over. */
static bool parse_result(parser *p, fn_decl *f) {
    token_kind kind = p->now.kind;
    if (kind == TOKEN_BRACE_OPEN) return true;
    bool wrong_mark =
        kind == TOKEN_COLON || (kind == TOKEN_ASSIGN && parse_peek(p).kind == TOKEN_GREATER);
    bool no_mark = kind == TOKEN_TENSOR || kind == TOKEN_TAPE || kind == TOKEN_NAME;
    if (!wrong_mark && !no_mark) {
        if (kind != TOKEN_ARROW) {
            parse_unexpected(p, "`->` and the result's type, or `{` and the body");
            return false;
        }
        parse_advance(p);
    } else {
        if (parse_may_report(p)) {
            diag *e = diag_error(p->d, ERROR_K0010, p->now.at, "expected `->` or `{`");
            diag_add_help(p->d, e,
                          "the result's type stands after `->`: `fn f(x: F32) -> F32 { ... }`");
        }
        if (wrong_mark) parse_advance(p);
        if (kind == TOKEN_ASSIGN) parse_advance(p);
    }
    f->result = parse_type(p);
    return !p->panic;
}

/* After a faulty head, goes to the body, so that what is wrong in there is reported too. */
static void skip_to_body(parser *p) {
    while (p->now.kind != TOKEN_BRACE_OPEN) {
        token_kind kind = p->now.kind;
        bool beyond =
            kind == TOKEN_END || kind == TOKEN_BRACE_CLOSE || kind == TOKEN_LET || kind == TOKEN_FN;
        if (beyond || (kind == TOKEN_SEMICOLON && parse_peek(p).first_on_line)) return;
        parse_advance(p);
    }
    if (!p->stopped) p->panic = false;
}

/* fn := fn [NAME] ( param, ... ) [-> type] block */
fn_decl *parse_fn(parser *p, decorator *decorators) {
    fn_decl *f = ARENA_NEW(p->a, fn_decl);
    if (f == NULL) {
        parse_stop(p);
        return NULL;
    }
    f->at = p->now.at;
    f->decorators = decorators;
    parse_check_placement(p, decorators, true);
    parse_advance(p);
    if (p->now.kind == TOKEN_NAME) {
        f->at = p->now.at;
        f->name = parse_name(p);
        f->known_as = f->name;
    } else if (p->now.kind != TOKEN_PAREN_OPEN) {
        parse_unexpected(p, "the function's name or its parameters");
    }
    size_t mark = p->used;
    int depth = p->depth;
    bool head = parse_params(p, f) && parse_result(p, f);
    if (!head) {
        p->used = mark;
        p->depth = depth;
        skip_to_body(p);
        if (p->panic) return NULL;
    }
    f->body = parse_block(p, "before the function's body");
    return p->panic ? NULL : f;
}
