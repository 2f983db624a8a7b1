/* What the analyzing commands share: see cmd_common.h. */
#include "cmd_common.h"

#include <err.h>
#include <stdlib.h>
#include <sys/stat.h>

bool cmd_common_option(
	const struct command *command, struct cmd_options *options, int option, const char *argument)
{
	switch (option) {
	case 'j':
		options->form = PRINT_JSON;
		return true;
	case 'c':
		options->form = PRINT_CSV;
		return true;
	case 's':
		options->skip = (size_t)cmd_number(command, "--skip", argument, 0);
		return true;
	default:
		return false;
	}
}

static void read_run(struct run *run, const struct cmd_options *options, char **paths, size_t count)
{
	char *error;

	if (run_open(run, paths, count, options->skip, &error) < 0)
		errx(1, "%s", error);
}

struct run *cmd_read_runs(
	const struct cmd_options *options, char **paths, size_t path_count, size_t *run_count)
{
	struct run *runs = mem_alloc(path_count, sizeof(*runs));
	size_t first_file = 0;

	*run_count = 0;
	for (size_t i = 0; i <= path_count; i++) {
		struct stat status;
		bool folder = i < path_count && stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode);

		/* Files side by side are one run, if they are of one sort. */
		if (i > first_file &&
			(folder || i == path_count ||
				run_is_foreign(paths[i]) != run_is_foreign(paths[first_file]))) {
			read_run(&runs[(*run_count)++], options, paths + first_file, i - first_file);
			first_file = i;
		}
		if (folder)
			read_run(&runs[(*run_count)++], options, paths + i, 1);
		if (folder)
			first_file = i + 1;
	}
	return runs;
}

void cmd_free_runs(struct run *runs, size_t run_count)
{
	for (size_t i = 0; i < run_count; i++)
		run_close(&runs[i]);
	free(runs);
}

void cmd_print_warnings(struct run *run)
{
	const char **warnings = run_warnings(run);

	for (size_t i = 0; warnings[i]; i++)
		warnx("%s", warnings[i]);
}
