/* See hlo_builder.h. */
#include "hlo_builder.h"

#include <string.h>

void hlo_put_number(struct hlo_bytes *b, uint64_t value)
{
	for (; value > 127; value >>= 7)
		b->at[b->count++] = (unsigned char)(value | 128);
	b->at[b->count++] = (unsigned char)value;
}

void hlo_put(struct hlo_bytes *b, unsigned field, uint64_t value)
{
	hlo_put_number(b, field << 3);
	hlo_put_number(b, value);
}

static void hlo_put_bytes(struct hlo_bytes *b, unsigned field, const void *bytes, size_t count)
{
	hlo_put_number(b, field << 3 | 2);
	hlo_put_number(b, count);
	memcpy(b->at + b->count, bytes, count);
	b->count += count;
}

void hlo_put_text(struct hlo_bytes *b, unsigned field, const char *text)
{
	hlo_put_bytes(b, field, text, strlen(text));
}

void hlo_put_message(struct hlo_bytes *b, unsigned field, const struct hlo_bytes *message)
{
	hlo_put_bytes(b, field, message->at, message->count);
}

enum { HLO_F32 = 11, HLO_TUPLE = 13 };

static struct hlo_bytes hlo_instruction_bytes(const struct hlo_row *row)
{
	struct hlo_bytes b = {.count = 0}, shape = {.count = 0}, metadata = {.count = 0},
			 packed = {.count = 0};

	hlo_put_text(&b, 1, row->name);
	hlo_put_text(&b, 2, row->opcode);
	hlo_put(&shape, 2, row->elements ? HLO_F32 : HLO_TUPLE);
	if (row->elements > 1)
		hlo_put(&shape, 3, row->elements);
	hlo_put_message(&b, 3, &shape);
	hlo_put_text(&metadata, 2, row->op_name);
	hlo_put(&metadata, 4, 17);
	hlo_put_message(&b, 7, &metadata);
	if (row->index)
		hlo_put(&b, strcmp(row->opcode, "parameter") == 0 ? 9 : 13, row->index);
	hlo_put(&b, 35, row->id);
	for (unsigned i = 0; row->operands[i]; i++)
		hlo_put_number(&packed, row->operands[i]);
	hlo_put_message(&b, 36, &packed);
	if (row->called)
		hlo_put(&b, 38, row->called);
	return b;
}

void hlo_put_computation(struct hlo_bytes *module, unsigned id, const struct hlo_row *rows, unsigned count)
{
	struct hlo_bytes b = {.count = 0};

	hlo_put_text(&b, 1, "computation");
	for (unsigned i = 0; i < count; i++) {
		const struct hlo_bytes one = hlo_instruction_bytes(&rows[i]);

		hlo_put_message(&b, 2, &one);
	}
	hlo_put(&b, 5, id);
	hlo_put(&b, 6, rows[count - 1].id);
	hlo_put_message(module, 3, &b);
}

/* The last instruction comes first in the sequence: the order must be the schedule's. */
void hlo_put_sequence(
	struct hlo_bytes *schedule, unsigned computation, const struct hlo_row *rows, unsigned count)
{
	struct hlo_bytes packed = {.count = 0}, sequence = {.count = 0}, entry = {.count = 0};

	for (unsigned i = count; i-- > 0;)
		hlo_put_number(&packed, rows[i].id);
	hlo_put_message(&sequence, 1, &packed);
	hlo_put(&entry, 1, computation);
	hlo_put_message(&entry, 2, &sequence);
	hlo_put_message(schedule, 1, &entry);
}

/* What is reduced by has a computation of its own: a large program's entry comes after hundreds of these. */
#define REDUCERS 300
void hlo_put_schedule(struct hlo_bytes *module, unsigned computation, const struct hlo_row *rows,
	unsigned count, unsigned called, const struct hlo_row *inner, unsigned inner_count)
{
	struct hlo_bytes schedule = {.count = 0};

	for (unsigned i = 0; i < REDUCERS; i++)
		hlo_put_sequence(&schedule, 10000 + i, rows, 1);
	if (inner_count)
		hlo_put_sequence(&schedule, called, inner, inner_count);
	hlo_put_sequence(&schedule, computation, rows, count);
	hlo_put_message(module, 7, &schedule);
}

struct hlo_bytes hlo_builder_with(const struct hlo_row *rows, unsigned count, const struct hlo_row *fused,
	unsigned fused_count, bool is_scheduled)
{
	struct hlo_bytes module = {.count = 0}, wrapped = {.count = 0};

	hlo_put_text(&module, 1, "jit_step");
	hlo_put_computation(&module, HLO_FUSED, fused, fused_count);
	hlo_put_computation(&module, HLO_ENTRY, rows, count);
	hlo_put(&module, 5, 13);
	hlo_put(&module, 6, HLO_ENTRY);
	hlo_put_schedule(&module, HLO_ENTRY, rows, count, HLO_FUSED, fused, is_scheduled ? fused_count : 0);
	hlo_put_message(&wrapped, 1, &module);
	return wrapped;
}

struct hlo_bytes hlo_builder_module(
	const struct hlo_row *rows, unsigned count, const struct hlo_row *fused, unsigned fused_count)
{
	return hlo_builder_with(rows, count, fused, fused_count, false);
}
