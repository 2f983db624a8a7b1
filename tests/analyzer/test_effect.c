/*
 * Checks the statistics of comparisons against published data and what SciPy 1.17.1 computes from them
 * (mannwhitneyu, t, ttest_ind, bootstrap, false_discovery_control), and, by simulation from known
 * distributions, that 95% intervals hold the truth about 95 times in 100 also where iterations depend on each
 * other.
 */
#include "check.h"
#include "analyses/compare/effect.h"
#include "base/student.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool near(double a, double b, double tolerance)
{
	return fabs(a - b) <= tolerance;
}

/* Hamilton depression scale of nine patients before and after (Hollander and Wolfe 1973). */
static double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
static double after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};

static void check_cliff(void)
{
	static const struct {
		double base[4], other[4];
		size_t base_count, other_count;
		double cliff;
	} cases[] = {
		{{1, 2}, {3, 4}, 2, 2, 1},
		{{3, 4}, {1, 2}, 2, 2, -1},
		{{1, 2, 3}, {1, 2, 3}, 3, 3, 0},
		{{1, 2}, {2, 2, 3}, 2, 3, 4.0 / 6},
		{{5}, {5, 6, 4, 6}, 1, 4, 0.25},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double cliff = effect_cliff(
			cases[i].base, cases[i].base_count, cases[i].other, cases[i].other_count);

		CHECK(near(cliff, cases[i].cliff, 1e-12), "case %zu: %f", i, cliff);
	}
	/* U = 23 of the second against the first: 2 U / 81 - 1 */
	CHECK(near(effect_cliff(before, 9, after, 9), -0.4320987654320988, 1e-12), "%f",
		effect_cliff(before, 9, after, 9));
	CHECK(isnan(effect_cliff(before, 0, after, 9)), "of nothing");
	CHECK(strcmp(effect_size(-0.432), "medium") == 0 && strcmp(effect_size(0.1), "negligible") == 0 &&
			strcmp(effect_size(0.2), "small") == 0 && strcmp(effect_size(1), "large") == 0,
		"words");
}

static void check_student(void)
{
	static const struct {
		double t, freedom, p;
	} p[] = {{2, 10, 0.07338803477074037}, {1, 1, 0.5}, {12.706, 1, 0.05000080235813319},
		{3.5, 4.5, 0.020541689969385577}, {0, 3, 1}};
	static const struct {
		double share, freedom, t;
	} t[] = {{0.975, 1, 12.706204736174694}, {0.975, 4, 2.7764451051977934},
		{0.975, 10, 2.228138851986274}, {0.975, 2.5, 3.5746548420036817},
		{0.95, 30, 1.697260886593957}, {0.975, 1e9, 1.959963984540054}};

	for (size_t i = 0; i < sizeof(p) / sizeof(*p); i++)
		CHECK(near(student_p(p[i].t, p[i].freedom), p[i].p, 1e-10), "p %zu: %.15f", i,
			student_p(p[i].t, p[i].freedom));
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		CHECK(near(student_quantile(2 * t[i].share - 1, t[i].freedom), t[i].t, 1e-6 * t[i].t),
			"t %zu: %.12f", i, student_quantile(2 * t[i].share - 1, t[i].freedom));
}

static void check_adjust(void)
{
	double p[] = {0.01, 0.04, NAN, 0.03, 0.005, 0.2};
	static const double expected[] = {0.025, 0.05, NAN, 0.05, 0.025, 0.2};

	effect_adjust(p, 6);
	for (int i = 0; i < 6; i++)
		CHECK(isnan(expected[i]) ? isnan(p[i]) : near(p[i], expected[i], 1e-12), "%d: %f", i, p[i]);
	effect_adjust(NULL, 0);
}

static struct effect of_two(double *base, size_t base_count, double *other, size_t other_count, uint64_t seed)
{
	struct effect_series from = {base, base_count}, to = {other, other_count};
	struct effect effect;

	effect_compare(&(struct effect_side){&from, 1}, &(struct effect_side){&to, 1}, seed, &effect);
	return effect;
}

static void check_two(void)
{
	/* Reaction scores of two groups of 12. */
	double first[] = {8, 7, 5, 10, 6, 12, 9, 3, 2, 7, 11, 8};
	double second[] = {14, 10, 9, 13, 11, 8, 15, 12, 9, 16, 10, 11};
	double same[20], more[20];
	struct effect effect = of_two(first, 12, second, 12, 1), again = of_two(first, 12, second, 12, 1);

	CHECK(near(effect.difference, 25.0 / 6, 1e-12), "difference %f", effect.difference);
	/* The bootstrap's 2.083 to 6.333 is the shorter, Welch's 1.798 to 6.536 the honest one. */
	CHECK(near(effect.low, 1.798, 0.5) && near(effect.high, 6.536, 0.5), "%f to %f", effect.low,
		effect.high);
	CHECK(effect.low < 2.083 && effect.high > 6.333, "%f to %f: no longer than percentiles", effect.low,
		effect.high);
	/* SciPy's permutation of single values: 0.0015; of blocks of up to 3 there are few orders. */
	CHECK(effect.p < 0.03, "p %f", effect.p);
	CHECK(memcmp(&effect.low, &again.low, sizeof(double)) == 0 && effect.p == again.p,
		"the same seed gives another answer");
	for (int i = 0; i < 20; i++) {
		same[i] = 5;
		more[i] = 6;
	}
	effect = of_two(same, 20, same, 20, 1);
	CHECK(effect.difference == 0 && effect.low == 0 && effect.high == 0 && effect.p == 1 &&
			effect.cliff == 0 && effect.enough,
		"equal: %f to %f, p %f", effect.low, effect.high, effect.p);
	effect = of_two(same, 20, more, 20, 1);
	CHECK(effect.low == 1 && effect.high == 1 && effect.p < 0.001 && effect.cliff == 1, "exact: p %f",
		effect.p);
	effect = of_two(same, 1, more, 20, 1);
	CHECK(effect.difference == 1 && isnan(effect.low) && isnan(effect.p) && !effect.enough, "one value");
	effect = of_two(same, 3, more, 3, 1);
	CHECK(!effect.enough, "three values are enough");
	effect = of_two(same, 0, more, 3, 1);
	CHECK(isnan(effect.difference) && isnan(effect.low), "no value");
}

/* Runs that do not vary within: what is left is Student's t of their means. */
static void check_repeated(void)
{
	static const double means[2][3] = {{10.1, 10.4, 9.8}, {11.0, 11.5, 11.3}};
	double values[2][3][10];
	struct effect_series runs[2][3];
	struct effect effect;

	for (int s = 0; s < 2; s++)
		for (int r = 0; r < 3; r++) {
			for (int i = 0; i < 10; i++)
				values[s][r][i] = means[s][r];
			runs[s][r] = (struct effect_series){values[s][r], 10};
		}
	effect_compare(&(struct effect_side){runs[0], 3}, &(struct effect_side){runs[1], 3}, 1, &effect);
	CHECK(effect.repeated && near(effect.difference, 7.0 / 6, 1e-9), "difference %f", effect.difference);
	CHECK(near(effect.p, 0.006695856901616494, 1e-9), "p %.12f", effect.p);
	CHECK(near(effect.low, 0.5389744372171869, 1e-6) && near(effect.high, 1.7943588961161452, 1e-6),
		"%.9f to %.9f", effect.low, effect.high);
	/* Within a run everything is sure, between runs it is not. */
	effect = of_two(values[0][0], 10, values[1][0], 10, 1);
	CHECK(effect.high - effect.low < 1e-9 && !effect.repeated, "one run a side: %f to %f", effect.low,
		effect.high);
	effect_compare(&(struct effect_side){runs[0], 3}, &(struct effect_side){runs[1], 1}, 1, &effect);
	CHECK(effect.repeated && effect.high - effect.low > 1, "three against one: %f to %f", effect.low,
		effect.high);
}

static uint64_t state;

/* Over 0 to 1; xorshift64* (Vigna 2016). */
static double uniform(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return ((double)(state * 0x2545f4914f6cdd1dull >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	double radius = sqrt(-2 * log(uniform()));

	return radius * cos(6.283185307179586 * uniform());
}

enum noise { NORMAL, EXPONENTIAL };

/* First-order autoregression about `mean`, begun in its stationary state. */
static void simulate(double *values, size_t count, double mean, double rho, enum noise noise)
{
	double x = normal() / sqrt(1 - rho * rho);

	for (size_t i = 0; i < count; i++) {
		x = rho * x + (noise == NORMAL ? normal() : -log(uniform()) - 1);
		values[i] = mean + x;
	}
}

static void check_coverage(void)
{
	static const struct {
		size_t base, other;
		double rho;
		enum noise noise;
	} cases[] = {
		{30, 30, 0, NORMAL},
		{40, 80, 0, EXPONENTIAL},
		{60, 60, 0.3, NORMAL},
		{100, 100, 0.5, NORMAL},
		{200, 150, 0.7, NORMAL},
	};
	enum { ROUNDS = 1000 };
	static double base[200], other[200];

	state = 20210731;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		int covered = 0, found = 0;

		for (int i = 0; i < ROUNDS; i++) {
			struct effect effect;

			simulate(base, cases[c].base, 10, cases[c].rho, cases[c].noise);
			simulate(other, cases[c].other, 10, cases[c].rho, cases[c].noise);
			effect = of_two(base, cases[c].base, other, cases[c].other, (uint64_t)i);
			covered += effect.low <= 0 && effect.high >= 0;
			found += effect.p <= 0.05;
		}
		CHECK(covered >= 0.93 * ROUNDS && covered <= 0.97 * ROUNDS,
			"case %zu: %d of %d intervals hold it", c, covered, ROUNDS);
		CHECK(found <= 0.07 * ROUNDS, "case %zu: %d of %d found where there is nothing", c, found,
			ROUNDS);
	}
}

static void check_blocks(void)
{
	static double values[1000];
	size_t alone, together;

	state = 5;
	simulate(values, 1000, 10, 0, NORMAL);
	alone = effect_block(values, 1000);
	simulate(values, 1000, 10, 0.9, NORMAL);
	together = effect_block(values, 1000);
	/* For first-order autoregression (6 n)^(1/3) (rho / (1 - rho^2))^(2/3): 51 for 0.9. */
	CHECK(alone <= 8, "independent: blocks of %zu", alone);
	CHECK(together >= 25 && together <= 100, "dependent: blocks of %zu", together);
	CHECK(effect_block(values, 3) == 1 && effect_block(values, 0) == 1, "short");
	for (int i = 0; i < 1000; i++)
		values[i] = 3;
	CHECK(effect_block(values, 1000) <= 4, "constant: %zu", effect_block(values, 1000));
}

/* A shift that is there is found. */
static void check_power(void)
{
	static double base[60], other[60];
	int found = 0;

	state = 77;
	for (int i = 0; i < 200; i++) {
		simulate(base, 60, 10, 0.3, NORMAL);
		simulate(other, 60, 12, 0.3, NORMAL);
		found += of_two(base, 60, other, 60, (uint64_t)i).p <= 0.05;
	}
	CHECK(found >= 195, "a difference of two deviations is found %d times in 200", found);
}

int main(void)
{
	check_cliff();
	check_student();
	check_adjust();
	check_two();
	check_repeated();
	check_blocks();
	check_power();
	check_coverage();
	return check_end();
}
