/* Waiting for keys (keys.h). The three signals are let in only while waiting, so that none can arrive between
 * the look at its flag and the wait. */
#include "interp/tools/repl/keys.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "interp/tools/process.h"
#include "interp/utf8.h"

static volatile sig_atomic_t resized, stopped;

static void take_resize(int number) {
    (void)number;
    resized = 1;
}

static void take_stop(int number) {
    (void)number;
    stopped = 1;
}

void keys_init(keys *k, int file) {
    *k = (keys){.file = file};
}

void keys_begin(keys *k) {
    struct sigaction action = {0};
    sigemptyset(&action.sa_mask);
    action.sa_handler = take_resize;
    sigaction(SIGWINCH, &action, &k->resize);
    action.sa_handler = take_stop;
    sigaction(SIGTSTP, NULL, &k->stop);
    /* Where no shell waits for it, stopping is ignored, and stays so. */
    if (k->stop.sa_handler != SIG_IGN) sigaction(SIGTSTP, &action, NULL);
    resized = stopped = 0;
}

void keys_end(keys *k) {
    sigaction(SIGWINCH, &k->resize, NULL);
    sigaction(SIGTSTP, &k->stop, NULL);
}

void keys_stop(void) {
    struct sigaction standard = {0}, own;
    sigset_t stop, before;
    sigemptyset(&standard.sa_mask);
    standard.sa_handler = SIG_DFL;
    sigaction(SIGTSTP, &standard, &own);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, &before);
    kill(getpid(), SIGTSTP);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGTSTP, &own, NULL);
}

/* A flag's event, once. */
static bool taken(volatile sig_atomic_t *flag) {
    if (*flag == 0) return false;
    *flag = 0;
    return true;
}

/* Waits for bytes, and lets in a signal that came while they did: a terminal drops what was typed before a Ctrl-C, so
 * they are behind it. False with errno set. */
static bool wait_for_bytes(const keys *k, const sigset_t *before, const sigset_t *own) {
    struct pollfd terminal = {.fd = k->file, .events = POLLIN};
    if (ppoll(&terminal, 1, NULL, before) <= 0) return false;
    pthread_sigmask(SIG_SETMASK, before, NULL);
    pthread_sigmask(SIG_BLOCK, own, NULL);
    errno = EINTR;
    return process_interrupted == 0;
}

/* KEYS_CHARACTER: there are bytes now. */
static keys_event fill(keys *k) {
    sigset_t own, before;
    sigemptyset(&own);
    sigaddset(&own, SIGINT);
    sigaddset(&own, SIGWINCH);
    sigaddset(&own, SIGTSTP);
    pthread_sigmask(SIG_BLOCK, &own, &before);
    keys_event event = KEYS_CHARACTER;
    ssize_t n = -1;
    do {
        if (taken(&process_interrupted)) {
            event = KEYS_INTERRUPTED;
        } else if (taken(&stopped)) {
            event = KEYS_STOPPED;
        } else if (taken(&resized)) {
            event = KEYS_RESIZED;
        } else {
            if (wait_for_bytes(k, &before, &own)) n = read(k->file, k->bytes + k->end, sizeof k->bytes - k->end);
            if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) event = KEYS_END;
        }
    } while (event == KEYS_CHARACTER && n < 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (event == KEYS_CHARACTER) k->end += (unsigned)n;
    return event;
}

/* The bytes at hand are the beginning of a character. */
static bool cut(const keys *k) {
    const unsigned char *s = k->bytes + k->next;
    unsigned left = k->end - k->next, whole = s[0] < 0xC2 || s[0] > 0xF4 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    if (left >= whole) return false;
    for (unsigned i = 1; i < left; i++) {
        if ((s[i] & 0xC0) != 0x80) return false;
    }
    return true;
}

keys_event keys_next(keys *k, uint32_t *character) {
    for (;;) {
        while (k->next == k->end || cut(k)) {
            memmove(k->bytes, k->bytes + k->next, k->end - k->next);
            k->end -= k->next;
            k->next = 0;
            keys_event event = fill(k);
            if (event != KEYS_CHARACTER) {
                if (event == KEYS_INTERRUPTED) k->next = k->end = 0;
                return event;
            }
        }
        unsigned length;
        *character = utf8_decode((const char *)k->bytes + k->next, k->end - k->next, &length);
        k->next += length;
        if (*character != UTF8_BAD && *character != 0) return KEYS_CHARACTER;
    }
}
