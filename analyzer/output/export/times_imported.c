/*
 * How long operations took by another profiler's traces (Kineto's): see times.h.
 *
 * The one idea: such a trace has no calls of libraries, but the kernels that a framework's operator launched,
 * and the sizes of what the operator worked on. Kernels of the program's own keep their name, grid and block;
 * those of a matrix product are one call whose operations follow from the sizes, of any function and of
 * unknown bytes.
 */
#include "times.h"
#include "import/imported.h"
#include "import/imported_keyword.h"
#include "import/imported_operation.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIMENSIONS 5
#define INPUTS 3 /* that are looked at */

/* The sizes of an operator's inputs, as far as they are tensors. */
struct inputs {
	int64_t dims[INPUTS][DIMENSIONS];
	int ranks[INPUTS]; /* how many dimensions */
};

/* One input, "[32, 64]"; after it, or NULL: it is none, or has more than DIMENSIONS. */
static const char *read_input(const char *text, int64_t dims[DIMENSIONS], int *rank)
{
	char *end;

	*rank = 0;
	if (*text != '[')
		return NULL;
	for (text++; *text != ']'; text = end + strspn(end, ", ")) {
		if (*rank == DIMENSIONS)
			return NULL;
		dims[(*rank)++] = strtoll(text, &end, 10);
		if (end == text)
			return NULL;
	}
	return text + 1;
}

/* "[[64], [32, 128], [128, 64], [], []]": the last INPUTS with `least` dimensions and more; or the first. How
 * many. */
static int read_inputs(const char *shapes, int least, bool last, struct inputs *inputs)
{
	const char *at = strchr(shapes, '[');
	int count = 0;

	memset(inputs, 0, sizeof(*inputs));
	for (at = at ? at + 1 : NULL; at && *at == '['; at += strspn(at, ", ")) {
		int64_t own[DIMENSIONS] = {0};
		int rank;

		at = read_input(at, own, &rank);
		if (!at)
			break;
		if (rank < least || (count == INPUTS && !last))
			continue;
		if (count == INPUTS) {
			memmove(inputs->dims[0], inputs->dims[1], (INPUTS - 1) * sizeof(inputs->dims[0]));
			memmove(&inputs->ranks[0], &inputs->ranks[1],
				(INPUTS - 1) * sizeof(inputs->ranks[0]));
			count--;
		}
		memcpy(inputs->dims[count], own, sizeof(own));
		inputs->ranks[count++] = rank;
	}
	return count;
}

static double elements(const int64_t *dims, int rank)
{
	double product = 1;

	for (int i = 0; i < rank; i++)
		product *= (double)dims[i];
	return product;
}

/* Operations of a product: of the last two inputs that are matrices or batches of them. 0: there are no such.
 */
static double product_of(const char *shapes)
{
	struct inputs inputs;
	int count = read_inputs(shapes, 2, true, &inputs), rank;
	const int64_t *a, *b;

	if (count < 2)
		return 0;
	a = inputs.dims[count - 2];
	b = inputs.dims[count - 1];
	rank = inputs.ranks[count - 1];
	if (rank > 3 || inputs.ranks[count - 2] != rank || a[rank - 1] != b[rank - 2])
		return 0;
	return 2 * elements(a, rank) * (double)b[rank - 1];
}

/*
 * Operations of each half of a convolution's backward pass, as of its forward pass: for each place of the
 * result, of which the gradient has the sizes, the filter's elements. 0: not known, as of a transposed one.
 */
static double convolution_of(const struct inputs *inputs)
{
	const int64_t *gradient = inputs->dims[0], *input = inputs->dims[1], *filter = inputs->dims[2];
	const int rank = inputs->ranks[0];

	if (rank < 3 || inputs->ranks[1] != rank || inputs->ranks[2] != rank || gradient[1] <= 0 ||
		filter[0] != gradient[1] || filter[1] <= 0 || input[1] % filter[1] != 0)
		return 0;
	for (int i = 2; i < rank; i++)
		if (gradient[i] > input[i] + filter[i])
			return 0;
	return 2 * elements(gradient, rank) / (double)gradient[1] * elements(filter, rank);
}

/* Operators that call a library whose work follows from sizes: their number, the work, and the time of their
 * kernels. */
struct product {
	uint64_t external;
	double flops, time_ns; /* flops: of one call */
	size_t kernels;
	bool halves; /* of a convolution's backward pass: one call for the data, one for the filter, or only
			one of the two */
};

static int by_external(const void *a, const void *b)
{
	const struct product *one = a, *other = b;

	return one->external < other->external ? -1 : one->external > other->external;
}

/* Convolutions with their operations, by input and filter; negative operations: they are of two sorts. */
struct known {
	struct inputs inputs;
	double flops;
};

static struct known *find_known(
	struct known *known, size_t count, const int64_t *input, const int64_t *filter)
{
	for (size_t i = 0; i < count; i++)
		if (memcmp(known[i].inputs.dims[1], input, sizeof(known->inputs.dims[1])) == 0 &&
			memcmp(known[i].inputs.dims[2], filter, sizeof(known->inputs.dims[2])) == 0)
			return &known[i];
	return NULL;
}

/* What the backward pass says of convolutions: the sizes of their results. */
static struct known *find_convolutions(const struct imported *imported, size_t *count)
{
	const struct imported_spans *spans = &imported->spans;
	const char *const *strings = (const char *const *)imported->strings.items;
	struct known *known = NULL, *found;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < spans->count; i++) {
		struct inputs inputs;
		double flops;

		if (strcmp(strings[spans->name[i]], IMPORTED_CONVOLUTION_BACKWARD) != 0 ||
			read_inputs(strings[spans->shapes[i]], 1, false, &inputs) < INPUTS)
			continue;
		flops = convolution_of(&inputs);
		found = find_known(known, *count, inputs.dims[1], inputs.dims[2]);
		if (found && found->flops != flops)
			found->flops = -1;
		else if (!found && flops > 0)
			*MEM_PUSH(known, *count, room) = (struct known){inputs, flops};
	}
	return known;
}

static double flops_of(const char *name, const char *shapes, struct known *known, size_t known_count)
{
	struct inputs inputs;
	struct known *found;

	if (imported_keyword_product(name))
		return product_of(shapes);
	if (strcmp(name, IMPORTED_CONVOLUTION_BACKWARD) == 0)
		return read_inputs(shapes, 1, false, &inputs) == INPUTS ? convolution_of(&inputs) : 0;
	if (strcmp(name, IMPORTED_CONVOLUTION) != 0 || read_inputs(shapes, 1, false, &inputs) < 2)
		return 0;
	found = find_known(known, known_count, inputs.dims[0], inputs.dims[1]);
	return found && found->flops > 0 ? found->flops : 0;
}

static struct product *find_products(const struct imported *imported, size_t *count)
{
	const struct imported_spans *spans = &imported->spans;
	const char *const *strings = (const char *const *)imported->strings.items;
	struct product *products = mem_alloc(spans->count + 1, sizeof(*products));
	size_t known_count;
	struct known *known = find_convolutions(imported, &known_count);

	*count = 0;
	for (size_t i = 0; i < spans->count; i++) {
		const char *name = strings[spans->name[i]];
		double flops = spans->kind[i] == IMPORTED_OPERATOR && spans->external[i] != 0
				       ? flops_of(name, strings[spans->shapes[i]], known, known_count)
				       : 0;

		if (flops > 0)
			products[(*count)++] = (struct product){.external = spans->external[i],
				.flops = flops,
				.halves = strcmp(name, IMPORTED_CONVOLUTION_BACKWARD) == 0};
	}
	free(known);
	qsort(products, *count, sizeof(*products), by_external);
	return products;
}

/* Kernels that PyTorch has of its own are no library's. */
static bool of_library(const char *name)
{
	return !strstr(name, "at::native") && !strstr(name, "N2at6native");
}

static const char *text_of(const struct imported *imported, size_t event, struct arena *arena)
{
	const struct imported_events *events = &imported->events;
	const char *name = imported->strings.items[events->name[event]];
	const char *shape = imported->strings.items[events->shape[event]];
	enum pm_direction direction;

	if (!*shape || strpbrk(name, "\t\n"))
		return NULL;
	switch (events->activity[event]) {
	case IMPORTED_KERNEL:
		return arena_format(arena, "kernel\t%s\t%s", name, shape);
	case IMPORTED_COPY:
		direction = imported_direction(name);
		return times_has_device(direction)
			       ? arena_format(arena, "copy\t%s\t%s", trace_direction_name(direction), shape)
			       : NULL;
	case IMPORTED_SET:
		return arena_format(arena, "set\t-\t%s", shape);
	default:
		return NULL;
	}
}

static void add_file(struct times_rows *rows, const struct imported *imported, struct arena *arena)
{
	const struct imported_events *events = &imported->events;
	size_t product_count;
	struct product *products = find_products(imported, &product_count);

	for (size_t i = 0; i < events->count; i++) {
		const char *name = imported->strings.items[events->name[i]], *text;
		const struct product wanted = {.external = events->external[i]};
		struct product *product = NULL;
		double time_ns = (double)(events->end_ns[i] - events->begin_ns[i]);

		if (events->kind[i] == IMPORTED_COMMUNICATION)
			continue;
		if (events->activity[i] == IMPORTED_KERNEL && events->external[i] && of_library(name))
			product = bsearch(&wanted, products, product_count, sizeof(*products), by_external);
		if (product) {
			product->time_ns += time_ns;
			product->kernels++;
			continue;
		}
		text = text_of(imported, i, arena);
		if (text)
			times_add(rows, text, time_ns);
	}
	for (size_t i = 0; i < product_count; i++)
		for (int half = 0; half < (products[i].halves && products[i].kernels > 1 ? 2 : 1); half++)
			if (products[i].time_ns > 0)
				times_add(rows, arena_format(arena, "call\t-\t%.0f 0", products[i].flops),
					products[i].halves && products[i].kernels > 1
						? products[i].time_ns / 2
						: products[i].time_ns);
	free(products);
}

void times_add_imported(struct times_rows *rows, char **paths, size_t path_count, struct arena *arena)
{
	const char **files, *error;
	size_t file_count;

	if (!imported_files(arena, paths, path_count, &files, &file_count, &error))
		return;
	for (size_t i = 0; i < file_count; i++) {
		struct imported imported;

		if (imported_read(&imported, files[i], IMPORTED_WANT_OPERATORS | IMPORTED_WANT_SHAPES) == 0)
			add_file(rows, &imported, arena);
		imported_free(&imported);
	}
}
