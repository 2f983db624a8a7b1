/* What Kineto says of an operator in its arguments: the numbers that it shares with others, and its inputs.
 * See kineto.h. */
#include "kineto.h"
#include "imported_keyword.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Are the shapes of an operator of that name of use? Names come again and again. */
static bool is_shaped(struct kineto_reader *reader, uint32_t string)
{
	const struct intern *strings = &reader->imported->strings;

	if (string >= reader->shaped_room) {
		uint8_t *grown = mem_alloc(strings->room, sizeof(*grown));

		if (reader->shaped_room)
			memcpy(grown, reader->shaped, reader->shaped_room);
		free(reader->shaped);
		reader->shaped = grown;
		reader->shaped_room = strings->room;
	}
	if (!reader->shaped[string])
		reader->shaped[string] =
			imported_keyword_shaped(strings->items[string]) ||
					((reader->wanted & IMPORTED_WANT_SHAPES) &&
						(imported_keyword_product(strings->items[string]) ||
							strstr(strings->items[string], "convolution")))
				? 2
				: 1;
	return reader->shaped[string] == 2;
}

/* Sizes, types and values of an operator's inputs, each a list or "". */
struct inputs {
	struct json_text sizes, types, values;
};

#define INPUTS_BYTES 1000 /* longer ones are lists of a model's tensors, of which nothing follows */

static void keep_inputs(struct kineto_reader *reader, uint32_t span, const struct inputs *inputs)
{
	struct imported *imported = reader->imported;
	const char *name = imported->strings.items[imported->spans.name[span]];
	char text[INPUTS_BYTES + 3];
	int length;

	if (inputs->sizes.length + inputs->types.length + inputs->values.length > INPUTS_BYTES ||
		inputs->sizes.length <= 2 || !inputs->types.length || strncmp(name, "aten::", 6) != 0)
		return;
	length = snprintf(text, sizeof(text), "%.*s\t%.*s\t%.*s", (int)inputs->sizes.length,
		inputs->sizes.begin, (int)inputs->types.length, inputs->types.begin,
		(int)inputs->values.length, inputs->values.begin);
	imported->spans.inputs[span] = intern_text(&imported->strings, text, (size_t)length);
}

/*
 * What the arguments of an operator say: what it shares with its other half, its own number, and the shapes
 * of what goes in.
 */
void kineto_take_operator(struct kineto_reader *reader, const char *arguments, uint32_t span)
{
	struct imported_spans *spans = &reader->imported->spans;
	const char *place = arguments, *value, *behind;
	bool shaped = is_shaped(reader, spans->name[span]);
	struct inputs inputs = {.sizes = {0}};
	struct json_text key;

	for (; place && (value = json_member(place, &key)); place = behind) {
		behind = json_skip(value);
		if (JSON_IS(key, "Sequence number")) {
			if (!json_integer(value, &spans->sequence[span]))
				spans->sequence[span] = -1;
		} else if (JSON_IS(key, "Fwd thread id")) {
			if (!json_integer(value, &spans->forward[span]))
				spans->forward[span] = 0;
		} else if (JSON_IS(key, "External id")) {
			spans->external[span] = kineto_unsigned(value);
		} else if (behind && *value == '[' && JSON_IS(key, "Input Dims")) {
			inputs.sizes = (struct json_text){value, (size_t)(behind - value), false};
		} else if (behind && *value == '[' && JSON_IS(key, "Input type")) {
			inputs.types = (struct json_text){value, (size_t)(behind - value), false};
		} else if (behind && *value == '[' && JSON_IS(key, "Concrete Inputs")) {
			inputs.values = (struct json_text){value, (size_t)(behind - value), false};
		}
	}
	if (shaped && inputs.sizes.length)
		spans->shapes[span] =
			intern_text(&reader->imported->strings, inputs.sizes.begin, inputs.sizes.length);
	keep_inputs(reader, span, &inputs);
}
