/* What a search keeps: the best expressions of each number of constants, and which forms have been. */
#ifndef EXPRESSION_ARCHIVE_H
#define EXPRESSION_ARCHIVE_H

#include "expression_search.h"

#define ARCHIVE_WIDTH 6
/* Of those so many may have the same ops: one kind of formula must not crowd out all others. */
#define ARCHIVE_ALIKE 2

struct archive_entry {
	struct expression expression;
	uint64_t hash;
	size_t kind;     /* by the ops */
	double loss;     /* of the search's samples */
	bool is_done[2]; /* changed to fewer constants; to as many or more */
};

struct archive {
	size_t most;
	size_t counts[EXPRESSION_CONSTANTS + 1];
	struct archive_entry entries[EXPRESSION_CONSTANTS + 1][ARCHIVE_WIDTH]; /* the best first */
	uint64_t *seen;
	size_t seen_count, seen_room;
};

void archive_init(struct archive *archive, size_t most);
void archive_free(struct archive *archive);
/* The same number for expressions with the same number of each op. */
size_t archive_kind(const struct expression *e);
void archive_offer(struct archive *archive, const struct expression *e, uint64_t hash, double loss);
/* The best with so many constants that has not been changed in this way, NULL: none is left. */
struct archive_entry *archive_next(struct archive *archive, size_t constants, bool is_up);
const struct archive_entry *archive_best(const struct archive *archive, size_t constants);
/* Whether this form has not come from an expression with so many constants before; from then on it has. */
bool archive_is_new(struct archive *archive, uint64_t hash, size_t constants);
/* Fits what is kept to all samples, measures it by cross-validation, and fills the search's results. */
int archive_choose(const struct archive *archive, struct expression_search *search,
	const struct pm_fit_problem *problem, const struct expression_settings *settings);

#endif
