/* Lists of a session's entries. */
#include <string.h>

#include "interp/workspace_state.h"
#include "runtime/context.h"

static void give_back_text(context *c, const char *s) {
    if (s != NULL) give_back(c, (void *)(uintptr_t)s, strlen(s) + 1);
}

/* True when there is nothing to copy. */
static bool copy_text(context *c, const char *from, const char **to) {
    *to = NULL;
    if (from == NULL) return true;
    size_t room = strlen(from) + 1;
    char *copy = take(c, room);
    if (copy == NULL) return false;
    memcpy(copy, from, room);
    *to = copy;
    return true;
}

static void release(context *c, workspace_held *held) {
    if (--held->refs > 0) return;
    workspace_entry *e = &held->entry;
    const char *texts[] = {e->name, e->type, e->path, e->folder, e->text, e->aside};
    for (size_t i = 0; i < COUNT_OF(texts); i++) give_back_text(c, texts[i]);
    value_release(c, e->v);
    give_back(c, held, sizeof *held);
}

static workspace_held *held_new(context *c, const workspace_entry *like) {
    workspace_held *held = take_zeroed(c, sizeof *held);
    if (held == NULL) return NULL;
    workspace_entry *e = &held->entry;
    held->refs = 1;
    *e = (workspace_entry){.kind = like->kind, .line = like->line, .v = value_retain(like->v)};
    if (copy_text(c, like->name, &e->name) && copy_text(c, like->type, &e->type) &&
        copy_text(c, like->path, &e->path) && copy_text(c, like->folder, &e->folder) &&
        copy_text(c, like->text, &e->text) && copy_text(c, like->aside, &e->aside))
        return held;
    release(c, held);
    return NULL;
}

static bool append(context *c, workspace_list *list, workspace_held *held) {
    if (list->count == list->room) {
        int room = list->room == 0 ? 16 : 2 * list->room;
        size_t bytes = (size_t)list->room * sizeof *list->items, wanted = (size_t)room * sizeof *list->items;
        workspace_held **items = resize(c, list->items, bytes, wanted);
        if (items == NULL) return false;
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = held;
    return true;
}

bool workspace_list_add(context *c, workspace_list *list, const workspace_entry *like) {
    workspace_held *held = held_new(c, like);
    if (held == NULL) return false;
    if (append(c, list, held)) return true;
    release(c, held);
    return false;
}

bool workspace_list_share(context *c, workspace_list *list, workspace_held *held) {
    if (!append(c, list, held)) return false;
    held->refs++;
    return true;
}

bool workspace_list_copy(context *c, const workspace_list *from, workspace_list *to) {
    *to = (workspace_list){0};
    for (int i = 0; i < from->count; i++) {
        if (workspace_list_share(c, to, from->items[i])) continue;
        workspace_list_clear(c, to);
        return false;
    }
    return true;
}

void workspace_list_remove(context *c, workspace_list *list, int i) {
    release(c, list->items[i]);
    list->count--;
    memmove(&list->items[i], &list->items[i + 1], (size_t)(list->count - i) * sizeof *list->items);
}

int workspace_list_find(const workspace_list *list, const char *name) {
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->items[i]->entry.name, name) == 0) return i;
    }
    return -1;
}

void workspace_list_clear(context *c, workspace_list *list) {
    for (int i = 0; i < list->count; i++) release(c, list->items[i]);
    give_back(c, list->items, (size_t)list->room * sizeof *list->items);
    *list = (workspace_list){0};
}
