/* The measured process: a program is loaded, called, and what it cost is sent to the parent. */
#include "bench/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ad/checkpoint.h"
#include "bench/bench.h"
#include "interp/tools/arguments.h"
#include "kernels/kernel.h"
#include "runtime/context.h"

enum { SAMPLES = 4096 };

static const char wrapper_name[] = "kina_bench_gradient";

typedef struct child {
    const work *w;
    context c;
    engine e;
    bool engine_open;
    text wrapped; /* the program behind its wrapper */
    const char *fn;
    answer a;
    int64_t start;
    double processor;
    bool entered;
    uint64_t skipped, stride; /* every stride-th entry is kept */
    sample *samples;
} child;

/* ---- looking at the run ---- */

static double processor_seconds(void) {
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return 0;
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

/* Beyond SAMPLES each two become one, with the larger bytes. */
static void add_sample(child *j) {
    answer *a = &j->a;
    double now = (double)(monotonic_nanoseconds() - j->start) * 1e-9, live = (double)j->c.mem.live;
    sample *last = a->sample_count > 0 ? &j->samples[a->sample_count - 1] : NULL;
    if (last != NULL && ++j->skipped < j->stride) {
        if (live > last->bytes) last->bytes = live;
        return;
    }
    j->skipped = 0;
    if (a->sample_count == SAMPLES) {
        for (size_t i = 0; i < SAMPLES / 2; i++) {
            sample *one = &j->samples[2 * i];
            j->samples[i] = one[one[1].bytes > one[0].bytes];
        }
        a->sample_count = SAMPLES / 2;
        j->stride *= 2;
    }
    j->samples[a->sample_count++] = (sample){now, live};
}

/* The clock starts at the first body, behind the making of inputs. */
static void look(void *self, context *c) {
    child *j = self;
    if (!j->entered) {
        j->entered = true;
        j->a.m.base = c->mem.live;
        j->start = monotonic_nanoseconds();
        j->processor = processor_seconds();
    }
    if (j->samples == NULL) {
        c->on_iteration = NULL;
    } else {
        add_sample(j);
    }
}

/* ---- loading ---- */

static void open_engine(child *j, const policy *p) {
    engine_init(&j->e, &j->c, (engine_options){.checkpoint = *p});
    j->engine_open = true;
}

static void close_engine(child *j) {
    if (j->engine_open) engine_close(&j->e);
    j->engine_open = false;
}

static bool load(child *j, const char *s, size_t length) {
    if (engine_load(&j->e, j->w->path, s, length)) return true;
    diag_style style = report_style(&(options){.verb = VERB_run});
    if (j->c.err.code == ERROR_NONE && report_diagnostics(&j->c, &j->e.diags, style))
        j->a.exit = EXIT_SOURCE;
    return false;
}

/* Right behind fn: a function of the same parameters that gives the gradients. What fn reads is
 * there by then, and no line moves. */
static bool wrap(child *j, const fn_decl *fn) {
    text *t = &j->wrapped;
    size_t end = fn->body->at.end;
    text_add_bytes(t, j->w->text, end);
    text_format(t, " fn %s(", wrapper_name);
    for (int i = 0; i < fn->count; i++) {
        text_format(t, "%s%s: ", i > 0 ? ", " : "", fn->params[i].name);
        type_print(j->e.program.dims, fn->type->items[i], t);
    }
    text_format(t, ") { handle %s(", fn->name);
    for (int i = 0; i < fn->count; i++) {
        text_format(t, "%s%s", i > 0 ? ", " : "", fn->params[i].name);
    }
    text_add(t, ") with reverseMode } ");
    text_add_bytes(t, j->w->text + end, j->w->length - end);
    return !t->failed;
}

/* A function that returns one floating value has its gradient taken; any other does that itself. */
static bool load_program(child *j, const policy *p) {
    const work *w = j->w;
    open_engine(j, p);
    j->fn = w->fn;
    if (!load(j, w->text, w->length)) return false;
    if (w->fn == NULL) {
        if (engine_has_main(&j->e)) return true;
        error_set(&j->c.err, ERROR_K0802, (span){0, 0}, "the program has no final expression");
        error_help(&j->c.err, "--fn NAME calls one of its functions");
        return false;
    }
    fn_decl *fn = arguments_function(&j->c, &j->e.program, w->fn);
    if (fn == NULL) return false;
    if (w->as_it_is || !type_is_floating(fn->type->result)) return true;
    if (!wrap(j, fn)) return false;
    close_engine(j);
    open_engine(j, p);
    j->fn = wrapper_name;
    return load(j, text_data(&j->wrapped), j->wrapped.length);
}

/* ---- calling ---- */

static bool read_arguments(child *j, const fn_decl *fn, arguments *out) {
    const work *w = j->w;
    size_t bytes = (size_t)(w->arg_count + 1) * sizeof(char *);
    char n[32];
    snprintf(n, sizeof n, "n=%lld", w->n);
    char **given = take(&j->c, bytes);
    if (given == NULL) return false;
    for (int i = 0; i < w->arg_count; i++) given[i] = w->args[i];
    given[w->arg_count] = n;
    bool ok = arguments_read(&j->c, &j->e.program, fn, given, w->arg_count + w->with_n, out);
    give_back(&j->c, given, bytes);
    return ok;
}

static bool call(child *j, const fn_decl *fn, const arguments *args, results *out) {
    if (fn == NULL) return engine_run(&j->e, out);
    return engine_call(&j->e, fn, args->values, args->count, out);
}

static void note_loops(measure *m, const context_stats *s) {
    m->loops = (uint64_t)s->loop_count;
    for (int i = 0; i < s->loop_count; i++) {
        const loop_report *l = &s->loops[i];
        m->runs += l->runs;
        if (l->state_bytes < m->state_bytes) continue;
        m->trips = l->trips;
        m->states = l->states;
        m->state_bytes = l->state_bytes;
        m->taped_bytes = l->taped_bytes;
        m->optimum = l->optimum;
    }
}

static uint64_t held_bytes(const value *v) {
    if (v->kind != VALUE_TENSOR) return 0;
    return v->as.t->base != NULL ? v->as.t->base->block : v->as.t->block;
}

static bool measured_call(child *j, const fn_decl *fn, const arguments *args, results *out) {
    context *c = &j->c;
    measure *m = &j->a.m;
    context_forget_loops(c);
    c->stats = (context_stats){0};
    j->processor = processor_seconds();
    c->mem.peak = c->mem.live;
    c->on_iteration = look;
    c->observer = j;
    m->base = c->mem.live;
    j->start = monotonic_nanoseconds();
    if (!call(j, fn, args, out)) return false;
    double total = (double)(monotonic_nanoseconds() - j->start) * 1e-9;
    m->processor = processor_seconds() - j->processor;
    c->on_iteration = NULL;
    if (j->samples != NULL && j->a.sample_count == SAMPLES) j->a.sample_count--;
    if (j->samples != NULL) j->samples[j->a.sample_count++] = (sample){total, (double)c->mem.live};
    m->backward = c->stats.seconds_backward;
    m->forward = total - m->backward;
    m->peak = c->mem.peak;
    m->iterations = c->stats.iterations;
    m->advanced = c->stats.advanced;
    m->taped = c->stats.taped;
    checkpoint_optima(c);
    note_loops(m, &c->stats);
    for (int i = 0; i < out->count; i++) m->results += held_bytes(&out->items[i].v);
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) m->resident = (uint64_t)usage.ru_maxrss * 1024;
    return true;
}

/* ---- bits ---- */

/* The head of one result in answer.bits, its elements behind it. */
typedef struct bits_head {
    char name[40];
    uint64_t count;
    uint32_t element, floating;
} bits_head;

static bool add_bits(child *j, text *t, const result *r) {
    value one = value_none();
    const void *data = &r->v.as;
    bits_head head = {.count = (uint64_t)value_size(&r->v)};
    head.element = (uint32_t)dtype_size((dtype)r->v.dtype);
    head.floating = dtype_floating((dtype)r->v.dtype);
    snprintf(head.name, sizeof head.name, "%s", r->name);
    if (r->v.kind == VALUE_TENSOR) {
        tensor *whole = kernel_contiguous(&j->c, r->v.as.t);
        if (whole == NULL) return false;
        one = value_tensor(whole);
        data = whole->data;
    }
    text_add_bytes(t, (const char *)&head, sizeof head);
    text_add_bytes(t, data, head.count * head.element);
    value_release(&j->c, one);
    return !t->failed;
}

static bool not_a_number(const char *p, const bits_head *h) {
    float f;
    double d;
    if (!h->floating) return false;
    if (h->element == sizeof d) {
        memcpy(&d, p, sizeof d);
        return d != d;
    }
    memcpy(&f, p, sizeof f);
    return f != f;
}

bool answers_differ(const answer *a, const answer *b, char *where, size_t room) {
    const char *p = a->bits, *q = b->bits, *end = a->bits + a->bit_bytes;
    snprintf(where, room, "the number or shape of the results");
    if (a->bit_bytes != b->bit_bytes) return true;
    while (p < end) {
        bits_head h;
        memcpy(&h, p, sizeof h);
        if (memcmp(p, q, sizeof h) != 0) return true;
        p += sizeof h;
        q += sizeof h;
        for (uint64_t i = 0; i < h.count; i++, p += h.element, q += h.element) {
            if (memcmp(p, q, h.element) == 0 || (not_a_number(p, &h) && not_a_number(q, &h)))
                continue;
            snprintf(where, room, "%s at element %llu", h.name, (unsigned long long)i);
            return true;
        }
    }
    return false;
}

/* ---- the process ---- */

static bool do_work(child *j, const policy *p, text *bits) {
    if (!load_program(j, p)) return false;
    arguments args = {0};
    const fn_decl *fn = NULL;
    if (j->fn != NULL) {
        fn = arguments_function(&j->c, &j->e.program, j->fn);
        if (fn == NULL || !read_arguments(j, fn, &args)) return false;
    }
    results r = {0};
    bool ok = true;
    if (!j->w->cold) {
        ok = call(j, fn, &args, &r);
        results_release(&j->c, &r);
    }
    ok = ok && measured_call(j, fn, &args, &r);
    for (int i = 0; ok && i < r.count; i++) ok = add_bits(j, bits, &r.items[i]);
    results_release(&j->c, &r);
    arguments_release(&j->c, &args);
    return ok;
}

static bool send(int to, const void *p, size_t bytes) {
    for (const char *at = p; bytes > 0;) {
        ssize_t n = write(to, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* A budget that is too small is an outcome, which the parent tells; anything else ends the bench
 * and is shown here, where the source is. */
static void conclude(child *j) {
    const source *src = j->engine_open && j->e.src.text != NULL ? &j->e.src : NULL;
    if (j->c.err.code == ERROR_K0514) {
        j->a.failure = j->c.err;
        j->a.exit = EXIT_FAILED;
    } else if (j->c.err.code == ERROR_K0509) {
        j->a.exit = EXIT_INTERRUPTED;
    } else if (j->c.err.code != ERROR_NONE) {
        j->a.exit = (int)report_error(&j->c, src, report_style(&(options){.verb = VERB_run}));
    } else if (j->a.exit == 0) {
        j->a.exit = EXIT_INTERNAL;
    }
}

static _Noreturn void be_child(const work *w, const policy *p, int to) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    static child j;
    j = (child){.w = w, .stride = 1};
    context_init(&j.c);
    j.c.threads = w->threads;
    j.c.interrupt = &process_interrupted;
    j.c.stack_end = process_stack_end();
    kernel_install(&j.c);
    if (w->sample) j.samples = bench_take(SAMPLES * sizeof *j.samples);
    text bits;
    text_init(&bits, &j.c);
    text_init(&j.wrapped, &j.c);
    bool ok = do_work(&j, p, &bits);
    if (!ok) conclude(&j);
    j.a.bit_bytes = ok ? bits.length : 0;
    ok = send(to, &j.a, sizeof j.a) && send(to, text_data(&bits), j.a.bit_bytes) &&
         send(to, j.samples, j.a.sample_count * sizeof *j.samples);
    _exit(ok ? 0 : EXIT_INTERNAL);
}

static bool receive(int from, void *p, size_t bytes) {
    for (char *at = p; bytes > 0;) {
        ssize_t n = read(from, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool receive_answer(int from, answer *a) {
    answer head;
    if (!receive(from, &head, sizeof head)) return false;
    *a = head;
    a->samples = NULL;
    a->bits = bench_take(a->bit_bytes);
    a->samples = bench_take(a->sample_count * sizeof *a->samples);
    return receive(from, a->bits, a->bit_bytes) &&
           receive(from, a->samples, a->sample_count * sizeof *a->samples);
}

static void failed(answer *out, const char *what, int cause) {
    answer_close(out);
    out->exit = EXIT_INTERNAL;
    error_set(&out->failure, ERROR_K0901, (span){0, 0}, "%s%s%s", what, cause != 0 ? ": " : "",
              cause != 0 ? strerror(cause) : "");
}

void work_run(const work *w, const policy *p, answer *out) {
    *out = (answer){0};
    int ends[2];
    if (pipe(ends) != 0) {
        failed(out, "cannot start a process", errno);
        return;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_child(w, p, ends[1]);
    }
    int cause = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        failed(out, "cannot start a process", cause);
        return;
    }
    bool ok = receive_answer(ends[0], out);
    close(ends[0]);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (ok) return;
    char what[64] = "the measured process sent nothing";
    if (WIFSIGNALED(status))
        snprintf(what, sizeof what, "the measured process was ended by signal %d",
                 WTERMSIG(status));
    failed(out, what, 0);
}

void answer_close(answer *a) {
    free(a->bits);
    free(a->samples);
    *a = (answer){0};
}

double measure_own_bytes(const measure *m, uint64_t state_bytes) {
    double own = (double)m->peak - (double)m->base + (double)state_bytes;
    double weights = m->results > state_bytes ? (double)(m->results - state_bytes) : 0;
    return own > weights ? own - weights : 0;
}
