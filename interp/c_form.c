/* Forms: C with places for an element type and operands (c_emit.h). */
#include <ctype.h>
#include <string.h>

#include "interp/c_emit.h"

const char *c_suffix(dtype t) {
    static const char *const words[DTYPE_COUNT] = {
        [DT_F32] = "f32", [DT_F64] = "f64", [DT_I32] = "i32", [DT_I64] = "i64", [DT_Bool] = "bool"};
    return words[t];
}

static size_t word_length(const char *p) {
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
    return n;
}

/* "@name" or "#name": its C name; gives what is behind it. */
static const char *add_helper(c_writer *w, text *t, const char *p, dtype of) {
    bool typed = *p++ == '@';
    size_t length = word_length(p);
    const char *name = c_string(w, "%.*s", (int)length, p);
    c_helper(w, name, of, typed);
    text_format(t, typed ? "kina_%s_%s" : "kina_%s", name, c_suffix(of));
    return p + length;
}

static void add_place(text *t, char which, dtype of, const char *const *x) {
    switch (which) {
    case 'T': text_add(t, compiled_c_type(of)); break;
    case 'U': text_format(t, "u%s", compiled_c_type(of)); break;
    case 'S': text_add(t, c_suffix(of)); break;
    case 'f': text_add(t, of == DT_F32 ? "f" : ""); break;
    default: text_add(t, x[which - '0']);
    }
}

const char *c_form(c_writer *w, const char *form, dtype t, const char *const *x) {
    text out;
    text_init(&out, w->c);
    for (const char *p = form; *p != '\0' && !w->failed;) {
        if (*p == '@' || *p == '#') {
            p = add_helper(w, &out, p, t);
        } else if (*p == '$') {
            add_place(&out, p[1], t, x);
            p += 2;
        } else {
            text_add_char(&out, *p++);
        }
    }
    const char *s = c_string(w, "%s", text_data(&out));
    if (out.failed) w->failed = true;
    text_close(&out);
    return s;
}
