/* The pages of explain.def: as text for people, as JSON for what makes and checks the document of them. */
#include "interp/tools/explain.h"

#include <string.h>
#include <strings.h>

#include "interp/tools/nearest.h"
#include "runtime/print.h"

typedef struct page {
    const char *meaning, *wrong, *right; /* the examples NULL where there can be none */
} page;

static const page pages[ERROR_CODE_COUNT] = {
#define PAGE(number, meaning, wrong, right) [ERROR_##number] = {meaning, wrong, right},
#include "interp/tools/explain.def"
};

/* A code without a page is noticed by the compiler. */
#define PAGE(number, meaning, wrong, right) +1
_Static_assert(ERROR_NONE + 1
#include "interp/tools/explain.def"
                   == ERROR_CODE_COUNT, "each code of runtime/codes.def has a page in explain.def");

static const char *const phase_names[] = {
    [PHASE_none] = "",         [PHASE_source] = "source", [PHASE_run] = "run",           [PHASE_file] = "file",
    [PHASE_refuse] = "refuse", [PHASE_usage] = "usage",   [PHASE_internal] = "internal", [PHASE_warning] = "warning",
};

bool explain_find(const char *word, error_code *out, error *e) {
    nearest n = nearest_to(word);
    for (int i = ERROR_NONE + 1; i < ERROR_CODE_COUNT; i++) {
        const char *name = error_code_name((error_code)i);
        if (strcasecmp(word, name) == 0) {
            *out = (error_code)i;
            return true;
        }
        nearest_try(&n, name);
    }
    error_set(e, ERROR_K0801, (span){0, 0}, "no error has the code %.40s%s%s%s", word, n.found != NULL ? ", did you mean " : "",
              n.found != NULL ? n.found : "", n.found != NULL ? "?" : "");
    error_help(e, "explain alone lists the codes");
    return false;
}

/* ---- as text ---- */

enum { WIDTH = 80, INDENT = 4 };

static void add_example(text *t, const char *title, const char *s) {
    text_format(t, "\n%s:\n\n", title);
    while (*s != '\0') {
        size_t length = strcspn(s, "\n");
        text_add_repeat(t, ' ', INDENT);
        text_add_bytes(t, s, length);
        text_add_char(t, '\n');
        s += length + (s[length] == '\n');
    }
}

void explain_page(text *t, error_code code) {
    const page *p = &pages[code];
    text_format(t, "%s: %s\n\n", error_code_name(code), error_code_title(code));
    text_add_filled(t, p->meaning, WIDTH);
    if (p->wrong != NULL) add_example(t, "Wrong", p->wrong);
    if (p->right != NULL) add_example(t, "Right", p->right);
}

void explain_list(text *t) {
    for (int i = ERROR_NONE + 1; i < ERROR_CODE_COUNT; i++)
        text_format(t, "%s  %s\n", error_code_name((error_code)i), error_code_title((error_code)i));
}

/* ---- as JSON ---- */

static void add_member(text *t, const char *name, const char *s) {
    text_format(t, ",\"%s\":", name);
    if (s != NULL) {
        json_string(t, s, strlen(s));
    } else {
        text_add(t, "null");
    }
}

void explain_json(text *t, error_code code) {
    text_add(t, "{\"schema\":1,\"pages\":[");
    const char *comma = "";
    for (int i = ERROR_NONE + 1; i < ERROR_CODE_COUNT; i++) {
        error_code each = (error_code)i;
        if (code != ERROR_NONE && each != code) continue;
        text_format(t, "%s{\"code\":\"%s\"", comma, error_code_name(each));
        add_member(t, "title", error_code_title(each));
        add_member(t, "phase", phase_names[error_code_phase(each)]);
        add_member(t, "meaning", pages[i].meaning);
        add_member(t, "wrong", pages[i].wrong);
        add_member(t, "right", pages[i].right);
        text_add_char(t, '}');
        comma = ",";
    }
    text_add(t, "]}\n");
}
