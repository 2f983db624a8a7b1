/* The sentences of a guide: see guide_print.h. */
#ifndef GUIDE_WORDS_H
#define GUIDE_WORDS_H

#include "guide_print.h"

/* All parts, of what the answer's effects and share are. */
void guide_words(struct guide_answer *answer);

/* " [-0.95, -0.87]", of the interval times the factor, or "" where it is unknown. */
const char *guide_words_interval(struct arena *arena, const struct guide_number *number, double factor);

#endif
