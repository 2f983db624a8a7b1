/* pmfit guide --divide: a batch among devices that are not alike. */
#include "guide.h"
#include "advise/guide_share.h"
#include "base/csv.h"
#include "output/sentences.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct devices {
	char **names;
	double *speeds; /* samples per unit of time */
	size_t count;
};

static size_t cmd_guide_divide_add(struct devices *devices, const char *name)
{
	devices->names = realloc(devices->names, (devices->count + 1) * sizeof(*devices->names));
	devices->speeds = realloc(devices->speeds, (devices->count + 1) * sizeof(*devices->speeds));
	if (!devices->names || !devices->speeds || !(devices->names[devices->count] = strdup(name)))
		errx(1, "out of memory");
	devices->speeds[devices->count] = 0;
	return devices->count++;
}

/* "1,1,0.5", or with names "v100:312,k80:90". */
static void from_text(struct devices *devices, const char *text)
{
	char *copy = strdup(text), *save = NULL, number[24];

	if (!copy)
		errx(1, "out of memory");
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		char *colon = strrchr(item, ':');
		size_t device;

		snprintf(number, sizeof(number), "%zu", devices->count);
		if (colon)
			*colon = 0;
		device = cmd_guide_divide_add(devices, colon ? item : number);
		if (csv_number(colon ? colon + 1 : item, &devices->speeds[device]) < 0 ||
			devices->speeds[device] <= 0)
			cmd_usage(&cmd_guide, "--speeds %s: expected positive numbers, or NAME:NUMBER", text);
	}
	free(copy);
}

static ptrdiff_t column_of(const struct csv *csv, const char *name)
{
	ptrdiff_t column = csv_find(csv, name);
	char hint[CSV_HINT];

	if (column < 0)
		errx(1, "%s: column %s not found%s", csv->path, name, csv_hint(csv, name, hint));
	return column;
}

/* Adds the columns of a row to its device's time, which `speeds` holds for now. */
static void add_row(struct devices *devices, const struct csv *csv, size_t row, ptrdiff_t name,
	const ptrdiff_t *times, size_t time_count)
{
	const char *who = csv->cells[row * csv->column_count + (size_t)name];
	size_t device = 0;

	while (device < devices->count && strcmp(devices->names[device], who) != 0)
		device++;
	if (device == devices->count)
		cmd_guide_divide_add(devices, who);
	for (size_t i = 0; i < time_count; i++) {
		const char *cell = csv->cells[row * csv->column_count + (size_t)times[i]];
		double number;

		if (!*cell)
			continue;
		if (csv_number(cell, &number) < 0 || number < 0)
			errx(1, "%s: line %zu: '%s' is not a time", csv->path, csv->lines[row], cell);
		devices->speeds[device] += number;
	}
}

/* Times of even shares of a batch, summed over the rows of a rank: a share's samples over them is a speed. */
static void from_table(struct devices *devices, const struct cmd_guide_divide *how)
{
	char *copy = strdup(how->time_columns), *save = NULL;
	ptrdiff_t times[16], name;
	size_t time_count = 0, share;
	struct csv csv;

	if (!copy)
		errx(1, "out of memory");
	if (csv_read(&csv, how->table) < 0)
		errx(1, "%s", csv.error);
	name = column_of(&csv, how->rank_column);
	for (char *item = strtok_r(copy, ",", &save); item && time_count < 16;
		item = strtok_r(NULL, ",", &save))
		times[time_count++] = column_of(&csv, item);
	for (size_t row = 0; row < csv.row_count; row++)
		add_row(devices, &csv, row, name, times, time_count);
	for (size_t i = 0; i < devices->count; i++) {
		share = how->batch / devices->count + (i < how->batch % devices->count);
		if (devices->speeds[i] <= 0)
			errx(1, "%s: %s %s has no time", csv.path, how->rank_column, devices->names[i]);
		devices->speeds[i] = (double)share / devices->speeds[i];
	}
	csv_free(&csv);
	free(copy);
}

/* The model's time of an even share on each of the levels. */
static void from_model(struct devices *devices, const struct cmd_guide_divide *how, struct guide *guide)
{
	char *copy = strdup(how->levels), *save = NULL, *equals = copy ? strchr(copy, '=') : NULL;
	double local, all = 0;

	if (!equals)
		cmd_usage(&cmd_guide, "--devices %s: expected COLUMN=LEVEL,LEVEL...", how->levels);
	*equals = 0;
	for (char *item = strtok_r(equals + 1, ",", &save); item; item = strtok_r(NULL, ",", &save))
		cmd_guide_divide_add(devices, item);
	if (!devices->count)
		cmd_usage(&cmd_guide, "--devices %s: expected COLUMN=LEVEL,LEVEL...", how->levels);
	local = (double)how->batch / (double)devices->count;
	if (guide->gpus != GUIDE_NONE)
		guide->point[guide->gpus] = 1;
	if (guide->batch != GUIDE_NONE)
		guide->point[guide->batch] = local;
	for (size_t i = 0; i < devices->count; i++) {
		const char *bad = guide_set(guide, copy, devices->names[i]);
		double *times;

		if (bad)
			errx(1, "%s", bad);
		times = guide_times(guide, guide->point, 1);
		if (!times)
			errx(1, "out of memory");
		if (!(times[0] > 0))
			errx(1, "the model's time of %s is not positive", devices->names[i]);
		devices->speeds[i] = (guide->is_epoch ? 1 : local) / times[0];
		all += devices->speeds[i];
		free(times);
	}
	/* an epoch's rate has no samples; relative speeds are all that shares need */
	for (size_t i = 0; i < devices->count && guide->is_epoch; i++)
		devices->speeds[i] /= all;
	free(copy);
}

static void print(const struct devices *devices, size_t batch, const size_t *shares, const size_t *even,
	enum print_form form)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("device", "device", PRINT_WORD),
		PRINT_COLUMN("speed", "speed", PRINT_FIGURE),
		PRINT_COLUMN("even", "equal", PRINT_COUNT),
		PRINT_COLUMN("share", "share", PRINT_COUNT),
		PRINT_COLUMN("time_even", "time equal", PRINT_FIGURE),
		PRINT_COLUMN("time_share", "time share", PRINT_FIGURE),
	};
	double slow = guide_share_time(devices->speeds, even, devices->count);
	double quick = guide_share_time(devices->speeds, shares, devices->count);
	cJSON *root = form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	struct arena arena = {0};
	struct sentences said = {.arena = &arena};
	struct print_table table;

	print_init(&table, &arena);
	print_columns(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < devices->count; i++) {
		double speed = devices->speeds[i], all = (double)even[i], own = (double)shares[i];

		print_row(&table);
		print_word(&table, 0, devices->names[i]);
		print_numbers(&table, 1, (double[]){speed, all, own, all / speed, own / speed}, 5);
	}
	if (root)
		cJSON_AddNumberToObject(root, "batch", (double)batch);
	print_part(&table, form, root, "devices", arena_format(&arena, "Shares of a batch of %zu", batch),
		false, stdout);
	sentences_add(&said,
		"Computation takes %.5g with equal shares and %.5g with these shares: %.1f%% less, assuming that a device's "
		"time is proportional to its samples. Gradient exchange and update are unchanged; the gradient mean must be "
		"weighted by the shares.",
		slow, quick, 100 * (1 - quick / slow));
	if (root) {
		cJSON_AddNumberToObject(root, "time_even", slow);
		cJSON_AddNumberToObject(root, "time_proportional", quick);
		sentences_json(&said, root, "sentences");
		print_json_end(root, stdout);
	} else if (form == PRINT_TEXT) {
		sentences_text(&said, 0, 0, stdout);
	}
	print_free(&table);
	arena_free(&arena);
}

int cmd_guide_divide(const struct cmd_guide_divide *how, struct guide *guide, enum print_form form)
{
	struct devices devices = {0};
	size_t *shares, *even;

	if (how->speeds)
		from_text(&devices, how->speeds);
	else if (how->table)
		from_table(&devices, how);
	else
		from_model(&devices, how, guide);
	if (!devices.count)
		errx(1, "no devices to divide the batch among");
	shares = calloc(devices.count, sizeof(*shares));
	even = calloc(devices.count, sizeof(*even));
	if (!shares || !even)
		errx(1, "out of memory");
	guide_share(devices.speeds, devices.count, how->batch, shares);
	guide_share_evenly(devices.count, how->batch, even);
	print(&devices, how->batch, shares, even, form);
	for (size_t i = 0; i < devices.count; i++)
		free(devices.names[i]);
	free(devices.names);
	free(devices.speeds);
	free(shares);
	free(even);
	return 0;
}
