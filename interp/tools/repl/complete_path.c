/* Files and folders as candidates. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interp/tools/repl/complete.h"
#include "interp/utf8.h"
#include "runtime/context.h"
#include "runtime/text.h"

/* It can be typed at a prompt and within a string as it is. */
static bool plain(const char *name) {
    unsigned step = 0;
    for (size_t i = 0, length = strlen(name); i < length; i += step) {
        uint32_t character = utf8_decode(name + i, length - i, &step);
        if (character == UTF8_BAD || utf8_unprintable(character) || strchr("\"\\", name[i]) != NULL) return false;
    }
    return true;
}

static bool offer_entry(candidates *t, DIR *folder, const char *name, const char *typed, size_t length) {
    /* What is hidden shows when its dot is typed. */
    if (name[0] == '.' && length == 0) return true;
    if (!plain(name) || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return true;
    struct stat s;
    text word;
    text_init(&word, t->c);
    text_add(&word, name);
    if (fstatat(dirfd(folder), name, &s, 0) == 0 && S_ISDIR(s.st_mode)) text_add_char(&word, '/');
    bool ok = !word.failed && candidates_offer(t, typed, length, word.data, word.length);
    text_close(&word);
    return ok;
}

bool complete_path(completion *t, const char *line, size_t cursor) {
    text above;
    text_init(&above, t->found.c);
    const char *typed = line + t->from, *slash = memrchr(typed, '/', cursor - t->from);
    if (slash != NULL) text_add_bytes(&above, typed, (size_t)(slash + 1 - typed));
    t->from += above.length;
    bool ok = !above.failed;
    DIR *folder = ok ? opendir(above.length == 0 ? "." : above.data) : NULL;
    for (struct dirent *e; ok && folder != NULL && (e = readdir(folder)) != NULL;) {
        ok = offer_entry(&t->found, folder, e->d_name, line + t->from, cursor - t->from);
    }
    if (folder != NULL) closedir(folder);
    text_close(&above);
    return ok;
}
