/* The sentences of a result, said once: paragraphs in text, an array in JSON. */
#ifndef SENTENCES_H
#define SENTENCES_H

#include "base/table.h"

/* Begins as {.arena = ...}, the caller's; all of it lives there. */
struct sentences {
	struct arena *arena;
	const char **items;
	size_t count, room;
};

/* One more, on one line and without what a terminal would obey. */
void sentences_add(struct sentences *sentences, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2)));

/* Each as a paragraph: `margin` blanks before its first line, `indent` before the others. */
void sentences_text(const struct sentences *sentences, int margin, int indent, FILE *out);
/* An array of strings under `key` of the object, or after those of the array that is there. */
void sentences_json(const struct sentences *sentences, cJSON *object, const char *key);

#endif
