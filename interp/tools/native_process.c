/* The parent's part of a call (native.h): the memory that both processes share, the child, and its
 * end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interp/tools/native.h"
#include "runtime/context.h"

static const span nowhere = {0, 0};

enum { LINE = 64 }; /* what lies in the mapping is aligned to this */

static bool no_process(context *c, const char *what) {
    return error_set(&c->err, ERROR_K0506, nowhere, "%s: %s", what, strerror(errno));
}

/* ---- the shared memory ---- */

/* Room for one more thing of so many bytes: where it lies. */
static size_t reserve(size_t *used, size_t bytes) {
    size_t at = (*used + LINE - 1) / LINE * LINE;
    *used = at + bytes;
    return at;
}

static size_t result_bytes(const native_call *call, int i) {
    return (size_t)value_size(&call->expected[i]) * dtype_size(call->signature->result[i].t);
}

static native_outcome *map_outcome(context *c, const native_call *call) {
    const native_signature *s = call->signature;
    size_t used = sizeof(native_outcome);
    size_t arguments = reserve(&used, sizeof(native_argument) * (size_t)s->params);
    size_t results = reserve(&used, sizeof(native_result) * (size_t)s->results);
    size_t first = used;
    for (int i = 0; i < s->results; i++) reserve(&used, result_bytes(call, i));
    void *p = mmap(NULL, used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        no_process(c, "no memory to share with the library's process");
        return NULL;
    }
    native_outcome *o = p;
    o->bytes = used;
    o->argument = (native_argument *)(void *)((char *)p + arguments);
    o->result = (native_result *)(void *)((char *)p + results);
    used = first;
    for (int i = 0; i < s->results; i++) {
        o->result[i] = (native_result){.argument = -1, .shares = -1};
        o->result[i].data = reserve(&used, result_bytes(call, i));
    }
    return o;
}

void native_close(native_outcome *o) {
    if (o != NULL) munmap(o, o->bytes);
}

/* ---- the child's end ---- */

static int milliseconds_left(int64_t until) {
    if (until == 0) return -1;
    int64_t left = (until - monotonic_nanoseconds()) / 1000000 + 1;
    return left < 0 ? 0 : left > 1000 * 1000 ? 1000 * 1000 : (int)left;
}

/* Waits until the child has closed its end of the pipe, which is when it ends. False: it was told
 * to. */
static bool wait_for_end(context *c, int end, int64_t until, native_outcome *o) {
    for (;;) {
        struct pollfd p = {.fd = end, .events = POLLIN};
        int ready = poll(&p, 1, milliseconds_left(until));
        if (ready > 0) return true;
        if (c->interrupt != NULL && *c->interrupt != 0) return false;
        if (ready == 0 && monotonic_nanoseconds() >= until) {
            o->late = true;
            return false;
        }
    }
}

static void watch(context *c, pid_t pid, int end, int64_t time_limit, native_outcome *o) {
    int64_t until = 0;
    int status = 0;
    if (time_limit > 0 && __builtin_add_overflow(monotonic_nanoseconds(), time_limit, &until))
        until = INT64_MAX;
    if (!wait_for_end(c, end, until, o)) kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (o->late || o->stage == STAGE_DONE) return;
    o->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    o->status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

bool native_perform(context *c, const native_call *call, native_outcome **out) {
    int ends[2];
    *out = NULL;
    if (pipe(ends) != 0) return no_process(c, "no pipe to the library's process");
    native_outcome *o = map_outcome(c, call);
    pid_t pid = o != NULL ? fork() : -1;
    if (pid == 0) {
        close(ends[0]);
        native_child(call, o);
    }
    close(ends[1]);
    if (pid > 0) watch(c, pid, ends[0], call->time_limit, o);
    close(ends[0]);
    if (pid < 0) {
        if (o != NULL) no_process(c, "no process for the library");
        native_close(o);
        return false;
    }
    if (c->interrupt != NULL && *c->interrupt != 0) {
        native_close(o);
        return error_set(&c->err, ERROR_K0509, nowhere, "interrupted");
    }
    *out = o;
    return true;
}
