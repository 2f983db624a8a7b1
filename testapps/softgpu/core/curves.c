/*
 * Tables of curves and of neighbours, as `softgpu_fit` writes them: see tiles.h.
 *
 * The one idea: a table is lines of words with a work and a type in front, and its first line names the
 * columns, so that a file of another version is refused by name.
 *
 *     work type efficiency tile_half ...        product fp16 0.89 0 ...
 *     near work type                            near forward tf32 4.2 6 ... 0.13
 */
#include "text.h"
#include "tiles.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const sg_curve_columns[SG_CURVE_VALUES + 1] = {"efficiency", "tile_half", "tile_ns", "step_ns",
	"floor_ns", "memory", "split_ns", "unaligned", "unaligned_step_ns", "unaligned_ns", "padded",
	"direct", "narrow", "channel_step", NULL};
const char *const sg_work_names[SG_WORKS + 1] = {
	"product", "forward", "backward_data",
	"backward_filter", "attention", "attention_backward", NULL};
const char *const sg_curve_types[SG_CURVE_TYPES + 1] = {"fp32", "tf32", "fp16", NULL};

#define WORDS 32

struct reading {
	struct sg_curves *curves;
	const char *path;
	int line;
	char *error;
	size_t error_bytes;
};

static int refuse(struct reading *reading, const char *found, const char *expected)
{
	snprintf(reading->error, reading->error_bytes, "%s:%d: found '%s', expected %s", reading->path,
		reading->line, found, expected);
	return -1;
}

static int find(const char *const *names, const char *name)
{
	for (int i = 0; names[i] != NULL; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

/* How many words a line has; those beyond WORDS are counted only. */
static int split_words(char *line, char *words[WORDS])
{
	int count = 0;

	line[strcspn(line, "#\r")] = '\0';
	for (char *word = strtok_r(line, " \t", &line); word != NULL; word = strtok_r(NULL, " \t", &line)) {
		if (count < WORDS)
			words[count] = word;
		count++;
	}
	return count;
}

static int read_numbers(struct reading *reading, char *const *words, size_t count, double *values)
{
	for (size_t i = 0; i < count; i++) {
		char *end;

		values[i] = sg_text_number(words[i], &end);
		if (end == words[i] || *end != '\0' || !(values[i] >= -1e9 && values[i] <= 1e9))
			return refuse(reading, words[i], "a number");
	}
	return 0;
}

static int read_kind(struct reading *reading, char *const *words, int *work, int *type)
{
	*work = find(sg_work_names, words[0]);
	if (*work < 0)
		return refuse(
			reading, words[0], "near, work, or a kind of work");
	*type = find(sg_curve_types, words[1]);
	return *type < 0 ? refuse(reading, words[1], "fp32, tf32 or fp16") : 0;
}

static int read_curve(struct reading *reading, char *const *words, int count)
{
	struct sg_curve curve;
	int work, type;

	if (count != 2 + (int)SG_CURVE_VALUES)
		return refuse(reading, words[0], "as many words in each line as columns in the first");
	if (read_kind(reading, words, &work, &type) != 0 ||
		read_numbers(reading, words + 2, SG_CURVE_VALUES, (double *)(void *)&curve) != 0)
		return -1;
	if (!(curve.efficiency > 0 && curve.memory > 0 && curve.unaligned > 0 && curve.padded > 0 &&
		    curve.direct > 0 && curve.narrow > 0))
		return refuse(reading, words[0], "rates above 0");
	reading->curves->of[work][type] = curve;
	return 0;
}

static int read_neighbour(struct reading *reading, char *const *words, int count)
{
	double values[SG_PLACES + 1];
	struct sg_neighbour row, *rows;
	int work, type;
	size_t *row_count;

	if (count != 3 + SG_PLACES + 1)
		return refuse(reading, words[0], "near, work, type, eight places and a logarithm");
	if (read_kind(reading, words + 1, &work, &type) != 0 ||
		read_numbers(reading, words + 3, SG_PLACES + 1, values) != 0)
		return -1;
	memcpy(row.at, values, sizeof(row.at));
	row.log_ratio = values[SG_PLACES];
	row_count = &reading->curves->near[work][type].count;
	rows = realloc(reading->curves->near[work][type].rows, (*row_count + 1) * sizeof(*rows));
	if (rows == NULL)
		return refuse(reading, words[0], "memory for it");
	rows[(*row_count)++] = row;
	reading->curves->near[work][type].rows = rows;
	return 0;
}

/* The names of the columns. */
static int read_head(struct reading *reading, char *const *words, int count)
{
	for (int i = 2; i < count && i < WORDS; i++) {
		if (i - 2 >= (int)SG_CURVE_VALUES || strcmp(words[i], sg_curve_columns[i - 2]) != 0)
			return refuse(
				reading, words[i], "the columns that softgpu_fit of this version writes");
	}
	return count == 2 + (int)SG_CURVE_VALUES
		       ? 0
		       : refuse(reading, words[0], "the columns that softgpu_fit of this version writes");
}

static int read_line(struct reading *reading, char *line)
{
	char *words[WORDS];
	int count = split_words(line, words);

	if (count == 0)
		return 0;
	if (count > WORDS)
		return refuse(reading, words[0], "at most 32 words in a line");
	if (strcmp(words[0], "work") == 0)
		return read_head(reading, words, count);
	return strcmp(words[0], "near") == 0 ? read_neighbour(reading, words, count)
					     : read_curve(reading, words, count);
}

/* Whose code this is: the library, or the program itself, whose name may be without its folder. */
static void find_self(char *path, size_t room)
{
	Dl_info here;
	ssize_t length;

	if (dladdr((const void *)&sg_work_names, &here) != 0 && strchr(here.dli_fname, '/') != NULL) {
		snprintf(path, room, "%s", here.dli_fname);
		return;
	}
	length = readlink("/proc/self/exe", path, room - 1);
	path[length > 0 ? length : 0] = '\0';
}

void sg_profiles_folder(char *folder, size_t room)
{
	/* from the library, and from a program of a build and of an installation */
	static const char *const ways[] = {"profiles", "../softgpu/profiles", "../" SG_LIBRARIES "/profiles"};
	char self[4096], *slash;

	find_self(self, sizeof(self));
	slash = strrchr(self, '/');
	if (slash != NULL)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		snprintf(folder, room, "%s/%s", slash != NULL ? self : ".", ways[i]);
		if (access(folder, F_OK) == 0)
			return;
	}
	snprintf(folder, room, "%s/profiles", slash != NULL ? self : ".");
}

int sg_curves_read(struct sg_curves *curves, const char *name, char *error, size_t error_bytes)
{
	char folder[4096], path[4200], *text, *rest;
	struct reading reading = {curves, path, 0, error, error_bytes};
	int failed = 0;

	sg_profiles_folder(folder, sizeof(folder));
	if (strchr(name, '/') != NULL)
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s/%s", folder, name);
	text = sg_text_read(path, "a table of curves", error, error_bytes);
	if (text == NULL)
		return -1;
	rest = text;
	while (!failed && rest != NULL) {
		char *line = strsep(&rest, "\n");

		reading.line++;
		failed = read_line(&reading, line);
	}
	free(text);
	return failed;
}
