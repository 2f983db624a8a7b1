/* The search for the expression that predicts best: see expression_search.h. */
#include "expression_search.h"
#include "base/parallel.h"
#include "base/random.h"
#include "expression_archive.h"
#include "expression_grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Samples for a first look and for the search. */
#define FEW 250
#define MANY 1200
/* Steps of a fit: squares of logarithms, then the cost. */
#define LOOK_LOG 5
#define LOOK 3
#define FIT_LOG 8
#define FIT 20
/* Of each number of constants: expressions that are changed at a time, and changed ones that are fitted
 * well. */
#define PARENTS_UP 1
#define PARENTS_DOWN 2
#define PROMISING 5
/* Beyond the constants that are asked for: from there a way may lead back. */
#define SLACK 6
/* Of two with as many constants the shorter is taken, if it is worse by less than this for each part. */
#define PER_PART 0.003
#define STREAM_ROWS 201
/* Of the seconds that are given: until then changed expressions get a first look, until then the promising
 * ones are fitted well; cross-validation on all rows needs the rest. */
#define LOOK_SHARE 0.6
#define SEARCH_SHARE 0.8

struct candidate {
	struct expression expression;
	uint64_t hash;
	double loss;
};

struct state {
	const struct expression_settings *settings;
	struct expression_search *search;
	struct archive archive;
	struct expression_rows few, many;
	const struct expression_rows *rows; /* one of them, for the fits in parallel */
	size_t log_steps, steps;
	struct candidate *candidates;
	size_t candidate_count, candidate_room;
	double work, begun;
};

void expression_defaults(struct expression_settings *settings)
{
	*settings = (struct expression_settings){
		.cost = EXPRESSION_RELATIVE, .constants = 12, .folds = 5, .seed = 1, .work = 1e11};
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Is the time up that the search itself may take? The rest is for the cross-validation of what it has found.
 */
static bool is_late(const struct state *s)
{
	double seconds = s->settings->seconds * (s->rows == &s->few ? LOOK_SHARE : SEARCH_SHARE);

	/* what it begins with is fitted in any case: without it there is nothing to answer */
	return seconds > 0 && s->search->candidates && seconds_now() - s->begun > seconds;
}

static bool must_end(struct state *s)
{
	const struct expression_settings *settings = s->settings;

	if (settings->stop && __atomic_load_n(settings->stop, __ATOMIC_RELAXED))
		s->search->interrupted = true;
	if (is_late(s))
		s->search->interrupted = true;
	return s->search->interrupted;
}

static double parts_of(const struct expression *e)
{
	size_t parts = e->node_count;

	for (size_t n = 0; n < e->node_count; n++)
		parts += e->nodes[n].factor_count;
	return (double)parts;
}

static void fit_one(void *context, size_t index)
{
	struct state *s = context;
	struct candidate *candidate = &s->candidates[index];

	if ((s->settings->stop && __atomic_load_n(s->settings->stop, __ATOMIC_RELAXED)) || is_late(s))
		candidate->loss = HUGE_VAL;
	else
		candidate->loss = expression_fit(&candidate->expression, s->rows, s->settings->cost,
					  s->log_steps, s->steps) *
				  (1 + PER_PART * parts_of(&candidate->expression));
}

static void fit_all(struct state *s, const struct expression_rows *rows, size_t log_steps, size_t steps)
{
	s->rows = rows;
	s->log_steps = log_steps;
	s->steps = steps;
	for (size_t i = 0; i < s->candidate_count; i++) {
		const struct expression *e = &s->candidates[i].expression;
		double constants = (double)e->constant_count;

		s->work += (double)rows->count * (double)(log_steps + steps) *
			   (constants * constants + 20 * constants + 60 * (double)e->node_count);
	}
	parallel_each(s->candidate_count, s->settings->thread_count, fit_one, s);
	s->search->candidates += s->candidate_count;
}

static int add_candidate(struct state *s, const struct expression *e)
{
	if (s->candidate_count == s->candidate_room) {
		size_t room = s->candidate_room ? 2 * s->candidate_room : 1024;
		struct candidate *more = realloc(s->candidates, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->candidates = more;
		s->candidate_room = room;
	}
	s->candidates[s->candidate_count++] =
		(struct candidate){*e, expression_hash(e, s->search->terms), HUGE_VAL};
	return 0;
}

/* Fewest constants first; of as many, the least loss. The hash makes it one order. */
static int compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	size_t m = x->expression.constant_count, n = y->expression.constant_count;

	if (m != n)
		return m < n ? -1 : 1;
	if (x->loss != y->loss)
		return x->loss < y->loss ? -1 : 1;
	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* After a first look: of each number of constants the best forms stay, each once. */
static void keep_promising(struct state *s)
{
	size_t kept = 0, in_row = 0, constants = 0;

	qsort(s->candidates, s->candidate_count, sizeof(*s->candidates), compare);
	for (size_t i = 0; i < s->candidate_count; i++) {
		const struct candidate *candidate = &s->candidates[i];
		size_t kind = archive_kind(&candidate->expression), alike = 0;
		bool again = false;

		if (candidate->expression.constant_count != constants) {
			constants = candidate->expression.constant_count;
			in_row = 0;
		}
		for (size_t j = kept - in_row; j < kept && !again; j++) {
			again = s->candidates[j].hash == candidate->hash;
			alike += archive_kind(&s->candidates[j].expression) == kind;
		}
		if (again || alike == ARCHIVE_ALIKE || in_row == PROMISING || !isfinite(candidate->loss))
			continue;
		s->candidates[kept++] = *candidate;
		in_row++;
	}
	s->candidate_count = kept;
}

/* The form and where its constants begin: x and 1/x are two beginnings of one form. */
static uint64_t beginning(const struct expression *e, const struct expression_terms *terms)
{
	uint64_t key = 0;

	for (size_t i = 0; i < e->constant_count; i++)
		key = key * 3 + (e->constants[i] < 0) + 1;
	return expression_hash(e, terms) ^ (key * UINT64_C(0x9e3779b97f4a7c15));
}

/* All that one change makes of the best with so many constants (up: with as many or more; else with fewer),
 * without what has been. Says how many were changed, or -ENOMEM. */
static int gather(struct state *s, size_t k, bool is_up)
{
	struct growth growth = {0};
	int parents = 0, status = 0;

	s->candidate_count = 0;
	for (; parents < (is_up ? PARENTS_UP : PARENTS_DOWN) && status == 0; parents++) {
		struct archive_entry *entry = archive_next(&s->archive, k, is_up);

		if (!entry)
			break;
		entry->is_done[is_up] = true;
		growth.count = 0;
		status = expression_grow(&growth, &entry->expression, s->search->terms, &s->few,
			is_up ? s->settings->constants + SLACK : k - 1);
		for (size_t c = 0; c < growth.count && status == 0; c++)
			if (is_up == (growth.items[c].constant_count >= k) &&
				archive_is_new(&s->archive, beginning(&growth.items[c], s->search->terms), k))
				status = add_candidate(s, &growth.items[c]);
	}
	growth_free(&growth);
	return status < 0 ? status : parents;
}

static void report(struct state *s)
{
	struct expression_progress progress = {.round = s->search->rounds,
		.share = s->work / s->settings->work,
		.loss = HUGE_VAL,
		.seconds = seconds_now() - s->begun};

	for (size_t k = 1; k <= s->settings->constants; k++) {
		const struct archive_entry *entry = archive_best(&s->archive, k);

		if (entry && entry->loss < progress.loss) {
			progress.loss = entry->loss;
			progress.constants = k;
		}
	}
	if (s->settings->progress)
		s->settings->progress(s->settings->context, &progress);
}

static void settle(struct state *s)
{
	fit_all(s, &s->many, FIT_LOG, FIT);
	for (size_t i = 0; i < s->candidate_count; i++)
		archive_offer(&s->archive, &s->candidates[i].expression, s->candidates[i].hash,
			s->candidates[i].loss);
}

static int begin(struct state *s, const struct pm_fit_problem *problem)
{
	struct growth growth = {0};
	int status = expression_begin(&growth, s->search->terms, problem, &s->many);

	for (size_t i = 0; i < growth.count && status == 0; i++)
		status = add_candidate(s, &growth.items[i]);
	growth_free(&growth);
	if (status == 0)
		settle(s);
	return status;
}

static int choose_rows(struct state *s, const struct pm_fit_problem *problem)
{
	size_t count = problem->sample_count, *order = malloc((count + 1) * sizeof(*order));
	struct random random;
	int status;

	if (!order)
		return -ENOMEM;
	for (size_t k = 0; k < count; k++)
		order[k] = k;
	random_init(&random, s->settings->seed, STREAM_ROWS);
	random_shuffle(&random, order, count);
	status = expression_rows_init(&s->few, s->search->terms, problem, order, count < FEW ? count : FEW);
	if (status == 0)
		status = expression_rows_init(
			&s->many, s->search->terms, problem, order, count < MANY ? count : MANY);
	free(order);
	return status;
}

/*
 * Down from the most constants to one and up again: what is superfluous falls away in one sweep, each number
 * of constants beginning with what the one before has found. Says how many were changed, or -ENOMEM.
 */
static int sweep(struct state *s)
{
	size_t most = s->archive.most, top = s->settings->constants + SLACK, changed = 0;

	for (size_t step = 0; step < most + top && s->work < s->settings->work && !must_end(s); step++) {
		size_t k = step < most ? most - step : step - most + 1;
		int parents = gather(s, k, step >= most);

		if (parents < 0)
			return parents;
		if (parents == 0)
			continue;
		changed += (size_t)parents;
		fit_all(s, &s->few, LOOK_LOG, LOOK);
		keep_promising(s);
		settle(s);
		report(s);
	}
	return (int)changed;
}

int expression_search(struct expression_search *search, struct expression_terms *terms,
	const struct pm_fit_problem *problem, const struct expression_settings *settings)
{
	struct state s = {.settings = settings, .search = search, .begun = seconds_now()};
	int status;

	*search = (struct expression_search){.terms = terms};
	archive_init(&s.archive, EXPRESSION_CONSTANTS);
	status = choose_rows(&s, problem);
	if (status == 0)
		status = begin(&s, problem);
	while (status == 0 && s.work < settings->work && !must_end(&s) && !search->complete) {
		int changed = sweep(&s);

		search->rounds++;
		status = changed < 0 ? changed : 0;
		search->complete = changed == 0 && s.work < settings->work && !search->interrupted;
	}
	if (status == 0)
		status = archive_choose(&s.archive, search, problem, settings);
	search->seconds = seconds_now() - s.begun;
	free(s.candidates);
	expression_rows_free(&s.few);
	expression_rows_free(&s.many);
	archive_free(&s.archive);
	return status;
}

void expression_search_free(struct expression_search *search)
{
	for (size_t i = 0; i < search->result_count; i++)
		free(search->results[i].losses);
	free(search->results);
	*search = (struct expression_search){0};
}
