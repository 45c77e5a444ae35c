/* Gradient descent with a gradient that `kina-interp grad --emit c` wrote (docs/readable-gradients.md). */
#include <stdio.h>

#include "build/fit_loss.h"

int main(void) {
    float weights[2] = {0, 0}, points[] = {1, 0, 0, 1, 1, 1, 2, -1}, targets[] = {0.5f, -0.25f, 0.25f, 0.75f};
    kina_f32_1 w = {weights, {2}}, y = {targets, {4}};
    kina_f32_2 x = {points, {4, 2}};
    struct loss_value_and_grad_results r;
    for (int step = 0; step <= 100; step++) {
        if (loss_value_and_grad(w, x, y, &r) != 0) return fprintf(stderr, "%s\n", r.error), 1;
        if (step % 50 == 0) printf("step %3d: loss %.6f\n", step, (double)r.value);
        for (int i = 0; i < 2; i++) weights[i] -= 0.5f * r.d_w.data[i];
        loss_value_and_grad_free(&r);
    }
    y.dims[0] = 3;
    if (loss_value_and_grad(w, x, y, &r) != 0) printf("%s\n", r.error);
    return 0;
}
