/* A tape and its sweep for programs: everything, whatever --full says. Ranges name their first and last member. */
#include "interp/policy.h"
#include "interp/tools/tape_print.h"
#include "runtime/print.h"

const char *const tape_save_words[TAPE_SAVES] = {"in1", "in2", "in3", "out", "sizes"};

uint32_t tape_line(const tape_shown *s, span where) {
    uint32_t line, column;
    source_position(s->src, where.begin, &line, &column);
    return line;
}

span tape_source(const tape_shown *s, span where) {
    span first = {where.begin, where.begin};
    while (first.end < where.end && s->src->text[first.end] != '\n' && s->src->text[first.end] != '\r') first.end++;
    return first;
}

static void add_source(text *out, const tape_shown *s, span where) {
    span first = tape_source(s, where);
    text_format(out, ",\"line\":%u,\"source\":", tape_line(s, where));
    json_string(out, s->src->text + first.begin, first.end - first.begin);
}

static void add_operands(text *out, const tape *t, uint32_t index, uint32_t count) {
    text_add(out, ",\"operands\":[");
    for (uint32_t k = 0; k < count; k++) text_format(out, "%s%u", k > 0 ? "," : "", tape_view_operand(t, index, k));
    text_add_char(out, ']');
}

static void add_type(text *out, const op_type *type) {
    text_format(out, ",\"dtype\":\"%s\",\"shape\":[", dtype_name((dtype)type->dtype));
    for (int i = 0; i < type->rank; i++) text_format(out, "%s%lld", i > 0 ? "," : "", (long long)type->dims[i]);
    text_add_char(out, ']');
}

static void add_saved(text *out, const tape_entry *e) {
    const char *comma = "";
    text_add(out, ",\"saves\":[");
    if (e->custom) text_add(out, "\"operands\",\"out\",\"rule\"");
    for (int bit = 0; bit < TAPE_SAVES; bit++) {
        if (!(e->saves >> bit & 1)) continue;
        text_format(out, "%s\"%s\"", comma, tape_save_words[bit]);
        comma = ",";
    }
    text_format(out, "],\"saved_bytes\":%llu", (unsigned long long)e->saved_bytes);
}

static void add_partials(text *out, const tape_entry *e) {
    text_add(out, ",\"partials\":");
    for (uint32_t k = 0; k < e->operands; k++) {
        value v = value_number(DT_F64, e->partial[k]);
        text_add_char(out, k > 0 ? ',' : '[');
        value_json(out, &v);
    }
    text_add_char(out, ']');
}

static void add_checkpoint(text *out, const tape *t, uint32_t index) {
    checkpoint_facts f = tape_view_checkpoint(t, index);
    uint32_t at = 0;
    uint64_t iteration;
    const char *comma = "";
    text_add(out, ",\"policy\":\"");
    policy_print(out, f.policy, f.amount);
    text_format(out, "\",\"state_bytes\":%llu,\"states\":[", (unsigned long long)f.state_bytes);
    for (; tape_view_state(t, index, &at, &iteration); comma = ",") {
        text_format(out, "%s%llu", comma, (unsigned long long)iteration);
    }
    text_add_char(out, ']');
    if (f.taped_from == f.taped_to) return;
    text_format(out, ",\"taped_ahead\":[%llu,%llu]", (unsigned long long)f.taped_from,
                (unsigned long long)f.taped_to - 1);
}

static void add_entry(text *out, const tape_shown *s, const tape *t, uint32_t index, const tape_entry *e) {
    static const char *const kinds[] = {"input", "op", "scalar", "branch", "loop", "checkpoint", "forgotten"};
    text_format(out, "{\"index\":%u,\"kind\":\"%s\"", index, kinds[e->kind]);
    if (e->kind == ENTRY_FORGOTTEN) {
        text_format(out, ",\"last\":%u}", e->next - 1);
        return;
    }
    if (e->kind == ENTRY_OP) text_format(out, ",\"op\":\"%s\"", e->name);
    add_operands(out, t, index, e->operands);
    if (e->kind <= ENTRY_SCALAR) add_type(out, &e->type);
    if (e->kind == ENTRY_OP) add_saved(out, e);
    if (e->kind == ENTRY_SCALAR) add_partials(out, e);
    if (e->kind == ENTRY_BRANCH) text_format(out, ",\"tag\":%u", e->tag);
    if (e->kind >= ENTRY_LOOP) text_format(out, ",\"trips\":%llu", (unsigned long long)e->trips);
    if (e->kind == ENTRY_CHECKPOINT) add_checkpoint(out, t, index);
    add_source(out, s, e->where);
    text_add_char(out, '}');
}

void tape_json_records(text *out, const tape_shown *s, const tape *t, const tape_range *range) {
    text_format(out, "\"parameters\":%u,\"result\":%u,\"records\":[", range->body - range->first, range->primal);
    for (uint32_t i = range->first; i < range->end;) {
        tape_entry e = tape_view_entry(t, i);
        if (i > range->first) text_add_char(out, ',');
        add_entry(out, s, t, i, &e);
        i = e.next;
    }
    text_add_char(out, ']');
}

static void add_move(text *out, const tape_shown *s, const tape_move *m) {
    static const char *const kinds[] = {"records", "loop", "advance", "tape", "sweep"};
    text_format(out, "{\"step\":\"%s\",\"depth\":%d", kinds[m->kind], m->depth);
    if (m->kind == MOVE_LOOP) {
        text_format(out, ",\"record\":%u,\"trips\":%llu,\"line\":%u}", m->record, (unsigned long long)m->to,
                    tape_line(s, m->where));
        return;
    }
    text_format(out, ",\"first\":%llu,\"last\":%llu", (unsigned long long)m->from, (unsigned long long)m->to - 1);
    if (m->kind == MOVE_ADVANCE) text_format(out, ",\"keeps\":%s", m->keeps ? "true" : "false");
    if (m->kind == MOVE_SWEEP) text_format(out, ",\"taped_ahead\":%s", m->ahead ? "true" : "false");
    text_add_char(out, '}');
}

void tape_json_moves(text *out, const tape_shown *s, const tape_move *moves, size_t count) {
    text_add(out, "\"order\":[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) text_add_char(out, ',');
        add_move(out, s, &moves[i]);
    }
    text_add_char(out, ']');
}
