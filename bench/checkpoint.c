/* kina-bench checkpoint: one program under several policies, interleaved over several rounds. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/plot.h"
#include "bench/rows.h"
#include "bench/trace.h"
#include "interp/policy.h"
#include "runtime/context.h"

enum { POLICIES = 64 };

/* The weights keep x and its gradient within range for as long as anyone waits: they are next to
 * the identity. */
static const char dense_loop[] =
    "let x0 = random_normal(1, [%d, %d]);\n"
    "let w0 = eye(%d) * 0.99999237 + (random_uniform(2, [%d, %d]) - 0.5) * %.9f;\n"
    "let b0 = (random_uniform(3, [%d]) - 0.5) * 0.0001;\n"
    "fn dense_loop(x: tensor<F32, [B, D]>, w: tensor<F32, [D, D]>, b: tensor<F32, [D]>, n: I32) -> "
    "F32 {\n"
    "  let y = while (i < n) [h = x, i = 0] { (relu(h @ w + b), i + 1) };\n"
    "  sum(y)\n"
    "}\n"
    "fn gradients(n: I32) { handle dense_loop(x0, w0, b0, n) with reverseMode }\n";

typedef struct session {
    const bench_options *o;
    work w;
    char *text; /* of the program */
    int policy_count;
    policy policies[POLICIES];
    char names[POLICIES][40];
    int reference;
    bool sweep; /* --k sweep: added for each N */
    int block_count;
    block blocks[BENCH_LIST];
    progress shown;
} session;

/* ---- policies ---- */

static int add_policy(session *s, const char *words) {
    policy p = {0};
    if (!policy_read(words, &p)) {
        return bench_fail(ERROR_K0801,
                          "'%s' is no checkpoint policy: all, auto, k=4, slots=20 or memory=8MiB",
                          words);
    }
    for (int i = 0; i < s->policy_count; i++) {
        const policy *q = &s->policies[i];
        if (q->kind == p.kind && q->every == p.every && q->slots == p.slots && q->bytes == p.bytes)
            return 0;
    }
    if (s->policy_count == POLICIES)
        return bench_fail(ERROR_K0801, "more than %d policies", POLICIES);
    s->policies[s->policy_count] = p;
    snprintf(s->names[s->policy_count++], sizeof s->names[0], "%s", words);
    return 0;
}

static int add_spacing(session *s, long long k) {
    char words[40];
    snprintf(words, sizeof words, "k=%lld", k);
    return add_policy(s, words);
}

static int add_list(session *s, const char *list) {
    char words[40];
    for (const char *p = list;;) {
        size_t length = strcspn(p, ",");
        if (length >= sizeof words)
            return bench_fail(ERROR_K0801, "'%s' is no list of checkpoint policies", list);
        memcpy(words, p, length);
        words[length] = '\0';
        int code = add_policy(s, words);
        if (code != 0) return code;
        if (p[length] == '\0') return 0;
        p += length + 1;
    }
}

/* 1, 2, 4, ... below n, and its root. */
static int add_sweep(session *s, long long n) {
    int code = 0;
    for (long long k = 1; k <= n && code == 0; k *= 2) code = add_spacing(s, k);
    return code != 0 ? code : add_spacing(s, llround(sqrt((double)n)));
}

static int read_policies(session *s) {
    const char *list = s->o->text[GIVEN_policies], *k = s->o->text[GIVEN_k];
    int code = add_list(s, list != NULL ? list
                           : k != NULL  ? "all"
                                        : "all,k=32,auto,slots=20,memory=8MiB");
    if (code == 0 && k != NULL && strcmp(k, "sweep") == 0) {
        s->sweep = true;
    } else if (code == 0 && k != NULL) {
        long long spacings[BENCH_LIST];
        int count;
        if (!bench_read_list(k, spacings, &count))
            return bench_fail(ERROR_K0801,
                              "--k takes spacings such as 1,2,4 or the word sweep, not '%s'", k);
        for (int i = 0; i < count && code == 0; i++) code = add_spacing(s, spacings[i]);
    }
    for (int i = s->policy_count - 1; i >= 0; i--) {
        if (s->policies[i].kind == POLICY_ALL) s->reference = i;
    }
    return code;
}

/* ---- the program ---- */

static int read_program(session *s) {
    const char *path = s->o->program;
    FILE *f = fopen(path, "rb");
    size_t room = 0, length = 0;
    if (f == NULL) return bench_fail(ERROR_K0601, "cannot read '%s': %s", path, strerror(errno));
    do {
        if (length == room) s->text = bench_grow(s->text, room = room == 0 ? 8192 : 2 * room);
        length += fread(s->text + length, 1, room - length, f);
    } while (!feof(f) && !ferror(f));
    bool failed = ferror(f) != 0;
    fclose(f);
    if (failed) return bench_fail(ERROR_K0601, "cannot read '%s'", path);
    s->w.path = path;
    s->w.length = length;
    s->w.fn = s->o->text[GIVEN_fn];
    return 0;
}

static void write_program(session *s) {
    enum { ROOM = 2048 };
    int b = s->o->number[GIVEN_batch], d = s->o->number[GIVEN_width];
    s->text = bench_take(ROOM);
    s->w.length = (size_t)snprintf(s->text, ROOM, dense_loop, b, d, d, d, d, 0.0003 / d, d);
    s->w.path = "<dense_loop>";
    s->w.fn = "gradients";
}

static int open_work(session *s) {
    const bench_options *o = s->o;
    int code = 0;
    if (o->program != NULL) {
        code = read_program(s);
    } else {
        write_program(s);
    }
    s->w.text = s->text;
    s->w.args = o->args;
    s->w.arg_count = o->arg_count;
    s->w.threads = o->number[GIVEN_threads];
    s->w.cold = o->text[GIVEN_cold] != NULL;
    s->w.with_n = o->program == NULL || o->list_count > 0;
    if (code == 0 && s->w.with_n && s->w.fn == NULL)
        return bench_fail(ERROR_K0801,
                          "--n is passed to the parameter n of --fn NAME, and none is named");
    return code;
}

/* ---- measuring ---- */

typedef struct rounds {
    double *forward, *backward, *total, *ratio, *processor, *processor_ratio;
} rounds;

static rounds *rounds_new(int policies, int runs) {
    rounds *r = bench_take((size_t)policies * sizeof *r);
    for (int i = 0; i < policies; i++) {
        r[i].forward = bench_take(6 * (size_t)runs * sizeof(double));
        r[i].backward = r[i].forward + runs;
        r[i].total = r[i].backward + runs;
        r[i].ratio = r[i].total + runs;
        r[i].processor = r[i].ratio + runs;
        r[i].processor_ratio = r[i].processor + runs;
    }
    return r;
}

static void rounds_close(rounds *r, int policies) {
    for (int i = 0; i < policies; i++) free(r[i].forward);
    free(r);
}

static int fault(const answer *a) {
    if (process_interrupted) return EXIT_INTERRUPTED;
    if (a->failure.code == ERROR_NONE) return a->exit;
    return bench_fail(a->failure.code, "%s", a->failure.message);
}

/* One run of row i; `first` holds the reference's bits for the comparison. */
static int run_row(session *s, block *b, int i, int round, rounds *times, answer *first) {
    row *r = &b->rows[i];
    answer a;
    char where[80];
    if (r->refused) return 0;
    progress_step(&s->shown, r->name, b->n);
    work_run(&s->w, &r->p, &a);
    if (process_interrupted || (a.exit != 0 && a.failure.code != ERROR_K0514)) {
        progress_end(&s->shown);
        int code = fault(&a);
        answer_close(&a);
        return code;
    }
    if (a.exit != 0) {
        r->refused = true;
        snprintf(r->why, sizeof r->why, "%s", a.failure.message);
        answer_close(&a);
        return 0;
    }
    r->m = a.m;
    times[i].forward[round] = a.m.forward;
    times[i].backward[round] = a.m.backward;
    times[i].total[round] = a.m.forward + a.m.backward;
    times[i].processor[round] = a.m.processor;
    if (i == b->reference && first->bits == NULL) {
        *first = a;
        return 0;
    }
    if (r->same && first->bits != NULL && answers_differ(first, &a, where, sizeof where)) {
        progress_end(&s->shown);
        fprintf(stderr, "kina-bench: N = %lld, %s: %s is not the same to the bit as with %s\n",
                b->n, r->name, where, b->rows[b->reference].name);
        r->same = false;
    }
    answer_close(&a);
    return 0;
}

static int run_rounds(session *s, block *b, rounds *times, answer *first) {
    for (int round = 0; round < s->o->number[GIVEN_runs]; round++) {
        int code = run_row(s, b, b->reference, round, times, first);
        for (int i = 0; i < b->count && code == 0; i++) {
            if (i != b->reference) code = run_row(s, b, i, round, times, first);
        }
        if (code != 0) return code;
    }
    return 0;
}

/* Once more with live bytes looked at, which is not timed. */
static int sample_rows(session *s, block *b) {
    s->w.sample = true;
    for (int i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        answer a;
        if (r->refused) continue;
        progress_step(&s->shown, r->name, b->n);
        work_run(&s->w, &r->p, &a);
        if (process_interrupted || a.exit != 0) {
            int code = fault(&a);
            answer_close(&a);
            return code;
        }
        r->samples = a.samples;
        r->sample_count = a.sample_count;
        a.samples = NULL;
        answer_close(&a);
    }
    s->w.sample = false;
    return 0;
}

/* ---- concluding ---- */

/* The piece that begins the loop is as long as states are apart. */
static void note_piece(void *self, trace_kind kind, uint64_t time, uint64_t from, uint64_t to) {
    row *r = self;
    (void)time;
    if (kind == TRACE_TAPE && from == 0) r->first_piece = to;
}

/* What the schedule alone says about one plain loop; whether the trip count was known ahead is
 * tried both ways. */
static void hold_to_schedule(const block *b, row *r) {
    if (r->m.loops != 1 || r->m.runs != 1 || r->p.kind == POLICY_ALL) return;
    context c;
    context_init(&c);
    trace_sizes sizes = {b->state_bytes, r->m.taped_bytes > 0 ? r->m.taped_bytes : b->taped_bytes};
    for (int known = 1; known >= 0 && r->scheduled != r->m.advanced + r->m.taped; known--) {
        policy p = r->p;
        uint64_t executions;
        p.known = known != 0;
        p.trips = r->m.trips;
        if (trace_run(&c, &p, r->m.trips, sizes, note_piece, r, &executions))
            r->scheduled = executions;
        error_clear(&c.err);
    }
    context_close(&c);
}

static void conclude(const session *s, block *b, rounds *times) {
    int runs = s->o->number[GIVEN_runs];
    for (int i = 0; i < b->count; i++) {
        const measure *m = &b->rows[i].m;
        if (m->state_bytes > b->state_bytes) b->state_bytes = m->state_bytes;
        if (m->taped_bytes > b->taped_bytes) b->taped_bytes = m->taped_bytes;
    }
    for (int i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        if (r->refused) continue;
        const rounds *base = &times[b->reference];
        for (int k = 0; k < runs; k++) {
            times[i].ratio[k] = times[i].total[k] / base->total[k];
            times[i].processor_ratio[k] = times[i].processor[k] / base->processor[k];
        }
    }
    for (int i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        if (r->refused) continue;
        if (r->m.trips == 0) r->m.trips = b->n > 0 ? (uint64_t)b->n : 0;
        r->forward = bench_median(times[i].forward, runs);
        r->backward = bench_median(times[i].backward, runs);
        r->total = bench_median(times[i].total, runs);
        r->ratio = bench_median(times[i].ratio, runs);
        r->processor = bench_median(times[i].processor, runs);
        r->processor_ratio = bench_median(times[i].processor_ratio, runs);
        r->spread = (times[i].total[runs - 1] - times[i].total[0]) / r->total;
        hold_to_schedule(b, r);
    }
}

static int measure_block(session *s, block *b, bool last) {
    int count = s->policy_count;
    *b = (block){.n = s->w.with_n ? s->w.n : 0, .count = count, .reference = s->reference};
    b->rows = bench_take((size_t)count * sizeof *b->rows);
    for (int i = 0; i < count; i++) {
        b->rows[i] = (row){.p = s->policies[i], .same = true};
        memcpy(b->rows[i].name, s->names[i], sizeof b->rows[i].name);
    }
    rounds *times = rounds_new(count, s->o->number[GIVEN_runs]);
    answer first = {0};
    int code = run_rounds(s, b, times, &first);
    if (code == 0 && b->rows[b->reference].refused)
        code = bench_fail(ERROR_K0514, "%s: %s", b->rows[b->reference].name,
                          b->rows[b->reference].why);
    if (code == 0) conclude(s, b, times);
    if (code == 0 && last && s->o->text[GIVEN_plot] != NULL) code = sample_rows(s, b);
    progress_end(&s->shown);
    answer_close(&first);
    rounds_close(times, count);
    return code;
}

/* ---- the verb ---- */

static void show(const session *s, const block *b, bool first) {
    if (s->o->text[GIVEN_json] != NULL) return;
    if (s->o->text[GIVEN_csv] != NULL) {
        rows_csv(b, first);
    } else {
        rows_table(b, first);
    }
    fflush(stdout);
}

/* A policy that was refused has failed while running; bits that differ are worse. */
static int verdict(const session *s) {
    int code = 0;
    for (int i = 0; i < s->block_count; i++) {
        for (int k = 0; k < s->blocks[i].count; k++) {
            const row *r = &s->blocks[i].rows[k];
            if (!r->same) return EXIT_DIFFERS;
            if (r->refused) code = EXIT_FAILED;
        }
    }
    return code;
}

static int measure_all(session *s) {
    static const long long usual[] = {100, 1000, 10000};
    const bench_options *o = s->o;
    bool given = o->list_count > 0, one = !s->w.with_n;
    int count = one ? 1 : given ? o->list_count : (int)COUNT_OF(usual), code = 0;
    int base = s->policy_count;
    int each = base + (s->sweep ? 16 : 0);
    s->shown =
        progress_begin(count * each * o->number[GIVEN_runs], o->text[GIVEN_progress] != NULL);
    for (int i = 0; i < count && code == 0; i++) {
        s->w.n = one ? 0 : given ? o->list[i] : usual[i];
        s->policy_count = base;
        if (s->sweep) code = add_sweep(s, s->w.n > 0 ? s->w.n : 1024);
        s->block_count++;
        if (code == 0) code = measure_block(s, &s->blocks[i], i == count - 1);
        if (code == 0) show(s, &s->blocks[i], i == 0);
    }
    return code;
}

static int finish(session *s) {
    const bench_options *o = s->o;
    int code = 0;
    if (o->text[GIVEN_json] != NULL) {
        rows_heading h = {.program = s->w.path, .fn = s->w.fn, .threads = s->w.threads};
        h.runs = o->number[GIVEN_runs];
        h.cold = s->w.cold;
        rows_json(&h, s->blocks, s->block_count);
    }
    code = bench_finish_output();
    if (code == 0 && o->text[GIVEN_plot] != NULL)
        code = plot_block(o->text[GIVEN_plot], o->text[GIVEN_plot_each] != NULL,
                          &s->blocks[s->block_count - 1]);
    return code != 0 ? code : verdict(s);
}

int bench_checkpoint(const bench_options *o) {
    static session s;
    s = (session){.o = o};
    int code = read_policies(&s);
    if (code == 0 && o->text[GIVEN_progress] != NULL &&
        strcmp(o->text[GIVEN_progress], "plain") != 0)
        code = bench_fail(ERROR_K0801, "--progress takes the word plain");
    if (code == 0 && o->text[GIVEN_plot] != NULL) code = plot_possible(o->text[GIVEN_plot]);
    if (code == 0) code = open_work(&s);
    if (code == 0) code = measure_all(&s);
    if (code == 0) code = finish(&s);
    for (int i = 0; i < s.block_count; i++) {
        for (int k = 0; s.blocks[i].rows != NULL && k < s.blocks[i].count; k++)
            free(s.blocks[i].rows[k].samples);
        free(s.blocks[i].rows);
    }
    free(s.text);
    return code;
}
