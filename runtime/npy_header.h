/* The header of an array file: what it says of the elements behind it. Internal to npy*.c. */
#ifndef KINA_NPY_HEADER_H
#define KINA_NPY_HEADER_H

#include "runtime/npz.h"

enum { HOST_BIG = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };

typedef struct npy_header {
    char kind;    /* 'f', 'i', 'u', 'b', or 'V' for BF16 */
    size_t bytes; /* of an element in the file */
    bool swapped; /* not in the host's byte order */
    bool fortran;
    int rank;
    int64_t dims[MAX_RANK];
} npy_header;

/* Reads it; the elements are what s gives next. Errors K0603, K0604. */
bool npy_read_header(npz_source *s, npy_header *h) MUST_CHECK;
/* K0604: the file holds what is not read. */
bool npy_unsupported(npz_source *s, const char *what);

#endif
