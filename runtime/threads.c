/* A small pool of worker threads. Tasks are handed out by an atomic counter; a worker that wakes up
 * after a job was closed goes back to sleep, so a short job never waits for a late worker. */
#include "runtime/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { WORKERS_MOST = 63 };

struct thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    pthread_t worker[WORKERS_MOST];
    int started;
    bool refused; /* the system gave no further thread; it is not asked again */
    bool closing;

    /* The job at hand. Written under the lock while no worker is inside. */
    void (*work)(void *argument, int i);
    void *argument;
    int tasks;
    atomic_int next; /* the next task to be taken */
    bool open;       /* workers may still join */
    unsigned job;    /* its number, so that no worker joins twice */
    int wanted, joined, inside;
};

static void do_tasks(struct thread_pool *pool) {
    for (;;) {
        int i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= pool->tasks) return;
        pool->work(pool->argument, i);
    }
}

static void *run_worker(void *argument) {
    struct thread_pool *pool = argument;
    unsigned seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->closing &&
               (!pool->open || pool->job == seen || pool->joined >= pool->wanted)) {
            pthread_cond_wait(&pool->wake, &pool->lock);
        }
        if (pool->closing) break;
        seen = pool->job;
        pool->joined++;
        pool->inside++;
        pthread_mutex_unlock(&pool->lock);
        do_tasks(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->inside == 0) pthread_cond_signal(&pool->idle);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* The pool, or NULL when there can be none: a caller then works alone, which is no error. */
static struct thread_pool *make_pool(context *c) {
    if (c->pool != NULL) return c->pool;
    struct thread_pool *pool = memory_take(&c->mem, sizeof *pool);
    if (pool == NULL) return NULL;
    *pool = (struct thread_pool){.work = NULL};
    if (pthread_mutex_init(&pool->lock, NULL) != 0) goto no_lock;
    if (pthread_cond_init(&pool->wake, NULL) != 0) goto no_wake;
    if (pthread_cond_init(&pool->idle, NULL) != 0) goto no_idle;
    c->pool = pool;
    return pool;
no_idle:
    pthread_cond_destroy(&pool->wake);
no_wake:
    pthread_mutex_destroy(&pool->lock);
no_lock:
    memory_free(&c->mem, pool, sizeof *pool);
    return NULL;
}

/* Starts workers up to `count`. They take no signals: those belong to the host's own threads. */
static void start_workers(struct thread_pool *pool, int count) {
    if (pool->started >= count || pool->refused) return;
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
    while (pool->started < count && !pool->refused) {
        if (pthread_create(&pool->worker[pool->started], NULL, run_worker, pool) == 0) {
            pool->started++;
        } else {
            pool->refused = true;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void threads_run(context *c, int tasks, void (*work)(void *argument, int i), void *argument) {
    int helpers = (c->threads < tasks ? c->threads : tasks) - 1;
    if (helpers > WORKERS_MOST) helpers = WORKERS_MOST;
    struct thread_pool *pool = helpers > 0 ? make_pool(c) : NULL;
    if (pool != NULL) start_workers(pool, helpers);
    if (pool == NULL || pool->started == 0) {
        for (int i = 0; i < tasks; i++) work(argument, i);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->argument = argument;
    pool->tasks = tasks;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->open = true;
    pool->job++;
    pool->joined = 0;
    pool->wanted = helpers;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    do_tasks(pool);

    pthread_mutex_lock(&pool->lock);
    pool->open = false;
    while (pool->inside > 0) pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void threads_close(context *c) {
    struct thread_pool *pool = c->pool;
    if (pool == NULL) return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++) pthread_join(pool->worker[i], NULL);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    memory_free(&c->mem, pool, sizeof *pool);
    c->pool = NULL;
}
