/*
 * PyTorch's reductions: one argument, a structure with the operation, the sizes, two calculators of offsets
 * and the addresses.
 *
 * The one idea: the structure's layout follows from the type that is accumulated, which the name has; what is
 * read there must be plausible, else the kernel is not computed.
 */
#include "rule.h"

#include <math.h>
#include <string.h>

enum op { UNKNOWN, SUM, MEAN, MOST, LEAST, ANY, EVERY, NORM, PRODUCT, OTHER };

/* Structures as Reduce.cuh and OffsetCalculator.cuh have them, with 32-bit indices. */
#define DIMS 25
struct divider {
	uint32_t divisor, magic, shift;
};
struct config {
	int32_t element_bytes, inputs, outputs, step_input, step_output, blocks_per_output, input_mult[3],
		output_mult[2], width, height, threads;
	uint8_t vectorized, padding[3];
	int32_t output_vector;
};
struct input_calculator {
	int32_t dims;
	struct divider sizes[DIMS];
	uint32_t strides[DIMS][1]; /* bytes */
};
struct output_calculator {
	int32_t dims;
	struct divider sizes[DIMS];
	uint32_t strides[DIMS][2]; /* bytes, in the result and in the input */
};
struct addresses {
	const char *from;
	char *to[2];
	void *buffers[2], *semaphores;
	int64_t base;
	uint8_t accumulates, is_last, padding[2];
	int32_t outputs;
};
struct reduction {
	struct config config;
	struct input_calculator input;
	struct output_calculator output;
	struct addresses at;
};

static const struct {
	const char *spelt;
	enum op op;
	const char *type_after; /* the accumulated type stands after this: in the functor, or first in a
				   lambda's parameters */
} ops[] = {{"11sum_functorI", SUM, "EUl"}, {"13MaxNanFunctorI", MOST, "13MaxNanFunctorI"},
	{"13MinNanFunctorI", LEAST, "13MinNanFunctorI"}, {"14or_kernel_cuda", ANY, "EUl"},
	{"15and_kernel_cuda", EVERY, "EUl"}, {"12prod_functorI", PRODUCT, "EUl"}};

/* Those whose bytes alone are known: a state of several numbers, which have as many bytes as an element,
 * or 8.
 */
static const struct {
	const char *spelt;
	unsigned char numbers, before; /* in the state, and in the operation before it */
	unsigned char wide;            /* bytes of a number at least */
	unsigned char results, indices;
} others[] = {{"NS0_6MaxOpsI", 2, 1, 8, 1, 1}, {"NS0_6MinOpsI", 2, 1, 8, 1, 1},
	{"NS0_9ArgMaxOpsI", 2, 1, 8, 1, 0}, {"NS0_9ArgMinOpsI", 2, 1, 8, 1, 0},
	{"NS0_9MinMaxOpsI", 2, 1, 1, 2, 0}, {"NS0_10WelfordOpsI", 4, 2, 4, 1, 0}};

static size_t state_number(const struct sg_known *known)
{
	size_t size = sg_type_size(known->in), least = others[known->pointers].wide;

	return size > least ? size : least;
}

/* Where the sizes are: after the operation and what the sum begins with. */
static size_t config_at(const struct sg_known *known)
{
	if (known->op == OTHER)
		return (others[known->pointers].before + others[known->pointers].numbers) *
		       state_number(known);
	size_t size = sg_type_size(known->scalar), op = known->op == MEAN ? size : 1;
	size_t first = (op + size - 1) / size * size + size;

	return (first + 3) / 4 * 4;
}

/* Addresses are aligned to 8 in the whole structure. */
static size_t addresses_at(const struct sg_known *known)
{
	size_t end = config_at(known) + offsetof(struct reduction, output) + sizeof(struct output_calculator);

	return (end + 7) / 8 * 8;
}

int sg_reduce_find(struct sg_known *known, const char *name)
{
	const char *at = strstr(name, "ReduceOpI"), *result = NULL, *next;

	if (at == NULL)
		return 0;
	at += strlen("ReduceOpI");
	known->in = sg_type_read(&at, SG_NO_TYPE);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strstr(at, ops[i].spelt) != NULL && strncmp(at, "NS0_14func_wrapper_tI", 21) == 0) {
			known->op = (int)ops[i].op;
			known->scalar = sg_type_after(at, ops[i].type_after);
		}
	}
	if (strncmp(at, "NS0_7MeanOpsI", 13) == 0 || strncmp(at, "NS0_10NormTwoOpsI", 17) == 0) {
		known->op = at[4] == '7' ? MEAN : NORM;
		at = strchr(at, 'I') + 1;
		sg_type_read(&at, SG_NO_TYPE);
		known->scalar = sg_type_read(&at, known->in);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(at, others[i].spelt, strlen(others[i].spelt)) == 0) {
			known->op = OTHER;
			known->pointers = (unsigned)i;
			known->scalar = known->in;
		}
	/* the result's type stands after that of the indices, j */
	for (next = strstr(at, "Ej"); next != NULL; next = strstr(next + 1, "Ej"))
		result = next + 2;
	known->out = result != NULL ? sg_type_read(&result, known->in) : SG_NO_TYPE;
	if (sg_type_size(known->in) == 0 || sg_type_size(known->out) == 0 || sg_type_size(known->scalar) == 0)
		known->op = UNKNOWN;
	if (known->op != UNKNOWN)
		known->arg_bytes[0] = addresses_at(known) + sizeof(struct addresses);
	return known->op != UNKNOWN;
}

static int read(const struct sg_known *known, const char *arg, struct reduction *r)
{
	size_t element = known->op == OTHER ? others[known->pointers].numbers * state_number(known)
					    : sg_type_size(known->scalar);

	memcpy(r, arg + config_at(known), offsetof(struct reduction, at));
	memcpy(&r->at, arg + addresses_at(known), sizeof(r->at));
	return r->config.element_bytes > 0 && r->config.element_bytes <= 32 && r->config.inputs > 0 &&
	       r->config.outputs > 0 && r->input.dims >= 0 && r->input.dims <= DIMS && r->output.dims >= 0 &&
	       r->output.dims <= DIMS && (size_t)r->config.element_bytes == element && r->at.from != NULL &&
	       r->at.to[0] != NULL;
}

double sg_reduce_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	double result = (double)sg_type_size(known->out);
	struct reduction r;

	(void)grid;
	if (!read(known, args[0], &r))
		return -1;
	if (known->op == OTHER)
		result = result * others[known->pointers].results +
			 (double)others[known->pointers].indices * sizeof(int64_t);
	return (double)r.config.outputs *
	       ((double)r.config.inputs * (double)sg_type_size(known->in) + result);
}

/* Of a sum that several blocks share the last of them adds their parts. */
double sg_reduce_steps(const struct sg_known *known, void *const *args)
{
	struct reduction r;

	return read(known, args[0], &r) && r.config.blocks_per_output > 1 ? r.config.blocks_per_output : 0;
}

/* What is reduced to one number is read in a row by all blocks. */
const struct sg_pace *sg_reduce_pace(const struct sg_known *known, void *const *args)
{
	static const struct sg_pace whole = {2.5, 1, 1, 0, 0, 0, 0.01};
	struct reduction r;

	return read(known, args[0], &r) && r.config.outputs == 1 ? &whole : known->pace;
}

static size_t input_offset(const struct reduction *r, uint32_t index)
{
	size_t offset = 0;

	for (int i = 0; i < r->input.dims; i++) {
		uint32_t size = r->input.sizes[i].divisor;

		offset += (size_t)(index % size) * r->input.strides[i][0];
		index /= size;
	}
	return offset;
}

static void output_offsets(const struct reduction *r, uint32_t index, size_t *to, size_t *from)
{
	*to = *from = 0;
	for (int i = 0; i < r->output.dims; i++) {
		uint32_t size = r->output.sizes[i].divisor;

		*to += (size_t)(index % size) * r->output.strides[i][0];
		*from += (size_t)(index % size) * r->output.strides[i][1];
		index /= size;
	}
}

static long double combine(enum op op, long double a, long double b)
{
	switch (op) {
	case MOST:
		return a != a || a > b ? a : b;
	case LEAST:
		return a != a || a < b ? a : b;
	case ANY:
		return a != 0 || b != 0;
	case EVERY:
		return a != 0 && b != 0;
	case NORM:
		return a + b * b;
	case PRODUCT:
		return a * b;
	default:
		return a + b;
	}
}

static long double reduce_one(const struct sg_known *known, const struct reduction *r, const char *from)
{
	enum op op = (enum op)known->op;
	long double value = op == EVERY || op == PRODUCT ? 1 : 0;

	for (uint32_t i = 0; i < (uint32_t)r->config.inputs; i++) {
		long double element = sg_type_load(known->in, from + input_offset(r, i));

		value = i == 0 && (op == MOST || op == LEAST) ? element : combine(op, value, element);
	}
	if (op == MEAN)
		value /= r->config.inputs;
	return op == NORM ? sqrtl(value) : value;
}

/* aminmax: both at once, into two results. */
static int extremes_run(const struct sg_known *known, const struct reduction *r)
{
	const size_t size = sg_type_size(known->out);
	struct sg_span spans[2] = {{NULL, NULL}, {NULL, NULL}};

	if (known->in != known->out || r->at.outputs != 2 || r->at.to[1] == NULL || r->at.accumulates ||
		!r->at.is_last || (double)r->config.inputs * r->config.outputs > SG_DRAWN_ELEMENTS) {
		sg_memory_forget(r->at.to[0]);
		sg_memory_forget(r->at.to[1]);
		return 0;
	}
	for (uint32_t i = 0; i < (uint32_t)r->config.outputs; i++) {
		long double least = 0, most = 0;
		size_t to, from;

		output_offsets(r, i, &to, &from);
		for (uint32_t k = 0; k < (uint32_t)r->config.inputs; k++) {
			long double value = sg_type_load(known->in, r->at.from + from + input_offset(r, k));

			least = k == 0 || value < least ? value : least;
			most = k == 0 || value > most ? value : most;
		}
		sg_type_store(known->out, r->at.to[0] + to, least);
		sg_type_store(known->out, r->at.to[1] + to, most);
		sg_span_add(&spans[0], r->at.to[0] + to, size);
		sg_span_add(&spans[1], r->at.to[1] + to, size);
	}
	sg_span_end(&spans[0]);
	sg_span_end(&spans[1]);
	return 1;
}

/* argmax and argmin of real numbers: of a row whose numbers are all alike, the class that draw.c gives it. */
static int choose_run(const struct sg_known *known, const struct reduction *r)
{
	const int least = strcmp(others[known->pointers].spelt, "NS0_9ArgMinOpsI") == 0;
	const uint32_t n = (uint32_t)r->config.inputs;
	struct sg_span span = {NULL, NULL};

	if (strcmp(others[known->pointers].spelt, "NS0_9MinMaxOpsI") == 0)
		return extremes_run(known, r);
	if ((!least && strcmp(others[known->pointers].spelt, "NS0_9ArgMaxOpsI") != 0) ||
		known->out != SG_LONG ||
		(known->in != SG_FLOAT && known->in != SG_DOUBLE && known->in != SG_HALF &&
			known->in != SG_BFLOAT))
		return -1;
	if ((double)n * r->config.outputs > SG_DRAWN_ELEMENTS || r->at.accumulates || !r->at.is_last) {
		sg_memory_forget(r->at.to[0]);
		return 0;
	}
	for (uint32_t i = 0; i < (uint32_t)r->config.outputs; i++) {
		size_t to, from;
		long double first, best;
		int64_t chosen = 0;
		int even = 1;

		output_offsets(r, i, &to, &from);
		first = best = sg_type_load(known->in, r->at.from + from + input_offset(r, 0));
		for (uint32_t k = 1; k < n; k++) {
			long double value = sg_type_load(known->in, r->at.from + from + input_offset(r, k));

			even &= value == first;
			if (least ? value < best : value > best) {
				best = value;
				chosen = k;
			}
		}
		if (even)
			chosen = i % n;
		memcpy(r->at.to[0] + to, &chosen, sizeof(chosen));
		sg_span_add(&span, r->at.to[0] + to, sizeof(chosen));
	}
	sg_span_end(&span);
	return 1;
}

int sg_reduce_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	struct sg_span span = {NULL, NULL};
	struct reduction r;
	double count;

	(void)grid;
	if (!read(known, args[0], &r))
		return -1;
	if (known->op == OTHER)
		return choose_run(known, &r);
	count = (double)r.config.inputs * (double)r.config.outputs;
	if (count > SG_TWIN_ELEMENTS || r.at.accumulates || !r.at.is_last || r.at.outputs != 1) {
		sg_memory_forget(r.at.to[0]);
		return 0;
	}
	for (uint32_t i = 0; i < (uint32_t)r.config.outputs; i++) {
		size_t to, from;

		output_offsets(&r, i, &to, &from);
		sg_type_store(known->out, r.at.to[0] + to, reduce_one(known, &r, r.at.from + from));
		sg_span_add(&span, r.at.to[0] + to, sg_type_size(known->out));
	}
	sg_span_end(&span);
	return 1;
}
