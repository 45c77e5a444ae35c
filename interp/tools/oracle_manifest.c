/* Many comparisons, listed in a JSON file. A comparison's members are the options of `kina-interp
 * oracle` by their names, beside `name`, `program` and `args`; those of the whole file hold where a
 * comparison says nothing. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interp/tools/nearest.h"
#include "interp/tools/oracle.h"
#include "interp/tools/report.h"
#include "interp/tools/session.h"
#include "runtime/print.h"

static const span nowhere = {0, 0};

/* The options that a manifest may state. */
static const option_id stated[] = {
    OPTION_so,       OPTION_fn,         OPTION_symbol, OPTION_random,  OPTION_seed,
    OPTION_ulp,      OPTION_rtol,       OPTION_atol,   OPTION_scalars, OPTION_allow_overwrite,
    OPTION_numerics, OPTION_time_limit,
};

typedef struct test {
    const char *name, *program;
    options o;
} test;

typedef struct manifest {
    context *c;
    arena a;
    const char *path;
    const char *folder; /* with its slash; "" for the working directory */
    test all;           /* what the file says for all */
    test *tests;
    int count;
    output *out;
    text t;
    int64_t passed, failed;
    bool progress;
} manifest;

/* ---- reading ---- */

static bool malformed(manifest *m, const char *where, const char *what, const char *key) {
    return error_set(&m->c->err, ERROR_K0603, nowhere, "'%s': %s: %s '%s'", m->path, where, what,
                     key);
}

static bool is_path(option_id id) {
    return id == OPTION_so;
}

/* A path as the manifest's folder has it. */
static const char *place_path(manifest *m, const char *path) {
    return arena_format(&m->a, "%s%s", path[0] == '/' ? "" : m->folder, path);
}

/* cJSON knows doubles alone, and an I64 has more digits. So numbers are read as strings behind a mark, of the digits
 * that the file has, and stand in the tree as raw text. */
#define DIGITS_MARK "\\u0001"
enum { DIGITS = 1 };

static void quote_numbers(text *t, const char *bytes, size_t length) {
    bool inside = false;
    for (size_t i = 0; i < length; i++) {
        size_t digits = inside ? 0 : strspn(bytes + i, "+-.0123456789eE");
        if (digits > 0 && (bytes[i] == '-' || (bytes[i] >= '0' && bytes[i] <= '9'))) {
            text_add(t, "\"" DIGITS_MARK);
            text_add_bytes(t, bytes + i, digits);
            text_add_char(t, '"');
            i += digits - 1;
            continue;
        }
        if (bytes[i] == '"') inside = !inside;
        text_add_char(t, bytes[i]);
        if (inside && bytes[i] == '\\' && i + 1 < length) text_add_char(t, bytes[++i]);
    }
}

static void unquote_numbers(cJSON *entry) {
    for (; entry != NULL; entry = entry->next) {
        unquote_numbers(entry->child);
        if (!cJSON_IsString(entry) || entry->valuestring[0] != DIGITS) continue;
        memmove(entry->valuestring, entry->valuestring + 1, strlen(entry->valuestring));
        entry->type = cJSON_Raw;
    }
}

/* An entry as the text that the command line would have. */
static const char *text_of(manifest *m, const cJSON *entry) {
    if (cJSON_IsString(entry))
        return arena_text(&m->a, entry->valuestring, strlen(entry->valuestring));
    char *printed = cJSON_PrintUnformatted(entry);
    if (printed == NULL) {
        error_set(&m->c->err, ERROR_K0506, nowhere, "out of memory for a manifest");
        return NULL;
    }
    const char *kept = arena_text(&m->a, printed, strlen(printed));
    cJSON_free(printed);
    return kept;
}

/* NAME=VALUE for each member of `args`. */
static bool read_args(manifest *m, const cJSON *args, const char *where, test *out) {
    if (!cJSON_IsObject(args)) return malformed(m, where, "an object is expected for", "args");
    int count = cJSON_GetArraySize(args);
    char **list = ARENA_ARRAY(&m->a, char *, (size_t)count + 1);
    if (list == NULL) return false;
    out->o.args = list;
    out->o.arg_count = count;
    const cJSON *arg;
    cJSON_ArrayForEach(arg, args) {
        const char *given = text_of(m, arg);
        if (given == NULL) return false;
        const char *file = given[0] == '@' ? place_path(m, given + 1) : given;
        if (file == NULL) return false;
        *list = arena_format(&m->a, "%s=%s%s", arg->string, given[0] == '@' ? "@" : "", file);
        if (*list++ == NULL) return false;
    }
    return true;
}

static bool unknown_member(manifest *m, const char *where, const char *key) {
    nearest n = nearest_to(key);
    nearest_try(&n, "name");
    nearest_try(&n, "program");
    nearest_try(&n, "args");
    for (size_t i = 0; i < COUNT_OF(stated); i++) nearest_try(&n, options_flag(stated[i]) + 2);
    malformed(m, where, "there is no member", key);
    if (n.found != NULL) error_help(&m->c->err, "did you mean '%s'?", n.found);
    return false;
}

static bool read_option(manifest *m, const cJSON *entry, const char *where, option_id id,
                        test *out) {
    if (id == OPTION_allow_overwrite) {
        if (!cJSON_IsBool(entry))
            return malformed(m, where, "true or false is expected for", entry->string);
        out->o.value[id].text = cJSON_IsTrue(entry) ? "" : NULL;
        return true;
    }
    if (!cJSON_IsString(entry) && !cJSON_IsRaw(entry))
        return malformed(m, where, "a string or a number is expected for", entry->string);
    const char *given = text_of(m, entry);
    if (given != NULL && is_path(id)) given = place_path(m, given);
    if (given == NULL) return false;
    if (options_set(&out->o, id, given, &m->c->err)) return true;
    error_add_note(&m->c->err, nowhere, "'%s': %s", m->path, where);
    return false;
}

static bool read_member(manifest *m, const cJSON *entry, const char *where, test *out) {
    const char *key = entry->string;
    if (strcmp(key, "args") == 0) return read_args(m, entry, where, out);
    if (strcmp(key, "name") == 0 || strcmp(key, "program") == 0) {
        if (!cJSON_IsString(entry)) return malformed(m, where, "a string is expected for", key);
        const char *given = text_of(m, entry);
        if (given != NULL && key[0] == 'p') given = place_path(m, given);
        *(key[0] == 'p' ? &out->program : &out->name) = given;
        return given != NULL;
    }
    for (size_t i = 0; i < COUNT_OF(stated); i++) {
        if (strcmp(options_flag(stated[i]) + 2, key) == 0)
            return read_option(m, entry, where, stated[i], out);
    }
    return unknown_member(m, where, key);
}

static bool read_test(manifest *m, const cJSON *object, int i, test *out) {
    char where[40];
    snprintf(where, sizeof where, "test %d", i);
    *out = m->all;
    if (!cJSON_IsObject(object)) return malformed(m, where, "an object is expected in", "tests");
    const cJSON *entry;
    cJSON_ArrayForEach(entry, object) {
        if (!read_member(m, entry, where, out)) return false;
    }
    if (out->program == NULL) return malformed(m, where, "it lacks", "program");
    if (!options_given(&out->o, OPTION_so)) return malformed(m, where, "it lacks", "so");
    if (!options_given(&out->o, OPTION_fn)) return malformed(m, where, "it lacks", "fn");
    if (out->name == NULL) out->name = out->o.value[OPTION_fn].text;
    return true;
}

static bool read_tests(manifest *m, const cJSON *root) {
    const cJSON *tests = cJSON_GetObjectItemCaseSensitive(root, "tests"), *entry;
    if (!cJSON_IsArray(tests))
        return malformed(m, "the whole", "an array is expected for", "tests");
    cJSON_ArrayForEach(entry, root) {
        if (entry != tests && !read_member(m, entry, "of all tests", &m->all)) return false;
    }
    m->tests = ARENA_ARRAY(&m->a, test, (size_t)cJSON_GetArraySize(tests) + 1);
    if (m->tests == NULL) return false;
    cJSON_ArrayForEach(entry, tests) {
        if (!read_test(m, entry, m->count, &m->tests[m->count])) return false;
        m->count++;
    }
    return true;
}

static bool parse(manifest *m, const char *bytes, size_t length) {
    const char *end = bytes;
    cJSON *root = cJSON_ParseWithLengthOpts(bytes, length, &end, 0);
    if (root == NULL) {
        int line = 1;
        for (const char *p = bytes; p < end; p++) line += *p == '\n';
        return error_set(&m->c->err, ERROR_K0603, nowhere, "'%s': line %d: no JSON", m->path, line);
    }
    cJSON_Delete(root);
    text quoted;
    text_init(&quoted, m->c);
    quote_numbers(&quoted, bytes, length);
    root = quoted.failed ? NULL : cJSON_ParseWithLength(text_data(&quoted), quoted.length);
    text_close(&quoted);
    if (root == NULL) return error_set(&m->c->err, ERROR_K0506, nowhere, "out of memory for a manifest");
    unquote_numbers(root);
    bool ok = read_tests(m, root);
    cJSON_Delete(root);
    return ok;
}

static bool read_manifest(manifest *m) {
    session s;
    session_init(&s, m->c);
    bool ok = session_read(&s, m->path);
    m->folder = s.folder == NULL ? "" : arena_format(&m->a, "%s/", s.folder);
    ok = ok && m->folder != NULL && parse(m, s.text != NULL ? s.text : "", s.length);
    session_close(&s);
    return ok;
}

/* ---- one test ---- */

/* A line that is written over and over on a terminal, and is gone before anything else is written.
 */
static void show_progress(const manifest *m, int i) {
    if (!m->progress) return;
    if (i < m->count)
        fprintf(stderr, "\r\033[K%d of %d: %.60s", i + 1, m->count, m->tests[i].name);
    else
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

static void add_error(manifest *m, const test *k) {
    const error *e = &m->c->err;
    const char *code = error_code_name(e->code);
    if (m->out->json) {
        text_add(&m->t, "\"name\":");
        json_string(&m->t, k->name, strlen(k->name));
        text_format(&m->t, ",\"passed\":false,\"error\":{\"code\":\"%s\",\"message\":", code);
        json_string(&m->t, e->message, strlen(e->message));
        text_add_char(&m->t, '}');
        return;
    }
    text_format(&m->t, "FAIL %s: error[%s]: %s\n", k->name, code, e->message);
    if (e->help[0] != '\0') text_format(&m->t, "help: %s\n", e->help);
}

static void add_report(manifest *m, const oracle_report *r) {
    if (m->out->json) {
        oracle_print_json(&m->t, r);
        return;
    }
    if (!r->passed) oracle_print(&m->t, r);
    oracle_print_verdict(&m->t, r);
}

/* The faults of a program's text, shown whole on standard error; the first is the test's error. */
static void show_faults(manifest *m, const diagnostics *d, const test *k) {
    uint32_t line, column;
    const diag *e = d->first;
    while (e != NULL && e->warning) e = e->next;
    if (!report_diagnostics(m->c, d, report_style(&k->o)) || e == NULL) return;
    source_position(d->src, e->at.begin, &line, &column);
    error_set(&m->c->err, e->code, nowhere, "%s:%u: %s", k->program, line, e->message);
}

/* False with the context's error set. */
static bool compare(manifest *m, const test *k, bool *passed) {
    session s;
    oracle_case what;
    oracle_report r;
    engine_options with = {.no_files = options_given(&k->o, OPTION_no_files)};
    session_init(&s, m->c);
    bool ok = oracle_case_of(&k->o, m->c, &what) && session_read(&s, k->program);
    what.name = k->name;
    if (ok) {
        ok = session_load(&s, NULL, with, options_given(&k->o, OPTION_deny_warnings));
        if (m->c->err.code == ERROR_NONE && s.e.diags.errors > 0) show_faults(m, &s.e.diags, k);
    }
    ok = ok && oracle_compare(m->c, &s.e, &what, &r);
    if (ok) {
        *passed = r.passed;
        add_report(m, &r);
        oracle_close(&r);
    }
    session_close(&s);
    return ok;
}

static bool run_test(manifest *m, int i) {
    bool passed = false;
    show_progress(m, i);
    text_clear(&m->t);
    if (m->out->json) text_add(&m->t, i > 0 ? ",{" : "{");
    bool compared = compare(m, &m->tests[i], &passed);
    show_progress(m, m->count);
    if (!compared) {
        if (m->c->err.code == ERROR_K0509) return false;
        add_error(m, &m->tests[i]);
        error_clear(&m->c->err);
    }
    if (m->out->json) text_add_char(&m->t, '}');
    *(passed ? &m->passed : &m->failed) += 1;
    if (m->t.failed) return false;
    output_text(m->out, &m->t);
    return m->out->failure == 0;
}

static bool run_tests(manifest *m) {
    bool ok = true;
    text_init(&m->t, m->c);
    if (m->out->json) {
        text_add(&m->t, "{\"schema\":1,\"tests\":[");
        output_text(m->out, &m->t);
    }
    for (int i = 0; ok && i < m->count; i++) ok = run_test(m, i);
    text_clear(&m->t);
    if (ok && m->out->json)
        text_format(&m->t, "],\"passed\":%lld,\"failed\":%lld}\n", (long long)m->passed,
                    (long long)m->failed);
    if (ok && !m->out->json)
        text_format(&m->t, "%lld passed, %lld failed\n", (long long)m->passed,
                    (long long)m->failed);
    if (ok) output_text(m->out, &m->t);
    text_close(&m->t);
    return ok;
}

bool oracle_manifest(const options *o, output *out, bool *differ) {
    manifest m = {.c = out->c, .path = o->value[OPTION_manifest].text, .out = out, .all.o = *o};
    m.progress = isatty(STDERR_FILENO) && !out->json;
    arena_init(&m.a, m.c);
    bool ok = read_manifest(&m) && run_tests(&m);
    *differ = m.failed > 0;
    arena_close(&m.a);
    return ok;
}
