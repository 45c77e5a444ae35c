/* The one file that holds the version, which the build takes from the repository. */
#include "interp/tools/version.h"

#include "kernels/kernel.h"

#ifndef KINA_VERSION
#define KINA_VERSION "unknown"
#endif

void version_print(context *c, FILE *to) {
    fprintf(to, "kina-interp %s\n", KINA_VERSION);
    const char *blas = kernel_blas_name(c);
    fprintf(to, "matrix products: %s\n", blas != NULL ? blas : "none");
    fprintf(to, "vector functions: %s\n", kernel_vector_name());
    fprintf(to, "threads: %d\n", c->threads);
}
