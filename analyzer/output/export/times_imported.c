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

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DIMENSIONS 3

/* The dimensions of one input, "[32, 64]"; behind it, or NULL: it has none, or more than DIMENSIONS. */
static const char *read_input(const char *text, int64_t dims[DIMENSIONS], int *count)
{
	char *end;

	*count = 0;
	if (*text != '[')
		return NULL;
	for (text++; *text != ']'; text = end + strspn(end, ", ")) {
		if (*count == DIMENSIONS)
			return NULL;
		dims[(*count)++] = strtoll(text, &end, 10);
		if (end == text)
			return NULL;
	}
	return text + 1;
}

/*
 * Operations of a product by the sizes of its inputs, "[[64], [32, 128], [128, 64], [], []]": of the last two
 * that are matrices or batches of them. 0: there are no such.
 */
static double product_of(const char *shapes)
{
	int64_t dims[2][DIMENSIONS] = {{0}};
	int counts[2] = {0, 0}, ranks = 0;
	double flops = 2;

	for (const char *at = strchr(shapes, '[') ? strchr(shapes, '[') + 1 : NULL; at && *at == '[';
		at += strspn(at, ", ")) {
		int64_t own[DIMENSIONS];
		int count;

		at = read_input(at, own, &count);
		if (!at)
			break;
		if (count < 2)
			continue;
		memcpy(dims[0], dims[1], sizeof(dims[0]));
		counts[0] = counts[1];
		memcpy(dims[1], own, sizeof(own));
		counts[1] = count;
	}
	ranks = counts[1];
	if (ranks < 2 || counts[0] != ranks || dims[0][ranks - 1] != dims[1][ranks - 2])
		return 0;
	for (int i = 0; i < ranks; i++)
		flops *= (double)dims[0][i];
	return flops * (double)dims[1][ranks - 1];
}

/* An operator that is a product: its number, its operations, and the time of its kernels. */
struct product {
	uint64_t external;
	double flops, time_ns;
};

static int by_external(const void *a, const void *b)
{
	const struct product *one = a, *other = b;

	return one->external < other->external ? -1 : one->external > other->external;
}

static struct product *find_products(const struct imported *imported, size_t *count)
{
	const struct imported_spans *spans = &imported->spans;
	const char *const *strings = (const char *const *)imported->strings.items;
	struct product *products = mem_alloc(spans->count + 1, sizeof(*products));

	*count = 0;
	for (size_t i = 0; i < spans->count; i++) {
		double flops;

		if (spans->kind[i] != IMPORTED_OPERATOR || spans->external[i] == 0 ||
			!imported_keyword_product(strings[spans->name[i]]))
			continue;
		flops = product_of(strings[spans->shapes[i]]);
		if (flops > 0)
			products[(*count)++] = (struct product){spans->external[i], flops, 0};
	}
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
	static const char *const directions[] = {"", "H2D", "D2H", "D2D"};
	const struct imported_events *events = &imported->events;
	const char *name = imported->strings.items[events->name[event]];
	const char *shape = imported->strings.items[events->shape[event]];
	uint8_t direction;

	if (!*shape || strpbrk(name, "\t\n"))
		return NULL;
	switch (events->activity[event]) {
	case IMPORTED_KERNEL:
		return arena_format(arena, "kernel\t%s\t%s", name, shape);
	case IMPORTED_COPY:
		direction = imported_direction(name);
		return direction > 0 && direction < 4
			       ? arena_format(arena, "copy\t%s\t%s", directions[direction], shape)
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
		const struct product wanted = {events->external[i], 0, 0};
		struct product *product = NULL;
		double time_ns = (double)(events->end_ns[i] - events->begin_ns[i]);

		if (events->kind[i] == IMPORTED_COMMUNICATION)
			continue;
		if (events->activity[i] == IMPORTED_KERNEL && events->external[i] && of_library(name))
			product = bsearch(&wanted, products, product_count, sizeof(*products), by_external);
		if (product) {
			product->time_ns += time_ns;
			continue;
		}
		text = text_of(imported, i, arena);
		if (text)
			times_add(rows, text, time_ns);
	}
	for (size_t i = 0; i < product_count; i++)
		if (products[i].time_ns > 0)
			times_add(rows, arena_format(arena, "call\t-\t%.0f 0", products[i].flops),
				products[i].time_ns);
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
