/* Starting gnuplot, and what all pictures have in common. */
#include "interp/tools/gnuplot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const span nowhere = {0, 0};

const char *gnuplot_extension(const char *file) {
    const char *dot = strrchr(file, '.');
    return dot != NULL && strchr(dot, '/') == NULL ? dot : file + strlen(file);
}

static bool installed(const char *command) {
    const char *path = getenv("PATH");
    char place[4096];
    for (const char *p = path != NULL ? path : ""; *p != '\0';) {
        size_t length = strcspn(p, ":");
        snprintf(place, sizeof place, "%.*s/%s", (int)length, p, command);
        if (access(place, X_OK) == 0) return true;
        p += length + (p[length] == ':');
    }
    return false;
}

bool gnuplot_possible(const char *who, const char *file, error *e) {
    const char *end = gnuplot_extension(file);
    if (strcmp(end, ".svg") != 0 && strcmp(end, ".png") != 0)
        return error_set(e, ERROR_K0801, nowhere, "%s takes a name that ends in .svg or .png, not '%s'", who, file);
    if (installed("gnuplot")) return true;
    return error_set(e, ERROR_K0701, nowhere,
                     "%s draws through gnuplot, which is not installed; Debian's package gnuplot-nox brings it", who);
}

static void begin(const gnuplot *g, int width, int height) {
    bool svg = strcmp(gnuplot_extension(g->file), ".svg") == 0;
    fprintf(g->script, "set terminal %s size %d,%d font 'sans,11' background '#ffffff'\nset output '",
            svg ? "svg" : "pngcairo", width, height);
    for (const char *p = g->partial; *p != '\0'; p++) fputs(*p == '\'' ? "''" : (char[]){*p, '\0'}, g->script);
    fputs("'\nset encoding utf8\nset grid lc rgb '#dddddd'\n"
          "set linetype 1 lc rgb '#333333'\nset linetype 2 lc rgb '#1f77b4'\n"
          "set linetype 3 lc rgb '#2ca02c'\nset linetype 4 lc rgb '#ff7f0e'\n"
          "set linetype 5 lc rgb '#d62728'\n",
          g->script);
}

bool gnuplot_open(gnuplot *g, const char *file, int width, int height, error *e) {
    g->file = file;
    if ((size_t)snprintf(g->partial, sizeof g->partial, "%s.part%s", file, gnuplot_extension(file)) >= sizeof g->partial)
        return error_set(e, ERROR_K0602, nowhere, "cannot write '%s': %s", file, strerror(ENAMETOOLONG));
    FILE *empty = fopen(g->partial, "w"); /* what is wrong with the name is known here, and not behind the pipe */
    if (empty == NULL) return error_set(e, ERROR_K0602, nowhere, "cannot write '%s': %s", file, strerror(errno));
    fclose(empty);
    g->script = popen("gnuplot", "w");
    if (g->script != NULL) {
        begin(g, width, height);
        return true;
    }
    int cause = errno;
    unlink(g->partial);
    return error_set(e, ERROR_K0602, nowhere, "cannot start gnuplot: %s", strerror(cause));
}

bool gnuplot_close(gnuplot *g, error *e) {
    int status = pclose(g->script);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && rename(g->partial, g->file) == 0) return true;
    int cause = errno;
    unlink(g->partial);
    return error_set(e, ERROR_K0602, nowhere, "cannot write '%s'%s%s", g->file, status == 0 ? ": " : " through gnuplot",
                     status == 0 ? strerror(cause) : "");
}
