/* What the commands on traces of other profilers share: see cmd_foreign.h. */
#include "cmd_foreign.h"
#include "foreign_kind.h"

#include <err.h>
#include <inttypes.h>
#include <stdlib.h>

bool cmd_foreign_option(struct cmd_foreign *how, int option, const char *argument)
{
	char text[256];
	int status;

	switch (option) {
	case 'j':
		how->form = PRINT_JSON;
		return true;
	case 'c':
		how->form = PRINT_CSV;
		return true;
	case 't':
		how->threads = (unsigned)cmd_number(how->command, "--threads", argument, 1);
		return true;
	case 'p':
		if (how->has_pattern)
			regfree(&how->pattern);
		how->has_pattern = false;
		status = regcomp(&how->pattern, argument, REG_EXTENDED | REG_NOSUB);
		if (status) {
			regerror(status, &how->pattern, text, sizeof(text));
			cmd_usage(how->command, "--comm-pattern %s: %s", argument, text);
		}
		how->has_pattern = true;
		return true;
	default:
		return false;
	}
}

static void warn_of_file(struct cmd_foreign_file *file, const char *text)
{
	if (file->warning_count < sizeof(file->warnings) / sizeof(*file->warnings))
		file->warnings[file->warning_count++] = text;
}

static void note(struct cmd_foreign_file *file, const struct foreign *foreign)
{
	if (foreign->trouble)
		warn_of_file(file, arena_format(&file->arena, "%s", foreign->trouble));
	if (foreign->refused)
		warn_of_file(file,
			arena_format(&file->arena,
				"%s: %" PRIu64
				" events lack what they need (a time, a stream, their begin or end) and were "
				"passed over",
				foreign->path, foreign->refused));
	if (foreign->backward)
		warn_of_file(file,
			arena_format(&file->arena,
				"%s: %" PRIu64 " events end before they begin: taken as if they took no time",
				foreign->path, foreign->backward));
}

static void done(void *context, size_t index, struct foreign *foreign, int status)
{
	struct cmd_foreign *how = context;

	how->files[index].failed = status < 0;
	note(&how->files[index], foreign);
	if (status < 0)
		return;
	if (how->has_pattern)
		foreign_kind_apply(foreign, &how->pattern);
	how->take(how, index, foreign);
}

void cmd_foreign_read(struct cmd_foreign *how, char **paths, size_t path_count, unsigned wanted)
{
	const char **names, *error;
	size_t failed = 0;

	if (path_count == 0)
		cmd_usage(how->command, "no trace named");
	if (!foreign_files(&how->arena, paths, path_count, &names, &how->file_count, &error))
		errx(1, "%s", error);
	how->files = mem_alloc(how->file_count, sizeof(*how->files));
	for (size_t i = 0; i < how->file_count; i++)
		how->files[i].path = names[i];
	how->prepare(how);
	foreign_read_all(names, how->file_count, wanted, how->threads, done, how);
	for (size_t i = 0; i < how->file_count; i++) {
		failed += how->files[i].failed;
		for (size_t j = 0; j < how->files[i].warning_count; j++)
			cmd_foreign_warn(how, how->files[i].warnings[j]);
	}
	if (failed == how->file_count) {
		cmd_foreign_print_warnings(how);
		exit(1);
	}
}

void cmd_foreign_warn(struct cmd_foreign *how, const char *text)
{
	*MEM_PUSH(how->warnings, how->warning_count, how->warning_room) = text;
}

cJSON *cmd_foreign_json_warnings(const struct cmd_foreign *how)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < how->warning_count; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(how->warnings[i]));
	return list;
}

void cmd_foreign_print_warnings(const struct cmd_foreign *how)
{
	for (size_t i = 0; i < how->warning_count; i++)
		warnx("%s", how->warnings[i]);
}

void cmd_foreign_free(struct cmd_foreign *how)
{
	for (size_t i = 0; i < how->file_count; i++)
		arena_free(&how->files[i].arena);
	free(how->files);
	free(how->warnings);
	if (how->has_pattern)
		regfree(&how->pattern);
	arena_free(&how->arena);
}
