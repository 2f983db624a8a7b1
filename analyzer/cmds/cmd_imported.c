/* What the commands on traces of other profilers share: see cmd_imported.h. */
#include "cmd_imported.h"
#include "import/imported_kind.h"

#include <err.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

const struct option_row cmd_imported_rows[] = {
	{"comm-pattern", CMD_OPTION_PATTERN, "REGEX",
		"kernels whose names match the extended regular expression, or one of those in a file (@FILE, "
		"one a line), count as communication too"},
	{"threads", CMD_OPTION_THREADS, "N", "files read in parallel (default: one per processor)"},
	{0},
};

bool cmd_imported_option(struct cmd_imported *how, int option, const char *argument)
{
	if (cmd_form_option(&how->form, option))
		return true;
	switch (option) {
	case CMD_OPTION_THREADS:
		how->threads = (unsigned)command_count(how->command, option, argument, 1, UINT_MAX);
		return true;
	case CMD_OPTION_PATTERN:
		how->communication = cmd_pattern(how->command, argument);
		return true;
	default:
		return false;
	}
}

static void warn_of_file(struct cmd_imported_file *file, const char *text)
{
	if (file->warning_count < sizeof(file->warnings) / sizeof(*file->warnings))
		file->warnings[file->warning_count++] = text;
}

static void note(struct cmd_imported_file *file, const struct imported *imported)
{
	if (imported->trouble)
		warn_of_file(file, arena_format(&file->arena, "%s", imported->trouble));
	if (imported->refused)
		warn_of_file(file,
			arena_format(&file->arena,
				"%s: %" PRIu64 " events lack a time, a stream, their start or end and were "
				"skipped",
				imported->path, imported->refused));
	if (imported->backward)
		warn_of_file(
			file, arena_format(&file->arena,
				      "%s: %" PRIu64 " events end before they start: taken as zero duration",
				      imported->path, imported->backward));
}

static void done(void *context, size_t index, struct imported *imported, int status)
{
	struct cmd_imported *how = context;
	struct cmd_imported_file *file = &how->files[index];

	file->failed = status < 0;
	progress_step(&how->progress);
	note(file, imported);
	if (status < 0)
		return;
	if (how->communication)
		imported_kind_apply(imported, how->communication);
	file->row_count = imported->worker_count;
	file->rows = mem_alloc(file->row_count, how->row_bytes);
	for (uint32_t i = 0; i < imported->worker_count; i++)
		how->take(how, imported, i, (char *)file->rows + i * how->row_bytes);
}

static int32_t number_at(const void *row, size_t at)
{
	int32_t number;

	memcpy(&number, (const char *)row + at, sizeof(number));
	return number;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct cmd_imported *how = context;
	int32_t one = number_at(a, how->rank_at), other = number_at(b, how->rank_at);

	return one < other ? -1 : one > other;
}

/* The rows of all files, with ranks. */
static void gather(struct cmd_imported *how)
{
	int32_t *given, *ranks;
	const char **paths;
	size_t room = 0;
	char *row;

	for (size_t i = 0; i < how->file_count; i++)
		room += how->files[i].row_count;
	row = how->rows = mem_alloc(room, how->row_bytes);
	given = mem_alloc(room, sizeof(*given));
	ranks = mem_alloc(room, sizeof(*ranks));
	paths = mem_alloc(room, sizeof(*paths));
	for (size_t i = 0; i < how->file_count; i++) {
		struct cmd_imported_file *file = &how->files[i];

		for (size_t j = 0; j < file->row_count; j++, row += how->row_bytes) {
			memcpy(row, (char *)file->rows + j * how->row_bytes, how->row_bytes);
			given[how->row_count] = number_at(row, how->given_rank_at);
			paths[how->row_count++] = file->path;
		}
		free(file->rows);
		file->rows = NULL;
	}
	if (!imported_number(given, paths, how->row_count, ranks))
		cmd_imported_warn(how, "several files claim the same rank: ranks are numbered in file order");
	for (size_t i = 0; i < how->row_count; i++)
		memcpy((char *)how->rows + i * how->row_bytes + how->rank_at, &ranks[i], sizeof(*ranks));
	if (how->row_count)
		qsort_r(how->rows, how->row_count, how->row_bytes, compare_rows, how);
	free(given);
	free(ranks);
	free(paths);
}

void cmd_imported_read(struct cmd_imported *how, char **paths, size_t path_count, unsigned wanted)
{
	const char **names, *error;
	size_t failed = 0;

	if (path_count == 0)
		cmd_usage(how->command, "no trace given");
	if (!imported_files(&how->arena, paths, path_count, &names, &how->file_count, &error))
		errx(1, "%s", error);
	how->files = mem_alloc(how->file_count, sizeof(*how->files));
	for (size_t i = 0; i < how->file_count; i++)
		how->files[i].path = names[i];
	progress_begin(&how->progress, "reading");
	progress_expect(&how->progress, how->file_count);
	imported_read_all(names, how->file_count, wanted, how->threads, done, how);
	progress_end(&how->progress);
	for (size_t i = 0; i < how->file_count; i++) {
		failed += how->files[i].failed;
		for (size_t j = 0; j < how->files[i].warning_count; j++)
			cmd_imported_warn(how, how->files[i].warnings[j]);
	}
	if (failed == how->file_count) {
		cmd_imported_print_warnings(how);
		exit(1);
	}
	gather(how);
}

void cmd_imported_warn(struct cmd_imported *how, const char *text)
{
	*MEM_PUSH(how->warnings, how->warning_count, how->warning_room) = text;
}

cJSON *cmd_imported_json_warnings(const struct cmd_imported *how)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < how->warning_count; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(how->warnings[i]));
	return list;
}

void cmd_imported_print_warnings(const struct cmd_imported *how)
{
	for (size_t i = 0; i < how->warning_count; i++)
		warnx("%s", how->warnings[i]);
}

void cmd_imported_free(struct cmd_imported *how)
{
	for (size_t i = 0; i < how->file_count; i++)
		arena_free(&how->files[i].arena);
	free(how->files);
	free(how->rows);
	free(how->warnings);
	arena_free(&how->arena);
}
