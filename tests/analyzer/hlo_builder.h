/*
 * A program of XLA as a serialized module (protocol buffers), byte by byte: rows of instructions in an entry
 * and in one computation that it calls.
 */
#ifndef HLO_BUILDER_H
#define HLO_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HLO_ENTRY 900
#define HLO_FUSED 901

struct hlo_bytes {
	unsigned char at[8192];
	size_t count;
};

struct hlo_row {
	const char *name, *opcode, *op_name;
	unsigned id, elements; /* elements 0: a tuple */
	unsigned operands[6];  /* ids, ended by 0 */
	unsigned called, index;
};

/* A field of a message: a number, a text, a message. */
void hlo_put_number(struct hlo_bytes *b, uint64_t value);
void hlo_put(struct hlo_bytes *b, unsigned field, uint64_t value);
void hlo_put_text(struct hlo_bytes *b, unsigned field, const char *text);
void hlo_put_message(struct hlo_bytes *b, unsigned field, const struct hlo_bytes *message);
void hlo_put_computation(struct hlo_bytes *module, unsigned id, const struct hlo_row *rows, unsigned count);

/* The order of `rows` in a computation, as a field of the module's schedule. */
void hlo_put_sequence(
	struct hlo_bytes *schedule, unsigned computation, const struct hlo_row *rows, unsigned count);

/* The order of `rows` in a computation, and of `inner` in one that it calls, among those of reducers. */
void hlo_put_schedule(struct hlo_bytes *module, unsigned computation, const struct hlo_row *rows,
	unsigned count, unsigned called, const struct hlo_row *inner, unsigned inner_count);

/* The module jit_step: `rows` in HLO_ENTRY, `fused` in HLO_FUSED, which has a schedule of its own if that is
 * said. */
struct hlo_bytes hlo_builder_with(const struct hlo_row *rows, unsigned count, const struct hlo_row *fused,
	unsigned fused_count, bool is_scheduled);
struct hlo_bytes hlo_builder_module(
	const struct hlo_row *rows, unsigned count, const struct hlo_row *fused, unsigned fused_count);

#endif
