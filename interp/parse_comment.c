/* Comments. They are gathered as the tokens are read, and each block gives its items those that stand around
 * them. One inside an expression moves above the item that the expression is part of, so none is lost. */
#include "interp/parse.h"

#include <string.h>

#include "runtime/memory.h"

static bool gather(parser *p, span at) {
    if (p->comment_count == p->comment_room) {
        size_t room = p->comment_room < 16 ? 16 : 2 * p->comment_room;
        span *more = resize(p->a->c, p->comments, p->comment_room * sizeof *more, room * sizeof *more);
        if (more == NULL) return false;
        p->comments = more;
        p->comment_room = room;
    }
    p->comments[p->comment_count++] = at;
    return true;
}

void parse_gather_comments(parser *p, uint32_t begin) {
    const char *words = p->src->text;
    uint32_t end = p->now.at.begin;
    for (uint32_t i = begin; i + 1 < end; i++) {
        if (words[i] != '/' || words[i + 1] != '/') continue;
        span at = {i, i};
        while (i < end && words[i] != '\n' && words[i] != '\r') i++;
        for (at.end = i; words[at.end - 1] == ' ' || words[at.end - 1] == '\t';) at.end--;
        if (!gather(p, at)) {
            parse_stop(p);
            return;
        }
    }
}

comment_place parse_comments_from(const parser *p, uint32_t begin) {
    comment_place at = {p->comment_count, begin, true};
    while (at.edge > 0 && p->comments[at.edge - 1].begin >= begin) at.edge--;
    return at;
}

/* Line ends between two places, counted up to two. */
static int count_lines(const parser *p, uint32_t from, uint32_t to) {
    const char *words = p->src->text;
    int lines = 0;
    for (uint32_t i = from; i < to && lines < 2; i++) {
        lines += words[i] == '\n' || (words[i] == '\r' && words[i + 1] != '\n');
    }
    return lines;
}

/* Pushes an empty line's NULL when there is one before `to`, where something stands. */
static bool push_gap(parser *p, comment_place *at, span to) {
    bool gap = !at->first && count_lines(p, at->last, to.begin) == 2;
    at->first = false;
    at->last = to.end;
    return !gap || parse_push_pointer(p, NULL);
}

static const char *comment_text(parser *p, span at) {
    const char *line = arena_text(p->a, p->src->text + at.begin, at.end - at.begin);
    if (line == NULL) parse_stop(p);
    return line;
}

static bool push_comment(parser *p, span at) {
    const char *line = comment_text(p, at);
    return line != NULL && parse_push_pointer(p, line);
}

void parse_take_comments(parser *p, comment_place *at, uint32_t begin, comments *before, const char **after) {
    size_t mark = p->used, next = at->edge;
    bool ok = true;
    for (; ok && next < p->comment_count && p->comments[next].begin < begin; next++) {
        ok = push_gap(p, at, p->comments[next]) && push_comment(p, p->comments[next]);
    }
    ok = ok && push_gap(p, at, (span){begin, p->end});
    for (; ok && next < p->comment_count && p->comments[next].begin < p->end; next++) {
        ok = push_comment(p, p->comments[next]);
    }
    bool behind = ok && after != NULL && next < p->comment_count &&
                  count_lines(p, p->end, p->comments[next].begin) == 0;
    if (behind) {
        *after = comment_text(p, p->comments[next]);
        at->last = p->comments[next++].end;
    }
    before->lines = parse_take(p, mark, sizeof(void *), &before->count);
    size_t left = p->comment_count - next;
    if (left > 0) memmove(p->comments + at->edge, p->comments + next, left * sizeof *p->comments);
    p->comment_count = at->edge + left;
}

void parse_last_comments(parser *p, comment_place *at, comments *out) {
    size_t mark = p->used;
    bool ok = true;
    for (size_t i = at->edge; ok && i < p->comment_count; i++) {
        ok = push_gap(p, at, p->comments[i]) && push_comment(p, p->comments[i]);
    }
    p->comment_count = at->edge;
    void *lines = parse_take(p, mark, sizeof(void *), &out->count);
    out->lines = lines;
}
