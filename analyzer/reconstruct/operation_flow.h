/*
 * What an operation reads and writes: addresses, sizes, and whether a write keeps something of what was
 * there. It follows from the labels of its values and from what the hook's table says of the function
 * (hook_facts).
 */
#ifndef RECONSTRUCT_OPERATION_FLOW_H
#define RECONSTRUCT_OPERATION_FLOW_H

#include "timeline/timeline.h"

enum flow_mode {
	FLOW_READ,
	FLOW_WRITE, /* what was there is lost */
	FLOW_KEEP,  /* written, and what was there takes part in the result */
};

struct flow_access {
	uint64_t address; /* never 0 */
	uint64_t bytes;   /* 1 where not known */
	enum flow_mode mode;
	enum pm_value type; /* PM_VALUE_READS, _WRITES, _WEIGHT, _GRAD */
	const char *label;
};

enum flow_shape {
	FLOW_OTHER,   /* FORWARD and BACKWARD functions, launches, communication: their kind says enough */
	FLOW_PRODUCT, /* matrix by matrix, or by vector */
	FLOW_ELEMENTWISE, /* each element of the result comes from the same element of the operands */
	FLOW_SPREAD,      /* elementwise, with an operand smaller than the result, or added to one: a bias */
	FLOW_REDUCE,      /* result smaller than operands, by a sum */
	FLOW_READER,      /* writes nothing that is known: a norm, a dot product */
};

struct flow {
	struct flow_access *accesses;
	uint32_t access_count;
	enum flow_shape shape;
	enum pm_kind kind;
};

/* One flow for each operation of the timeline, in its order; in the arena. */
struct flow *flow_list(const struct timeline *timeline, struct arena *arena);

static inline bool flow_writes(const struct flow_access *access)
{
	return access->mode != FLOW_READ;
}

static inline bool flow_holds(const struct flow_access *access, uint64_t address)
{
	return access->address <= address && address < access->address + access->bytes;
}

static inline bool flow_meets(const struct flow_access *a, const struct flow_access *b)
{
	return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

/* Bytes from the first to the last element that a tensor or filter descriptor describes; 0: none. */
uint64_t flow_descriptor_bytes(const struct timeline *timeline, uint64_t number);

/* The operand whose shape another has that has no descriptor of its own: "x" for "dx"; NULL: none is known. */
const char *flow_shaped_as(const char *operand);

/*
 * How a product takes its operands: equal for calls that do it alike, in each iteration. A backward pass
 * reads weights the other way round.
 */
uint64_t flow_manner(const struct timeline *timeline, const struct timeline_operation *operation);

/* Is a pointer's label that of a product's matrix `name`: "a_ptr"? */
static inline bool flow_is_matrix(const char *label, char name)
{
	return label[0] == name && (label[1] == 0 || label[1] == '_');
}

/* Sizes of a matrix product, from its numbers or its descriptors a, b; false: neither. */
struct flow_product {
	int64_t m, n, k;
};
bool flow_product(const struct timeline *timeline, const struct timeline_operation *operation,
	struct flow_product *product);

/* Dimensions of a tensor or filter; answers how many (at most `room` are stored). */
uint32_t flow_dimensions(
	const struct timeline *timeline, uint64_t number, int64_t *dimensions, uint32_t room);

#endif
