/* "Did you mean ...?": see suggest.h. */
#include "suggest.h"

#include <stdint.h>
#include <string.h>

#define LONGEST 60

static size_t least(size_t one, size_t other)
{
	return one < other ? one : other;
}

/* Row i of the table has the distances of the first i letters of `one` from each beginning of `other`; three
 * rows are enough, since a swap reaches two back. */
size_t suggest_distance(const char *one, const char *other)
{
	size_t one_length = strnlen(one, LONGEST), other_length = strnlen(other, LONGEST);
	size_t rows[3][LONGEST + 1];

	for (size_t j = 0; j <= other_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= one_length; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= other_length; j++) {
			row[j] = least(above[j], row[j - 1]) + 1;
			row[j] = least(row[j], above[j - 1] + (one[i - 1] != other[j - 1]));
			if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
				row[j] = least(row[j], second[j - 2] + 1);
		}
	}
	return rows[one_length % 3][other_length];
}

const char *suggest(const char *typed, const char *const *words, size_t count)
{
	const char *nearest = NULL;
	size_t least_distance = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		size_t distance = suggest_distance(typed, words[i]);

		if (distance < least_distance && distance <= (strlen(words[i]) + 2) / 3) {
			least_distance = distance;
			nearest = words[i];
		}
	}
	return nearest;
}
