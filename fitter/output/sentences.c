/* Sentences of a result: see sentences.h. */
#include "sentences.h"

#include <err.h>
#include <stdarg.h>
#include <stdlib.h>

#define FIRST_ROOM 8

static void make_room(struct sentences *sentences)
{
	size_t room = sentences->room ? 2 * sentences->room : FIRST_ROOM;
	const char **items = arena_alloc(sentences->arena, room, sizeof(*items));

	for (size_t i = 0; i < sentences->count; i++)
		items[i] = sentences->items[i];
	sentences->items = items;
	sentences->room = room;
}

void sentences_add(struct sentences *sentences, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		errx(1, "out of memory");
	if (sentences->count == sentences->room)
		make_room(sentences);
	sentences->items[sentences->count++] = print_clean(sentences->arena, text);
	free(text);
}

void sentences_text(const struct sentences *sentences, int margin, int indent, FILE *out)
{
	for (size_t i = 0; i < sentences->count; i++)
		print_paragraph(arena_format(sentences->arena, "%*s%s", margin, "", sentences->items[i]),
			indent, out);
}

void sentences_json(const struct sentences *sentences, cJSON *object, const char *key)
{
	cJSON *array = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!array)
		array = cJSON_AddArrayToObject(object, key);
	for (size_t i = 0; i < sentences->count; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(sentences->items[i]));
}
