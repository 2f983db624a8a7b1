/* What the committee's files share: fitting it (committee_fit.c), asking it (committee.c). */
#ifndef COMMITTEE_PRIVATE_H
#define COMMITTEE_PRIVATE_H

#include "committee.h"

#define COMMITTEE_FEW 20 /* configurations below which there are short forms, and chance is reckoned with */
#define COMMITTEE_COVERED 0.95        /* what intervals are calibrated to hold */
#define COMMITTEE_DEVIATIONS 1.959964 /* standard deviations about a normal mean that hold so much */

/* What intervals are calibrated with. tests/bench/constants.sh tries others, with each table left out. */
struct committee_constants {
	/* Standard deviation of log T for each doubling beyond the data, before what folds make of it: a
	 * process that none of the candidates has (memory, another algorithm of the library). */
	double doubt[COMMITTEE_REGIONS];
	double chance;     /* of few configurations: that of log T which forms may meet by chance */
	double near;       /* doublings in which the weight of a near deviation falls by e */
	double prior_rows; /* as many rows with the common deviation count at each point */
	double untried;    /* factor of a region that no fold could try */
	double most;       /* that folds can ask for: a table that jumps about is of no use anyway */
};
extern const struct committee_constants committee_constants;

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
/* By how many doublings a point lies beyond these ranges; 0: inside. */
void committee_away(const struct form_point *point, const struct form_point *least,
	const struct form_point *greatest, double away[COMMITTEE_REGIONS]);
/* The variance that grows with that. */
double committee_doubt(const struct committee *committee, const double away[COMMITTEE_REGIONS]);
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

/* An answer for a configuration that was left out. */
struct vote {
	size_t place;
	struct committee_votes votes;
	double away[COMMITTEE_REGIONS]; /* from what was fitted: committee_away */
};

/* Answers to one set of rows that was left out: votes first to end - 1. */
struct fold {
	enum committee_region region;
	size_t first, end;
	double errors[COMMITTEE_CANDIDATES]; /* mean |log error| of each candidate */
	double reach;  /* doublings from what was fitted to the farthest that was left out */
	size_t levels; /* different values of the region's column that were fitted */
};

/* All of them. */
struct examination {
	struct vote *votes;
	size_t count, room;
	struct fold folds[COMMITTEE_FOLDS + COMMITTEE_CUTS * COMMITTEE_REGIONS];
	size_t fold_count;
};

/* Asks the candidates for what they have not seen; sets low and high. The caller calls
 * committee_examination_free. */
void committee_examine(struct committee *committee, struct examination *examination);
void committee_examination_free(struct examination *examination);
/* From these answers, by the committee's constants: error, widen, tries, deviation, common. */
void committee_calibrate(struct committee *committee, const struct examination *examination,
	const struct committee_row *rows, const size_t *place, size_t row_count);
/* committee_fit with what it was calibrated by: place[row] is a row's configuration. The caller frees `place`
 * and the examination, also where the answer is not NULL. */
const char *committee_fit_examined(struct committee *committee, const struct committee_row *rows,
	size_t count, size_t **place, struct examination *examination);
/* committee_predict in its two parts: what the candidates say, what the committee makes of it. */
void committee_vote(
	const struct committee *committee, const struct form_point *point, struct committee_votes *votes);
void committee_judge(const struct committee *committee, const struct form_point *point,
	const struct committee_votes *votes, double confidence, struct committee_answer *answer);
void committee_fit_candidate(struct candidate *candidate, const struct form_rows *rows);

#endif
