/* The verbs mlir and build: from a loaded program to files. */
#include "interp/tools/compile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interp/mlir.h"
#include "interp/tools/header.h"
#include "interp/tools/pipeline.h"

static const span nowhere = {0, 0};

bool compile_write(context *c, const char *path, const char *data, size_t length) {
    FILE *file = fopen(path, "we");
    bool ok = file != NULL && fwrite(data, 1, length, file) == length;
    int failure = errno;
    if (file != NULL && fclose(file) != 0) {
        failure = errno;
        ok = false;
    }
    return ok || error_set(&c->err, ERROR_K0602, nowhere, "cannot write '%s': %s", path, strerror(failure));
}

bool compile_to_mlir(engine *e, const options *o, output *to) {
    text module;
    mlir_exports exports = {0};
    const char *path = o->value[OPTION_output].text;
    text_init(&module, e->c);
    bool ok = mlir_emit(e, (mlir_options){.plain = options_is(o, OPTION_abi, "plain")}, &module, &exports);
    if (ok && path != NULL) ok = compile_write(e->c, path, text_data(&module), module.length);
    if (ok && path == NULL) output_print(to, text_data(&module), module.length);
    text_close(&module);
    return ok;
}

/* ---- the library ---- */

static bool write_header(engine *e, const options *o, const mlir_exports *exports) {
    const char *path = o->value[OPTION_emit_header].text;
    text header;
    if (path == NULL) return true;
    text_init(&header, e->c);
    bool ok =
        header_write(e, exports, &header) && compile_write(e->c, path, text_data(&header), header.length);
    text_close(&header);
    return ok;
}

/* Asked before the tools are, which would only say that one of them failed. */
static bool can_write(engine *e, const char *path) {
    bool there = access(path, F_OK) == 0;
    FILE *file = fopen(path, "ae");
    if (file == NULL)
        return error_set(&e->c->err, ERROR_K0602, nowhere, "cannot write '%s': %s", path, strerror(errno));
    fclose(file);
    if (!there) unlink(path);
    return true;
}

bool compile_to_library(engine *e, const options *o) {
    const char *path = o->value[OPTION_output].text;
    text module;
    mlir_exports exports = {0};
    if (path == NULL) {
        error_set(&e->c->err, ERROR_K0801, nowhere, "build needs the file to write");
        error_help(&e->c->err, "kina-interp build prog.kina -o libprog.so");
        return false;
    }
    text_init(&module, e->c);
    bool ok = mlir_emit(e, (mlir_options){0}, &module, &exports) && can_write(e, path) &&
              pipeline_run(e->c, text_data(&module), module.length, path);
    text_close(&module);
    if (!ok) return false;
    if (write_header(e, o, &exports)) return true;
    unlink(path);
    return false;
}
