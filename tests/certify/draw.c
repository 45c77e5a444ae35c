/* Expressions of random programs (draw.h). */
#include "tests/certify/draw.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const draw_template draw_templates[] = {
#define BY_CLASS(class, text, shape) {CLASS_##class, -1, text, shape},
#define BY_OP(op, text, shape)       {-1, OP_##op, text, shape},
#define COMPOSITE(text, shape)       {-1, -1, text, shape},
#include "tests/certify/templates.def"
};
const int draw_template_count = (int)COUNT_OF(draw_templates);

int draw_below(drawing *d, int n) { return (int)(inputs_next(&d->chance) % (uint64_t)n); }

bool draw_one_in(drawing *d, int n) { return draw_below(d, n) == 0; }

/* ---- shapes ---- */

void draw_dims(drawing *d, const char *shape) { text_format(d->out, "[%s]", shape); }

void draw_type(drawing *d, const char *shape) {
    if (shape[0] == '\0') {
        text_add(d->out, d->dtype);
        return;
    }
    text_format(d->out, "tensor<%s, ", d->dtype);
    draw_dims(d, shape);
    text_add_char(d->out, '>');
}

/* A shape that stretches to this one: axes from the front are missing, or others are 1. */
static const char *draw_part(drawing *d, const char *shape, char *room, size_t size) {
    int roll = draw_below(d, 4);
    if (roll == 0 || shape[0] == '\0') return "";
    if (roll == 1) return shape;
    const char *comma = strchr(shape, ',');
    if (roll == 2 && comma != NULL) return comma + 1;
    snprintf(room, size, "1%s", comma != NULL ? comma : "");
    return room;
}

/* ---- variables ---- */

draw_variable *draw_bind(drawing *d, const char *shape) {
    draw_variable *v = &d->scope[d->count < DRAW_SCOPE ? d->count++ : DRAW_SCOPE - 1];
    *v = (draw_variable){.shape = shape};
    snprintf(v->name, sizeof v->name, "v%d", ++d->names);
    return v;
}

/* One of the shape, rather a late one and one that nothing has read; NULL if there is none. */
static draw_variable *draw_variable_of(drawing *d, const char *shape) {
    draw_variable *found = NULL;
    for (int i = d->count - 1; i >= 0; i--) {
        draw_variable *v = &d->scope[i];
        if (shape != NULL && strcmp(v->shape, shape) != 0) continue;
        if (found == NULL || (found->used && !v->used) || draw_one_in(d, 3)) found = v;
    }
    if (found != NULL) found->used = true;
    return found;
}

static void draw_number(drawing *d) {
    static const char *const numbers[] = {"0.75", "-0.5", "1.25", "0.1", "-0.0", "2.0"};
    text_format(d->out, "%s(%s)", d->dtype, numbers[draw_below(d, (int)COUNT_OF(numbers))]);
}

/* A number made of some variable. */
static void draw_number_of_any(drawing *d) {
    draw_variable *v = draw_one_in(d, 6) ? NULL : draw_variable_of(d, NULL);
    if (v == NULL) {
        draw_number(d);
    } else if (v->shape[0] == '\0') {
        text_add(d->out, v->name);
    } else {
        text_format(d->out, "(0.25 * sum(%s))", v->name);
    }
}

/* A tensor of a shape that no variable has. */
static void draw_stretched(drawing *d, const char *shape) {
    const char *comma = strchr(shape, ',');
    draw_variable *v = comma != NULL ? draw_variable_of(d, comma + 1) : NULL;
    text_add(d->out, v != NULL ? "broadcast(" : "full(");
    if (v != NULL) {
        text_format(d->out, "%s, ", v->name);
        draw_dims(d, shape);
    } else {
        draw_dims(d, shape);
        text_add(d->out, ", ");
        draw_number_of_any(d);
    }
    text_add_char(d->out, ')');
}

void draw_leaf(drawing *d, const char *shape) {
    draw_variable *v = draw_one_in(d, 12) ? NULL : draw_variable_of(d, shape);
    if (v != NULL) {
        text_add(d->out, v->name);
    } else if (shape[0] == '\0') {
        draw_number_of_any(d);
    } else {
        draw_stretched(d, shape);
    }
}

void draw_test(drawing *d, const char *shape) {
    static const char *const signs[] = {"<", "<=", ">", ">=", "!="};
    char room[64];
    if (shape[0] == '\0' && draw_one_in(d, 4)) {
        text_format(d->out, "(n %s %d)", signs[draw_below(d, 4)], draw_below(d, 4));
        return;
    }
    text_add_char(d->out, '(');
    draw_leaf(d, shape);
    text_format(d->out, " %s ", signs[draw_below(d, (int)COUNT_OF(signs))]);
    draw_leaf(d, draw_part(d, shape, room, sizeof room));
    text_add_char(d->out, ')');
}

/* ---- templates ---- */

static bool has_own_template(op_id op) {
    for (int i = 0; i < draw_template_count; i++) {
        if (draw_templates[i].op == (int)op) return true;
    }
    return false;
}

/* An infix operator is not called, and a name is not infix. */
static bool template_suits(const draw_template *t, op_id op) {
    if (t->op >= 0) return t->op == (int)op;
    if (t->class != op_table[op].class || has_own_template(op)) return false;
    return strstr(t->text, "%(") == NULL || isalpha((unsigned char)op_table[op].surface[0]);
}

/* Fills a hole: what stands between its braces. */
static void draw_hole(drawing *d, const char *hole, const char *shape, int depth) {
    char room[64];
    bool test = hole[0] == '?';
    if (test) hole++;
    const char *wanted = strcmp(hole, "s") == 0   ? shape
                         : strcmp(hole, "b") == 0 ? draw_part(d, shape, room, sizeof room)
                                                  : hole;
    if (test) {
        draw_test(d, wanted);
    } else {
        draw_expression(d, wanted, depth);
    }
}

/* Shapes live as long as the program: a part of one is copied into `hole`, which lives as long as its expression. */
static void draw_template_text(drawing *d, const draw_template *t, const char *surface, const char *shape, int depth) {
    for (const char *p = t->text; *p != '\0'; p++) {
        const char *end = *p == '{' && p[1] != ' ' ? strchr(p, '}') : NULL;
        if (end != NULL) {
            char hole[32];
            snprintf(hole, sizeof hole, "%.*s", (int)(end - p - 1), p + 1);
            draw_hole(d, hole, shape, depth);
            p = end;
        } else if (*p == '%') {
            text_add(d->out, surface);
        } else if (*p == '$') {
            text_add(d->out, d->dtype);
        } else {
            text_add_char(d->out, *p);
        }
    }
}

/* The template's expression, brought to the shape that is wanted. */
static void draw_with(drawing *d, int number, const char *surface, const char *shape, int depth) {
    const draw_template *t = &draw_templates[number];
    bool free_shape = strcmp(t->shape, "s") == 0;
    const char *own = free_shape ? shape : t->shape;
    d->template_uses[number]++;
    if (strcmp(own, shape) == 0) {
        draw_template_text(d, t, surface, own, depth - 1);
        return;
    }
    if (shape[0] != '\0') {
        text_add_char(d->out, '(');
        draw_leaf(d, shape);
        text_add(d->out, draw_one_in(d, 2) ? " + 0.25 * " : " * ");
    }
    text_add(d->out, own[0] == '\0' ? "(" : "sum(");
    draw_template_text(d, t, surface, own, depth - 1);
    text_add(d->out, shape[0] != '\0' ? "))" : ")");
}

/* A template of a random op (two in three) or of none; one in two of the shape that is wanted, if there is one. */
static int choose_template(drawing *d, op_id *op, const char *shape) {
    bool fitting = draw_one_in(d, 2), composite = draw_one_in(d, 3);
    for (int tries = 0;; tries++) {
        int found = -1, count = 0;
        *op = (op_id)draw_below(d, OP_COUNT);
        for (int i = 0; i < draw_template_count; i++) {
            const draw_template *t = &draw_templates[i];
            bool suits = composite ? t->class < 0 && t->op < 0 : template_suits(t, *op);
            bool fits = strcmp(t->shape, shape) == 0 || strcmp(t->shape, "s") == 0;
            if (suits && (fits || !fitting || tries > 20) && draw_one_in(d, ++count)) found = i;
        }
        if (found >= 0) return found;
    }
}

void draw_expression(drawing *d, const char *shape, int depth) {
    if (depth <= 0) {
        draw_leaf(d, shape);
        return;
    }
    op_id op;
    int i = choose_template(d, &op, shape);
    const draw_template *t = &draw_templates[i];
    if (t->class >= 0 || t->op >= 0) d->op_uses[op]++;
    draw_with(d, i, op_table[op].surface, shape, depth);
}
