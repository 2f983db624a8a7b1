/*
 * Of the serialized module some twenty fields are read, in two passes: the schedule stands after the
 * computations, and says which of them run instruction by instruction. These are written whole. The others
 * are the insides of fusions and what reductions call: of them only what they do and where it comes from is
 * needed.
 */
#include "hlo.h"

#include <stdatomic.h>
#include <string.h>

#include "proto.h"
#include "trace/intern.h"

/* Fields of XLA's messages, by their numbers. */
enum { CONFIGURED_MODULE = 1 };
enum {
	MODULE_NAME = 1,
	MODULE_COMPUTATION = 3,
	MODULE_ID = 5,
	MODULE_ENTRY = 6,
	MODULE_SCHEDULE = 7,
	MODULE_ALIASES = 8,
};
enum { COMPUTATION_INSTRUCTION = 2, COMPUTATION_ID = 5, COMPUTATION_ROOT = 6 };
enum {
	INSTRUCTION_NAME = 1,
	INSTRUCTION_OPCODE = 2,
	INSTRUCTION_SHAPE = 3,
	INSTRUCTION_METADATA = 7,
	INSTRUCTION_PARAMETER = 9,
	INSTRUCTION_TUPLE_INDEX = 13,
	INSTRUCTION_TARGET = 28,
	INSTRUCTION_ID = 35,
	INSTRUCTION_OPERANDS = 36,
	INSTRUCTION_CALLED = 38,
};
enum { SHAPE_TYPE = 2, SHAPE_DIMENSIONS = 3 };
enum { METADATA_NAME = 2, METADATA_FILE = 3, METADATA_LINE = 4 };
enum { SCHEDULE_SEQUENCE = 1, MAP_KEY = 1, MAP_VALUE = 2, SEQUENCE_IDS = 1 };
enum { ALIASES_ENTRY = 1, ALIAS_OUTPUT = 1 };

#define ALIASES_MOST 4096u
#define IDS_MOST 7000u /* operands and called computations: with the name no more than 64 KiB */
#define NAME_MOST 511u
#define STRINGS_MOST 49152u /* of the dictionary's, half: the other half is for operations */

struct hlo {
	uint32_t number;
	bool is_partial;
	uint64_t id, entry;
	struct pmh_proto name, schedule;
	uint32_t aliases[ALIASES_MOST];
	size_t alias_count;
	uint64_t *scratch;
	size_t scratch_words;
};

struct instruction {
	struct pm_entry_hlo_instruction fixed;
	struct pmh_proto name, opcode, op_name, target, file;
	size_t id_count;
};

/* ---- strings ---- */

/* A text with its end, cut where it is too long. */
static size_t copy_text(const struct pmh_proto *text, char copy[NAME_MOST + 1])
{
	size_t n = (size_t)(text->end - text->at);

	n = n < NAME_MOST ? n : NAME_MOST;
	if (n)
		memcpy(copy, text->at, n);
	copy[n] = 0;
	return strlen(copy) + 1;
}

static _Atomic uint32_t greatest; /* number of a string */

void pmh_hlo_forget(void)
{
	atomic_store(&greatest, 0);
}

static uint32_t string_of(struct hlo *hlo, const struct pmh_proto *text)
{
	char copy[NAME_MOST + 1];
	uint32_t number;

	if (text->at == text->end)
		return 0;
	if (atomic_load_explicit(&greatest, memory_order_relaxed) >= STRINGS_MOST) {
		hlo->is_partial = true;
		return 0;
	}
	copy_text(text, copy);
	number = pmh_string(copy);
	if (number > atomic_load_explicit(&greatest, memory_order_relaxed))
		atomic_store_explicit(&greatest, number, memory_order_relaxed);
	return number;
}

static bool is_text(const struct pmh_proto *text, const char *word)
{
	const size_t n = strlen(word);

	return (size_t)(text->end - text->at) == n && memcmp(text->at, word, n) == 0;
}

/* ---- an instruction ---- */

/* Numbers of XLA's element types. */
static enum pm_type type_of(uint64_t xla)
{
	static const uint8_t types[] = {[2] = PM_TYPE_I8,
		[4] = PM_TYPE_I32,
		[5] = PM_TYPE_I64,
		[6] = PM_TYPE_U8,
		[8] = PM_TYPE_U32,
		[9] = PM_TYPE_U64,
		[10] = PM_TYPE_F16,
		[11] = PM_TYPE_F32,
		[12] = PM_TYPE_F64,
		[16] = PM_TYPE_BF16};
	enum { TUPLE = 13, OPAQUE = 14, TOKEN = 17 };

	if (xla == 0 || xla == TUPLE || xla == OPAQUE || xla == TOKEN)
		return PM_TYPE_NONE;
	return xla < sizeof types && types[xla] ? (enum pm_type)types[xla] : PM_TYPE_OTHER;
}

static void read_shape(struct instruction *i, struct pmh_proto shape)
{
	struct pmh_proto_field f;
	uint64_t sizes[64], product = 1;
	size_t count = 0;

	while (pmh_proto_next(&shape, &f))
		if (f.number == SHAPE_TYPE)
			i->fixed.type = type_of(f.value);
		else if (f.number == SHAPE_DIMENSIONS)
			pmh_proto_numbers(&f, sizes, &count, sizeof sizes / sizeof sizes[0]);
	for (size_t k = 0; k < count; k++)
		product *= sizes[k];
	i->fixed.element_count = i->fixed.type == PM_TYPE_NONE ? 0 : product;
}

static void read_metadata(struct instruction *i, struct pmh_proto metadata)
{
	struct pmh_proto_field f;

	while (pmh_proto_next(&metadata, &f))
		if (f.number == METADATA_NAME)
			i->op_name = f.bytes;
		else if (f.number == METADATA_FILE)
			i->file = f.bytes;
		else if (f.number == METADATA_LINE)
			i->fixed.line = (uint32_t)f.value;
}

/* Called computations come after operands in the message, as in the entry. */
static void read_ids(struct hlo *hlo, struct instruction *i, const struct pmh_proto_field *f, uint16_t *count)
{
	const size_t before = i->id_count;

	if (!pmh_proto_numbers(f, hlo->scratch, &i->id_count, IDS_MOST))
		hlo->is_partial = true;
	*count = (uint16_t)(*count + (i->id_count - before));
}

static void read_instruction(struct hlo *hlo, struct instruction *i, struct pmh_proto message)
{
	struct pmh_proto_field f;

	while (pmh_proto_next(&message, &f))
		switch (f.number) {
		case INSTRUCTION_NAME:
			i->name = f.bytes;
			break;
		case INSTRUCTION_OPCODE:
			i->opcode = f.bytes;
			break;
		case INSTRUCTION_SHAPE:
			read_shape(i, f.bytes);
			break;
		case INSTRUCTION_METADATA:
			read_metadata(i, f.bytes);
			break;
		case INSTRUCTION_PARAMETER:
		case INSTRUCTION_TUPLE_INDEX:
			i->fixed.index |= (uint32_t)f.value; /* an instruction has one of them */
			break;
		case INSTRUCTION_TARGET:
			i->target = f.bytes;
			break;
		case INSTRUCTION_ID:
			i->fixed.id = f.value;
			break;
		case INSTRUCTION_OPERANDS:
			read_ids(hlo, i, &f, &i->fixed.operand_count);
			break;
		case INSTRUCTION_CALLED:
			read_ids(hlo, i, &f, &i->fixed.called_count);
			break;
		default:
			break;
		}
	hlo->is_partial |= message.is_broken;
}

static void write_instruction(struct hlo *hlo, struct instruction *i)
{
	char *const text = (char *)(hlo->scratch + i->id_count);

	i->fixed.opcode = string_of(hlo, &i->opcode);
	i->fixed.op_name = string_of(hlo, &i->op_name);
	i->fixed.target = string_of(hlo, &i->target);
	i->fixed.file = string_of(hlo, &i->file);
	pmh_hlo_instruction_entry(&i->fixed, hlo->scratch, 8 * i->id_count + copy_text(&i->name, text));
}

/* Of what is not run by itself: whether it says what the instruction around it is made of. */
static bool is_work(const struct instruction *i)
{
	static const char *const other[] = {
		"parameter", "constant", "bitcast", "broadcast", "get-tuple-element", "tuple", "iota"};

	for (size_t k = 0; k < sizeof other / sizeof other[0]; k++)
		if (is_text(&i->opcode, other[k]))
			return false;
	return i->op_name.at != i->op_name.end;
}

/* ---- the schedule ---- */

/* The next pair of the map: a computation and its sequence. */
static bool next_sequence(struct pmh_proto *schedule, uint64_t *computation, struct pmh_proto *sequence)
{
	struct pmh_proto_field f, part;

	while (pmh_proto_next(schedule, &f)) {
		if (f.number != SCHEDULE_SEQUENCE || !f.is_bytes)
			continue;
		*computation = 0;
		*sequence = (struct pmh_proto){NULL, NULL, false};
		while (pmh_proto_next(&f.bytes, &part))
			if (part.number == MAP_KEY)
				*computation = part.value;
			else if (part.number == MAP_VALUE)
				*sequence = part.bytes;
		return true;
	}
	return false;
}

/* Is the computation run by itself? Where there is no schedule, the entry is. */
static bool is_scheduled(const struct hlo *hlo, uint64_t computation)
{
	struct pmh_proto schedule = hlo->schedule, sequence;
	uint64_t scheduled;
	bool any = false;

	while (next_sequence(&schedule, &scheduled, &sequence)) {
		if (scheduled == computation)
			return true;
		any = true;
	}
	return !any && computation == hlo->entry;
}

/* ---- a computation ---- */

static void record_instruction(
	struct hlo *hlo, uint64_t computation, uint64_t root, bool whole, const struct pmh_proto *message)
{
	struct instruction i = {.fixed = {.module = hlo->number, .computation = computation}};

	read_instruction(hlo, &i, *message);
	i.fixed.flags = i.fixed.id == root ? PM_HLO_ROOT : 0;
	if (!whole) {
		if (!is_work(&i))
			return;
		i.name.end = i.name.at;
		i.id_count = i.fixed.operand_count = i.fixed.called_count = 0;
	}
	write_instruction(hlo, &i);
}

/* Its number and its root's come after the instructions. */
static void record_computation(struct hlo *hlo, const struct pmh_proto *message)
{
	struct pmh_proto rest = *message;
	struct pmh_proto_field f;
	uint64_t id = 0, root = 0;
	bool whole;

	while (pmh_proto_next(&rest, &f))
		if (f.number == COMPUTATION_ID)
			id = f.value;
		else if (f.number == COMPUTATION_ROOT)
			root = f.value;
	hlo->is_partial |= rest.is_broken;
	whole = is_scheduled(hlo, id);
	rest = *message;
	while (pmh_proto_next(&rest, &f))
		if (f.number == COMPUTATION_INSTRUCTION && f.is_bytes)
			record_instruction(hlo, id, root, whole, &f.bytes);
}

static void record_schedule(struct hlo *hlo)
{
	struct pmh_proto schedule = hlo->schedule, sequence;
	struct pm_entry_hlo_schedule fixed = {.module = hlo->number};

	while (next_sequence(&schedule, &fixed.computation, &sequence)) {
		struct pmh_proto_field f;
		size_t count = 0;

		while (pmh_proto_next(&sequence, &f))
			if (f.number == SEQUENCE_IDS &&
				!pmh_proto_numbers(&f, hlo->scratch, &count, hlo->scratch_words))
				hlo->is_partial = true;
		fixed.instruction_count = (uint32_t)count;
		pmh_hlo_schedule_entry(&fixed, hlo->scratch);
	}
}

/* ---- the module ---- */

/* Which parts of the result take an argument's place, where it is a flat tuple. */
static void read_aliases(struct hlo *hlo, struct pmh_proto aliases)
{
	struct pmh_proto_field f, part;

	while (pmh_proto_next(&aliases, &f)) {
		uint64_t index[8];
		size_t depth = 0;

		if (f.number != ALIASES_ENTRY || !f.is_bytes)
			continue;
		while (pmh_proto_next(&f.bytes, &part))
			if (part.number == ALIAS_OUTPUT)
				pmh_proto_numbers(&part, index, &depth, 8);
		if (hlo->alias_count < ALIASES_MOST)
			hlo->aliases[hlo->alias_count++] = depth ? (uint32_t)index[0] : 0;
	}
}

static void read_head(struct hlo *hlo, struct pmh_proto module)
{
	struct pmh_proto_field f;

	while (pmh_proto_next(&module, &f))
		switch (f.number) {
		case MODULE_NAME:
			hlo->name = f.bytes;
			break;
		case MODULE_ID:
			hlo->id = f.value;
			break;
		case MODULE_ENTRY:
			hlo->entry = f.value;
			break;
		case MODULE_SCHEDULE:
			hlo->schedule = f.bytes;
			break;
		case MODULE_ALIASES:
			read_aliases(hlo, f.bytes);
			break;
		default:
			break;
		}
	hlo->is_partial |= module.is_broken;
}

bool pmh_hlo_record(const void *module, size_t byte_count, bool is_wrapped, void *scratch)
{
	struct pmh_proto message = {module, (const unsigned char *)module + byte_count, false};
	struct hlo hlo = {.scratch = scratch, .scratch_words = byte_count};
	struct pmh_proto_field f = {0};
	struct pmh_proto rest;

	if (is_wrapped) {
		while (pmh_proto_next(&message, &f) && (f.number != CONFIGURED_MODULE || !f.is_bytes))
			;
		message = f.number == CONFIGURED_MODULE ? f.bytes : (struct pmh_proto){NULL, NULL, false};
	}
	read_head(&hlo, message);
	if (hlo.name.at == hlo.name.end)
		return false;
	hlo.number = pmh_hlo_module_number();
	rest = message;
	while (pmh_proto_next(&rest, &f))
		if (f.number == MODULE_COMPUTATION && f.is_bytes)
			record_computation(&hlo, &f.bytes);
	record_schedule(&hlo);
	pmh_hlo_module_entry(
		&(struct pm_entry_hlo_module){
			.number = hlo.number,
			.name = string_of(&hlo, &hlo.name),
			.program = hlo.id,
			.entry = hlo.entry,
			.flags = hlo.is_partial ? PM_HLO_PARTIAL : 0,
			.alias_count = (uint32_t)hlo.alias_count,
		},
		hlo.aliases);
	return true;
}
