/* Words of a dictionary's texts, with one blank or more between them. */
#ifndef TRACE_TRACE_WORD_H
#define TRACE_TRACE_WORD_H

#include <stddef.h>
#include <string.h>

/* The next word, of *length bytes; 0: there is none. *text moves past it. */
static inline const char *trace_next_word(const char **text, size_t *length)
{
	const char *word = *text + strspn(*text, " ");

	*length = strcspn(word, " ");
	*text = word + *length;
	return word;
}

/* The number of a word among `count` names, of which the first stands for none; 0: it is not among them. */
static inline size_t trace_find_name(const char *const names[], size_t count, const char *word, size_t length)
{
	for (size_t i = 1; i < count; i++)
		if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0)
			return i;
	return 0;
}

#endif
