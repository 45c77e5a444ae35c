/* Reading the command line by the one table of options.def. */
#include "interp/tools/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interp/tools/manual.h"
#include "interp/tools/nearest.h"

typedef enum option_kind {
    FLAG,   /* takes no value */
    WORD,   /* any text */
    EACH,   /* any text, and may be given several times, each counting */
    CHOICE, /* one of the words in `value` */
    COUNT,  /* 1 to 1024 */
    WHOLE,  /* from 0 on */
    REAL,   /* finite and not negative */
    BYTES,
    TIME,
} option_kind;

typedef struct option_info {
    const char *flag, *short_form, *value, *help;
    option_kind kind;
    unsigned verbs; /* bit v: verb v takes it */
} option_info;

enum {
#define VERB(id, word, summary) IN_##id = 1u << VERB_##id,
#include "interp/tools/options.def"
    IN_every = (1u << VERB_COUNT) - 1,
};

static const option_info option_table[OPTION_COUNT] = {
#define OPTION(id, flag, short_form, kind, value, verbs, help)                                     \
    [OPTION_##id] = {flag, short_form, value, help, kind, verbs},
#include "interp/tools/options.def"
};

static const struct verb_info {
    const char *word, *summary;
} verb_table[VERB_COUNT] = {
#define VERB(id, word, summary) [VERB_##id] = {word, summary},
#include "interp/tools/options.def"
};

static const span nowhere = {0, 0};

bool options_given(const options *o, option_id id) {
    return o->value[id].text != NULL;
}

bool options_is(const options *o, option_id id, const char *word) {
    return options_given(o, id) && strcmp(o->value[id].text, word) == 0;
}

numerics options_numerics(const options *o, numerics otherwise) {
    if (options_is(o, OPTION_numerics, "fast")) return NUMERICS_FAST;
    if (options_is(o, OPTION_numerics, "reference")) return NUMERICS_REFERENCE;
    return options_is(o, OPTION_numerics, "compiled") ? NUMERICS_COMPILED : otherwise;
}

/* ---- did you mean ---- */

static bool unknown_option(const char *word, error *e) {
    nearest n = nearest_to(word);
    for (int i = 0; i < OPTION_COUNT; i++) nearest_try(&n, option_table[i].flag);
    if (n.found != NULL) {
        error_set(e, ERROR_K0801, nowhere, "unknown option %s, did you mean %s?", word, n.found);
    } else {
        error_set(e, ERROR_K0801, nowhere, "unknown option %s", word);
        error_help(e, "kina-interp --help lists the options");
    }
    return false;
}

static bool unknown_verb(const char *word, error *e) {
    nearest n = nearest_to(word);
    for (int i = 0; i < VERB_COUNT; i++) nearest_try(&n, verb_table[i].word);
    if (n.found != NULL) {
        error_set(e, ERROR_K0801, nowhere, "no file and no verb is called %s, did you mean %s?",
                  word, n.found);
    } else {
        error_set(e, ERROR_K0801, nowhere, "no file and no verb is called %s", word);
        error_help(e, "kina-interp --help shows what there is");
    }
    return false;
}

/* ---- values ---- */

typedef struct unit {
    const char *name;
    int64_t factor;
} unit;

/* digits and one of the units, the empty one included where it is listed; 0 is none. */
static bool read_quantity(const char *text, const unit *units, size_t unit_count, int64_t *out) {
    int64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
            return false;
    }
    if (p == text) return false;
    for (size_t i = 0; i < unit_count; i++) {
        if (strcmp(p, units[i].name) != 0) continue;
        return !__builtin_mul_overflow(n, units[i].factor, out) && *out >= 1;
    }
    return false;
}

static bool read_whole(const char *text, int64_t *out) {
    static const unit plain[] = {{"", 1}};
    *out = 0;
    return (text[0] != '\0' && text[strspn(text, "0")] == '\0') ||
           read_quantity(text, plain, COUNT_OF(plain), out);
}

static bool read_real(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out) && *out >= 0.0;
}

static bool is_choice(const char *choices, const char *word) {
    size_t length = strlen(word);
    for (const char *p = choices;;) {
        const char *end = strchr(p, '|');
        size_t n = end != NULL ? (size_t)(end - p) : strlen(p);
        if (n == length && memcmp(p, word, n) == 0) return true;
        if (end == NULL) return false;
        p = end + 1;
    }
}

static bool wrong_choice(const option_info *info, const char *given, error *e) {
    char words[64];
    nearest n = nearest_to(given);
    snprintf(words, sizeof words, "%s", info->value);
    for (char *word = words, *next; word != NULL; word = next) {
        next = strchr(word, '|');
        if (next != NULL) *next++ = '\0';
        nearest_try(&n, word);
    }
    error_set(e, ERROR_K0801, nowhere, "%s takes one of %s, not '%s'", info->flag, info->value, given);
    if (n.found != NULL) error_help(e, "did you mean %s?", n.found);
    return false;
}

static bool read_value(const option_info *info, option_value *v, error *e) {
    static const unit plain[] = {{"", 1}};
    static const unit sizes[] = {
        {"", 1},          {"B", 1},         {"KiB", 1 << 10},
        {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", (int64_t)1 << 40},
    };
    static const unit times[] = {
        {"ms", 1000000},    {"s", 1000000000},    {"", 1000000000},
        {"m", 60000000000}, {"h", 3600000000000},
    };
    bool ok = true;
    const char *takes = "";
    switch (info->kind) {
    case FLAG:
    case WORD:
    case EACH: return true;
    case CHOICE: ok = is_choice(info->value, v->text); break;
    case COUNT:
        ok = read_quantity(v->text, plain, COUNT_OF(plain), &v->number) && v->number <= 1024;
        takes = "a number from 1 to 1024";
        break;
    case WHOLE:
        ok = read_whole(v->text, &v->number);
        takes = "a whole number from 0 on";
        break;
    case REAL:
        ok = read_real(v->text, &v->real);
        takes = "a number that is not negative";
        break;
    case BYTES:
        ok = read_quantity(v->text, sizes, COUNT_OF(sizes), &v->number);
        takes = "a size such as 2GiB, 64MiB or 1000 (bytes)";
        break;
    case TIME:
        ok = read_quantity(v->text, times, COUNT_OF(times), &v->number);
        takes = "a time such as 10s, 500ms or 2m";
        break;
    }
    if (ok) return true;
    if (info->kind == CHOICE) return wrong_choice(info, v->text, e);
    return error_set(e, ERROR_K0801, nowhere, "%s takes %s, not '%s'", info->flag, takes, v->text);
}

bool options_set(options *o, option_id id, const char *given, error *e) {
    option_value v = {.text = given};
    if (!read_value(&option_table[id], &v, e)) return false;
    o->value[id] = v;
    return true;
}

const char *options_flag(option_id id) {
    return option_table[id].flag;
}

const char *options_value(option_id id) {
    return option_table[id].value;
}

const char *options_about(option_id id) {
    return option_table[id].help;
}

/* ---- words ---- */

/* Where the reader stands. Values of --arg, or the files of fmt, which takes no --arg, are gathered at the
 * front of argv, over words that have been read already, so that no memory is needed for them. */
typedef struct reader {
    options *o;
    error *e;
    char **argv;
    int argc, at; /* argv[at] is the word being read */
} reader;

/* The option of this name, of `length` bytes; OPTION_COUNT when there is none. */
static option_id find_option(const char *name, size_t length) {
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *forms[] = {option_table[i].flag, option_table[i].short_form};
        for (size_t k = 0; k < COUNT_OF(forms); k++) {
            if (strlen(forms[k]) == length && memcmp(forms[k], name, length) == 0)
                return (option_id)i;
        }
    }
    return OPTION_COUNT;
}

static bool read_option(reader *r) {
    char *word = r->argv[r->at];
    char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    option_id id = find_option(word, length);
    if (id == OPTION_COUNT) {
        if (equals != NULL) *equals = '\0';
        return unknown_option(word, r->e);
    }
    const option_info *info = &option_table[id];
    char *text = equals != NULL ? equals + 1 : NULL;
    if (info->kind == FLAG) {
        if (text != NULL)
            return error_set(r->e, ERROR_K0801, nowhere, "%s takes no value", info->flag);
        r->o->value[id].text = "";
        return true;
    }
    if (text == NULL) {
        char *next = r->at + 1 < r->argc ? r->argv[r->at + 1] : NULL;
        /* Another option where the value should be is a forgotten value; an expression may look so.
         */
        if (next == NULL || (id != OPTION_eval && strncmp(next, "--", 2) == 0)) {
            return error_set(r->e, ERROR_K0801, nowhere, "%s needs a value: %s %s", info->flag,
                             info->flag, info->value);
        }
        text = next;
        r->at++;
    }
    if (!options_set(r->o, id, text, r->e)) return false;
    if (info->kind == EACH) r->argv[1 + r->o->arg_count++] = text;
    return true;
}

/* A word that cannot be a file's name but might be a mistyped verb. */
static bool is_verb_like(const char *word) {
    return strcmp(word, "-") != 0 && strpbrk(word, "./") == NULL && access(word, F_OK) != 0;
}

static bool read_name(reader *r, int *seen) {
    const char *word = r->argv[r->at];
    if ((*seen)++ == 0) {
        for (int i = 0; i < VERB_COUNT; i++) {
            if (verb_table[i].word[0] == '\0' || strcmp(word, verb_table[i].word) != 0) continue;
            r->o->verb = (verb)i;
            return true;
        }
        if (is_verb_like(word)) return unknown_verb(word, r->e);
    }
    if (r->o->verb == VERB_fmt) {
        r->argv[1 + r->o->file_count++] = r->argv[r->at];
        return true;
    }
    if (r->o->program != NULL) {
        return error_set(r->e, ERROR_K0801, nowhere, "one program at a time: %s and %s",
                         r->o->program, word);
    }
    r->o->program = word;
    return true;
}

/* What a comparison needs, all in a manifest or all on the command line. */
static bool check_oracle(const options *o, error *e) {
    static const option_id elsewhere[] = {OPTION_so, OPTION_fn, OPTION_symbol, OPTION_eval};
    if (!options_given(o, OPTION_manifest)) {
        if (options_given(o, OPTION_so) && options_given(o, OPTION_fn)) return true;
        return error_set(e, ERROR_K0801, nowhere, "oracle needs %s",
                         options_given(o, OPTION_so) ? "--fn NAME, the function to be called"
                                                     : "--so LIB, the library, or --manifest FILE");
    }
    if (o->program != NULL || o->arg_count > 0)
        return error_set(e, ERROR_K0801, nowhere, "the manifest names %s, so the command line must not",
                         o->program != NULL ? "the programs" : "the arguments");
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++) {
        if (options_given(o, elsewhere[i]))
            return error_set(e, ERROR_K0801, nowhere, "%s has no place beside --manifest",
                             option_table[elsewhere[i]].flag);
    }
    return true;
}

/* Where nobody names a program and somebody sits there, a prompt is what is wanted. */
static bool wants_prompt(const options *o) {
    if (o->verb != VERB_run || o->program != NULL || !isatty(STDIN_FILENO)) return false;
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (options_given(o, (option_id)i) && (option_table[i].verbs >> VERB_repl & 1) == 0) return false;
    }
    return true;
}

/* What the options say together. */
static bool check_together(const options *o, error *e) {
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!options_given(o, (option_id)i) || (option_table[i].verbs >> o->verb & 1) != 0)
            continue;
        return error_set(e, ERROR_K0801, nowhere, "%s takes no %s",
                         o->verb == VERB_run ? "a run" : verb_table[o->verb].word, option_table[i].flag);
    }
    if (o->verb == VERB_fmt && o->file_count == 0) {
        return error_set(e, ERROR_K0801, nowhere,
                         "fmt needs a file, or - for standard input: kina-interp fmt prog.kina");
    }
    if (o->program != NULL && options_given(o, OPTION_eval)) {
        return error_set(e, ERROR_K0801, nowhere, "one program at a time: %s and that of -e",
                         o->program);
    }
    if (o->verb == VERB_oracle) return check_oracle(o, e);
    if (o->verb == VERB_grad && !options_given(o, OPTION_fn)) {
        return error_set(e, ERROR_K0801, nowhere, "grad needs --fn NAME, the function to be differentiated");
    }
    if (o->arg_count > 0 && !options_given(o, OPTION_fn)) {
        return error_set(e, ERROR_K0801, nowhere,
                         "--arg needs --fn NAME, the function to be called");
    }
    const char *seed = o->value[OPTION_seed_cotangent].text;
    if (seed != NULL && options_given(o, OPTION_fn)) {
        return error_set(e, ERROR_K0801, nowhere,
                         "--seed-cotangent is for the final expression, and --fn calls another");
    }
    if (seed != NULL && (seed[0] != '@' || seed[1] == '\0')) {
        return error_set(e, ERROR_K0801, nowhere,
                         "--seed-cotangent takes a file: --seed-cotangent @g.npy");
    }
    return true;
}

bool options_parse(options *o, int argc, char **argv, error *e) {
    *o = (options){.verb = VERB_run, .args = argv + 1, .files = argv + 1};
    reader r = {.o = o, .e = e, .argv = argv, .argc = argc, .at = 1};
    int seen = 0;
    bool only_names = false;
    for (; r.at < r.argc; r.at++) {
        const char *word = argv[r.at];
        bool ok = true;
        if (only_names || word[0] != '-' || word[1] == '\0') {
            ok = read_name(&r, &seen);
        } else if (strcmp(word, "--") == 0) {
            only_names = true;
        } else {
            ok = read_option(&r);
        }
        if (!ok) return false;
    }
    if (options_given(o, OPTION_help) || options_given(o, OPTION_version)) return true;
    if (o->verb == VERB_run && options_given(o, OPTION_generate)) return true;
    if (wants_prompt(o)) o->verb = VERB_repl;
    return check_together(o, e);
}

/* ---- help ---- */

static const char *const examples[VERB_COUNT] = {
    [VERB_run] = "  kina-interp prog.kina                    run a program and print its results\n"
                 "  kina-interp -e 'sum([1.0, 2.0])'         an expression\n"
                 "  kina-interp prog.kina --fn loss --arg x=[1.0,2.0] --arg w=@w.npy\n"
                 "                                           call one function of it\n"
                 "  kina-interp prog.kina --format json      results for programs\n"
                 "  kina-interp check prog.kina              errors only\n",
    [VERB_repl] = "  kina-interp                              the same on a terminal\n"
                  "  kina-interp repl prog.kina               with all that a program defines\n"
                  "  kina-interp repl --echo <inputs.txt      a transcript\n",
    [VERB_fmt] = "  kina-interp fmt prog.kina                in place\n"
                 "  kina-interp fmt --check *.kina           exit code 5 when one would change\n"
                 "  cat prog.kina | kina-interp fmt -        to standard output\n",
    [VERB_check] = "  kina-interp check prog.kina\n"
                   "  kina-interp check prog.kina --deny-warnings --diagnostics=json\n"
                   "  cat prog.kina | kina-interp check -\n",
    [VERB_grad] = "  kina-interp grad prog.kina --fn loss\n"
                  "  kina-interp grad prog.kina --fn loss --wrt w,b --mode grad\n"
                  "  kina-interp grad prog.kina --fn loss | kina-interp check -\n",
    [VERB_gradcheck] = "  kina-interp gradcheck prog.kina\n"
                       "  kina-interp gradcheck prog.kina --fn loss --arg w=@w.npy --full\n"
                       "  kina-interp gradcheck prog.kina --seed 7 --format json\n",
    [VERB_certify] = "  kina-interp certify prog.kina\n"
                     "  kina-interp certify prog.kina --fn loss --random 100 --seed 7\n",
    [VERB_tape] = "  kina-interp tape prog.kina\n"
                  "  kina-interp tape prog.kina --fn loss --arg x=[1.0,2.0] --checkpoint k=4\n",
    [VERB_oracle] = "  kina-interp oracle prog.kina --so lib.so --fn f --arg x=@x.npy\n"
                    "  kina-interp oracle prog.kina --so lib.so --fn f --random 100 --ulp 2\n"
                    "  kina-interp oracle --manifest tests.json --format json\n",
    [VERB_mlir] = "  kina-interp mlir prog.kina\n"
                  "  kina-interp mlir prog.kina -o prog.mlir\n"
                  "  kina-interp mlir prog.kina --abi plain | mlir-opt-19\n",
    [VERB_build] = "  kina-interp build prog.kina -o libprog.so\n"
                   "  kina-interp build prog.kina -o libprog.so --emit-header prog.h\n",
    [VERB_explain] = "  kina-interp explain K0301\n"
                     "  kina-interp explain                      all codes, a line each\n",
};

static const char exit_codes[] =
    "0 done; 1 the program failed while running; 2 usage; 3 the source\n"
    "is wrong; 4 refused; 5 a comparison differs; 6 a file cannot be read or\n"
    "written; 70 an internal error; 130 interrupted.";

static const manual_option manual_options[OPTION_COUNT] = {
#define OPTION(id, flag, short_form, kind, value, verbs, help)                                     \
    [OPTION_##id] = {flag, short_form, value, help, verbs, (kind) == CHOICE},
#include "interp/tools/options.def"
};

static const char *operands_of(verb v) {
    if (v == VERB_fmt) return "FILE...";
    if (v == VERB_repl) return "[PROGRAM]";
    return v == VERB_explain ? "[CODE]" : "PROGRAM";
}

void options_help(verb v, FILE *to) {
    fprintf(to, "kina-interp%s%s: %s.\n\nExamples:\n%s\nUsage:\n", v == VERB_run ? "" : " ",
            verb_table[v].word, verb_table[v].summary, examples[v]);
    for (int i = 0; i < VERB_COUNT; i++) {
        if (v != VERB_run && v != (verb)i) continue;
        fprintf(to, "  kina-interp %s%s[OPTION]... %s\n", verb_table[i].word, i == VERB_run ? "" : " ",
                operands_of((verb)i));
    }
    bool takes_eval = (option_table[OPTION_eval].verbs >> v & 1) != 0;
    if (v != VERB_explain) {
        fprintf(to, "A file is a path, or - for standard input%s.\n", takes_eval ? "; -e EXPR stands for a program" : "");
    }
    fprintf(to, "\nOptions (--option VALUE or --option=VALUE):\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        if ((option_table[i].verbs >> v & 1) != 0) manual_print_option(&manual_options[i], 30, to);
    }
    fprintf(to, "\nExit codes: %s\n", exit_codes);
}

void options_generate(const char *form, FILE *to) {
    manual_verb all[VERB_COUNT];
    for (int i = 0; i < VERB_COUNT; i++)
        all[i] = (manual_verb){verb_table[i].word, verb_table[i].summary, operands_of((verb)i), examples[i]};
    const manual m = {
        .program = "kina-interp",
        .about = "run, check and differentiate programs of tensors",
        .exit_codes = exit_codes,
        .verb = all,
        .verb_count = VERB_COUNT,
        .option = manual_options,
        .option_count = OPTION_COUNT,
    };
    (void)manual_write(&m, form, to);
}
