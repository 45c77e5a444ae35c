/* Tapes: growing arrays of entries, each a struct of its leaves. A tape is used up once, so that whoever goes on with
 * it writes to it in place; an empty one holds no memory. */
#include "interp/c_emit.h"

/* "struct kina_entry_0": what the tape holds, declared in the file. */
static int entry_of(c_writer *w, const tape_element *element) {
    for (int i = 0; i < w->entry_count; i++)
        if (w->entries[i] == element) return i;
    if (w->entry_count == w->entry_room) {
        int wider = w->entry_room == 0 ? 8 : 2 * w->entry_room;
        const tape_element **grown = C_ARRAY(w, const tape_element *, wider);
        if (grown == NULL) return 0;
        for (int i = 0; i < w->entry_count; i++) grown[i] = w->entries[i];
        w->entries = grown;
        w->entry_room = wider;
    }
    int made = w->entry_count++;
    w->entries[made] = element;
    for (int i = 0; i < element->count; i++)
        if (element->leaf[i].tape == NULL) (void)c_declared(w, &element->leaf[i].type);
    text_format(&w->records, "struct kina_entry_%d {\n", made);
    for (int i = 0; i < element->count; i++) {
        const tape_leaf *leaf = &element->leaf[i];
        const char *kind = leaf->tape != NULL ? "kina_tape" : c_declared(w, &leaf->type);
        text_format(&w->records, "    %s v%d;\n", kind, i);
    }
    text_add(&w->records, element->count == 0 ? "    char none;\n};\n" : "};\n");
    return made;
}

static bool is_tensor(const tape_leaf *leaf) {
    return leaf->tape == NULL && leaf->type.rank > 0;
}

static void push(c_writer *w, const region *r, int i) {
    const node *n = r->nodes[i];
    const tape_element *element = graph_at(w->g, n->in[0])->tape;
    int entry = entry_of(w, element);
    const char *name = c_named(w, "pushed");
    c_helper(w, "push", DT_I64, false);
    c_line(w, "struct kina_entry_%d %s;", entry, name);
    if (element->count == 0) c_line(w, "%s.none = 0;", name);
    for (int k = 0; k < element->count; k++) c_hand_over(w, c_string(w, "%s.v%d", name, k), n->in[k + 1], r, i);
    c_try(w, "kina_push(kina, &%s, &%s, sizeof %s)", c_name_of(w, n->in[0]), name, name);
}

static void pop(c_writer *w, const node *n) {
    const tape_element *element = graph_at(w->g, n->in[0])->tape;
    int entry = entry_of(w, element);
    const char *tape = c_name_of(w, n->in[0]), *name = c_named(w, "popped");
    c_helper(w, "pop", DT_I64, false);
    c_check(w, c_string(w, "%s.count > 0", tape), "pop of an empty tape");
    c_line(w, "struct kina_entry_%d %s;", entry, name);
    c_line(w, "kina_pop(kina, &%s, &%s, sizeof %s);", tape, name, name);
    for (int k = 0; k < element->count; k++) {
        const tape_leaf *leaf = &element->leaf[k];
        const char *held = c_string(w, "%s.v%d", name, k);
        var v = n->out[k + 1];
        if (v != VAR_NONE) {
            const char *kind = leaf->tape != NULL ? "kina_tape" : c_declared(w, &leaf->type);
            c_line(w, "%s %s = %s;", kind, c_name(w, v, "t"), held);
        } else if (leaf->tape != NULL) {
            c_drop(w, leaf->tape, held);
        } else if (is_tensor(leaf)) {
            c_release(w, held);
        }
    }
}

/* ---- drop ---- */

/* "kina_drop_0", for tapes of such entries. It stands before those of tapes that hold them; that tapes hold
 * themselves is no type. */
static void drop_helper(c_writer *w, const tape_element *element) {
    int entry = entry_of(w, element);
    const char *key = c_string(w, "drop_%d", entry);
    if (w->failed || c_set_has(&w->called, key)) return;
    c_set_put(w, &w->called, key);
    c_helper(w, "pop", DT_I64, false);
    for (int k = 0; k < element->count; k++)
        if (element->leaf[k].tape != NULL) drop_helper(w, element->leaf[k].tape);
    text_format(&w->helpers,
                "static void kina_drop_%d(kina_memory *kina, kina_tape *tape) {\n"
                "    struct kina_entry_%d entry;\n"
                "    while (tape->count > 0) {\n"
                "        kina_pop(kina, tape, &entry, sizeof entry);\n",
                entry, entry);
    for (int k = 0; k < element->count; k++) {
        const tape_leaf *leaf = &element->leaf[k];
        if (leaf->tape != NULL)
            text_format(&w->helpers, "        kina_drop_%d(kina, &entry.v%d);\n", entry_of(w, leaf->tape), k);
        else if (is_tensor(leaf))
            text_format(&w->helpers, "        kina_release(kina, entry.v%d.data);\n", k);
    }
    text_add(&w->helpers, "    }\n}\n\n");
}

void c_drop(c_writer *w, const tape_element *element, const char *name) {
    drop_helper(w, element);
    c_line(w, "kina_drop_%d(kina, &%s);", entry_of(w, element), name);
}

/* ---- nodes ---- */

void c_tape_node(c_writer *w, const region *r, int i) {
    const node *n = r->nodes[i];
    switch ((node_kind)n->kind) {
    case NODE_TAPE:
        (void)entry_of(w, graph_at(w->g, n->out[0])->tape);
        c_line(w, "kina_tape %s = {0};", c_name(w, n->out[0], "tape"));
        break;
    case NODE_PUSH: push(w, r, i); break;
    case NODE_POP: pop(w, n); break;
    case NODE_EMPTY:
        c_line(w, "const bool %s = %s.count == 0;", c_name(w, n->out[0], "is_empty"), c_name_of(w, n->in[0]));
        break;
    default: c_drop(w, graph_at(w->g, n->in[0])->tape, c_name_of(w, n->in[0]));
    }
}
