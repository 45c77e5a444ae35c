/* Reading the command line of kina-bench by the table of options.def. */
#include "bench/options.h"

#include <string.h>

#include "interp/tools/manual.h"
#include "interp/tools/nearest.h"

typedef enum option_kind { FLAG, WORD, EACH, LIST, COUNT } option_kind;

typedef struct option_info {
    const char *flag, *value, *help;
    option_kind kind;
    unsigned verbs; /* bit v: verb v takes it */
} option_info;

enum {
#define VERB(id, word, summary) IN_##id = 1u << BENCH_##id,
#include "bench/options.def"
};

static const option_info option_table[GIVEN_COUNT] = {
#define OPTION(id, flag, kind, value, verbs, help) [GIVEN_##id] = {flag, value, help, kind, verbs},
#include "bench/options.def"
};

static const struct verb_info {
    const char *word, *summary;
} verb_table[BENCH_VERB_COUNT] = {
#define VERB(id, word, summary) [BENCH_##id] = {word, summary},
#include "bench/options.def"
};

static const span nowhere = {0, 0};

bool bench_read_list(const char *words, long long out[BENCH_LIST], int *count) {
    *count = 0;
    for (const char *p = words;; p++) {
        long long n = 0;
        const char *first = p;
        for (; *p >= '0' && *p <= '9'; p++) {
            n = 10 * n + (*p - '0');
            if (n > 1000000000000) return false;
        }
        if (p == first || n < 1 || *count == BENCH_LIST) return false;
        out[(*count)++] = n;
        if (*p == '\0') return true;
        if (*p != ',') return false;
    }
}

static bool read_value(bench_options *o, bench_option id, const char *text, error *e) {
    const option_info *info = &option_table[id];
    long long list[BENCH_LIST];
    int count;
    switch (info->kind) {
    case FLAG:
    case WORD:
    case EACH: return true;
    case LIST:
        if (bench_read_list(text, o->list, &o->list_count)) return true;
        return error_set(e, ERROR_K0801, nowhere,
                         "%s takes whole numbers above 0, such as 100,1000, not '%s'", info->flag,
                         text);
    case COUNT:
        if (bench_read_list(text, list, &count) && count == 1 && list[0] <= 1 << 20) {
            o->number[id] = (int)list[0];
            return true;
        }
        return error_set(e, ERROR_K0801, nowhere, "%s takes a whole number above 0, not '%s'",
                         info->flag, text);
    }
    return true;
}

typedef struct reader {
    bench_options *o;
    error *e;
    char **argv;
    int argc, at;
} reader;

static bool unknown(const char *what, const char *word, const nearest *n, error *e) {
    if (n->found != NULL) {
        return error_set(e, ERROR_K0801, nowhere, "unknown %s %s, did you mean %s?", what, word,
                         n->found);
    }
    error_set(e, ERROR_K0801, nowhere, "unknown %s %s", what, word);
    error_help(e, "kina-bench --help shows what there is");
    return false;
}

static bool read_option(reader *r) {
    char *word = r->argv[r->at], *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    int id = 0;
    for (; id < GIVEN_COUNT; id++) {
        const char *flag = option_table[id].flag;
        if (strlen(flag) == length && memcmp(flag, word, length) == 0) break;
    }
    if (id == GIVEN_COUNT && strcmp(word, "-h") == 0) id = GIVEN_help;
    if (id == GIVEN_COUNT) {
        if (equals != NULL) *equals = '\0';
        nearest n = nearest_to(word);
        for (int i = 0; i < GIVEN_COUNT; i++) nearest_try(&n, option_table[i].flag);
        return unknown("option", word, &n, r->e);
    }
    const option_info *info = &option_table[id];
    char *text = equals != NULL ? equals + 1 : NULL;
    if (info->kind == FLAG) {
        if (text != NULL)
            return error_set(r->e, ERROR_K0801, nowhere, "%s takes no value", info->flag);
        text = word + strlen(word);
    } else if (text == NULL) {
        if (r->at + 1 >= r->argc || strncmp(r->argv[r->at + 1], "--", 2) == 0) {
            return error_set(r->e, ERROR_K0801, nowhere, "%s needs a value: %s %s", info->flag,
                             info->flag, info->value);
        }
        text = r->argv[++r->at];
    }
    r->o->text[id] = text;
    if (info->kind == EACH) r->argv[1 + r->o->arg_count++] = text;
    return read_value(r->o, (bench_option)id, text, r->e);
}

static bool read_word(reader *r) {
    const char *word = r->argv[r->at];
    if (r->o->no_verb) {
        nearest n = nearest_to(word);
        for (int i = 0; i < BENCH_VERB_COUNT; i++) {
            nearest_try(&n, verb_table[i].word);
            if (strcmp(word, verb_table[i].word) != 0) continue;
            r->o->verb = (bench_verb)i;
            r->o->no_verb = false;
            return true;
        }
        return unknown("verb", word, &n, r->e);
    }
    if (r->o->program != NULL || r->o->verb != BENCH_checkpoint) {
        return error_set(r->e, ERROR_K0801, nowhere, "%s is one word too many", word);
    }
    r->o->program = word;
    return true;
}

static bool check_together(const bench_options *o, error *e) {
    if (o->no_verb) {
        error_set(e, ERROR_K0801, nowhere, "no verb is named");
        error_help(e, "kina-bench checkpoint, ops, printed or accuracy; kina-bench --help shows more");
        return false;
    }
    for (int i = 0; i < GIVEN_COUNT; i++) {
        if (o->text[i] == NULL || (option_table[i].verbs >> o->verb & 1) != 0) continue;
        return error_set(e, ERROR_K0801, nowhere, "%s takes no %s", verb_table[o->verb].word,
                         option_table[i].flag);
    }
    if (o->text[GIVEN_json] != NULL && o->text[GIVEN_csv] != NULL)
        return error_set(e, ERROR_K0801, nowhere, "--json or --csv, not both");
    if (o->program == NULL && o->text[GIVEN_fn] != NULL)
        return error_set(e, ERROR_K0801, nowhere, "--fn needs a program");
    if (o->arg_count > 0 && o->text[GIVEN_fn] == NULL)
        return error_set(e, ERROR_K0801, nowhere, "--arg needs --fn NAME");
    if (o->program != NULL && (o->text[GIVEN_batch] != NULL || o->text[GIVEN_width] != NULL))
        return error_set(e, ERROR_K0801, nowhere, "--batch and --width are of the default loop");
    return true;
}

bool bench_options_parse(bench_options *o, int argc, char **argv, error *e) {
    *o = (bench_options){.no_verb = true, .args = argv + 1};
    o->number[GIVEN_runs] = 3;
    o->number[GIVEN_samples] = 100000;
    o->number[GIVEN_threads] = 1;
    o->number[GIVEN_batch] = 64;
    o->number[GIVEN_width] = 256;
    reader r = {.o = o, .e = e, .argv = argv, .argc = argc, .at = 1};
    for (; r.at < r.argc; r.at++) {
        bool option = argv[r.at][0] == '-' && argv[r.at][1] != '\0';
        if (!(option ? read_option(&r) : read_word(&r))) return false;
    }
    return o->text[GIVEN_help] != NULL || o->text[GIVEN_generate] != NULL || check_together(o, e);
}

/* ---- help ---- */

static const char *const examples[BENCH_VERB_COUNT] = {
    [BENCH_checkpoint] =
        "  kina-bench checkpoint                 the default loop, N = 100, 1000, 10000\n"
        "  kina-bench checkpoint --n 1000 --policies all,auto,slots=20,memory=8MiB\n"
        "  kina-bench checkpoint --n 1000 --k sweep --plot spacing.svg\n"
        "  kina-bench checkpoint train.kina --fn loss --arg n=500 --arg w=@w.npy\n",
    [BENCH_ops] =
        "  kina-bench ops                        nanoseconds an op, and a network\n"
        "  kina-bench ops --runs 9 --json\n",
    [BENCH_printed] =
        "  kina-bench printed                    printed gradients beside the engine's\n"
        "  kina-bench printed --runs 9 --json\n",
    [BENCH_accuracy] =
        "  kina-bench accuracy                   units in the last place, at worst\n"
        "  kina-bench accuracy --samples 1000000 --json\n",
};

static const char exit_codes[] =
    "0 done; 1 a program failed while running; 2 usage; 3 the source is\n"
    "wrong; 4 refused (no gnuplot); 5 bits differ, or more than is promised; 6 a\n"
    "file cannot be read or written; 70 an internal error; 130 interrupted.";

static const manual_option manual_options[GIVEN_COUNT] = {
#define OPTION(id, flag, kind, value, verbs, help) [GIVEN_##id] = {flag, "", value, help, verbs, false},
#include "bench/options.def"
};

static const char *operands_of(bench_verb v) {
    return v == BENCH_checkpoint ? "[PROGRAM]" : "";
}

void bench_options_help(const bench_options *o, FILE *to) {
    fputs("Examples:\n", to);
    for (int v = 0; v < BENCH_VERB_COUNT; v++) {
        if (o->no_verb || v == (int)o->verb) fputs(examples[v], to);
    }
    fputs("\nUsage:\n", to);
    for (int v = 0; v < BENCH_VERB_COUNT; v++) {
        if (!o->no_verb && v != (int)o->verb) continue;
        const char *operands = operands_of((bench_verb)v);
        fprintf(to, "  kina-bench %s [OPTION]...%s%s\n      %s\n", verb_table[v].word, operands[0] != '\0' ? " " : "",
                operands, verb_table[v].summary);
    }
    fputs("\nOptions:\n", to);
    for (int i = 0; i < GIVEN_COUNT; i++) {
        if (o->no_verb || (option_table[i].verbs >> o->verb & 1) != 0)
            manual_print_option(&manual_options[i], 26, to);
    }
    fprintf(to, "\nExit codes: %s\n", exit_codes);
}

bool bench_options_generate(const char *form, FILE *to) {
    manual_verb all[BENCH_VERB_COUNT];
    for (int v = 0; v < BENCH_VERB_COUNT; v++)
        all[v] = (manual_verb){verb_table[v].word, verb_table[v].summary, operands_of((bench_verb)v), examples[v]};
    const manual m = {
        .program = "kina-bench",
        .about = "measure what checkpoint policies and ops of Kina cost",
        .exit_codes = exit_codes,
        .verb = all,
        .verb_count = BENCH_VERB_COUNT,
        .option = manual_options,
        .option_count = GIVEN_COUNT,
    };
    return manual_write(&m, form, to);
}
