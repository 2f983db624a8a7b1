/* What the committee's files share: fitting it (committee_fit.c), asking it (committee.c). */
#ifndef COMMITTEE_PRIVATE_H
#define COMMITTEE_PRIVATE_H

#include "committee.h"

#define COMMITTEE_FEW 20 /* configurations below which there are short forms, and chance is reckoned with */
#define COMMITTEE_COVERED 0.95        /* what intervals are calibrated to hold */
#define COMMITTEE_DEVIATIONS 1.959964 /* standard deviations about a normal mean that hold so much */

/* The logarithm of the candidate's median form, and the spread of its variants. */
double candidate_log(const struct candidate *candidate, const struct form_point *point, double *spread);
/* The same with the residual; *variance without its widening. */
double candidate_answer(
	const struct candidate *candidate, const struct form_point *point, double *spread, double *variance);
/* The residual about fitted forms, with the shape that the candidate has. */
void candidate_residual(
	struct candidate *candidate, const struct form_point *points, const double *times, size_t count);

/* Where a question lies: regions, bits; and by how many doublings it has more GPUs than any row. */
struct committee_place {
	unsigned outside;
	double more_gpus;
};

/* What the candidates say of a point. */
struct committee_votes {
	double logs[COMMITTEE_CANDIDATES], spread[COMMITTEE_CANDIDATES], variance[COMMITTEE_CANDIDATES];
};

/* Their weighted mean; *variance without widening, with the disagreement. */
double committee_combine(const struct committee *committee, const struct committee_votes *votes,
	const struct committee_place *place, double *variance);
/* Extends a range to a point. */
void committee_extend(struct form_point *least, struct form_point *greatest, const struct form_point *point);
/* In which regions a point lies outside of these ranges: bits. */
unsigned committee_outside(
	const struct form_point *point, const struct form_point *least, const struct form_point *greatest);
/* The variance that grows with how far a point lies beyond these ranges. */
double committee_doubt(
	const struct form_point *point, const struct form_point *least, const struct form_point *greatest);
/* By how many doublings a point lies above a range in a region's column; 0: inside, or COMMITTEE_INSIDE. */
double committee_reach(
	const struct form_point *point, const struct form_point *greatest, enum committee_region region);
/* The variance of the logarithm of a run's time about the configuration's, from repeated rows near by; 0:
 * none are repeated. */
double committee_noise(const struct committee *committee, const struct form_point *point);
/* The variance that a table of few configurations is given, which a form may meet by chance: 3% from run to
 * run. */
double committee_chance(const struct committee *committee);
/* The squared scale of |z| at a point, from the deviations of near configurations; `without`: leaves out one.
 */
double committee_scale(const struct committee *committee, const struct form_point *point, size_t without);

/* Asks the candidates for what they have not seen: fills error, widen, deviation, low and high. */
void committee_examine(
	struct committee *committee, const struct committee_row *rows, const size_t *place, size_t row_count);
void committee_fit_candidate(struct candidate *candidate, const struct form_rows *rows);

#endif
