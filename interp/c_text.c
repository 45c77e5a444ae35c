/* Lines of C, names in use, and how a function says what went wrong. */
#include <ctype.h>
#include <string.h>

#include "interp/c_emit.h"

enum { INDENT = 4 };

void *c_take(c_writer *w, size_t bytes) {
    void *p = w->failed ? NULL : arena_take(w->a, bytes > 0 ? bytes : 1);
    if (p == NULL) w->failed = true;
    return p;
}

static const char *string_of(c_writer *w, const char *format, va_list arguments) {
    text t;
    text_init(&t, w->c);
    text_format_list(&t, format, arguments);
    const char *s = t.failed || w->failed ? NULL : arena_text(w->a, text_data(&t), t.length);
    text_close(&t);
    if (s == NULL) w->failed = true;
    return s != NULL ? s : "";
}

const char *c_string(c_writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *s = string_of(w, format, arguments);
    va_end(arguments);
    return s;
}

/* ---- lines ---- */

static void indent(c_writer *w) {
    text_add_repeat(&w->body, ' ', INDENT * (size_t)w->depth);
}

void c_line(c_writer *w, const char *format, ...) {
    va_list arguments;
    indent(w);
    va_start(arguments, format);
    text_format_list(&w->body, format, arguments);
    va_end(arguments);
    text_add_char(&w->body, '\n');
}

void c_open(c_writer *w, const char *format, ...) {
    va_list arguments;
    indent(w);
    va_start(arguments, format);
    text_format_list(&w->body, format, arguments);
    va_end(arguments);
    text_add(&w->body, " {\n");
    w->depth++;
}

void c_close(c_writer *w) {
    w->depth--;
    c_line(w, "}");
}

const char *c_factor(c_writer *w, const char *expression) {
    return strchr(expression, ' ') != NULL ? c_string(w, "(%s)", expression) : expression;
}

/* ---- sets of strings ---- */

/* The slot of a key, or the free one where it would be; capacity is a power of two. */
static uint32_t find(const char *const *slot, uint32_t capacity, const char *key) {
    uint32_t hash = 2166136261u;
    for (const char *p = key; *p != '\0'; p++) hash = (hash ^ (unsigned char)*p) * 16777619u;
    uint32_t at = hash & (capacity - 1);
    while (slot[at] != NULL && strcmp(slot[at], key) != 0) at = (at + 1) & (capacity - 1);
    return at;
}

bool c_set_has(const c_set *s, const char *key) {
    return s->capacity > 0 && s->slot[find(s->slot, s->capacity, key)] != NULL;
}

static bool widen(c_writer *w, c_set *s) {
    uint32_t wider = s->capacity == 0 ? 64 : 2 * s->capacity;
    const char **slot = C_ARRAY(w, const char *, wider);
    if (slot == NULL) return false;
    for (uint32_t i = 0; i < s->capacity; i++)
        if (s->slot[i] != NULL) slot[find(slot, wider, s->slot[i])] = s->slot[i];
    s->slot = slot;
    s->capacity = wider;
    return true;
}

void c_set_put(c_writer *w, c_set *s, const char *key) {
    if (2 * s->count >= s->capacity && !widen(w, s)) return;
    const char **slot = &s->slot[find(s->slot, s->capacity, key)];
    s->count += *slot == NULL;
    *slot = key;
}

/* ---- names ---- */

/* Words that mean something else where a function of the file stands. */
static bool is_reserved(const char *name) {
    static const char *const words[] = {
        "alignas", "alignof", "asm", "auto", "bool", "break", "case", "char", "const", "continue", "default",
        "do", "double", "else", "enum", "extern", "false", "float", "for", "fortran", "goto", "if", "inline",
        "int", "linux", "long", "nullptr", "register", "restrict", "return", "short", "signed", "sizeof",
        "static", "struct", "switch", "true", "typedef", "typeof", "union", "unix", "unsigned", "void",
        "volatile", "while", "constexpr", "static_assert", "thread_local", "and", "and_eq", "bitand", "bitor",
        "catch", "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const_cast", "consteval",
        "constinit", "decltype", "delete", "dynamic_cast", "explicit", "export", "friend", "mutable",
        "namespace", "new", "noexcept", "not", "not_eq", "operator", "or", "or_eq", "private", "protected",
        "public", "reinterpret_cast", "requires", "static_cast", "template", "this", "throw", "try", "typeid",
        "typename", "using", "virtual", "wchar_t", "xor", "xor_eq", "out", "NULL", "NAN", "INFINITY", "TRY",
        "CHECK", "RAND_MAX", "size_t", "memcpy", "memset", "fabs", "fabsf", "sqrt", "sqrtf", "floor", "floorf",
        "ceil", "ceilf", "rint", "rintf", "SIZE_MAX", "INT32_MIN", "INT32_MAX", "INT64_MIN", "INT64_MAX"};
    static const char *const beginnings[] = {"kina",     "_",    "EXIT_", "FP_",    "HUGE_", "INT", "MATH_", "MB_", "M_",
                                             "PTRDIFF_", "SIG_", "UINT",  "WCHAR_", "WINT_", "int", "uint",  "math_"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(name, words[i]) == 0) return true;
    for (size_t i = 0; i < COUNT_OF(beginnings); i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) return true;
    /* i0, i1, ...: what loops over entries count with. */
    return name[0] == 'i' && name[1] != '\0' && name[1 + strspn(name + 1, "0123456789")] == '\0';
}

const char *c_named(c_writer *w, const char *base) {
    const char *name = is_reserved(base) ? c_string(w, "v_%s", base) : base;
    const char *first = name;
    for (int i = 1; c_set_has(&w->names, name) && !w->failed; i++) name = c_string(w, "%s_%d", first, i);
    c_set_put(w, &w->names, name);
    return name;
}

static bool is_part(char ch) {
    return ch == '_' || isalnum((unsigned char)ch);
}

/* Whether what stands at p is code: neither a comment nor a message. */
static bool is_code(const char *body, const char *p) {
    for (const char *q = p; q > body && q[-1] != '\n'; q--)
        if (q[-1] == '"' || (q[-1] == '/' && q[0] == '*')) return false;
    return true;
}

bool c_mentions(const c_writer *w, size_t from, const char *name) {
    const char *body = text_data(&w->body);
    size_t length = strlen(name);
    if (from > w->body.length || length == 0) return true;
    for (const char *p = strstr(body + from, name); p != NULL; p = strstr(p + length, name)) {
        if ((p == body || !is_part(p[-1])) && !is_part(p[length]) && is_code(body, p)) return true;
    }
    return false;
}

/* ---- failures ---- */

void c_refuse(c_writer *w, const char *format, ...) {
    va_list arguments;
    if (w->failed) return;
    va_start(arguments, format);
    const char *words = string_of(w, format, arguments);
    va_end(arguments);
    if (!w->failed) error_set(&w->c->err, ERROR_K0701, w->where, "%s", words);
    w->failed = true;
}

/* A string literal, with the place in the source before it. */
static const char *message(c_writer *w, const char *words) {
    const source *src = w->signature->from->src;
    uint32_t line, column;
    text t;
    text_init(&t, w->c);
    text_add_char(&t, '"');
    if (w->where.end > 0) {
        source_position(src, w->where.begin, &line, &column);
        text_format(&t, "%u:%u: ", line, column);
    }
    for (const char *p = words; *p != '\0'; p++) {
        unsigned char ch = (unsigned char)*p;
        if (ch < 0x20 || ch == '"' || ch == '\\' || ch == '?' || ch >= 0x7f)
            text_format(&t, "\\%03o", ch);
        else
            text_add_char(&t, *p);
    }
    text_add_char(&t, '"');
    const char *s = c_string(w, "%s", text_data(&t));
    if (t.failed) w->failed = true;
    text_close(&t);
    return s;
}

void c_check(c_writer *w, const char *condition, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *words = string_of(w, format, arguments);
    va_end(arguments);
    w->fails = true;
    c_line(w, "CHECK(%s, %s);", condition, message(w, words));
}

void c_try(c_writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *call = string_of(w, format, arguments);
    va_end(arguments);
    w->fails = true;
    c_line(w, "TRY(%s);", call);
}
