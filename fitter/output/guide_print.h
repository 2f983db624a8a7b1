/* What people and programs read of a guide: figures and sentences are made once, and printed in each form.
 * Only for the command: libpmfit prints nothing. */
#ifndef GUIDE_PRINT_H
#define GUIDE_PRINT_H

#include "advise/guide.h"
#include "sentences.h"

/* What a column of the model does to the time at the guide's point. */
struct guide_effect {
	size_t column;
	struct guide_number change; /* guide_elasticity: per cent for a per cent, of levels a share */
	struct guide_number power;  /* guide_power */
};

enum guide_part {
	GUIDE_POINT,
	GUIDE_MEANING, /* of time and batch */
	GUIDE_SCALING, /* over GPUs: how the time scales, then what that means */
	GUIDE_BATCHES, /* the same over the batch */
	GUIDE_CONSTANT,
	GUIDE_DOUBT,       /* what an efficiency above 100% comes from */
	GUIDE_ENDS,        /* up to where GPUs pay, for each batch */
	GUIDE_RECOMMENDED, /* one sentence; none without a table */
	GUIDE_INTERVALS,
	GUIDE_PARTS
};

struct guide_answer {
	const struct guide *guide;
	const struct guide_table *table;
	struct arena arena;
	struct guide_effect *effects; /* of each column that is not ignored, in the model's order */
	size_t effect_count;
	struct guide_number constant_share;
	struct print_table rows;  /* for each batch and number of GPUs, in their order */
	struct print_table costs; /* the columns, the costliest first */
	struct sentences parts[GUIDE_PARTS];
};

/* The guide and its table, whose cells may be NULL, stay. 0 or -ENOMEM; guide_answer_free in either case. */
int guide_answer_init(
	struct guide_answer *answer, const struct guide *guide, const struct guide_table *table);
void guide_answer_free(struct guide_answer *answer);

/* CSV is the rows alone. */
void guide_print(const struct guide_answer *answer, enum print_form form, FILE *out);

#endif
