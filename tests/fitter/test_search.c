/* The optimisers on functions whose minimum is known, the same again from the same seed, inside their box
 * and limit; the quadratic in a box against trying all its corners, edges and faces. */
#include "../analyzer/check.h"
#include "search/quadratic.h"
#include "search/search.h"

#include <math.h>
#include <string.h>

#define MOST 10

static size_t evaluated;
static bool outside;
static double low, high;

static double sphere(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (x[i] - 1) * (x[i] - 1);
	return sum;
}

static double valley(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i + 1 < n; i++)
		sum += 100 * pow(x[i + 1] - x[i] * x[i], 2) + pow(1 - x[i], 2);
	return sum;
}

/* a minimum in every unit cube, the lowest at 1 */
static double egg_box(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += pow(x[i] - 1, 2) + 10 - 10 * cos(2 * M_PI * (x[i] - 1));
	return sum;
}

/* lowest in the corner of the box */
static double slope(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fabs(x[i] + 10);
	return sum;
}

static double (*function)(const double *x, size_t n);
static size_t size;

static void evaluate(void *context, const double *x, size_t count, double *costs)
{
	(void)context;
	for (size_t i = 0; i < count; i++) {
		costs[i] = function(x + i * size, size);
		for (size_t j = 0; j < size; j++)
			outside |= x[i * size + j] < low || x[i * size + j] > high;
	}
	evaluated += count;
}

static bool stop_at_500(void *context, size_t evaluations, double best_cost)
{
	(void)context;
	(void)best_cost;
	return evaluations >= 500;
}

static double search_once(int (*method)(struct search *), uint64_t seed, size_t limit, double *best,
	bool (*report)(void *, size_t, double), enum pm_fit_end *end)
{
	double lower[MOST], upper[MOST];
	struct search search = {.size = size,
		.lower = lower,
		.upper = upper,
		.evaluate = evaluate,
		.report = report,
		.limit = limit,
		.tolerance = 1e-8,
		.best = best,
		.best_cost = HUGE_VAL};

	for (size_t i = 0; i < size; i++) {
		lower[i] = low;
		upper[i] = high;
	}
	evaluated = 0;
	outside = false;
	random_init(&search.random, seed, 0);
	CHECK(method(&search) == 0, "failed");
	CHECK(!outside, "a candidate outside of the box");
	CHECK(search.evaluations == evaluated, "says %zu evaluations, made %zu", search.evaluations,
		evaluated);
	CHECK(fabs(function(best, size) - search.best_cost) <= 1e-15, "the best is not what it costs");
	*end = search.end;
	return search.best_cost;
}

static void check_method(const char *name, int (*method)(struct search *), size_t limit)
{
	static const struct {
		const char *name;
		double (*function)(const double *, size_t);
		size_t size;
		double low, high, least;
	} cases[] = {{"sphere", sphere, 6, -3, 5, 0}, {"valley", valley, 4, -2, 4, 0},
		{"egg box", egg_box, 4, -4, 5, 0}, {"corner", slope, 5, -2, 3, 40},
		{"one number", sphere, 1, -3, 5, 0}};
	double best[MOST], again[MOST];
	enum pm_fit_end end;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double found, same, other;

		function = cases[i].function;
		size = cases[i].size;
		low = cases[i].low;
		high = cases[i].high;
		found = search_once(method, 1, limit, best, NULL, &end);
		CHECK(found - cases[i].least < 1e-6, "%s: %s: found %g", name, cases[i].name, found);
		CHECK(evaluated <= limit + 20 * size, "%s: %zu evaluations", name, evaluated);
		same = search_once(method, 1, limit, again, NULL, &end);
		CHECK(same == found && memcmp(best, again, size * sizeof(double)) == 0,
			"%s: %s: not the same again", name, cases[i].name);
		other = search_once(method, 2, limit, again, NULL, &end);
		CHECK(memcmp(best, again, size * sizeof(double)) != 0 || cases[i].function == slope ||
				other == found,
			"%s: %s: another seed, the same way", name, cases[i].name);
		search_once(method, 1, limit, again, stop_at_500, &end);
		CHECK(end == PM_FIT_END_INTERRUPTED && evaluated < 1000, "%s: %zu evaluations after stop",
			name, evaluated);
	}
}

static void check_hypercube(void)
{
	double lower[3] = {0, -1, 5}, upper[3] = {1, 1, 6}, x[20 * 3];
	struct search search = {.size = 3, .lower = lower, .upper = upper};

	random_init(&search.random, 9, 0);
	CHECK(search_hypercube(&search, x, 20) == 0, "failed");
	for (size_t i = 0; i < 3; i++) {
		unsigned slices = 0;

		for (size_t k = 0; k < 20; k++)
			slices |= 1u << (int)((x[k * 3 + i] - lower[i]) / (upper[i] - lower[i]) * 20);
		CHECK(slices == (1u << 20) - 1, "dimension %zu: slices %x", i, slices);
	}
}

static double quadratic(const double *a, const double *b, const double *x, size_t n)
{
	double value = 0;

	for (size_t i = 0; i < n; i++) {
		value -= b[i] * x[i];
		for (size_t j = 0; j < n; j++)
			value += x[i] * x[j] * a[i < j ? i * n + j : j * n + i] / 2;
	}
	return value;
}

/* Each number at its lower bound, at its upper, or free: the least over all ways, by coordinate descent
 * among the free. */
static double least_by_trying(const double *a, const double *b, const double *lower, const double *upper)
{
	double least = HUGE_VAL;

	for (int way = 0; way < 81; way++) {
		double x[4] = {0};
		int state[4], rest = way;

		for (int i = 0; i < 4; i++, rest /= 3) {
			state[i] = rest % 3;
			x[i] = state[i] == 0   ? lower[i]
			       : state[i] == 1 ? upper[i]
					       : (lower[i] + upper[i]) / 2;
		}
		for (int round = 0; round < 3000; round++)
			for (int i = 0; i < 4; i++) {
				double sum = b[i];

				for (int j = 0; j < 4; j++)
					if (j != i)
						sum -= a[i < j ? i * 4 + j : j * 4 + i] * x[j];
				if (state[i] == 2)
					x[i] = fmin(upper[i], fmax(lower[i], sum / a[i * 4 + i]));
			}
		least = fmin(least, quadratic(a, b, x, 4));
	}
	return least;
}

static void check_quadratic(void)
{
	struct random random;

	random_init(&random, 8, 0);
	for (int round = 0; round < 50; round++) {
		double j[6 * 4], a[16] = {0}, b[4], lower[4], upper[4], x[4] = {0}, work[QUADRATIC_WORK(4)];
		double found, least;

		for (size_t i = 0; i < 24; i++)
			j[i] = random_normal(&random);
		/* every fifth has two equal columns: singular */
		for (size_t k = 0; k < 6 && round % 5 == 0; k++)
			j[k * 4 + 1] = j[k * 4];
		for (size_t p = 0; p < 4; p++) {
			b[p] = 3 * random_normal(&random);
			lower[p] = -random_unit(&random);
			upper[p] = random_unit(&random);
			for (size_t q = p; q < 4; q++)
				for (size_t k = 0; k < 6; k++)
					a[p * 4 + q] += j[k * 4 + p] * j[k * 4 + q];
		}
		quadratic_solve(a, b, lower, upper, 4, x, work);
		found = quadratic(a, b, x, 4);
		least = least_by_trying(a, b, lower, upper);
		for (size_t p = 0; p < 4; p++)
			CHECK(x[p] >= lower[p] && x[p] <= upper[p], "round %d: outside", round);
		CHECK(found < least + 1e-6 * (1 + fabs(least)), "round %d: %.12g, not %.12g", round, found,
			least);
	}
}

static void check_random(void)
{
	struct random random, other;
	double mean = 0, square = 0, quarter = 0;
	size_t counts[7] = {0};

	random_init(&random, 1, 0);
	random_init(&other, 1, 1);
	CHECK(random_bits(&random) != random_bits(&other), "two streams of a seed are one");
	for (int i = 0; i < 100000; i++) {
		double x = random_normal(&random);

		mean += x / 100000;
		square += x * x / 100000;
		quarter += fabs(random_cauchy(&random)) < 1 ? 1e-5 : 0; /* half of them */
		counts[random_below(&random, 7)]++;
	}
	/* five standard errors */
	CHECK(fabs(mean) < 0.016 && fabs(square - 1) < 0.023, "normal: mean %g, square %g", mean, square);
	CHECK(fabs(quarter - 0.5) < 0.008, "Cauchy: %g between -1 and 1", quarter);
	for (size_t i = 0; i < 7; i++)
		CHECK(fabs((double)counts[i] - 100000.0 / 7) < 560, "%zu: %zu", i, counts[i]);
}

int main(void)
{
	check_method("de", de_search, 60000);
	check_method("jso", jso_search, 30000);
	check_hypercube();
	check_quadratic();
	check_random();
	return check_end();
}
