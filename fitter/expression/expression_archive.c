/* What a search keeps, and what it chooses from that: see expression_archive.h. */
#include "expression_archive.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/strata.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of the last fits. */
#define LAST_LOG 15
#define LAST 60
#define FOLD 15
#define STREAM_FOLDS 202
/* Where the largest value of a column is left out: the fewest values, and the largest share of the samples.
 */
#define LEAST_VALUES 4
#define MOST_TAIL 0.4
#define ALIKE_BEYOND 2 /* times the least error beyond: from there a formula is left out */

void archive_init(struct archive *archive, size_t most)
{
	memset(archive, 0, sizeof(*archive));
	archive->most = most;
}

void archive_free(struct archive *archive)
{
	free(archive->seen);
	archive->seen = NULL;
}

size_t archive_kind(const struct expression *e)
{
	size_t kind = 0, radix[EXPRESSION_OPS] = {1};

	for (size_t op = 1; op < EXPRESSION_OPS; op++)
		radix[op] = radix[op - 1] * (EXPRESSION_NODES + 1);
	for (size_t n = 0; n < e->node_count; n++)
		kind += radix[e->nodes[n].op];
	return kind;
}

static void take_out(struct archive *archive, size_t constants, size_t at)
{
	struct archive_entry *row = archive->entries[constants];
	size_t count = archive->counts[constants]--;

	memmove(row + at, row + at + 1, (count - at - 1) * sizeof(*row));
}

void archive_offer(struct archive *archive, const struct expression *e, uint64_t hash, double loss)
{
	size_t constants = e->constant_count, kind = archive_kind(e), alike = 0, worst = 0, at;
	struct archive_entry *row = archive->entries[constants];
	size_t *count = &archive->counts[constants];

	if (!isfinite(loss) || constants > archive->most)
		return;
	for (at = 0; at < *count && row[at].hash != hash; at++)
		;
	if (at < *count && row[at].loss <= loss)
		return;
	if (at < *count) /* the same form with better constants */
		take_out(archive, constants, at);
	for (at = 0; at < *count; at++)
		if (row[at].kind == kind) {
			alike++;
			worst = at;
		}
	if (alike >= ARCHIVE_ALIKE && row[worst].loss <= loss)
		return;
	if (alike >= ARCHIVE_ALIKE)
		take_out(archive, constants, worst);
	for (at = *count; at > 0 && row[at - 1].loss > loss; at--)
		;
	if (at == ARCHIVE_WIDTH)
		return;
	if (*count == ARCHIVE_WIDTH)
		--*count;
	memmove(row + at + 1, row + at, (*count - at) * sizeof(*row));
	row[at] = (struct archive_entry){*e, hash, kind, loss, {false, false}};
	++*count;
}

struct archive_entry *archive_next(struct archive *archive, size_t constants, bool is_up)
{
	for (size_t i = 0; i < archive->counts[constants]; i++)
		if (!archive->entries[constants][i].is_done[is_up])
			return &archive->entries[constants][i];
	return NULL;
}

const struct archive_entry *archive_best(const struct archive *archive, size_t constants)
{
	return archive->counts[constants] ? &archive->entries[constants][0] : NULL;
}

/* A set of its own: libpmfit must not end its caller's program where memory ends, as base/lookup.h does. */
static bool insert(struct archive *archive, uint64_t key)
{
	size_t at = key & (archive->seen_room - 1);

	while (archive->seen[at] && archive->seen[at] != key)
		at = (at + 1) & (archive->seen_room - 1);
	if (archive->seen[at])
		return false;
	archive->seen[at] = key;
	archive->seen_count++;
	return true;
}

bool archive_is_new(struct archive *archive, uint64_t hash, size_t constants)
{
	uint64_t key = (hash ^ (constants * UINT64_C(0x9e3779b97f4a7c15))) | 1;

	if (2 * archive->seen_count >= archive->seen_room) {
		uint64_t *old = archive->seen;
		size_t room = archive->seen_room;

		archive->seen_room = room ? 2 * room : 4096;
		archive->seen = calloc(archive->seen_room, sizeof(*archive->seen));
		if (!archive->seen) { /* without memory nothing is known to have been */
			archive->seen = old;
			archive->seen_room = room;
			return true;
		}
		archive->seen_count = 0;
		for (size_t i = 0; i < room; i++)
			if (old[i])
				insert(archive, old[i]);
		free(old);
	}
	return insert(archive, key);
}

struct finish {
	const struct expression_settings *settings;
	struct expression_result *results;
	size_t result_count, *fold;                    /* of each sample */
	struct expression_rows all, *inside, *outside; /* by fold */
	size_t **outside_samples;
	struct expression_rows *below,
		*tails; /* of each number, without its largest value and those samples */
};

static void fit_result(void *context, size_t index)
{
	struct finish *f = context;
	struct expression_result *result = &f->results[index];

	result->fitted = expression_fit(&result->expression, &f->all, f->settings->cost, LAST_LOG, LAST);
}

static void fit_fold(void *context, size_t index)
{
	struct finish *f = context;
	size_t fold = index % f->settings->folds;
	struct expression_result *result = &f->results[index / f->settings->folds];
	const struct expression_rows *rows = &f->outside[fold];
	struct expression e = result->expression;
	double logs[EXPRESSION_BLOCK];

	expression_fit(&e, &f->inside[fold], f->settings->cost, 0, FOLD);
	for (size_t k = 0; k < rows->count; k++) {
		size_t at = k % EXPRESSION_BLOCK, left = rows->count - k;

		if (at == 0)
			expression_logs(
				&e, rows, k, left < EXPRESSION_BLOCK ? left : EXPRESSION_BLOCK, logs, NULL);
		result->losses[f->outside_samples[fold][k]] =
			expression_loss(f->settings->cost, rows->time[k], exp(logs[at]) + rows->offset[k]);
	}
}

static void fit_tail(void *context, size_t index)
{
	struct finish *f = context;
	size_t columns = f->all.terms->number_count, i = index % columns;
	struct expression_result *result = &f->results[index / columns];
	const struct expression_rows *rows = &f->tails[i];
	struct expression e = result->expression;
	double logs[EXPRESSION_BLOCK], sum = 0;

	result->beyond[i] = NAN;
	if (!rows->count)
		return;
	expression_fit(&e, &f->below[i], f->settings->cost, 0, FOLD);
	for (size_t k = 0; k < rows->count; k++) {
		size_t at = k % EXPRESSION_BLOCK, left = rows->count - k;

		if (at == 0)
			expression_logs(
				&e, rows, k, left < EXPRESSION_BLOCK ? left : EXPRESSION_BLOCK, logs, NULL);
		sum += expression_loss(f->settings->cost, rows->time[k], exp(logs[at]) + rows->offset[k]);
	}
	result->beyond[i] = sum / (double)rows->count;
}

/* The samples in two parts, by whether they have the largest value of a number: it takes some values, and not
 * most samples have that. */
static int cut_tail(struct finish *f, const struct expression_terms *terms,
	const struct pm_fit_problem *problem, size_t number, size_t *order)
{
	const double *logs = f->all.logs + number * f->all.count;
	size_t count = f->all.count, below = 0, above = 0, values = 0;
	double largest = -HUGE_VAL, last = -HUGE_VAL;

	for (size_t k = 0; k < count; k++)
		largest = fmax(largest, logs[k]);
	for (; values < LEAST_VALUES; values++) {
		double next = HUGE_VAL;

		for (size_t k = 0; k < count; k++)
			if (logs[k] > last + 1e-9)
				next = fmin(next, logs[k]);
		if (!(next < HUGE_VAL))
			break;
		last = next;
	}
	for (size_t k = 0; k < count; k++)
		if (logs[k] < largest - 1e-9)
			order[below++] = k;
		else
			order[count - ++above] = k;
	if (values < LEAST_VALUES || (double)above > MOST_TAIL * (double)count)
		return 0;
	return expression_rows_init(&f->below[number], terms, problem, order, below)
		       ? -ENOMEM
		       : expression_rows_init(&f->tails[number], terms, problem, order + below, above);
}

static int cut_tails(
	struct finish *f, const struct expression_terms *terms, const struct pm_fit_problem *problem)
{
	size_t *order = malloc((problem->sample_count + 1) * sizeof(*order));
	int status = 0;

	f->below = calloc(terms->number_count + 1, sizeof(*f->below));
	f->tails = calloc(terms->number_count + 1, sizeof(*f->tails));
	if (!order || !f->below || !f->tails)
		status = -ENOMEM;
	for (size_t i = 0; i < terms->number_count && status == 0; i++)
		status = cut_tail(f, terms, problem, i, order);
	free(order);
	return status;
}

static double mean_of(const double *values, const double *less, size_t count, double *error)
{
	struct statistics_spread spread = {0};

	for (size_t k = 0; k < count; k++)
		statistics_add(&spread, values[k] - (less ? less[k] : 0));
	*error = count > 1 ? statistics_deviation(&spread) / sqrt(spread.count) : 0;
	return spread.mean;
}

/* The order's blocks become folds, each with its share of every combination of levels. */
static int deal(const struct pm_fit_problem *problem, size_t *order, size_t count, size_t folds)
{
	size_t *sorted = malloc((count + 1) * sizeof(*sorted)), *next = calloc(folds + 1, sizeof(*next)),
	       fold = 0;
	int status = sorted && next ? 0 : -ENOMEM;

	if (status == 0) {
		memcpy(sorted, order, count * sizeof(*sorted));
		status = strata_sort(problem, sorted, count);
	}
	for (size_t i = 0; i < folds && status > 0; i++)
		next[i] = i * count / folds;
	for (size_t k = 0; k < count && status > 0; k++, fold++) {
		while (next[fold % folds] == (fold % folds + 1) * count / folds)
			fold++; /* that one is full */
		order[next[fold % folds]++] = sorted[k];
	}
	free(sorted);
	free(next);
	return status < 0 ? status : 0;
}

static int split(struct finish *f, const struct expression_terms *terms, const struct pm_fit_problem *problem)
{
	size_t count = problem->sample_count, folds = f->settings->folds;
	size_t *order = malloc((2 * count + 1) * sizeof(*order));
	struct random random;
	int status = expression_rows_init(&f->all, terms, problem, NULL, count);

	f->inside = calloc(folds, sizeof(*f->inside));
	f->outside = calloc(folds, sizeof(*f->outside));
	f->outside_samples = calloc(folds, sizeof(*f->outside_samples));
	if (!order || !f->inside || !f->outside || !f->outside_samples)
		status = -ENOMEM;
	for (size_t k = 0; k < count && status == 0; k++)
		order[k] = k;
	random_init(&random, f->settings->seed, STREAM_FOLDS);
	if (status == 0)
		random_shuffle(&random, order, count);
	if (status == 0)
		status = deal(problem, order, count, folds);
	for (size_t i = 0; i < folds && status == 0; i++) {
		size_t begin = i * count / folds, end = (i + 1) * count / folds;

		f->outside_samples[i] = malloc((end - begin + 1) * sizeof(*order));
		if (!f->outside_samples[i]) {
			status = -ENOMEM;
			break;
		}
		memcpy(f->outside_samples[i], order + begin, (end - begin) * sizeof(*order));
		memcpy(order + count, order, begin * sizeof(*order));
		memcpy(order + count + begin, order + end, (count - end) * sizeof(*order));
		status = expression_rows_init(&f->outside[i], terms, problem, order + begin, end - begin);
		if (status == 0)
			status = expression_rows_init(
				&f->inside[i], terms, problem, order + count, count - (end - begin));
	}
	free(order);
	return status;
}

static void unsplit(struct finish *f)
{
	for (size_t i = 0; i < f->settings->folds; i++) {
		if (f->inside)
			expression_rows_free(&f->inside[i]);
		if (f->outside)
			expression_rows_free(&f->outside[i]);
		if (f->outside_samples)
			free(f->outside_samples[i]);
	}
	for (size_t i = 0; f->all.terms && i < f->all.terms->number_count; i++) {
		if (f->below)
			expression_rows_free(&f->below[i]);
		if (f->tails)
			expression_rows_free(&f->tails[i]);
	}
	free(f->below);
	free(f->tails);
	free(f->inside);
	free(f->outside);
	free(f->outside_samples);
	expression_rows_free(&f->all);
}

static double parts_of(const struct expression *e)
{
	size_t parts = e->node_count;

	for (size_t n = 0; n < e->node_count; n++)
		parts += e->nodes[n].factor_count;
	return (double)parts;
}

/* Of results with as many constants: the one with the fewest parts that is not worse than the best of them by
 * more than the standard error of the difference. Parts that no left-out sample notices go so: powers at
 * usual numbers are no constants. */
static size_t simplest(const struct expression_result *results, size_t begin, size_t end, size_t samples)
{
	size_t best = begin, taken;

	for (size_t j = begin; j < end; j++)
		if (results[j].held_out < results[best].held_out)
			best = j;
	taken = best;
	for (size_t j = begin; j < end; j++) {
		double error, more = mean_of(results[j].losses, results[best].losses, samples, &error);

		if (more <= error && parts_of(&results[j].expression) < parts_of(&results[taken].expression))
			taken = j;
	}
	return taken;
}

/* Those that no other with as few or fewer constants is as good as, by held-out loss. */
static void keep_front(struct expression_search *search, size_t samples)
{
	size_t kept = 0, i = 0;

	while (i < search->result_count) {
		size_t constants = search->results[i].expression.constant_count, best, j = i;

		while (j < search->result_count && search->results[j].expression.constant_count == constants)
			j++;
		best = simplest(search->results, i, j, samples);
		for (; i < j; i++)
			if (i == best && (kept == 0 || search->results[i].held_out <
							       search->results[kept - 1].held_out))
				search->results[kept++] = search->results[i];
			else
				free(search->results[i].losses);
	}
	search->result_count = kept;
}

/* Losses that no measured time could tell apart: a millionth of it. Without this, formulas that are exact are
 * told apart by their rounding. */
static double least_difference(enum expression_cost cost, const struct pm_fit_problem *problem)
{
	double sum = 0, mean;

	for (size_t k = 0; k < problem->sample_count; k++)
		sum += problem->time[k];
	mean = sum / (double)problem->sample_count;
	return cost == EXPRESSION_RELATIVE   ? 1e-6
	       : cost == EXPRESSION_ABSOLUTE ? 1e-6 * mean
					     : 1e-12 * mean * mean;
}

/* Of the logarithm of held-out loss, with Laplace's distribution about the formula. A form is chosen among
 * many, so that its parts count as its constants do. */
static double criterion(const struct expression_result *result, double least, size_t samples)
{
	double n = (double)samples;

	return 2 * n * log(fmax(result->held_out, least)) +
	       ((double)result->expression.constant_count + parts_of(&result->expression)) * log(n);
}

static void choose(
	struct expression_search *search, const struct pm_fit_problem *problem, enum expression_cost cost)
{
	const struct expression_result *best = &search->results[search->result_count - 1];
	double least = least_difference(cost, problem), room = fmax(best->error, least), nearest = HUGE_VAL;
	size_t samples = problem->sample_count, by_criterion = 0;

	search->best = search->chosen = search->result_count - 1;
	for (size_t i = search->result_count; i-- > 0;) {
		struct expression_result *result = &search->results[i];

		result->excess = mean_of(result->losses, best->losses, samples, &result->excess_error);
		if (criterion(result, least, samples) <=
			criterion(&search->results[by_criterion], least, samples))
			by_criterion = i;
		if (result->held_out <= best->held_out + room)
			nearest = fmin(
				nearest, isfinite(result->worst_beyond) ? result->worst_beyond : HUGE_VAL);
	}
	for (size_t i = search->result_count; i-- > 0;) {
		const struct expression_result *result = &search->results[i];

		if (result->held_out <= best->held_out + room &&
			!(result->worst_beyond > ALIKE_BEYOND * fmax(nearest, best->held_out)))
			search->chosen = i;
	}
	if (by_criterion < search->chosen)
		search->chosen = by_criterion;
}

static void set_worst(struct expression_result *result, size_t numbers)
{
	result->worst_beyond = NAN;
	for (size_t i = 0; i < numbers; i++)
		result->worst_beyond =
			fmax(result->worst_beyond, result->beyond[i]); /* a NAN is the lesser */
}

int archive_choose(const struct archive *archive, struct expression_search *search,
	const struct pm_fit_problem *problem, const struct expression_settings *settings)
{
	struct finish f = {.settings = settings};
	/* within seconds only the best of each number of constants is cross-validated */
	size_t count = problem->sample_count, width = settings->seconds > 0 ? 1 : ARCHIVE_WIDTH;
	int status = split(&f, search->terms, problem);

	status = status ? status : cut_tails(&f, search->terms, problem);
	search->results = calloc((settings->constants + 1) * ARCHIVE_WIDTH, sizeof(*search->results));
	if (!search->results)
		status = -ENOMEM;
	for (size_t k = 1; k <= settings->constants && status == 0; k++)
		for (size_t i = 0; i < archive->counts[k] && i < width && status == 0; i++) {
			struct expression_result *result = &search->results[search->result_count++];

			result->expression = archive->entries[k][i].expression;
			result->losses = calloc(count + 1, sizeof(double));
			if (!result->losses)
				status = -ENOMEM;
		}
	f.results = search->results;
	if (status == 0) {
		parallel_each(search->result_count, settings->thread_count, fit_result, &f);
		parallel_each(search->result_count * settings->folds, settings->thread_count, fit_fold, &f);
		parallel_each(search->result_count * search->terms->number_count, settings->thread_count,
			fit_tail, &f);
		for (size_t i = 0; i < search->result_count; i++) {
			set_worst(&search->results[i], search->terms->number_count);
			search->results[i].held_out =
				mean_of(search->results[i].losses, NULL, count, &search->results[i].error);
		}
		keep_front(search, count);
		choose(search, problem, settings->cost);
	}
	unsplit(&f);
	return status;
}
