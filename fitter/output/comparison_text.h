/* What a person reads of a comparison. */
#ifndef COMPARISON_TEXT_H
#define COMPARISON_TEXT_H

#include "compare/comparison.h"

/* Its tables and sentences, on the standard output. */
void comparison_text(const struct comparison *comparison);

#endif
