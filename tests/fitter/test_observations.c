/* Tables and descriptions: what is read, how it is split, and the sentence for each thing that can be
 * wrong with data. */
#include "../analyzer/check.h"
#include "base/strata.h"
#include "data/observations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/test_observations.XXXXXX";

static void write_table(const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

static void check_csv(void)
{
	static const struct {
		const char *text;
		size_t columns, rows;
		const char *last; /* the last cell */
		const char *error;
	} cases[] = {
		{"a,b\n1,2\n3,4\n", 2, 2, "4", NULL},
		{"a,b\n1,2\n3,4", 2, 2, "4", NULL},
		{"a,b\r\n1,2\r\n\r\n3, 4 \r\n", 2, 2, "4", NULL},
		{"\xef\xbb\xbf\x61;b\n1;2,5\n", 2, 1, "2,5", NULL},
		{"a\tb\n1\t\n", 2, 1, "", NULL},
		{"a,b\n1,\"x, \"\"y\"\"\nz\"\n", 2, 1, "x, \"y\"\nz", NULL},
		{"a\n1\n", 1, 1, "1", NULL},
		{"\n\na,b\n1,2\n", 2, 1, "2", NULL},
		{"", 0, 0, NULL, "the file is empty"},
		{"\n \n", 0, 0, NULL, "the file is empty"},
		{"a,b\n", 0, 0, NULL, "header without samples"},
		{"a,a\n1,2\n", 0, 0, NULL, "duplicate column name a"},
		{"a,\n1,2\n", 0, 0, NULL, "column 2 has no name"},
		{"a,b\n1,2\n\n1\n", 0, 0, NULL, "line 4 has 1 cells: expected 2"},
		{"a,b\n1,2,3\n", 0, 0, NULL, "line 2 has 3 cells: expected 2"},
		{"a,b\n\"x\n,2\n", 0, 0, NULL, "line 2: unterminated quote"},
		{"a,b\n\"x\"y,2\n", 0, 0, NULL, "after a closing quote"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct csv csv;
		int status;

		write_table(cases[i].text);
		status = csv_read(&csv, path);
		if (cases[i].error) {
			CHECK(status < 0 && strstr(csv.error, cases[i].error), "case %zu: %d '%s'", i, status,
				csv.error);
		} else {
			CHECK(status == 0, "case %zu: %s", i, csv.error);
			CHECK(csv.column_count == cases[i].columns && csv.row_count == cases[i].rows,
				"case %zu: %zu x %zu", i, csv.row_count, csv.column_count);
			if (status == 0)
				CHECK(strcmp(csv.cells[csv.row_count * csv.column_count - 1],
					      cases[i].last) == 0,
					"case %zu: '%s'", i, csv.cells[csv.row_count * csv.column_count - 1]);
		}
		csv_free(&csv);
	}
}

/* Lines of a description, separated by semicolons. */
static const char *describe(struct description *description, const char *lines)
{
	char copy[512], *rest = copy, *line;
	const char *bad = NULL;

	description_init(description);
	snprintf(copy, sizeof(copy), "%s", lines);
	while (!bad && (line = strsep(&rest, ";")))
		bad = description_line(description, line);
	return bad;
}

static void check_descriptions(void)
{
	static const struct {
		const char *lines, *error;
	} cases[] = {
		{"time t ms;intrinsic a b, c;# note;;split s", NULL},
		{"intrinsic a # with a note", NULL},
		{"tyme t", "unknown keyword 'tyme'"},
		{"time", "time: expected a value"},
		{"time a b c", "unexpected word c"},
		{"share 1.5", "share 1.5"},
		{"share 0", "share 0"},
		{"share x", "share x"},
		{"share 0.5 -3", "seed -3"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct description description;
		const char *bad = describe(&description, cases[i].lines);

		if (cases[i].error)
			CHECK(bad && strstr(bad, cases[i].error), "case %zu: %s", i, bad ? bad : "taken");
		else
			CHECK(!bad, "case %zu: %s", i, bad);
		description_free(&description);
	}
}

/* A table of ten rows, of which cell (row, column) says something else. */
static void write_rows(size_t row, size_t column, const char *instead, size_t rows)
{
	char text[4096] = "time,size,gpus,kind,split\n", cell[64];

	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < 5; c++) {
			if (c < 3)
				snprintf(cell, sizeof(cell), "%g", 1.5 + (double)(r * (c + 1) % 7));
			else
				snprintf(cell, sizeof(cell), "%s",
					c == 3  ? (r % 2 ? "odd" : "even")
					: r < 3 ? "test"
						: "train");
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				r == row && c == column ? instead : cell, c == 4 ? "\n" : ",");
		}
	write_table(text);
}

static const char common[] = "time time s;intrinsic size;extrinsic gpus;categorical kind;split split train";

/* What is said about a table: by the reader, else by the fit's check, else nothing. */
static const char *complaint(const char *lines, bool skip_bad, struct observations *observations)
{
	static char kept[512];
	struct description description;
	struct pm_fit_parameter parameter;
	struct csv csv;
	const char *bad = describe(&description, lines);

	CHECK(!bad, "%s", bad);
	CHECK(csv_read(&csv, path) == 0, "%s", csv.error);
	description.skip_bad = skip_bad;
	pm_fit_defaults(&parameter);
	if (observations_init(observations, &csv, &description) < 0)
		bad = observations->error;
	else
		bad = pm_fit_check(&observations->train, &parameter);
	snprintf(kept, sizeof(kept), "%s", bad ? bad : "");
	csv_free(&csv);
	description_free(&description);
	return bad ? kept : NULL;
}

static void check_bad_data(void)
{
	static const struct {
		size_t row, column;
		const char *cell, *error;
	} cases[] = {
		{5, 0, "", "line 7: the time is missing"},
		{5, 0, "NaN", "line 7: the time is missing"},
		{5, 0, "soon", "line 7: the time is 'soon'"},
		{5, 0, "0", "line 7: the time is 0: expected a positive number"},
		{5, 0, "-3", "line 7: the time is -3: expected a positive number"},
		{5, 0, "inf", "line 7: the time is 'inf'"},
		{5, 1, "", "line 7: column size: the value is missing"},
		{5, 1, "large", "line 7: column size: 'large' is not a number; is the column categorical?"},
		{5, 1, "0", "zero cannot be raised to a negative power"},
		{5, 2, "0", "zero cannot be raised to a negative power"},
		{5, 1, "-2", "-2 is negative"},
		{5, 3, "NA", "line 7: column kind: the value is missing"},
		{1, 3, "new", "line 3: column kind: level new is in the test set but in no fitted sample"},
	};
	struct observations observations;

	write_rows(99, 0, "", 30);
	CHECK(!complaint(common, false, &observations), "%s", complaint(common, false, &observations));
	CHECK(observations.train.sample_count == 27 && observations.test.sample_count == 3, "split");
	observations_free(&observations);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *bad;

		write_rows(cases[i].row, cases[i].column, cases[i].cell, 30);
		bad = complaint(common, false, &observations);
		CHECK(bad && strstr(bad, cases[i].error), "case %zu: %s", i, bad ? bad : "no complaint");
		observations_free(&observations);
	}
	write_rows(5, 0, "-3", 30);
	CHECK(!complaint(common, true, &observations) && observations.skipped == 1 &&
			observations.train.sample_count == 26,
		"skipped %zu", observations.skipped);
	observations_free(&observations);
}

static void check_whole_tables(void)
{
	static const struct {
		const char *lines;
		size_t rows;
		const char *error;
	} cases[] = {
		{"intrinsic size", 30, "no time column"},
		{"time tyme;intrinsic size", 30, "time column tyme not found (did you mean 'time'?)"},
		{"time time;intrinsic sise", 30, "column sise not found (did you mean 'size'?)"},
		{"time time;intrinsic time", 30, "column time is the time and cannot be a predictor"},
		{"time time;intrinsic size;split splat", 30, "split column splat not found"},
		{"time time;intrinsic size;split split fitted", 30, "column split never contains 'fitted'"},
		{"time time", 30, "nothing to fit"},
		{"time time;ignored size", 30, "nothing to fit"},
		{"time time;intrinsic size gpus;categorical kind;extrinsic split", 30,
			"is the column categorical?"},
		{"time time;intrinsic size;extrinsic gpus;categorical kind", 5,
			"5 samples cannot determine 6 parameters"},
		{"rate time s;intrinsic size;share 0.5 3", 30, NULL},
	};
	struct observations observations;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *bad;

		write_rows(99, 0, "", cases[i].rows);
		bad = complaint(cases[i].lines, false, &observations);
		if (cases[i].error)
			CHECK(bad && strstr(bad, cases[i].error), "case %zu: %s", i,
				bad ? bad : "no complaint");
		else
			CHECK(!bad, "case %zu: %s", i, bad);
		observations_free(&observations);
	}
}

static void check_values(void)
{
	struct observations observations, again;
	const struct pm_fit_column *kind;

	write_rows(99, 0, "", 30);
	complaint(common, false, &observations);
	kind = &observations.train.columns[2];
	/* rows 0 to 2 are the test: the first that is fitted is odd */
	CHECK(kind->level_count == 2 && strcmp(kind->levels[0], "odd") == 0 &&
			strcmp(kind->levels[1], "even") == 0,
		"levels");
	CHECK(kind->values[0] == 0 && kind->values[1] == 1, "levels of the fitted");
	CHECK(observations.test.columns[2].values[0] == 1, "levels of the test");
	CHECK(observations.train.time[0] == 4.5 && observations.train.columns[0].values[0] == 7.5,
		"numbers: %g %g", observations.train.time[0], observations.train.columns[0].values[0]);
	CHECK(strcmp(observations.train.time_unit, "s") == 0, "unit");
	observations_free(&observations);

	complaint("rate time;intrinsic size;share 0.5 3", false, &observations);
	complaint("rate time;intrinsic size;share 0.5 3", false, &again);
	CHECK(observations.train.sample_count == 15 && observations.test.sample_count == 15, "%zu and %zu",
		observations.train.sample_count, observations.test.sample_count);
	CHECK(memcmp(observations.train.time, again.train.time, 15 * sizeof(double)) == 0,
		"the same seed, another split");
	for (size_t k = 0; k < 15; k++)
		CHECK(fabs(1 / observations.train.time[k] - floor(1 / observations.train.time[k]) - 0.5) <
				1e-9,
			"time %g is not one over the rate", observations.train.time[k]);
	observations_free(&again);
	complaint("rate time;intrinsic size;share 0.5 4", false, &again);
	CHECK(memcmp(observations.train.time, again.train.time, 15 * sizeof(double)) != 0,
		"another seed, the same split");
	observations_free(&again);
	observations_free(&observations);
}

static void check_many_levels(void)
{
	struct observations observations;
	FILE *file = fopen(path, "w");
	const char *bad;

	fprintf(file, "time,id\n");
	for (int i = 0; i < 1500; i++)
		fprintf(file, "%d,x%d\n", i + 1, i);
	fclose(file);
	bad = complaint("time time;categorical id", false, &observations);
	CHECK(bad && strstr(bad, "column id has more than 1000 levels"), "%s", bad ? bad : "no complaint");
	observations_free(&observations);
}

static void note(void *context, const char *sentence)
{
	strncat(context, sentence, 400);
}

static void check_warnings(void)
{
	struct observations observations;
	struct pm_fit_parameter parameter;
	char said[2048] = "";

	write_table("time,size,gpus,kind\n1,2,3,a\n2,2,1,b\n3,2,2,a\n4,2,3,a\n5,2,1,a\n6,2,2,a\n7,2,1,a\n");
	complaint("time time;intrinsic size;extrinsic gpus;categorical kind", false, &observations);
	pm_fit_defaults(&parameter);
	pm_fit_warn(&observations.train, &parameter, note, said);
	CHECK(strstr(said, "column size has one value"), "%s", said);
	CHECK(strstr(said, "level b has one sample"), "%s", said);
	CHECK(strstr(said, "7 samples for 6 parameters"), "%s", said);
	observations_free(&observations);
}

/* Dealt out one by one, each of five folds gets two of ten rows of a rare level. */
static void check_strata(void)
{
	double levels[100], numbers[100];
	struct pm_fit_column columns[] = {
		{"x", PM_FIT_INTRINSIC, numbers, 0, NULL}, {"kind", PM_FIT_CATEGORICAL, levels, 2, NULL}};
	struct pm_fit_problem problem = {100, 2, columns, numbers, NULL};
	size_t samples[100], in_fold[5] = {0};

	for (size_t k = 0; k < 100; k++) {
		samples[k] = (7 * k) % 100;
		levels[k] = k < 10;
		numbers[k] = (double)k + 1;
	}
	problem.column_count = 1;
	CHECK(strata_sort(&problem, samples, 100) == 0 && samples[1] == 7, "samples move without levels");
	problem.column_count = 2;
	CHECK(strata_sort(&problem, samples, 100) == 1, "levels are not found");
	for (size_t k = 0; k < 100; k++)
		in_fold[k % 5] += levels[samples[k]] == 1;
	for (size_t f = 0; f < 5; f++)
		CHECK(in_fold[f] == 2, "fold %zu has %zu of the rare level, expected 2", f, in_fold[f]);
}

int main(void)
{
	int file = mkstemp(path);

	if (file < 0) {
		perror(path);
		return 1;
	}
	close(file);
	check_csv();
	check_descriptions();
	check_bad_data();
	check_whole_tables();
	check_values();
	check_warnings();
	check_many_levels();
	check_strata();
	unlink(path);
	return check_end();
}
