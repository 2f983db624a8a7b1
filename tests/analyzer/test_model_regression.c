/*
 * Checks the regression against values that others have published or that follow from a closed form: t and F
 * distributions, NIST's certified values for Longley's data (which are hard to get right: its columns nearly
 * follow from each other), a second method in long double, and what is indistinguishable.
 */
#include "check.h"
#include "base/least_squares.h"
#include "base/student.h"

#include <math.h>
#include <string.h>

static bool close_to(double value, double expected, double relative)
{
	return fabs(value - expected) <= relative * fabs(expected);
}

/* Closed forms for 1, 2 and 4 degrees of freedom; a table's values for others. */
static void check_student(void)
{
	static const struct {
		double confidence, degrees, t;
	} table[] = {{0.95, 1, 12.706204736}, {0.95, 2, 4.302652730}, {0.95, 3, 3.182446305},
		{0.95, 10, 2.228138852}, {0.99, 5, 4.032142984}, {0.95, 30, 2.042272456},
		{0.90, 120, 1.657650899}, {0.95, 1e7, 1.959964}};

	for (double t = 1e-3; t < 1e6; t *= 1.7) {
		double two = t / sqrt(2 + t * t), u = t / sqrt(4 + t * t);

		CHECK(close_to(student_p(t, 1), M_2_PI * atan(1 / t), 1e-13), "one degree, t = %g", t);
		/* 1 - two, without losing its digits */
		CHECK(close_to(student_p(t, 2), 2 / (2 + t * t) / (1 + two), 1e-13), "two degrees, t = %g",
			t);
		CHECK(fabs(student_p(t, 4) - (1 - u * (3 - u * u) / 2)) < 1e-14, "four degrees, t = %g", t);
		CHECK(close_to(student_quantile(1 - student_p(t, 1), 1), t, 1e-4) || t > 100,
			"back from p, t = %g", t);
		CHECK(student_p(-t, 7) == student_p(t, 7), "two sides, t = %g", t);
		CHECK(close_to(student_fisher_p(t * t, 1, 9), student_p(t, 9), 1e-11),
			"F(1, 9) is t squared");
		/* F(2, n): (1 + 2 f / n)^(-n / 2) */
		CHECK(close_to(student_fisher_p(t, 2, 6), pow(1 + 2 * t / 6, -3), 1e-11), "F(2, 6) at %g", t);
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		CHECK(close_to(student_quantile(table[i].confidence, table[i].degrees), table[i].t, 2e-7),
			"t(%g, %g) is %.9f", table[i].confidence, table[i].degrees,
			student_quantile(table[i].confidence, table[i].degrees));
	CHECK(student_p(0, 3) == 1 && student_p(INFINITY, 3) == 0, "ends");
	CHECK(isnan(student_p(1, 0)) && isnan(student_quantile(0.95, 0)) && isnan(student_quantile(1, 3)),
		"where there is none");
}

/* Longley, Journal of the American Statistical Association 62 (1967): employment and six indicators. */
static const double longley_y[] = {60323, 61122, 60171, 61187, 63221, 63639, 64989, 63761, 66019, 67857,
	68169, 66513, 68655, 69564, 69331, 70551};
static const double longley_x[] = {83.0, 234289, 2356, 1590, 107608, 1947, 88.5, 259426, 2325, 1456, 108632,
	1948, 88.2, 258054, 3682, 1616, 109773, 1949, 89.5, 284599, 3351, 1650, 110929, 1950, 96.2, 328975,
	2099, 3099, 112075, 1951, 98.1, 346999, 1932, 3594, 113270, 1952, 99.0, 365385, 1870, 3547, 115094,
	1953, 100.0, 363112, 3578, 3350, 116219, 1954, 101.2, 397469, 2904, 3048, 117388, 1955, 104.6, 419180,
	2822, 2857, 118734, 1956, 108.4, 442769, 2936, 2798, 120445, 1957, 110.8, 444546, 4681, 2637, 121950,
	1958, 112.6, 482704, 3813, 2552, 123366, 1959, 114.2, 502601, 3931, 2514, 125368, 1960, 115.7, 518173,
	4806, 2572, 127852, 1961, 116.9, 554894, 4007, 2827, 130081, 1962};

/* https://www.itl.nist.gov/div898/strd/lls/data/Longley.shtml */
static void check_longley(void)
{
	static const char *const names[] = {"deflator", "gnp", "unemployed", "forces", "population", "year"};
	static const double certified[7][2] = {{-3482258.63459582, 890420.383607373},
		{15.0618722713733, 84.9149257747669}, {-0.358191792925910e-01, 0.334910077722432e-01},
		{-2.02022980381683, 0.488399681651699}, {-1.03322686717359, 0.214274163161675},
		{-0.511041056535807e-01, 0.226073200069370}, {1829.15146461355, 455.478499142212}};
	/* Variance inflation: as textbooks give them for these data. */
	static const double inflation[] = {135.53244, 1788.51348, 33.61889, 3.58893, 399.15102, 758.98060};
	struct regression result;

	regression_fit(&result, names, 6, longley_x, longley_y, 16, 0.95);
	CHECK(!result.trouble && result.degrees == 9 && result.fitted_count == 7, "all is fitted");
	for (size_t i = 0; i < 7; i++) {
		CHECK(close_to(result.terms[i].estimate, certified[i][0], 1e-10), "%s: %.15g",
			result.terms[i].name, result.terms[i].estimate);
		CHECK(close_to(result.terms[i].error, certified[i][1], 1e-10), "%s: error %.15g",
			result.terms[i].name, result.terms[i].error);
		CHECK(i == 0 || close_to(result.terms[i].inflation, inflation[i - 1], 1e-6), "%s: VIF %.9g",
			result.terms[i].name, result.terms[i].inflation);
	}
	CHECK(close_to(result.r2, 0.995479004577296, 1e-13), "R2 %.15g", result.r2);
	CHECK(close_to(result.deviation, 304.854073561965, 1e-11), "deviation %.15g", result.deviation);
	CHECK(close_to(result.f, 330.285339234588, 1e-11), "F %.15g", result.f);
	CHECK(close_to(result.adjusted_r2, 1 - (1 - 0.995479004577296) * 15 / 9, 1e-13), "adjusted %.15g",
		result.adjusted_r2);
	/* 95%: 2.262157163 for 9 degrees. */
	CHECK(close_to(result.terms[3].high, -2.02022980381683 + 2.262157163 * 0.488399681651699, 1e-8),
		"interval to %.12g", result.terms[3].high);
	CHECK(strcmp(result.terms[1].shared_with, "gnp") == 0 && result.terms[1].shared > 0.99,
		"deflator goes along with %s", result.terms[1].shared_with);
	regression_free(&result);
}

/* Gauss and the normal equations, in long double, with elimination in another order. */
static void solve(const double *x, const double *y, size_t rows, size_t count, long double *answer)
{
	long double a[8][9] = {{0}};
	size_t n = count + 1;

	for (size_t r = 0; r < rows; r++)
		for (size_t i = 0; i < n; i++) {
			long double left = i ? x[r * count + i - 1] : 1;

			for (size_t j = 0; j < n; j++)
				a[i][j] += left * (j ? x[r * count + j - 1] : 1);
			a[i][n] += left * y[r];
		}
	for (size_t k = n; k-- > 0;)
		for (size_t i = 0; i < n; i++) {
			long double factor = a[i][k] / a[k][k];

			for (size_t j = 0; j <= n && i != k; j++)
				a[i][j] -= factor * a[k][j];
		}
	for (size_t i = 0; i < n; i++)
		answer[i] = a[i][n] / a[i][i];
}

static double chance(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
}

static void check_other_method(void)
{
	static const char *const names[] = {"gpus", "lif", "batch"};
	uint64_t state = 5;

	for (int round = 0; round < 50; round++) {
		double x[40 * 3], y[40];
		long double answer[4];
		size_t rows = 5 + (size_t)round % 36;
		struct regression result;
		double sum = 0;

		for (size_t i = 0; i < rows; i++) {
			x[i * 3] = 1 + (double)(i % 4);
			x[i * 3 + 1] = 1 + 0.3 * chance(&state);
			x[i * 3 + 2] = 32 << (i % 3 + (size_t)(4 * chance(&state)));
			y[i] = 1e6 * (5 + x[i * 3] + 7 * x[i * 3 + 1] + 0.01 * x[i * 3 + 2] + chance(&state));
		}
		solve(x, y, rows, 3, answer);
		regression_fit(&result, names, 3, x, y, rows, 0.95);
		for (size_t i = 0; i < 4; i++)
			CHECK(close_to(result.terms[i].estimate, (double)answer[i], 1e-9),
				"round %d %s: %.15g, expected %.15Lg", round, result.terms[i].name,
				result.terms[i].estimate, answer[i]);
		for (size_t i = 0; i < rows; i++) {
			sum += result.residuals[i];
			CHECK(close_to(result.fitted[i] + result.residuals[i], y[i], 1e-14),
				"round %d row %zu", round, i);
		}
		CHECK(fabs(sum) < 1e-3, "residuals add up to %g", sum);
		regression_free(&result);
	}
}

/* Rows without an error: y = 2 + 3 N + 5 LIF. */
static void check_exact(void)
{
	static const char *const names[] = {"gpus", "lif"};
	static const double x[] = {1, 1, 2, 1.1, 3, 1.05, 2, 1.3}, y[] = {10, 13.5, 16.25, 14.5};
	struct regression result;

	regression_fit(&result, names, 2, x, y, 3, 0.95);
	CHECK(!result.trouble && result.degrees == 0 && isnan(result.terms[1].error) &&
			isnan(result.adjusted_r2) && isnan(result.terms[1].low),
		"three rows leave no degree of freedom");
	CHECK(close_to(result.terms[1].estimate, 3, 1e-12) && close_to(result.terms[2].estimate, 5, 1e-12),
		"%g and %g", result.terms[1].estimate, result.terms[2].estimate);
	regression_free(&result);
	regression_fit(&result, names, 2, x, y, 4, 0.95);
	CHECK(result.degrees == 1 && result.r2 > 1 - 1e-12 && close_to(result.terms[0].estimate, 2, 1e-10),
		"four rows: R2 %g", result.r2);
	regression_free(&result);
	regression_fit(&result, names, 2, x, y, 2, 0.95);
	CHECK(result.trouble && strstr(result.trouble, "at least 3 rows"), "two rows: %s", result.trouble);
	regression_free(&result);
}

static void check_left_out(void)
{
	static const char *const names[] = {"gpus", "lif", "batch"};
	/* One N_g only; batch is 10 times LIF and 7. */
	static const double x[] = {3, 1.0, 17, 3, 1.1, 18, 3, 1.25, 19.5, 3, 1.5, 22, 3, 1.4, 21};
	static const double y[] = {5.1, 5.9, 7.6, 10.1, 9};
	static const char *const swapped[] = {"lif"};
	static const double alone[] = {1.0, 1.1, 1.25, 1.5, 1.4};
	struct regression result, single;

	regression_fit(&result, names, 3, x, y, 5, 0.95);
	regression_fit(&single, swapped, 1, alone, y, 5, 0.95);
	CHECK(result.terms[1].state == REGRESSION_CONSTANT && isnan(result.terms[1].estimate),
		"one N_g only");
	CHECK(result.terms[3].state == REGRESSION_DEPENDENT && isnan(result.terms[3].estimate) &&
			strcmp(result.terms[3].shared_with, "lif") == 0,
		"batch follows from LIF");
	CHECK(result.degrees == 3 && close_to(result.terms[2].estimate, single.terms[1].estimate, 1e-12) &&
			close_to(result.terms[2].error, single.terms[1].error, 1e-9) &&
			close_to(result.terms[2].inflation, 1, 1e-12),
		"the rest is fitted as if it were alone");
	regression_free(&result);
	regression_free(&single);
}

int main(void)
{
	check_student();
	check_longley();
	check_other_method();
	check_exact();
	check_left_out();
	return check_end();
}
