/* What every file of the program may rely on: attributes and the few limits that are stated once. */
#ifndef KINA_COMMON_H
#define KINA_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRINTF_LIKE(text, first)   __attribute__((format(printf, text, first)))
#define MUST_CHECK                 __attribute__((warn_unused_result))
#define COUNT_OF(array)            (sizeof(array) / sizeof *(array))

enum {
    MAX_RANK = 8,       /* dims of a tensor */
    TENSOR_ALIGN = 64,  /* bytes; the first element of every owned buffer */
};

typedef struct context context;

/* A stretch of the program's source in bytes, [begin, end); both 0 where there is none. */
typedef struct span {
    uint32_t begin, end;
} span;

#endif
