/* The cheapest way to reverse n iterations when kept states and tapes share one budget (the mixed
 * schedules of Maddison 2024, here for states and tapes of any size).
 *
 * Row j stands for the situation that j states are kept before the one in question, so that free -
 * j state bytes are left for it and for what comes after it. With C(j) the iterations that can be
 * taped at once from there, E(n, j) = n                                              if n <= C(j)
 *     E(n, j) = min over i of  i + E(n - i, j + 1) + E(i, j)   otherwise: keep the state, advance i
 * iterations This counts executions, and taping only where everything up to the end can be taped
 * loses nothing: a tape made earlier would sit in memory while all that comes after it is reversed.
 *
 * Where a second run of an iteration is never followed by a third, a formula gives E: the states
 * fill up, the segment of row j being C(j) long, until the rest can be taped, and E = 2 n -
 * C(states). Beyond that a table is computed, and beyond the table the binomial schedule continues
 * it. */
#include "ad/schedule_policy.h"

enum {
    DEPTH_MAX =
        65535, /* more states than this are not planned for: one bounds the memory of a plan */
    ROWS_MAX = 256,
    COLUMNS_MAX = 8192,
};
/* Two of these and a distance still fit; the dearest entry is below COLUMNS_MAX squared. */
static const uint32_t INFEASIBLE = (uint32_t)1 << 30;
static const uint64_t CAPACITY_MAX = (uint64_t)1 << 46; /* so that DEPTH_MAX of them can be added */

uint64_t mixed_depth(uint64_t free, uint64_t state) {
    uint64_t depth = free / state;
    return depth < DEPTH_MAX ? depth : DEPTH_MAX;
}

/* d states and their reaches take d (state + REACH) bytes; what is left by rounding may hold a few states more. */
enum { REACH = sizeof(uint64_t) };

uint64_t mixed_reach_bytes(uint64_t free, uint64_t state) {
    return (mixed_depth(free, state + REACH) + REACH / state + 4) * REACH;
}

uint64_t mixed_least_free(uint64_t state) {
    uint64_t least = state;
    while (least < state + mixed_reach_bytes(least, state)) least = state + mixed_reach_bytes(least, state);
    return least;
}

bool mixed_has_table(uint64_t free, uint64_t state) {
    return mixed_depth(free, state) < ROWS_MAX;
}

void mixed_set(context *c, mixed *m, uint64_t free, uint64_t state, uint64_t taped) {
    uint64_t entries = m->entries;
    mixed_close(c, m);
    *m = (mixed){.free = free, .state = state, .taped = taped, .entries = entries};
    m->depth = mixed_depth(free, state);
}

static void forget_reach(context *c, mixed *m) {
    give_back(c, m->reach, (size_t)(m->reach == NULL ? 0 : m->depth + 2) * sizeof *m->reach);
    m->reach = NULL;
}

static void forget_table(context *c, mixed *m) {
    give_back(c, m->table, (size_t)(m->rows * m->columns) * sizeof *m->table);
    m->table = NULL;
    m->rows = m->columns = 0;
}

void mixed_close(context *c, mixed *m) {
    forget_reach(c, m);
    forget_table(c, m);
}

uint64_t mixed_capacity(const mixed *m, uint64_t row) {
    uint64_t capacity = 1 + (m->free - row * m->state) / m->taped;
    return capacity < CAPACITY_MAX ? capacity : CAPACITY_MAX;
}

/* ---- no third run ---- */

/* The state behind which the rest can be taped, when no iteration runs more than twice. */
static uint64_t last_row(const mixed *m, uint64_t n, uint64_t row) {
    uint64_t low = row, high = m->depth;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (m->reach[row] - m->reach[middle + 1] >= n) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* For n <= reach[row]. */
static uint64_t cost_in_reach(const mixed *m, uint64_t n, uint64_t row) {
    return n <= mixed_capacity(m, row) ? n : 2 * n - mixed_capacity(m, last_row(m, n, row));
}

/* ---- the table ---- */

/* The best distances for n lie near those for n - 1, which makes the search short. How near is not
 * proved: with this margin the table equalled the full recursion in 5.8 million entries, and half
 * the margin missed it by one execution in one of 10^5. */
static uint64_t margin(uint64_t n) {
    return 32 + n / 64;
}

/* Where the best distances for one n begin and end. */
typedef struct interval {
    uint64_t least, greatest;
} interval;

static uint32_t search(const uint32_t *row, const uint32_t *below, uint64_t n, interval *best) {
    uint64_t wider = margin(n);
    uint64_t first = best->least > wider ? best->least - wider : 1;
    uint64_t last = best->greatest + wider < n ? best->greatest + wider : n - 1;
    uint32_t cost = INFEASIBLE;
    for (uint64_t i = first; i <= last; i++) {
        uint32_t tried = (uint32_t)i + below[n - i] + row[i];
        cost = tried < cost ? tried : cost;
    }
    while (first < last && first + below[n - first] + row[first] != cost) first++;
    while (first < last && last + below[n - last] + row[last] != cost) last--;
    *best = (interval){first, last};
    return cost;
}

static void fill_row(const mixed *m, uint64_t row) {
    uint32_t *here = m->table + row * m->columns;
    interval best = {1, m->columns};
    for (uint64_t n = 0; n < m->columns; n++) {
        if (n <= m->reach[row]) {
            here[n] = (uint32_t)cost_in_reach(m, n, row);
        } else {
            here[n] = row == m->depth ? INFEASIBLE : search(here, here + m->columns, n, &best);
        }
    }
}

static bool fill_table(context *c, mixed *m, uint64_t columns) {
    uint64_t rows = m->depth + 1;
    forget_table(c, m); /* first, so that there are never two */
    m->table = take(c, (size_t)(rows * columns) * sizeof *m->table);
    if (m->table == NULL) return false;
    m->rows = rows;
    m->columns = columns;
    for (uint64_t row = rows; row-- > 0;) fill_row(m, row);
    return true;
}

/* ---- what is prepared ---- */

static bool find_reach(context *c, mixed *m) {
    m->reach = take(c, (size_t)(m->depth + 2) * sizeof *m->reach);
    if (m->reach == NULL) return false;
    m->reach[m->depth + 1] = 0;
    for (uint64_t j = m->depth + 1; j-- > 0;) m->reach[j] = m->reach[j + 1] + mixed_capacity(m, j);
    return true;
}

static uint64_t most_columns(const mixed *m) {
    uint64_t most = m->entries / (m->depth + 1);
    return most < COLUMNS_MAX ? most : COLUMNS_MAX;
}

bool mixed_cover(context *c, mixed *m, uint64_t n, bool *changed) {
    if (m->reach == NULL) {
        *changed = true;
        if (!find_reach(c, m)) return false;
    }
    if (n <= m->reach[0] || m->depth == 0) return true;
    if (!mixed_has_table(m->free, m->state)) return true;
    uint64_t most = most_columns(m), columns = n + 1 < most ? n + 1 : most;
    if (columns <= m->columns) return true;
    if (m->columns > 0 && columns < 2 * m->columns)
        columns = 2 * m->columns < most ? 2 * m->columns : most;
    *changed = true;
    return fill_table(c, m, columns);
}

/* ---- costs ---- */

static uint64_t cost_from_table(const mixed *m, uint64_t n, uint64_t row) {
    uint32_t cost = m->table[row * m->columns + n];
    return cost >= INFEASIBLE ? UINT64_MAX : cost;
}

static bool in_table(const mixed *m, uint64_t n, uint64_t row) {
    return row < m->rows && n < m->columns;
}

/* Continues E from the last n at which it is known. Another iteration costs about what it costs a
 * binomial schedule with as many states, and up to one more the dearer a tape is: where a tape is
 * no larger than a state, every state that could be kept might as well be a tape. */
static uint64_t cost_continued(const mixed *m, uint64_t n, uint64_t row) {
    uint64_t slots = m->depth - row, known = m->reach[row];
    if (m->table != NULL && row < m->rows && m->columns - 1 > known) known = m->columns - 1;
    uint64_t at_known = mixed_cost(m, known, row);
    uint64_t more = schedule_binomial_advances(n, slots) - schedule_binomial_advances(known, slots);
    double dearer = (double)(m->taped - m->state) / (double)m->taped;
    return saturating_add(saturating_add(at_known, more), (uint64_t)(dearer * (double)(n - known)));
}

uint64_t mixed_cost(const void *model, uint64_t n, uint64_t row) {
    const mixed *m = model;
    if (row > m->depth) return UINT64_MAX;
    if (n <= mixed_capacity(m, row)) return n;
    if (row == m->depth || m->reach == NULL) return UINT64_MAX;
    if (n <= m->reach[row]) return cost_in_reach(m, n, row);
    if (in_table(m, n, row)) return cost_from_table(m, n, row);
    return cost_continued(m, n, row);
}

bool mixed_exact(const mixed *m, uint64_t n) {
    return n <= m->reach[0] || in_table(m, n, 0);
}

/* ---- splits ---- */

static uint64_t cost_of_split(const mixed *m, uint64_t n, uint64_t row, uint64_t distance) {
    uint64_t rest = mixed_cost(m, n - distance, row + 1);
    return saturating_add(saturating_add(rest, distance), mixed_cost(m, distance, row));
}

/* The greatest of the best distances in [first, last], `step` apart. */
static uint64_t best_split(const mixed *m, uint64_t n, uint64_t row, uint64_t first, uint64_t last,
                           uint64_t step) {
    uint64_t best = UINT64_MAX, distance = first;
    for (uint64_t i = first; i <= last; i += step) {
        uint64_t cost = cost_of_split(m, n, row, i);
        if (cost > best) continue;
        best = cost;
        distance = i;
    }
    return distance;
}

/* Beyond the table the costs are close, not exact, so that a coarse search which then closes in is
 * good enough. */
static uint64_t split_by_search(const mixed *m, uint64_t n, uint64_t row, uint64_t most) {
    uint64_t step = n / 64 + 1, distance = best_split(m, n, row, 1, most, step);
    while (step > 1) {
        uint64_t first = distance > step ? distance - step : 1;
        uint64_t last = distance < most - step ? distance + step : most;
        step = step / 8 + 1 < step ? step / 8 + 1 : 1;
        distance = best_split(m, n, row, first, last, step);
    }
    return distance;
}

uint64_t mixed_split(const mixed *m, uint64_t n, uint64_t row) {
    uint64_t next = mixed_capacity(m, row + 1);
    /* The last state goes as far on as lets the rest be taped, or each state as far as its segment
     * can be taped. */
    if (row + 1 == m->depth) return n - next;
    if (n <= m->reach[row]) {
        uint64_t here = mixed_capacity(m, row);
        return n <= here + next ? n - next : here;
    }
    if (in_table(m, n, row)) return best_split(m, n, row, 1, n - next, 1);
    uint64_t distance = split_by_search(m, n, row, n - next);
    if (row >= m->rows || n >= 2 * m->columns - 1) return distance;
    /* The parts may still both be in the table, where the costs are exact. */
    uint64_t inside = best_split(m, n, row, n - m->columns + 1, m->columns - 1, 1);
    bool better = cost_of_split(m, n, row, distance) < cost_of_split(m, n, row, inside);
    return better ? distance : inside;
}

/* ---- for reports ---- */

bool schedule_optimum_of_room(context *c, uint64_t trips, const loop_room *room, uint64_t *out) {
    enum { ENTRIES = 1 << 19 };
    mixed m = {.entries = ENTRIES};
    uint64_t state = room->state > 0 ? room->state : 1;
    mixed_set(c, &m, room->free, state, room->taped > state ? room->taped : state);
    bool changed = false, ok = mixed_cover(c, &m, trips, &changed);
    uint64_t alone = schedule_optimum(trips, m.depth), mixed_together = ok ? mixed_cost(&m, trips, 0) : 0;
    *out = alone < mixed_together ? alone : mixed_together;
    mixed_close(c, &m);
    return ok;
}
