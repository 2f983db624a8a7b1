/*
 * What a layer of another profiler's trace is called, and its sizes, from the shapes of what its operator was
 * given: "[[32, 3, 224, 224], [64, 3, 7, 7], []]" of a convolution are input, weights and bias. Written as
 * layer_name.c writes those of our own traces, so that both can be compared.
 */
#include "imported_place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIMENSIONS 8

struct shape {
	int64_t values[MOST_DIMENSIONS];
	uint32_t count;
};

/* The shape number `which` in the text; without dimensions where there is none. */
static struct shape shape_at(const char *text, unsigned which)
{
	struct shape shape = {.count = 0};
	const char *place = *text == '[' ? text + 1 : "";

	for (; *place && *place != ']'; which--) {
		place += strcspn(place, "[");
		if (!*place)
			break;
		if (which > 0) {
			place += strcspn(place, "]");
			place += *place != 0;
			place += strspn(place, ", ");
			continue;
		}
		for (place++; *place && *place != ']' && shape.count < MOST_DIMENSIONS;) {
			char *end;
			int64_t value = strtoll(place, &end, 10);

			if (end == place)
				return (struct shape){.count = 0};
			shape.values[shape.count++] = value;
			place = end + strspn(end, ", ");
		}
		return shape;
	}
	return shape;
}

static const char *join(struct arena *arena, const int64_t *values, uint32_t count)
{
	const char *text = "";

	for (uint32_t i = 0; i < count; i++)
		text = arena_format(arena, "%s%s%" PRId64, text, i ? "x" : "", values[i]);
	return text;
}

/* The weights' shape is outputs, inputs, kernel; of a transposed convolution inputs first. */
static const char *convolution_text(struct arena *arena, const char *shapes, bool transposed)
{
	struct shape weights = shape_at(shapes, 1);

	if (weights.count < 3)
		return "";
	return arena_format(arena, "%sx%" PRId64 "->%" PRId64,
		join(arena, weights.values + 2, weights.count - 2), weights.values[!transposed],
		weights.values[transposed]);
}

/* aten::linear has its weights as outputs, inputs; aten::addmm a bias first; products have inputs, outputs.
 */
static const char *product_text(struct arena *arena, const char *name, const char *shapes, const char **input)
{
	bool biased = strstr(name, "addmm"), linear = strstr(name, "linear");
	struct shape first = shape_at(shapes, biased), weights = shape_at(shapes, 1 + biased);

	*input = join(arena, first.values, first.count);
	if (weights.count != 2)
		return "";
	return arena_format(arena, "%" PRId64 "->%" PRId64, weights.values[linear], weights.values[!linear]);
}

static const char *sizes_of(
	struct arena *arena, const char *kind, const char *name, const char *shapes, const char **input)
{
	struct shape first = shape_at(shapes, 0);

	*input = join(arena, first.values, first.count);
	if (strcmp(kind, "conv") == 0)
		return convolution_text(arena, shapes, strstr(name, "transpose"));
	if (strcmp(kind, "fc") == 0)
		return product_text(arena, name, shapes, input);
	if (strcmp(kind, "norm") == 0 && first.count > 1)
		return arena_format(arena, "%" PRId64,
			first.values[strstr(name, "layer") || strstr(name, "rms") ? first.count - 1 : 1]);
	if (strcmp(kind, "embedding") == 0 && first.count == 2)
		return arena_format(arena, "%" PRId64 "->%" PRId64, first.values[0], first.values[1]);
	if (strcmp(kind, "attention") == 0 && first.count == 4)
		return arena_format(arena, "%" PRId64 " heads %" PRId64, first.values[1],
			first.values[1] * first.values[3]);
	return "";
}

static int64_t numbers_in(const char *shapes, unsigned which)
{
	struct shape shape = shape_at(shapes, which);
	int64_t product = shape.count > 0;

	for (uint32_t i = 0; i < shape.count; i++)
		product = shape.values[i] >= 0 && product <= INT32_MAX ? product * shape.values[i] : 0;
	return product;
}

/*
 * How many parameters the operator is given; negative: not known. Weights and bias stand after the input, of
 * norms over given sizes and group_norm after one argument more, and of addmm before and after it.
 */
static int64_t parameters_of(const char *kind, const char *name, const char *shapes)
{
	static const char *const without[] = {
		"pool", "add", "softmax", "loss", "dropout", "attention", "matmul", "lrn"};
	const struct shape input = shape_at(shapes, 0);
	unsigned first = 1;

	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++)
		if (strcmp(kind, without[i]) == 0)
			return 0;
	if (input.count == 0)
		return -1;
	if (strcmp(kind, "embedding") == 0)
		return numbers_in(shapes, 0);
	if (strcmp(kind, "norm") == 0)
		first += strstr(name, "layer_norm") || strstr(name, "rms_norm") ||
			 strcmp(name, "aten::group_norm") == 0;
	else if (strcmp(kind, "fc") == 0 && strstr(name, "addmm"))
		return numbers_in(shapes, 0) + numbers_in(shapes, 2);
	else if (strcmp(kind, "conv") != 0 && strcmp(kind, "fc") != 0)
		return -1;
	if (strcmp(kind, "fc") == 0 && !strstr(name, "linear"))
		return numbers_in(shapes, 1);
	return numbers_in(shapes, first) + numbers_in(shapes, first + 1);
}

uint32_t imported_layer_text(
	struct imported *imported, uint32_t span, const char *kind, uint32_t ordinal, uint32_t module)
{
	struct arena *arena = &imported->strings.arena;
	const char *name = imported->strings.items[imported->spans.name[span]];
	const char *shapes = imported->strings.items[imported->spans.shapes[span]];
	const char *input = "", *sizes = sizes_of(arena, kind, name, shapes, &input), *text;
	const char *path = imported->strings.items[module];
	int64_t parameters = parameters_of(kind, name, shapes);

	/* One softmax or loss needs no number; a second one gets it. */
	if (ordinal == 1 && (strcmp(kind, "softmax") == 0 || strcmp(kind, "loss") == 0))
		text = kind;
	else
		text = arena_format(arena, "%s%" PRIu32, kind, ordinal);
	if (parameters >= 0)
		text = arena_format(arena, "%s\t%s\t%s\t%s\t%" PRId64, text, sizes, input, path, parameters);
	else if (*path)
		text = arena_format(arena, "%s\t%s\t%s\t%s", text, sizes, input, path);
	else if (*input)
		text = arena_format(arena, "%s\t%s\t%s", text, sizes, input);
	return intern_text(&imported->strings, text, strlen(text));
}
