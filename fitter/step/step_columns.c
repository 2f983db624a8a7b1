/* Which column of a table is what: see step_table.h. */
#include "step_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const step_column_titles[STEP_COLUMNS] = {
	"time", "batch", "GPUs", "nodes", "placement", "exposed exchange", "compute", "level"};
const char *const step_column_keys[STEP_COLUMNS] = {
	"time", "batch", "gpus", "nodes", "placement", "exposed", "compute", "level"};

#define NAMES 30 /* of a column, at most */

/* Names, the likelier first; case does not matter. */
static const char *const known[STEP_COLUMNS][NAMES] = {
	[STEP_TIME] = {"time", "step_time", "iteration_ms", "iteration_time", "iter_time", "step_ms",
		"seconds_per_step", "steps_per_s", "steps_per_second", "iterations_per_s"},
	[STEP_BATCH] = {"local_bsz", "gpu_batch", "local_batch", "local_batch_size", "per_gpu_batch",
		"batch_per_gpu", "micro_batch", "batch", "batch_size", "batchsize", "bsz", "global_batch",
		"global_batch_size", "total_batch"},
	[STEP_GPUS] = {"gpus", "num_gpus", "n_gpus", "gpu_count", "num_replicas", "replicas", "ranks",
		"world_size", "workers", "num_workers", "devices"},
	[STEP_NODES] = {"nodes", "num_nodes", "n_nodes", "node_count", "hosts", "num_hosts", "servers",
		"machines"},
	[STEP_PLACEMENT] = {"placement", "gpus_per_node"},
	[STEP_EXPOSED] = {"sync_time", "communication_exposed_ms", "exposed_ms", "exposed", "comm_exposed",
		"sync_ms", "exposed_communication"},
	[STEP_COMPUTE] = {"compute_time", "compute_ms", "compute"},
	[STEP_LEVEL] = {"cluster", "gpu_type", "gpu_model", "gpu_name", "device_name", "gpu", "accelerator"},
};

static const char *const local_names[] = {"local", "gpu_batch", "per_gpu", "micro"};
static const char *const global_names[] = {"global", "total"};

static bool has_word(const char *name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

/* A level is a word: a column of numbers alone ("gpu" as a count or an index) is none. */
static bool is_words(const struct csv *csv, size_t column)
{
	double number;

	for (size_t k = 0; k < csv->row_count; k++)
		if (*csv->cells[k * csv->column_count + column] &&
			csv_number(csv->cells[k * csv->column_count + column], &number) < 0)
			return true;
	return false;
}

/* The unit that a name ends with, "step_us" or "us" alone; the rest of the name is `*stem` long. */
static const char *unit_at_end(const char *name, size_t *stem)
{
	static const char *const endings[][2] = {{"milliseconds", "ms"}, {"microseconds", "us"},
		{"seconds", "s"}, {"msec", "ms"}, {"usec", "us"}, {"sec", "s"}, {"ms", "ms"}, {"us", "us"},
		{"ns", "ns"}, {"s", "s"}};
	const size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		const size_t end = strlen(endings[i][0]);

		if (length < end || strcasecmp(name + length - end, endings[i][0]) != 0)
			continue;
		*stem = length - end;
		if (*stem == 0)
			return endings[i][1];
		if (name[*stem - 1] == '_') {
			(*stem)--;
			return endings[i][1];
		}
	}
	return NULL;
}

static const char *unit_of(const char *name)
{
	size_t stem;
	const char *unit = unit_at_end(name, &stem);

	if (unit)
		return unit;
	return strncasecmp(name, "seconds", 7) == 0 || strcasestr(name, "s_per_s") ? "s" : NULL;
}

/* What a step's time is called before its unit, the likelier first; "" is the unit alone. */
static const struct time_name {
	const char *stem;
	bool needs_unit;
} time_names[] = {{"step_time", false}, {"step", true}, {"iteration_time", false}, {"iteration", true},
	{"iter_time", false}, {"iter", true}, {"time", false}, {"elapsed", false}, {"duration", false},
	{"", true}};

#define TIME_NAMES (sizeof(time_names) / sizeof(*time_names))

static bool is_time(const char *name, const struct time_name *time)
{
	size_t stem;

	if (!unit_at_end(name, &stem))
		return !time->needs_unit && strcasecmp(name, time->stem) == 0;
	return stem == strlen(time->stem) && strncasecmp(name, time->stem, stem) == 0;
}

static bool is_known(const char *name, enum step_column what)
{
	for (size_t i = 0; i < NAMES && known[what][i]; i++)
		if (strcasecmp(name, known[what][i]) == 0)
			return true;
	for (size_t i = 0; i < TIME_NAMES && what == STEP_TIME; i++)
		if (is_time(name, &time_names[i]))
			return true;
	return false;
}

static const char *find(const struct csv *csv, enum step_column what)
{
	for (size_t i = 0; i < NAMES && known[what][i]; i++)
		for (size_t c = 0; c < csv->column_count; c++)
			if (strcasecmp(csv->names[c], known[what][i]) == 0 &&
				(what != STEP_LEVEL || is_words(csv, c)))
				return csv->names[c];
	for (size_t i = 0; i < TIME_NAMES && what == STEP_TIME; i++)
		for (size_t c = 0; c < csv->column_count; c++)
			if (is_time(csv->names[c], &time_names[i]))
				return csv->names[c];
	return NULL;
}

int step_column_known(const char *name)
{
	for (int what = 0; what < STEP_COLUMNS; what++)
		if (is_known(name, (enum step_column)what))
			return what;
	return -1;
}

double step_unit_seconds(const char *unit)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(units[i].name, unit) == 0)
			return units[i].seconds;
	return NAN;
}

/* By the name; else that of a GPU where some row's is no multiple of its GPUs; else of all. */
static void decide_batch(struct step_columns *columns, const struct csv *csv)
{
	const char *name = columns->names[STEP_BATCH];
	ptrdiff_t batch = csv_find(csv, name), gpus = -1;

	if (columns->batch != STEP_BATCH_UNKNOWN)
		return;
	if (has_word(name, local_names, 4))
		columns->batch = STEP_BATCH_LOCAL;
	else if (has_word(name, global_names, 2))
		columns->batch = STEP_BATCH_GLOBAL;
	if (columns->batch != STEP_BATCH_UNKNOWN)
		return;
	columns->batch_guessed = true;
	columns->batch = STEP_BATCH_GLOBAL;
	gpus = columns->names[STEP_GPUS] ? csv_find(csv, columns->names[STEP_GPUS]) : -1;
	for (size_t k = 0; k < csv->row_count && gpus >= 0; k++) {
		const char *const *cells = (const char *const *)csv->cells + k * csv->column_count;
		double samples, count;

		if (csv_number(cells[batch], &samples) == 0 && csv_number(cells[gpus], &count) == 0 &&
			count >= 1 && fmod(samples, count) != 0) {
			columns->batch = STEP_BATCH_LOCAL;
			return;
		}
	}
}

/* Without a batch: one of all GPUs together where more GPUs take less time, else one of each. */
static void guess_scaling(struct step_columns *columns, const struct csv *csv)
{
	ptrdiff_t time = csv_find(csv, columns->names[STEP_TIME]),
		  gpus = csv_find(csv, columns->names[STEP_GPUS]);
	double sums[4] = {0}, covariance;

	columns->batch_guessed = columns->batch == STEP_BATCH_UNKNOWN;
	if (!columns->batch_guessed)
		return;
	for (size_t k = 0; k < csv->row_count; k++) {
		const char *const *cells = (const char *const *)csv->cells + k * csv->column_count;
		double x, y;

		if (csv_number(cells[gpus], &x) < 0 || csv_number(cells[time], &y) < 0 || !(x > 0) ||
			!(y > 0))
			continue;
		y = columns->is_rate ? -log(y) : log(y);
		sums[0]++;
		sums[1] += log(x);
		sums[2] += y;
		sums[3] += log(x) * y;
	}
	covariance = sums[3] - sums[1] * sums[2] / fmax(sums[0], 1);
	columns->batch = covariance < 0 ? STEP_BATCH_GLOBAL : STEP_BATCH_LOCAL;
}

/* Digits without separators are nodes where no other column counts the GPUs: "44" is 4 and 4. */
static void decide_placement(struct step_columns *columns)
{
	columns->by_digit = columns->names[STEP_PLACEMENT] && !columns->names[STEP_GPUS];
}

static const char *missing(const struct csv *csv, const char *what, const char *option, struct arena *arena)
{
	return arena_format(arena, "%s: no column for the %s among the %zu: name it with %s", csv->path, what,
		csv->column_count, option);
}

bool step_column_counts_steps(const char *name)
{
	static const char *const steps[] = {"step", "iter"};

	return has_word(name, steps, 2);
}

/* The column that looks like a throughput; NULL: none. */
static const char *find_rate(const struct csv *csv)
{
	static const char *const rates[] = {"per_s", "throughput", "/s"};

	for (size_t c = 0; c < csv->column_count; c++)
		if (has_word(csv->names[c], rates, 3))
			return csv->names[c];
	return NULL;
}

const char *step_columns_find(
	struct step_columns *columns, const struct csv *csv, bool with_time, struct arena *arena)
{
	for (size_t what = 0; what < STEP_COLUMNS; what++) {
		const char *name = columns->names[what];
		char hint[CSV_HINT];

		if (name && csv_find(csv, name) < 0)
			return arena_format(
				arena, "%s: no column '%s'%s", csv->path, name, csv_hint(csv, name, hint));
		if (!name && (name = find(csv, (enum step_column)what)))
			columns->names[what] = arena_format(arena, "%s", name);
	}
	if (with_time && !columns->names[STEP_TIME] && find_rate(csv))
		return arena_format(arena,
			"%s: no column for the measured time of a step among the %zu: name it with --time COLUMN[,UNIT], or "
			"the throughput with --rate %s",
			csv->path, csv->column_count, find_rate(csv));
	if (with_time && !columns->names[STEP_TIME])
		return missing(csv, "measured time of a step", "--time COLUMN[,UNIT]", arena);
	if (!columns->names[STEP_BATCH] &&
		(!columns->names[STEP_GPUS] || (columns->is_rate && columns->of_samples)))
		return missing(csv, "batch", "--batch-column", arena);
	if (!columns->names[STEP_GPUS] && !columns->names[STEP_PLACEMENT])
		return missing(csv, "number of GPUs", "--gpu-column or --placement-column", arena);
	columns->is_rate |=
		columns->names[STEP_TIME] && strcasestr(columns->names[STEP_TIME], "s_per_s") != NULL;
	if (!columns->unit && columns->is_rate)
		columns->unit = (char *)"s";
	if (!columns->unit && columns->names[STEP_TIME] && unit_of(columns->names[STEP_TIME]))
		columns->unit = arena_format(arena, "%s", unit_of(columns->names[STEP_TIME]));
	if (columns->names[STEP_BATCH])
		decide_batch(columns, csv);
	else if (with_time)
		guess_scaling(columns, csv);
	decide_placement(columns);
	return NULL;
}
