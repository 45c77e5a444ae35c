/* What a function that is certified holds (certify.h). */
#include "interp/certify.h"

const char *const construct_names[CONSTRUCT_COUNT] = {
    [CONSTRUCT_LOOP] = "loop",
    [CONSTRUCT_NESTED_LOOP] = "nested loop",
    [CONSTRUCT_BRANCH] = "branch",
    [CONSTRUCT_BRANCH_IN_LOOP] = "branch in a loop",
    [CONSTRUCT_CALL] = "call",
    [CONSTRUCT_CAPTURE] = "captured value",
    [CONSTRUCT_ZERO_TRIP] = "loop without a trip",
    [CONSTRUCT_MASK] = "elementwise if",
    [CONSTRUCT_CHECKPOINT] = "@checkpoint",
    [CONSTRUCT_ORDER_2] = "second order",
};

typedef struct surveying {
    bool *holds;
    int loops;                  /* around */
} surveying;

static void survey(surveying *s, const expr *e);

static void survey_block(surveying *s, const expr *e) {
    for (int i = 0; i < e->u.block.count; i++) {
        if (e->u.block.items[i].value != NULL) survey(s, e->u.block.items[i].value);
    }
    if (e->u.block.tail != NULL) survey(s, e->u.block.tail);
}

static void survey_while(surveying *s, const expr *e) {
    s->holds[CONSTRUCT_LOOP] = true;
    s->holds[CONSTRUCT_NESTED_LOOP] |= s->loops > 0;
    s->holds[CONSTRUCT_CHECKPOINT] |= e->u.while_.checkpoint != NULL;
    for (int i = 0; i < e->u.while_.count; i++) survey(s, e->u.while_.carries[i].init);
    s->loops++;
    survey(s, e->u.while_.body);
    s->loops--;
}

static void survey_if(surveying *s, const expr *e) {
    if (e->u.if_.mask) {
        s->holds[CONSTRUCT_MASK] = true;
    } else {
        s->holds[CONSTRUCT_BRANCH] = true;
        s->holds[CONSTRUCT_BRANCH_IN_LOOP] |= s->loops > 0;
    }
    survey(s, e->u.if_.condition);
    survey(s, e->u.if_.then);
    survey(s, e->u.if_.otherwise);
}

static void survey(surveying *s, const expr *e) {
    switch (e->kind) {
    case EXPR_BLOCK: survey_block(s, e); break;
    case EXPR_WHILE: survey_while(s, e); break;
    case EXPR_IF: survey_if(s, e); break;
    case EXPR_UNARY: survey(s, e->u.unary.a); break;
    case EXPR_BINARY:
        survey(s, e->u.binary.a);
        survey(s, e->u.binary.b);
        break;
    case EXPR_CALL:
        s->holds[CONSTRUCT_CALL] |= e->u.call.builtin == NULL;
        for (int i = 0; i < e->u.call.count; i++) survey(s, e->u.call.args[i].value);
        break;
    case EXPR_TUPLE:
        for (int i = 0; i < e->u.list.count; i++) survey(s, e->u.list.items[i]);
        break;
    case EXPR_INDEX: survey(s, e->u.index.base); break;
    case EXPR_PROJECT: survey(s, e->u.project.base); break;
    default: break;
    }
}

void certify_survey(const fn_decl *fn, bool holds[CONSTRUCT_COUNT]) {
    surveying s = {.holds = holds};
    survey(&s, fn->body);
}
