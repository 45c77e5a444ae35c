/* Functions: their signatures, bodies and custom rules.
 *
 * A signature with a result type is known without the body, which is what lets functions call each
 * other in any order. A function without one is checked where it is first mentioned. */
#include "interp/check.h"

/* The dims that belong to a function: bound again when its body is checked. */
typedef struct signature {
    dim_list quantified; /* by its parameters */
    dim_list opened;     /* by its result */
} signature;

/* The type of a function whose body is being checked to find it. */
static const type in_progress = {.kind = TYPE_ERROR};

/* ---- signatures ---- */

static void declare_params(checker *c, fn_decl *f) {
    for (int i = 0; i < f->count; i++) {
        param *p = &f->params[i];
        const type *t =
            p->type == NULL ? &check_error_type : check_type(c, p->type, PLACE_PARAMETER, NULL);
        p->symbol = check_symbol(c, SYMBOL_PARAM, p->name, p->at, t);
    }
}

static void bind_params(checker *c, const fn_decl *f) {
    for (int i = 0; i < f->count; i++) {
        const param *p = &f->params[i];
        binding *b = check_lookup(c, p->name);
        if (b != NULL && b->in == c->scope && b->symbol->kind == SYMBOL_PARAM) {
            diag *d =
                diag_error(c->d, ERROR_K0102, p->at, "two parameters are named `%s`", p->name);
            diag_add_label(c->d, d, b->symbol->at, "the first one");
        } else if (b != NULL && b->in == c->scope) {
            diag *d = diag_error(c->d, ERROR_K0102, p->at,
                                 "`%s` names both a parameter and a dim of this function", p->name);
            diag_add_label(c->d, d, b->symbol->at, "the dim");
        }
        check_bind(c, p->symbol);
    }
}

static void set_type(checker *c, fn_decl *f, const signature *s, const type *result) {
    int generic = s->quantified.count;
    type *t = ARENA_NEW(c->a, type);
    const type **items = ARENA_ARRAY(c->a, const type *, f->count);
    int64_t *ids = ARENA_ARRAY(c->a, int64_t, generic);
    f->type = &check_error_type;
    if (t == NULL || items == NULL || ids == NULL) {
        c->failed = true;
        return;
    }
    for (int i = 0; i < f->count; i++)
        items[i] = f->params[i].symbol == NULL ? &check_error_type : f->params[i].symbol->type;
    for (int i = 0; i < generic; i++) ids[i] = s->quantified.symbols[i]->dim;
    *t = (type){.kind = TYPE_FN,
                .count = f->count,
                .items = items,
                .result = result,
                .generic_count = generic,
                .generic = ids};
    f->type = t;
}

/* Resolves the parameters' types and, when written, the result's. */
static void check_signature(checker *c, fn_decl *f, signature *s) {
    scope own;
    fn_decl *outer = c->fn;
    f->outer = outer;
    c->fn = f;
    check_scope_open(c, &own);
    check_declare_dims(c, f, &s->quantified);
    declare_params(c, f);
    if (f->result != NULL) {
        const type *result = check_type(c, f->result, PLACE_RESULT, &s->opened);
        set_type(c, f, s, result);
    }
    check_scope_close(c);
    c->fn = outer;
}

/* ---- bodies ---- */

static bool made_inside(const checker *c, int64_t dim, uint32_t first) {
    return dims_kind(c->dims, dim) == DIM_UNKNOWN && dims_symbol_number(c->dims, dim) >= first;
}

enum { OPENED_MOST = 64 };

typedef struct opened_set {
    int count;
    int64_t from[OPENED_MOST], to[OPENED_MOST];
} opened_set;

static void add_opened(checker *c, int64_t dim, uint32_t first, opened_set *set) {
    int64_t symbols[OPENED_MOST];
    int n = dims_symbols(c->dims, dim, symbols, OPENED_MOST);
    for (int i = 0; i < n && set->count < OPENED_MOST; i++) {
        int seen = 0;
        while (seen < set->count && set->from[seen] != symbols[i]) seen++;
        if (seen < set->count || !made_inside(c, symbols[i], first)) continue;
        set->from[set->count] = symbols[i];
        set->to[set->count++] = dims_symbol(c->dims, DIM_ANY, dims_name(c->dims, symbols[i]),
                                            dims_origin(c->dims, symbols[i]));
    }
}

static void collect_opened(checker *c, const type *t, uint32_t first, opened_set *set) {
    for (int i = 0; t->kind == TYPE_TENSOR && i < t->tensor.rank; i++)
        add_opened(c, t->tensor.dims[i], first, set);
    for (int i = 0; i < t->count; i++) collect_opened(c, t->items[i], first, set);
    if (t->result != NULL) collect_opened(c, t->result, first, set);
}

/* An inferred result type: sizes that the body found out are new ones at each call. */
static const type *generalised(checker *c, const type *t, uint32_t first) {
    opened_set set = {0};
    collect_opened(c, t, first, &set);
    return type_substitute(c->dims, c->a, t, set.count, set.from, set.to);
}

static void check_body(checker *c, fn_decl *f, signature *s) {
    scope own;
    fn_decl *outer = c->fn;
    uint32_t first = dims_symbol_count(c->dims);
    c->fn = f;
    check_scope_open(c, &own);
    check_bind_dims(c, &s->quantified);
    bind_params(c, f);
    const type *wanted = f->result != NULL ? f->result->type : NULL;
    expect x = {wanted, NO_DTYPE, wanted == NULL ? 0 : check_take(wanted)};
    const type *t = check_expr(c, f->body, x);
    if (wanted != NULL) {
        reason why = {
            .at = f->result->at, .text = "the result of this function", .code = ERROR_K0201};
        if (f->name != NULL) {
            why.text = arena_format(c->a, "the result of `%s`", f->name);
            if (why.text == NULL) why.text = "the result";
        }
        if (check_fits(c, f->body, wanted, &why)) check_measurable(c, f->body, t, wanted);
    } else {
        set_type(c, f, s, generalised(c, t, first));
    }
    check_scope_close(c);
    c->fn = outer;
}

/* ---- custom rules ---- */

static symbol *rule_symbol(checker *c, const decorator *d) {
    const expr *value = d->count == 1 ? d->options[0].value : NULL;
    if (value == NULL || value->kind != EXPR_NAME || d->options[0].name != NULL) {
        diag *e =
            diag_error(c->d, ERROR_K0211, d->at, "`@%s` takes the name of one function", d->name);
        diag_add_help(c->d, e, "`@%s(rule) fn ...`", d->name);
        return NULL;
    }
    expr *name = d->options[0].value;
    if (check_expr(c, name, expect_one)->kind == TYPE_ERROR) return NULL;
    symbol *s = name->u.name.symbol;
    if (name->type->kind == TYPE_FN && s != NULL && s->fn != NULL) return s;
    diag_error(c->d, ERROR_K0211, name->at, "`@%s` takes a function defined by `fn`, not `%s`",
               d->name, check_show(c, name->type));
    return NULL;
}

static int count_floating(const type *fn) {
    int count = 0;
    for (int i = 0; i < fn->count; i++) count += type_is_floating(fn->items[i]);
    return count;
}

/* The type that a rule must have: vjp: (arguments, result, cotangent) to the cotangents of the
 * floating parameters; jvp: (arguments, tangents of the floating parameters) to the result's
 * tangent. */
static const type *rule_type(checker *c, const type *fn, bool forward) {
    int floating = count_floating(fn);
    int count = fn->count + (forward ? floating : 2);
    type *t = ARENA_NEW(c->a, type);
    const type **items = ARENA_ARRAY(c->a, const type *, count);
    const type **active = ARENA_ARRAY(c->a, const type *, floating);
    if (t == NULL || items == NULL || active == NULL) return c->failed = true, &check_error_type;
    int found = 0;
    for (int i = 0; i < fn->count; i++) {
        items[i] = fn->items[i];
        if (type_is_floating(fn->items[i])) active[found++] = fn->items[i];
    }
    for (int i = fn->count; i < count; i++) items[i] = forward ? active[i - fn->count] : fn->result;
    *t = (type){.kind = TYPE_FN, .count = count, .items = items};
    t->result = forward ? fn->result : check_tuple_type(c, floating, active);
    return t;
}

/* A call under a rule is one record of the tape, whose operands are counted in a byte; a rule's own
 * parameters are up to twice as many. */
enum { RULED_PARAMS_MOST = 100 };

static void check_rule(checker *c, fn_decl *f, const decorator *d, bool forward, symbol **rule) {
    symbol *s = rule_symbol(c, d);
    if (s == NULL || f->type->kind == TYPE_ERROR) return;
    if (f->count > RULED_PARAMS_MOST) {
        diag *e = diag_error(c->d, ERROR_K0211, d->at,
                             "a function with a rule has at most %d parameters, not %d",
                             RULED_PARAMS_MOST, f->count);
        diag_add_label(c->d, e, f->at, "the function");
        diag_add_help(c->d, e, "`stack` and `concat` put several values into one tensor");
        return;
    }
    if (!type_is_floating(f->type->result) || count_floating(f->type) == 0) {
        diag *e =
            diag_error(c->d, ERROR_K0211, d->at,
                       "a function with a rule takes and gives floating tensors; `%s` is `%s`",
                       f->name == NULL ? "fn" : f->name, check_show(c, f->type));
        diag_add_label(c->d, e, f->at, "the function");
        return;
    }
    const type *is = d->options[0].value->type, *wanted = rule_type(c, f->type, forward);
    *rule = s;
    if (check_conversion(c, is, wanted) != DIM_DIFFERENT) return;
    diag *e = diag_error(c->d, ERROR_K0211, d->options[0].value->at,
                         "the rule `%s` must be `%s`, not `%s`", s->name, check_show(c, wanted),
                         check_show(c, is));
    diag_add_label(c->d, e, f->at, "a rule of this function");
    diag_add_help(c->d, e,
                  forward ? "a forward rule takes the arguments and the tangents of the floating "
                            "ones, and gives the result's tangent"
                          : "a reverse rule takes the arguments, the result and its cotangent, "
                            "and gives the cotangents of the floating arguments");
}

static void check_rules(checker *c, fn_decl *f) {
    for (const decorator *d = f->decorators; d != NULL; d = d->next) {
        if (d->name[0] == 'v' || d->name[0] == 'j') {
            bool forward = d->name[0] == 'j';
            check_rule(c, f, d, forward, forward ? &f->jvp : &f->vjp);
        } else {
            diag *e = diag_error(c->d, ERROR_K0107, d->at,
                                 "`@%s` does not belong before a function", d->name);
            diag_add_help(c->d, e,
                          "`@checkpoint` stands before a `while` or the `let` that binds one");
        }
    }
}

/* ---- entry points ---- */

const type *check_function(checker *c, fn_decl *f) {
    signature s = {0};
    check_signature(c, f, &s);
    check_body(c, f, &s);
    check_rules(c, f);
    return f->type;
}

static signature *signature_of(checker *c, meaning *m) {
    if (m->signature != NULL) return m->signature;
    m->signature = ARENA_NEW(c->a, signature);
    if (m->signature == NULL)
        c->failed = true;
    else
        check_signature(c, m->symbol.fn, m->signature);
    if (m->symbol.fn->result != NULL) m->symbol.type = m->symbol.fn->type;
    return m->signature;
}

/* Signature and body of a function without a result type. */
static void infer(checker *c, meaning *m) {
    m->symbol.type = &in_progress;
    signature *s = signature_of(c, m);
    if (s != NULL) check_body(c, m->symbol.fn, s);
    m->symbol.type = m->symbol.fn->type != NULL ? m->symbol.fn->type : &check_error_type;
}

static const type *report_recursion(checker *c, const symbol *s, span at) {
    diag *d =
        diag_error(c->d, ERROR_K0205, at,
                   "`%s` calls itself, so its result type cannot be found from its body", s->name);
    diag_add_label(c->d, d, s->at, "its result type is not written");
    diag_add_help(c->d, d, "write it: `fn %s(...) -> type { ... }`", s->name);
    return &check_error_type;
}

const type *check_fn_type(checker *c, binding *b, span at) {
    meaning *m = meaning_of(b->symbol);
    if (m->symbol.type == &in_progress) return report_recursion(c, &m->symbol, at);
    if (m->symbol.type == NULL) {
        scope_switch sw;
        bool known = m->symbol.fn->result != NULL;
        check_switch_to(c, &sw, b->in, m, !known, at);
        if (known)
            signature_of(c, m);
        else
            infer(c, m);
        check_switch_back(c, &sw, b->in);
    }
    return m->symbol.type == NULL ? &check_error_type : m->symbol.type;
}

void check_fn_item(checker *c, item *it) {
    scope *block = c->scope;
    meaning *m = meaning_of(it->fn->symbol);
    block->inside = m->fn_index;
    if (it->fn->result != NULL) {
        signature *s = signature_of(c, m);
        if (s != NULL) check_body(c, it->fn, s);
    } else if (m->symbol.type == NULL) {
        infer(c, m);
    }
    check_rules(c, it->fn);
    block->inside = NO_FN;
}
