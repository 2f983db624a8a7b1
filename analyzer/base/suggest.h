/* "Did you mean ...?": the known word that is nearest to what somebody typed. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

/* Letters inserted, deleted, replaced or swapped with their neighbour, as few as make one word of the other;
 * of words of more than 60 letters the first 60 count. */
size_t suggest_distance(const char *one, const char *other);

/* The nearest of the words, the first of equals; NULL: none is near, which is a third of its letters or less.
 */
const char *suggest(const char *typed, const char *const *words, size_t count);

#endif
