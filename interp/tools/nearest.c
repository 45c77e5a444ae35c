/* Did-you-mean by edit distance: one slip in a short word, up to three in a long one. */
#include "interp/tools/nearest.h"

#include <string.h>

#include "interp/source.h"

nearest nearest_to(const char *word) {
    size_t length = strlen(word);
    return (nearest){word, NULL, length < 2 ? 0 : length < 4 ? 1 : length < 8 ? 2 : 3};
}

void nearest_try(nearest *n, const char *candidate) {
    if (candidate[0] == '\0') return;
    unsigned distance = names_distance(n->word, candidate, n->limit);
    if (distance > n->limit || (distance == n->limit && n->found != NULL)) return;
    n->limit = distance;
    n->found = candidate;
}
