/* The checkpoint schedules, walked by a machine that holds no values: it carries out every order, knows which
 * states and tapes exist, and refuses what could not be done with tensors. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/schedule.h"

/* ck_assert writes a line to a file each time, which millions of steps cannot afford. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) ck_abort_msg("%s", #condition);                                          \
    } while (0)

/* Sizes that a run is told of from iteration `at` on. */
typedef struct sizes {
    uint64_t at;
    size_t state, tape, fixed;
} sizes;

typedef struct machine {
    uint64_t trips;
    const sizes *measured; /* rising in `at`; ends with one beyond every trip count */
    sizes now;
    unsigned char *kept; /* one for each state 0..trips */
    uint64_t kept_count, kept_peak;
    uint64_t start, end;      /* the taped run that ends at `end`; empty: start == end */
    uint64_t hand;            /* the state in hand, NOTHING if none */
    uint64_t executions, longest_tape;
    size_t peak;
    bool failed;
} machine;

static const uint64_t NOTHING = UINT64_MAX;
static const sizes UNMEASURED[] = {{UINT64_MAX, 0, 0, 0}};

static bool in_run(const machine *m, uint64_t state) {
    return m->start < m->end && m->start <= state && state <= m->end;
}

/* The bytes that the accounting of the schedules charges: each distinct state once, and the tapes. */
static void charge(machine *m, uint64_t kept_in_run) {
    uint64_t states = m->kept_count - kept_in_run, tapes = m->end - m->start;
    if (tapes > 0) states += tapes + 1;
    if (m->hand != NOTHING && !in_run(m, m->hand) && !m->kept[m->hand]) states++;
    size_t bytes = m->now.fixed + states * m->now.state + tapes * m->now.tape;
    if (bytes > m->peak) m->peak = bytes;
}

static uint64_t count_kept_in_run(const machine *m) {
    uint64_t count = 0;
    if (m->start < m->end)
        for (uint64_t i = m->start; i <= m->end; i++) count += m->kept[i];
    return count;
}

static void keep(machine *m, uint64_t state) {
    NEED(!m->kept[state]);
    m->kept[state] = 1;
    if (++m->kept_count > m->kept_peak) m->kept_peak = m->kept_count;
}

static void drop_all(machine *m, schedule *s) {
    uint64_t state;
    while (schedule_next_drop(s, &state)) {
        NEED(state <= m->trips);
        NEED(m->kept[state]);
        m->kept[state] = 0;
        m->kept_count--;
    }
}

static void demote(machine *m, uint64_t below) {
    if (m->start < below) m->start = below < m->end ? below : m->end;
}

/* Runs the loop forward. False when the schedule reported an error. */
static bool walk_forward(machine *m, schedule *s) {
    m->start = m->end = 0;
    m->hand = 0;
    for (uint64_t i = 0; i < m->trips; i++) {
        if (m->measured->at <= i) {
            m->now = *m->measured++;
            schedule_measure(s, m->now.state, m->now.state + m->now.tape, m->now.fixed);
        }
        forward_order order;
        if (!schedule_forward(s, i, &order)) return false;
        demote(m, order.demote);
        drop_all(m, s);
        if (order.keep) keep(m, i);
        if (order.tape) {
            if (m->start == m->end) m->start = i;
            NEED(m->start == i || m->end == i);
            m->end = i + 1;
        } else {
            NEED(m->start == m->end);
        }
        m->hand = i + 1;
        m->executions++;
        if (m->end - m->start > m->longest_tape) m->longest_tape = m->end - m->start;
        if (m->measured != UNMEASURED) charge(m, count_kept_in_run(m));
    }
    if (m->start == m->end) m->start = m->end = m->trips;
    m->hand = NOTHING;
    return true;
}

static void carry_out(machine *m, const backward_order *order, uint64_t n) {
    NEED(order->from < order->to && order->to <= n);
    NEED(m->kept[order->from] || order->from == m->hand);
    m->executions += order->to - order->from;
    m->hand = order->to;
    if (order->kind == BACKWARD_TAPE) {
        NEED(order->to == n);
        m->start = order->from;
        m->end = order->to;
        if (m->end - m->start > m->longest_tape) m->longest_tape = m->end - m->start;
    } else {
        NEED(order->to < n);
        if (order->keep) keep(m, order->to);
    }
}

static bool walk_backward(machine *m, schedule *s) {
    uint64_t n = m->trips;
    while (n > 0) {
        if (m->start < m->end) {
            NEED(m->end == n);
            n = m->start;
            m->end = m->start;
            m->hand = NOTHING;
            continue;
        }
        backward_order order;
        if (!schedule_backward(s, n, &order)) return false;
        drop_all(m, s);
        carry_out(m, &order, n);
        if (m->now.state != 0) charge(m, count_kept_in_run(m));
    }
    return true;
}

static unsigned char room[1 << 21];

static bool walk(machine *m, schedule *s, uint64_t trips, const sizes *measured) {
    *m = (machine){.trips = trips, .measured = measured, .kept = room, .hand = NOTHING};
    memset(room, 0, trips + 1);
    return walk_forward(m, s) && walk_backward(m, s);
}

static machine run(context *c, policy p, uint64_t trips, const sizes *measured) {
    schedule s;
    machine m;
    p.trips = trips;
    NEED(schedule_open(&s, c, &p));
    if (!walk(&m, &s, trips, measured)) ck_abort_msg("%s", c->err.message);
    schedule_close(&s);
    NEED(c->mem.live == 0);
    return m;
}

START_TEST(all_tapes_everything_once) {
    context c;
    context_init(&c);
    for (uint64_t n = 0; n <= 20; n++) {
        machine m = run(&c, (policy){.kind = POLICY_ALL}, n, UNMEASURED);
        NEED(m.executions == n);
        NEED(m.kept_peak == 0);
    }
    context_close(&c);
}
END_TEST

START_TEST(every_k) {
    context c;
    context_init(&c);
    for (uint64_t k = 1; k <= 60; k++)
        for (uint64_t n = 0; n <= 200; n++) {
            machine m = run(&c, (policy){.kind = POLICY_EVERY, .every = k}, n, UNMEASURED);
            uint64_t states = (n + k - 1) / k;
            uint64_t last = n == 0 ? 0 : n - (states - 1) * k;
            NEED(m.executions == 2 * n - last);
            NEED(m.kept_peak == states);
            NEED(m.longest_tape == (n < k ? n : k));
        }
    context_close(&c);
}
END_TEST

START_TEST(every_k_beyond_every_loop) {
    context c;
    context_init(&c);
    machine m = run(&c, (policy){.kind = POLICY_EVERY, .every = UINT64_MAX}, 100, UNMEASURED);
    NEED(m.executions == 100);
    context_close(&c);
}
END_TEST

START_TEST(binomial_numbers) {
    static const uint64_t known[][3] = {{1, 1, 0}, {4, 3, 3}, {10, 1, 45}, {10, 2, 20}, {10, 3, 15},
        {10, 4, 14}, {10, 10, 9}, {100, 3, 490}, {100, 5, 316}, {100, 10, 222}, {100, 14, 184},
        {256, 16, 597}, {500, 4, 3213}, {1000, 5, 6284}, {1000, 10, 3636}, {1000, 20, 2747},
        {1000, 45, 1953}, {10000, 20, 37976}, {10000, 200, 19798}, {100000, 20, 534220},
        {1000000, 20, 6815960}, {1000000, 100, 3817896}, {1000000000, 40, 8549021934}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        ck_assert_uint_eq(schedule_optimum(known[i][0], known[i][1]), known[i][2] + known[i][0]);
    ck_assert_uint_eq(schedule_optimum(0, 3), 0);
    ck_assert_uint_eq(schedule_optimum(1, UINT64_MAX), 1);
    ck_assert_uint_eq(schedule_optimum(1000000000, 1), 500000000500000000);
    ck_assert_uint_eq(schedule_optimum(UINT64_MAX / 2, 1), UINT64_MAX);
    ck_assert_uint_eq(schedule_optimum(5, 0), UINT64_MAX);
}
END_TEST

/* t(n, s) straight from its recursion. */
static uint64_t advances[1001][41];

static void fill_advances(uint64_t trips, uint64_t slots) {
    for (uint64_t s = 1; s <= slots; s++) {
        advances[0][s] = advances[1][s] = 0;
        for (uint64_t n = 2; n <= trips; n++) {
            uint64_t best = s == 1 ? n * (n - 1) / 2 : UINT64_MAX;
            for (uint64_t m = 1; s > 1 && m < n; m++) {
                uint64_t cost = m + advances[n - m][s - 1] + advances[m][s];
                if (cost < best) best = cost;
            }
            advances[n][s] = best;
        }
    }
}

START_TEST(binomial_recursion) {
    fill_advances(150, 40);
    for (uint64_t s = 1; s <= 40; s++)
        for (uint64_t n = 1; n <= 150; n++)
            NEED(schedule_optimum(n, s) == advances[n][s] + n);
}
END_TEST

/* Every slot count has all trip counts up to `dense`, the rest thinned out. */
static uint64_t next_trips(uint64_t n, uint64_t dense) {
    return n < dense ? n + 1 : n + 1 + n % 37;
}

START_TEST(slots_with_known_trips) {
    context c;
    context_init(&c);
    for (uint64_t slots = 1; slots <= 40; slots++) {
        uint64_t dense = slots == 3 || slots == 10 || slots == 40 ? 1000 : 130;
        for (uint64_t n = 0; n <= 1000; n = next_trips(n, dense)) {
            policy p = {.kind = POLICY_SLOTS, .slots = slots, .known = true};
            machine m = run(&c, p, n, UNMEASURED);
            NEED(m.executions == schedule_optimum(n, slots));
            NEED(m.kept_peak <= slots);
            NEED(m.longest_tape <= 1);
        }
    }
    context_close(&c);
}
END_TEST

START_TEST(slots_with_unknown_trips) {
    context c;
    context_init(&c);
    for (uint64_t slots = 1; slots <= 40; slots++) {
        uint64_t dense = slots == 3 || slots == 10 || slots == 40 ? 1000 : 130;
        double sum = 0, count = 0, worst = 0;
        uint64_t at = 0;
        for (uint64_t n = 0; n <= 1000; n = next_trips(n, dense)) {
            machine m = run(&c, (policy){.kind = POLICY_SLOTS, .slots = slots}, n, UNMEASURED);
            uint64_t optimum = schedule_optimum(n, slots);
            NEED(m.kept_peak <= slots);
            NEED(m.longest_tape <= 1);
            if (slots == 1 || n <= slots) NEED(m.executions <= optimum + (n > 8 ? n : 0));
            if (n == 0) continue;
            double ratio = (double)m.executions / (double)optimum;
            if (slots >= 3 && ratio > 1.2) ck_abort_msg("slots %lu, trips %lu: %g", slots, n, ratio);
            if (ratio > worst) worst = ratio, at = n;
            if (n < 4 * slots) continue;
            sum += ratio;
            count++;
        }
        if (slots >= 3) ck_assert(sum / count <= 1.05);
        if (getenv("SHOW")) printf("slots %lu worst %.4f at %lu mean %.4f\n", slots, worst, at, sum / count);
    }
    context_close(&c);
}
END_TEST

/* ---- budgets ---- */

/* E of the design in whole units, straight from its recursion: `state` for a kept state, `tape` for a kept tape. */
enum { REFERENCE_TRIPS = 160, REFERENCE_UNITS = 64 };
static uint64_t reference[REFERENCE_UNITS + 1][REFERENCE_TRIPS + 1];

static void fill_reference(uint64_t state, uint64_t tape) {
    for (uint64_t m = 0; m <= REFERENCE_UNITS; m++)
        for (uint64_t n = 0; n <= REFERENCE_TRIPS; n++) {
            uint64_t best = n < 2 ? n : UINT32_MAX;
            if (n >= 2 && m >= tape) best = 1 + reference[m - tape][n - 1];
            for (uint64_t i = 1; n >= 2 && m >= state && i < n; i++) {
                uint64_t cost = i + reference[m - state][n - i] + reference[m][i];
                if (cost < best) best = cost;
            }
            reference[m][n] = best < UINT32_MAX ? best : UINT32_MAX;
        }
}

static policy budget(const sizes *z, uint64_t units, size_t unit, bool known) {
    return (policy){.kind = POLICY_BYTES, .known = known,
                    .bytes = z->fixed + 2 * z->state + z->tape + units * unit};
}

START_TEST(bytes_with_known_trips) {
    static const uint64_t units[][2] = {{1, 1}, {1, 2}, {2, 3}, {1, 4}, {3, 4}, {1, 16}};
    context c;
    context_init(&c);
    for (size_t k = 0; k < COUNT_OF(units); k++) {
        fill_reference(units[k][0], units[k][1]);
        size_t unit = 1000, state = unit * units[k][0], tape = unit * units[k][1] - state;
        for (uint64_t at = 0; at < 2; at++) {
            sizes z[] = {{at, state, tape, 70}, {UINT64_MAX, 0, 0, 0}};
            for (uint64_t m = units[k][0]; m <= REFERENCE_UNITS; m += 1 + m / 8)
                for (uint64_t n = 1; n <= REFERENCE_TRIPS; n = next_trips(n, 30)) {
                    policy p = budget(z, m, unit, true);
                    machine got = run(&c, p, n, z);
                    if (got.executions != reference[m][n])
                        ck_abort_msg("state %lu tape %lu units %lu trips %lu: %lu, not %lu", units[k][0], units[k][1], m, n, got.executions, reference[m][n]);
                    NEED(got.peak <= p.bytes);
                }
        }
    }
    context_close(&c);
}
END_TEST

START_TEST(bytes_against_the_printed_table) {
    static const uint64_t printed[][3] = {{100, 5, 352}, {100, 10, 237}, {100, 14, 194}, {100, 20, 184},
        {100, 50, 150}, {1000, 5, 6828}, {1000, 10, 3921}, {1000, 20, 2823}, {1000, 40, 2142},
        {1000, 63, 1954}, {1000, 80, 1932}};
    static const sizes z[] = {{1, 1000, 0, 70}, {UINT64_MAX, 0, 0, 0}};
    context c;
    context_init(&c);
    for (size_t k = 0; k < COUNT_OF(printed); k++) {
        machine m = run(&c, budget(z, printed[k][1], 1000, true), printed[k][0], z);
        NEED(m.executions == printed[k][2]);
    }
    context_close(&c);
}
END_TEST

START_TEST(bytes_with_unknown_trips) {
    static const size_t tapes[] = {0, 100, 1000, 3000, 15000};
    context c;
    context_init(&c);
    for (size_t k = 0; k < COUNT_OF(tapes); k++) {
        sizes z[] = {{1, 1000, tapes[k], 70}, {UINT64_MAX, 0, 0, 0}};
        double worst = 0, sum = 0, count = 0;
        uint64_t worst_n = 0, worst_m = 0, rises = 0, over = 0;
        for (uint64_t n = 2; n <= 1000; n += 1 + n / 16) {
            uint64_t before = UINT64_MAX;
            for (uint64_t m = 1; m <= 98; m++) {
                policy p = budget(z, m, 1000, false);
                machine got = run(&c, p, n, z);
                NEED(got.peak <= p.bytes);
                if (got.executions > before) rises++;
                before = got.executions;
                p.known = true;
                machine best = run(&c, p, n, z);
                NEED(best.peak <= p.bytes);
                double ratio = (double)got.executions / (double)best.executions;
                if (ratio > worst) worst = ratio, worst_n = n, worst_m = m;
                if (ratio > 1.1) over++;
                sum += ratio;
                count++;
            }
        }
        if (getenv("SHOW")) printf("tape %zu worst %.4f (n %lu m %lu) mean %.4f rises %lu over %lu of %g\n", tapes[k], worst, worst_n, worst_m, sum / count, rises, over, count);
    }
    context_close(&c);
}
END_TEST

Suite *suite_schedule(void);
Suite *suite_schedule(void) {
    Suite *suite = suite_create("schedule");
    TCase *t = tcase_create("schedule");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, all_tapes_everything_once);
    tcase_add_test(t, every_k);
    tcase_add_test(t, every_k_beyond_every_loop);
    tcase_add_test(t, binomial_numbers);
    tcase_add_test(t, binomial_recursion);
    tcase_add_test(t, slots_with_known_trips);
    tcase_add_test(t, slots_with_unknown_trips);
    tcase_add_test(t, bytes_with_known_trips);
    tcase_add_test(t, bytes_against_the_printed_table);
    tcase_add_test(t, bytes_with_unknown_trips);
    suite_add_tcase(suite, t);
    return suite;
}
