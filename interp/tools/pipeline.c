/* MLIR's tools: mlir-opt-19, mlir-translate-19, then clang-19, or llc-19 and gcc. */
#include "interp/tools/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arena.h"
#include "runtime/text.h"

extern char **environ;

static const span nowhere = {0, 0};

/* What a module may call besides libm: a copy between memrefs of any layouts, and tapes, which are chains of
 * cells of one tensor each. */
#define C_TEXT(...) #__VA_ARGS__
/* clang-format off */
static const char runtime_text[] = C_TEXT(
    typedef __INT64_TYPE__ i64;
    struct unranked { i64 rank; void *descriptor; };
    struct memref { char *allocated, *aligned; i64 offset, dims[]; };
    static void copy(i64 size, i64 rank, const i64 *dims, const i64 *from, const i64 *to,
                     const char *p, char *q) {
        if (rank == 0) __builtin_memcpy(q, p, (__SIZE_TYPE__)size);
        for (i64 i = 0; rank > 0 && i < dims[0]; i++)
            copy(size, rank - 1, dims + 1, from + 1, to + 1, p + i * from[0] * size, q + i * to[0] * size);
    }
    __attribute__((visibility("hidden"))) void memrefCopy(i64 size, struct unranked *from, struct unranked *to) {
        const struct memref *a = from->descriptor, *b = to->descriptor;
        copy(size, from->rank, a->dims, a->dims + from->rank, b->dims + from->rank,
             a->aligned + a->offset * size, b->aligned + b->offset * size);
    }
    struct cell { struct cell *below; void *data; i64 dims[8]; };
    void *malloc(__SIZE_TYPE__);
    void free(void *);
    void abort(void);
    static void *memory(i64 bytes) {
        void *p = malloc(bytes > 0 ? (__SIZE_TYPE__)bytes : 1);
        if (!p) abort();
        return p;
    }
    static i64 push(i64 tape, const struct memref *x, i64 rank, i64 size) {
        struct cell *c = memory(sizeof *c);
        i64 strides[8];
        i64 bytes = size;
        for (i64 i = rank - 1; i >= 0; i--) {
            strides[i] = bytes / size;
            bytes *= c->dims[i] = x->dims[i];
        }
        c->below = (void *)tape;
        c->data = memory(bytes);
        copy(size, rank, x->dims, x->dims + rank, strides, x->aligned + x->offset * size, c->data);
        return (i64)c;
    }
    static void pop(struct memref *out, i64 tape, i64 rank) {
        struct cell *c = (void *)tape;
        i64 stride = 1;
        out->allocated = out->aligned = c->data;
        out->offset = 0;
        for (i64 i = rank - 1; i >= 0; i--) {
            out->dims[i] = c->dims[i];
            out->dims[rank + i] = stride;
            stride *= c->dims[i];
        }
        free(c);
    }
    __attribute__((visibility("hidden"))) i64 kina_tape_below(i64 tape) {
        return (i64)((struct cell *)tape)->below;
    }
    __attribute__((visibility("hidden"))) void kina_tape_drop(i64 tape) {
        for (struct cell *c = (void *)tape; c;) {
            struct cell *below = c->below;
            free(c->data);
            free(c);
            c = below;
        }
    }
) "\n";
/* clang-format on */

/* Of the run time, push and pop for every element type and rank, by the names that the emitter gives them. */
static void add_tape_functions(text *t) {
    static const struct {
        const char *name;
        int size;
    } elements[] = {{"f32", 4}, {"f64", 8}, {"i32", 4}, {"i64", 8}, {"i1", 1}};
    for (size_t k = 0; k < COUNT_OF(elements); k++)
        for (int rank = 0; rank <= MAX_RANK; rank++) {
            text_format(t,
                        "i64 _mlir_ciface_kina_tape_push_%s_%d(i64 t, struct memref *x) { return push(t, x, "
                        "%d, %d); }\n",
                        elements[k].name, rank, rank, elements[k].size);
            text_format(
                t, "void _mlir_ciface_kina_tape_pop_%s_%d(struct memref *out, i64 t) { pop(out, t, %d); }\n",
                elements[k].name, rank, rank);
        }
}

/* The files of one run, in a folder of its own; the last is what tools say on standard error. */
enum { FILE_MODULE, FILE_LOWERED, FILE_IR, FILE_RUNTIME, FILE_OBJECT, FILE_MESSAGES, FILE_COUNT };
static const char *const file_names[FILE_COUNT] = {"module.mlir", "lowered.mlir", "module.ll",
                                                   "runtime.c",   "module.o",     "messages"};

typedef struct pipeline {
    context *c;
    arena a;
    char *folder;
    const char *file[FILE_COUNT];
} pipeline;

/* ---- files ---- */

static bool cannot_write(pipeline *p, const char *path) {
    return error_set(&p->c->err, ERROR_K0602, nowhere, "cannot write '%s': %s", path, strerror(errno));
}

static bool write_file(pipeline *p, const char *path, const char *data, size_t length) {
    FILE *file = fopen(path, "we");
    if (file == NULL) return cannot_write(p, path);
    bool ok = fwrite(data, 1, length, file) == length;
    ok = fclose(file) == 0 && ok;
    return ok || cannot_write(p, path);
}

static bool write_runtime(pipeline *p) {
    text t;
    text_init(&t, p->c);
    text_add(&t, runtime_text);
    add_tape_functions(&t);
    bool ok = !t.failed && write_file(p, p->file[FILE_RUNTIME], text_data(&t), t.length);
    text_close(&t);
    return ok;
}

static bool make_folder(pipeline *p) {
    const char *above = getenv("TMPDIR");
    char *folder =
        arena_format(&p->a, "%s/kina-build-XXXXXX", above != NULL && above[0] != '\0' ? above : "/tmp");
    if (folder == NULL) return false;
    for (int i = 0; i < FILE_COUNT; i++) {
        p->file[i] = arena_format(&p->a, "%s/%s", folder, file_names[i]);
        if (p->file[i] == NULL) return false;
    }
    if (mkdtemp(folder) == NULL) return cannot_write(p, folder);
    for (int i = 0; i < FILE_COUNT; i++) memcpy((char *)(uintptr_t)p->file[i], folder, strlen(folder));
    p->folder = folder;
    return true;
}

static void remove_folder(pipeline *p) {
    if (p->folder == NULL) return;
    for (int i = 0; i < FILE_COUNT; i++) unlink(p->file[i]);
    rmdir(p->folder);
}

/* ---- tools ---- */

static bool on_path(const char *tool) {
    const char *path = getenv("PATH");
    char candidate[4096];
    for (const char *p = path != NULL ? path : ""; *p != '\0';) {
        size_t length = strcspn(p, ":");
        int wanted = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, p, tool);
        if (wanted > 0 && (size_t)wanted < sizeof candidate && access(candidate, X_OK) == 0) return true;
        p += length + (p[length] == ':');
    }
    return false;
}

static bool need(pipeline *p, const char *tool, const char *package) {
    if (on_path(tool)) return true;
    error_set(&p->c->err, ERROR_K0601, nowhere, "%s is not installed", tool);
    error_help(&p->c->err, "apt-get install --no-install-recommends %s", package);
    return false;
}

/* The first line that a tool wrote on standard error. */
static void first_message(pipeline *p, char *out, size_t room) {
    FILE *file = fopen(p->file[FILE_MESSAGES], "re");
    out[0] = '\0';
    if (file == NULL) return;
    if (fgets(out, (int)room, file) == NULL) out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    fclose(file);
}

static bool ended_well(pipeline *p, const char *tool, int status) {
    char message[256];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    if (!context_may_go_on(p->c, nowhere)) return false;
    first_message(p, message, sizeof message);
    return error_set(&p->c->err, ERROR_K0901, nowhere, "%s failed%s%s", tool, message[0] != '\0' ? ": " : "",
                     message);
}

static bool run(pipeline *p, const char *const *argv) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    if (!context_may_go_on(p->c, nowhere)) return false;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure == 0) {
        failure = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, p->file[FILE_MESSAGES],
                                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (failure == 0)
            failure = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (failure != 0)
        return error_set(&p->c->err, ERROR_K0601, nowhere, "cannot run %s: %s", argv[0], strerror(failure));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return ended_well(p, argv[0], status);
}

/* ---- the steps ---- */

/* The order matters; docs/mlir.md says why. */
static bool lower(pipeline *p) {
    static const char bufferize[] =
        "-one-shot-bufferize=bufferize-function-boundaries allow-return-allocs-from-loops "
        "function-boundary-type-conversion=identity-layout-map";
    const char *const argv[] = {
        "mlir-opt-19",
        "-convert-elementwise-to-linalg",
        bufferize,
        "-buffer-deallocation-pipeline",
        "-convert-bufferization-to-memref",
        "-convert-linalg-to-loops",
        "-expand-strided-metadata",
        "-lower-affine",
        "-convert-scf-to-cf",
        "-convert-math-to-llvm",
        "-convert-math-to-libm",
        "-convert-arith-to-llvm",
        "-finalize-memref-to-llvm",
        "-convert-func-to-llvm",
        "-convert-cf-to-llvm",
        "-reconcile-unrealized-casts",
        p->file[FILE_MODULE],
        "-o",
        p->file[FILE_LOWERED],
        NULL,
    };
    return run(p, argv);
}

static bool translate(pipeline *p) {
    const char *const argv[] = {
        "mlir-translate-19", "--mlir-to-llvmir", p->file[FILE_LOWERED], "-o", p->file[FILE_IR], NULL};
    return run(p, argv);
}

/* A program may call a function like one of the C library's (`step`, `index`): inside the library its own is
 * meant. */
#define OWN_FIRST "-Wl,-Bsymbolic"

/* No call of libm may be folded or replaced: pow(x, 2.0) stays a call. */
static bool with_clang(pipeline *p, const char *path) {
    const char *const argv[] = {"clang-19",
                                "-O2",
                                "-fno-builtin",
                                "-fPIC",
                                "-shared",
                                OWN_FIRST,
                                "-Wno-override-module",
                                p->file[FILE_IR],
                                p->file[FILE_RUNTIME],
                                "-lm",
                                "-o",
                                path,
                                NULL};
    return run(p, argv);
}

static bool with_llc(pipeline *p, const char *path) {
    const char *const compile[] = {"llc-19",         "-O2", "-relocation-model=pic", "-filetype=obj",
                                   p->file[FILE_IR], "-o",  p->file[FILE_OBJECT],    NULL};
    const char *const link[] = {
        "gcc", "-O2", "-fPIC", "-shared", OWN_FIRST, p->file[FILE_OBJECT], p->file[FILE_RUNTIME],
        "-lm", "-o",  path,    NULL};
    return run(p, compile) && run(p, link);
}

static bool steps(pipeline *p, const char *module, size_t length, const char *path) {
    bool clang = on_path("clang-19");
    if (!need(p, "mlir-opt-19", "mlir-19-tools") || !need(p, "mlir-translate-19", "mlir-19-tools"))
        return false;
    if (!clang && (!need(p, "llc-19", "llvm-19") || !need(p, "gcc", "gcc"))) return false;
    if (!make_folder(p) || !write_file(p, p->file[FILE_MODULE], module, length)) return false;
    if (!write_runtime(p)) return false;
    return lower(p) && translate(p) && (clang ? with_clang(p, path) : with_llc(p, path));
}

bool pipeline_run(context *c, const char *module, size_t length, const char *path) {
    pipeline p = {.c = c};
    arena_init(&p.a, c);
    bool ok = steps(&p, module, length, path);
    remove_folder(&p);
    arena_close(&p.a);
    return ok;
}
