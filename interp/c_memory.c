/* The helpers that allocate and free. Whatever a call has allocated is in one list, so that a failure anywhere frees
 * it all. */
#include <string.h>

#include "interp/c_emit.h"

typedef struct memory_helper {
    const char *name, *form;
} memory_helper;

static const memory_helper memory_helpers[] = {
    {"fail",
     "static bool #fail(kina_memory *kina, int code, const char *error) {\n"
     "    kina->code = code;\n"
     "    kina->error = error;\n"
     "    return false;\n"
     "}\n"},
    {"allocate",
     "/* Room for the entries of a tensor; NULL after a failure. */\n"
     "static void *#allocate(kina_memory *kina, int rank, const int64_t *dims, size_t size) {\n"
     "    int64_t count = 1, most = 1; /* most: an axis of size 0 left out */\n"
     "    for (int i = 0; i < rank; i++) {\n"
     "        bool fits = dims[i] >= 0 && (dims[i] == 0 || most <= INT64_MAX / dims[i]);\n"
     "        if (!fits) return #fail(kina, 2, \"a size is negative or too large\"), NULL;\n"
     "        count *= dims[i];\n"
     "        if (dims[i] > 0) most *= dims[i];\n"
     "    }\n"
     "    kina_block *b = NULL;\n"
     "    if ((uint64_t)count <= (SIZE_MAX / 2 - sizeof *b) / size) b = malloc(sizeof *b + (size_t)count * size);\n"
     "    if (b == NULL) return #fail(kina, 1, \"out of memory\"), NULL;\n"
     "    *b = (kina_block){.next = kina->blocks, .uses = 1};\n"
     "    if (b->next != NULL) b->next->before = b;\n"
     "    kina->blocks = b;\n"
     "    return b + 1;\n"
     "}\n"},
    {"give",
     "/* Takes a block out of the list. */\n"
     "static void #give(kina_memory *kina, void *data) {\n"
     "    kina_block *b = (kina_block *)data - 1;\n"
     "    if (b->next != NULL) b->next->before = b->before;\n"
     "    *(b->before != NULL ? &b->before->next : &kina->blocks) = b->next;\n"
     "}\n"},
    {"release",
     "static void #release(kina_memory *kina, void *data) {\n"
     "    kina_block *b = (kina_block *)data - 1;\n"
     "    if (--b->uses > 0) return;\n"
     "    #give(kina, data);\n"
     "    free(b);\n"
     "}\n"},
    {"retain", "static void #retain(void *data) {\n    ((kina_block *)data - 1)->uses++;\n}\n"},
    {"own",
     "/* The entries, or a copy of them where somebody else has them too. */\n"
     "static void *#own(kina_memory *kina, void *data, int64_t count, size_t size) {\n"
     "    if (((kina_block *)data - 1)->uses == 1) return data;\n"
     "    void *own = #allocate(kina, 1, &count, size);\n"
     "    if (own == NULL) return NULL;\n"
     "    memcpy(own, data, (size_t)count * size);\n"
     "    ((kina_block *)data - 1)->uses--;\n"
     "    return own;\n"
     "}\n"},
    {"free",
     "static void #free(kina_memory *kina) {\n"
     "    for (kina_block *b = kina->blocks, *next; b != NULL; b = next) {\n"
     "        next = b->next;\n"
     "        free(b);\n"
     "    }\n"
     "}\n"},
    {"push",
     "static bool #push(kina_memory *kina, kina_tape *tape, const void *entry, size_t size) {\n"
     "    if (tape->count == tape->room) {\n"
     "        int64_t room = tape->room == 0 ? 8 : 2 * tape->room;\n"
     "        void *entries = #allocate(kina, 1, &room, size);\n"
     "        if (entries == NULL) return false;\n"
     "        if (tape->count > 0) {\n"
     "            memcpy(entries, tape->entries, (size_t)tape->count * size);\n"
     "            #release(kina, tape->entries);\n"
     "        }\n"
     "        tape->entries = entries;\n"
     "        tape->room = room;\n"
     "    }\n"
     "    memcpy((char *)tape->entries + (size_t)tape->count++ * size, entry, size);\n"
     "    return true;\n"
     "}\n"},
    {"pop",
     "static void #pop(kina_memory *kina, kina_tape *tape, void *entry, size_t size) {\n"
     "    memcpy(entry, (char *)tape->entries + (size_t)--tape->count * size, size);\n"
     "    if (tape->count > 0) return;\n"
     "    #release(kina, tape->entries);\n"
     "    *tape = (kina_tape){0};\n"
     "}\n"},
};

const char *c_memory_form(const char *name) {
    for (size_t i = 0; i < COUNT_OF(memory_helpers); i++)
        if (strcmp(memory_helpers[i].name, name) == 0) return memory_helpers[i].form;
    return NULL;
}

/* ---- by element type and rank ---- */

/* "kina_new_f32_2" for the struct kina_f32_2; "" after a failure. */
static const char *for_kind(c_writer *w, const char *what, const char *kind) {
    return w->failed ? "" : c_string(w, "%s%s", what, kind + strlen("kina"));
}

/* "kina_new_f32_2", which comes into the file. */
static const char *new_helper(c_writer *w, const op_type *t) {
    const char *kind = c_struct(w, t), *name = for_kind(w, "kina_new", kind);
    if (w->failed || c_set_has(&w->called, name)) return name;
    c_set_put(w, &w->called, name);
    c_helper(w, "allocate", DT_I64, false);
    text_format(&w->helpers, "static bool %s(kina_memory *kina, %s *t", name, kind);
    for (int i = 0; i < t->rank; i++) text_format(&w->helpers, ", int64_t d%d", i);
    text_add(&w->helpers, ") {\n    const int64_t dims[] = {");
    for (int i = 0; i < t->rank; i++) text_format(&w->helpers, "%sd%d", i > 0 ? ", " : "", i);
    text_format(&w->helpers,
                "};\n    memcpy(t->dims, dims, sizeof dims);\n"
                "    t->data = kina_allocate(kina, %d, dims, sizeof *t->data);\n"
                "    return t->data != NULL;\n}\n\n",
                t->rank);
    return name;
}

/* "kina_copy_f32_2" */
static const char *copy_helper(c_writer *w, const op_type *t) {
    const char *kind = c_struct(w, t), *name = for_kind(w, "kina_copy", kind);
    if (w->failed || c_set_has(&w->called, name)) return name;
    c_set_put(w, &w->called, name);
    c_value x = {"x", *t};
    for (int i = 0; i < t->rank; i++) x.type.dims[i] = -1;
    c_helper(w, "allocate", DT_I64, false);
    text_format(&w->helpers,
                "static bool %s(kina_memory *kina, %s *t, %s x) {\n"
                "    *t = x;\n"
                "    t->data = kina_allocate(kina, %d, x.dims, sizeof *x.data);\n"
                "    if (t->data == NULL) return false;\n"
                "    if (x.data != NULL) memcpy(t->data, x.data, (size_t)(%s) * sizeof *x.data);\n"
                "    return true;\n}\n\n",
                name, kind, kind, t->rank, c_count(w, &x));
    return name;
}

void c_new(c_writer *w, const c_value *v, const char *const *sizes) {
    text list;
    text_init(&list, w->c);
    for (int i = 0; i < v->type.rank; i++) text_format(&list, ", %s", sizes[i]);
    const char *helper = new_helper(w, &v->type);
    c_line(w, "%s %s;", c_struct(w, &v->type), v->name);
    c_try(w, "%s(kina, &%s%s)", helper, v->name, text_data(&list));
    if (list.failed) w->failed = true;
    text_close(&list);
}

void c_copy(c_writer *w, const op_type *t, const char *target, const char *from) {
    c_try(w, "%s(kina, &%s, %s)", copy_helper(w, t), target, from);
}

void c_release(c_writer *w, const char *name) {
    c_helper(w, "release", DT_I64, false);
    c_line(w, "kina_release(kina, %s.data);", name);
}

void c_retain(c_writer *w, const char *name) {
    c_helper(w, "retain", DT_I64, false);
    c_line(w, "kina_retain(%s.data);", name);
}

void c_own(c_writer *w, const c_value *v) {
    c_helper(w, "own", DT_I64, false);
    c_try(w, "(%s.data = kina_own(kina, %s.data, %s, sizeof *%s.data)) != NULL", v->name, v->name, c_count(w, v),
          v->name);
}
