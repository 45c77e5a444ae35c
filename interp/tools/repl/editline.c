/* Opening libedit (editline.h). */
#include "interp/tools/repl/editline.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static editline library;
static bool loaded;

/* A function out of the library; ISO C has no cast for it. */
static bool find(void *handle, const char *symbol, void *pointer) {
    void *address = dlsym(handle, symbol);
    memcpy(pointer, &address, sizeof address);
    return address != NULL;
}

static void load(void) {
    void *handle = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    editline *l = &library;
    loaded = handle != NULL && find(handle, "el_init", &l->init) && find(handle, "el_end", &l->end) &&
             find(handle, "el_set", &l->set) && find(handle, "el_wset", &l->wset) && find(handle, "el_get", &l->get) &&
             find(handle, "el_source", &l->source) && find(handle, "el_gets", &l->gets) &&
             find(handle, "el_wgetc", &l->wgetc) && find(handle, "el_beep", &l->beep) &&
             find(handle, "el_resize", &l->resize) && find(handle, "el_line", &l->line) &&
             find(handle, "el_insertstr", &l->insertstr) && find(handle, "el_cursor", &l->cursor) &&
             find(handle, "el_deletestr", &l->deletestr);
}

const editline *editline_open(void) {
    pthread_once(&once, load);
    return loaded ? &library : NULL;
}
