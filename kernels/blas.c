/* Opening OpenBLAS (blas.h). */
#include "kernels/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static blas library;
static bool loaded;

/* A function pointer out of the library; ISO C has no cast for it. */
static bool find(void *handle, const char *symbol, void *function, size_t size) {
    void *address = dlsym(handle, symbol);
    memcpy(function, &address, size);
    return address != NULL;
}

#define FIND(handle, symbol, function) find((handle), (symbol), &(function), sizeof(function))

static void load(void) {
    void (*set_num_threads)(int) = NULL;
    char *(*corename)(void) = NULL;
    char *(*config)(void) = NULL;
    void *handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    loaded =
        FIND(handle, "cblas_sgemm", library.sgemm) && FIND(handle, "cblas_dgemm", library.dgemm) &&
        FIND(handle, "cblas_sgemv", library.sgemv) && FIND(handle, "cblas_dgemv", library.dgemv) &&
        FIND(handle, "openblas_set_num_threads", set_num_threads);
    if (!loaded) {
        dlclose(handle);
        return;
    }
    set_num_threads(1);
    library.lapack = FIND(handle, "dgetrf_", library.dgetrf) &&
                     FIND(handle, "dgetrs_", library.dgetrs) &&
                     FIND(handle, "dgetri_", library.dgetri) &&
                     FIND(handle, "dpotrf_", library.dpotrf) &&
                     FIND(handle, "dtrtrs_", library.dtrtrs) &&
                     FIND(handle, "dgesvd_", library.dgesvd);
    const char *version = "OpenBLAS", *core = "";
    char words[64] = "";
    /* The configuration begins "OpenBLAS 0.3.21 …". */
    if (FIND(handle, "openblas_get_config", config)) {
        unsigned spaces = 0, n = 0;
        for (const char *p = config(); *p != '\0' && n < sizeof words - 1; p++) {
            if (*p == ' ' && ++spaces == 2) break;
            words[n++] = *p;
        }
        words[n] = '\0';
        version = words;
    }
    if (FIND(handle, "openblas_get_corename", corename)) core = corename();
    snprintf(library.name, sizeof library.name, "%s %.24s", version, core);
}

const blas *blas_open(void) {
    pthread_once(&once, load);
    return loaded ? &library : NULL;
}
