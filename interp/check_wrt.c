/* wrt = (w, b): which parameters a derivative is taken for. The names are those of the differentiated
 * function's parameters, not of values that are in scope. */
#include <string.h>

#include "interp/check.h"

static void suggest(checker *c, diag *d, const wrt_target *of, const char *name) {
    for (int i = 0; of->decl != NULL && i < of->count; i++) {
        const char *known = of->decl->params[i].name;
        if (names_distance(name, known, 2) > 2 || strlen(name) <= 2) continue;
        diag_add_help(c->d, d, "did you mean `%s`?", known);
        return;
    }
    for (int i = 0; i < of->count; i++) {
        if (of->types[i] == NULL || !type_is_floating(of->types[i]) || of->decl == NULL) continue;
        diag_add_help(c->d, d, "a floating parameter of `%s` is `%s`", of->name, of->decl->params[i].name);
        return;
    }
}

static bool choose(checker *c, expr *e, const wrt_target *of, bool *chosen) {
    e->type = &check_unit_type;
    if (e->kind != EXPR_NAME) {
        diag *d = diag_error(c->d, ERROR_K0210, e->at, "`wrt` takes the names of parameters of `%s`", of->name);
        diag_add_help(c->d, d, "one, or a tuple of them: `wrt = (w, b)`");
        return false;
    }
    const char *name = e->u.name.name;
    int at = -1;
    if (of->use != NULL) at = check_builtin_argument(of->use, name);
    for (int i = 0; of->decl != NULL && i < of->count; i++)
        if (of->decl->params[i].name == name) at = i;
    if (at < 0) {
        diag *d = diag_error(c->d, ERROR_K0105, e->at, "`%s` has no parameter `%s`", of->name, name);
        if (of->decl != NULL) diag_add_label(c->d, d, of->decl->at, "defined here");
        suggest(c, d, of, name);
        return false;
    }
    if (of->types[at] == NULL || !type_is_floating(of->types[at])) {
        diag *d = diag_error(c->d, ERROR_K0209, e->at, "the parameter `%s` of `%s` has no gradient", name, of->name);
        if (of->types[at] == NULL)
            diag_add_note(c->d, d, (span){0, 0}, "this call does not give it");
        else if (of->decl != NULL)
            diag_add_label(c->d, d, of->decl->params[at].at, "`%s`", check_show(c, of->types[at]));
        diag_add_help(c->d, d, "`wrt` chooses among the parameters of type F32 or F64 tensor");
        return false;
    }
    if (chosen[at]) {
        diag_error(c->d, ERROR_K0210, e->at, "`wrt` names `%s` twice", name);
        return false;
    }
    return chosen[at] = true;
}

bool check_wrt(checker *c, expr *written, const wrt_target *of, bool *chosen) {
    bool tuple = written->kind == EXPR_TUPLE && written->u.list.count > 0, good = true;
    if (of->decl == NULL && of->use == NULL) {
        diag *d = diag_error(c->d, ERROR_K0210, written->at,
                             "`%s` is a function value, whose parameters have no names", of->name);
        diag_add_help(c->d, d, "wrap it in a function of the parameters that `wrt` chooses");
        return false;
    }
    written->type = &check_unit_type;
    for (int i = 0; i < (tuple ? written->u.list.count : 1); i++)
        good = choose(c, tuple ? written->u.list.items[i] : written, of, chosen) && good;
    return good;
}
