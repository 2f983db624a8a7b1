/* pmfit study: the published protocol in one command: trials, fits, tables, pictures. */
#include "base/output.h"
#include "base/terminal.h"
#include "data/space_file.h"
#include "options.h"
#include "study/study.h"
#include "study/study_print.h"

#include <limits.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Arguments of another command of this program. */
struct words {
	const char *items[256];
	size_t count;
};

static void cmd_study_add(struct words *words, const char *word)
{
	if (words->count + 1 == sizeof(words->items) / sizeof(*words->items))
		cmd_usage(&cmd_study, "too many arguments");
	words->items[words->count++] = word;
	words->items[words->count] = NULL;
}

static char *in_folder(const char *folder, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		errx(1, "out of memory");
	return path;
}

/* Runs a command of this program in a process of its own, since commands may end theirs. Its standard output
 * goes to standard error, or nowhere: this command's own has the tables. Its exit status. */
static int run_command(const struct command *command, const struct words *words, bool silent)
{
	void (*old)(int);
	int status, nowhere;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (!silent)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		else if ((nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0 ||
			 dup2(nowhere, STDOUT_FILENO) < 0)
			err(1, "/dev/null");
		optind = 0;
		exit(command->run((int)words->count, (char **)(uintptr_t)words->items));
	}
	/* Ctrl-C is for the command, which says what comes of it */
	old = signal(SIGINT, SIG_IGN);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			err(1, "%s", command->name);
	signal(SIGINT, old);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static FILE *create(struct pm_output *output, const char *folder, const char *name)
{
	char *path = in_folder(folder, name);
	FILE *file = pm_output_create(output, path, false);

	free(path);
	return file;
}

static void finish(struct pm_output *output, const char *folder, const char *name)
{
	char *path = in_folder(folder, name);

	pm_output_finish(output, path);
	free(path);
}

static void write_html(const struct study *study, const char *folder, bool pictures)
{
	struct pm_output output;

	study_html(study, pictures ? "report.html" : NULL, create(&output, folder, "study.html"));
	finish(&output, folder, "study.html");
}

static void write_text(const struct study *study, const char *folder)
{
	struct pm_output output;

	study_text(study, create(&output, folder, "study.txt"));
	finish(&output, folder, "study.txt");
}

static void write_json(const struct study *study, const char *folder)
{
	struct pm_output output;

	print_json_end(study_json(study), create(&output, folder, "study.json"));
	finish(&output, folder, "study.json");
}

static void write_csv(const struct study *study, const char *folder)
{
	for (size_t i = 0; i < STUDY_TABLES; i++) {
		struct pm_output output;
		char name[40];

		snprintf(name, sizeof(name), "%s.csv", study->tables[i].name);
		print_csv(&study->tables[i].rows, create(&output, folder, name));
		finish(&output, folder, name);
	}
}

struct request {
	struct options options;
	struct words sweep;
	char *folder, *table;
};

/* The pictures of 'pmfit html' for both models. False where it made none. */
static bool make_pictures(const struct request *request, const char *space, char *models[STUDY_FITS])
{
	char share[64], *report = in_folder(request->folder, "report.html");
	struct words words = {0};
	bool made;

	snprintf(share, sizeof(share), "%.17g,%llu", request->options.description.share,
		(unsigned long long)request->options.description.seed);
	cmd_study_add(&words, "html");
	for (size_t fit = 0; fit < STUDY_FITS; fit++)
		cmd_study_add(&words, models[fit]);
	cmd_study_add(&words, "--data");
	cmd_study_add(&words, request->table);
	cmd_study_add(&words, "-d");
	cmd_study_add(&words, space);
	if (!request->options.description.split) {
		cmd_study_add(&words, "--share");
		cmd_study_add(&words, share);
	}
	cmd_study_add(&words, "-o");
	cmd_study_add(&words, report);
	unlink(report);
	made = run_command(&cmd_html, &words, true) == 0 && access(report, R_OK) == 0;
	free(report);
	return made;
}

static void show(const char *what)
{
	pm_terminal_progress("%s", what);
}

static void analyse(struct request *request, const char *space)
{
	static const char *const names[] = {"model.json", "model-l2.json"};
	struct options *options = &request->options;
	bool terminal = !options->quiet, pictures;
	char *models[STUDY_FITS];
	struct observations observations;
	struct study study;
	int status;

	options_read_table(options, request->table, &observations);
	options->parameter.stop = options_catch_interrupt();
	status =
		study_run(&study, request->table, &observations, &options->parameter, terminal ? show : NULL);
	if (terminal)
		pm_terminal_clear();
	if (status < 0)
		errx(1, "%s", status == -EINTR ? "interrupted" : strerror(-status));
	for (size_t fit = 0; fit < STUDY_FITS; fit++) {
		models[fit] = in_folder(request->folder, names[fit]);
		status = pm_fit_save(study.models[fit], models[fit]);
		if (status < 0)
			errx(1, "%s: %s", models[fit], strerror(-status));
	}
	write_text(&study, request->folder);
	write_json(&study, request->folder);
	write_csv(&study, request->folder);
	if (options->json)
		print_json_end(study_json(&study), stdout);
	else
		study_text(&study, stdout);
	pictures = make_pictures(request, space, models);
	write_html(&study, request->folder, pictures);
	if (!options->json)
		printf("Full results: %s/study.html%s\n", request->folder,
			pictures ? "; plots: report.html" : "");
	for (size_t fit = 0; fit < STUDY_FITS; fit++)
		free(models[fit]);
	study_free(&study);
	observations_free(&observations);
}

static void default_folder(struct request *request, const char *space)
{
	char *copy = strdup(space), *name = copy ? basename(copy) : NULL, *dot;

	if (!name)
		errx(1, "out of memory");
	dot = strrchr(name, '.');
	if (dot && dot > name)
		*dot = '\0';
	if (!request->folder && asprintf(&request->folder, "%s.study", name) < 0)
		errx(1, "out of memory");
	free(copy);
}

/* Makes the trials, if there is no table. */
static void trials(struct request *request, char **arguments)
{
	struct words *words = &request->sweep;

	if (request->table) {
		if (arguments[1])
			cmd_usage(&cmd_study, "--table has its own trials: unexpected argument %s",
				arguments[1]);
		return;
	}
	request->table = in_folder(request->folder, "trials.csv");
	cmd_study_add(words, "-o");
	cmd_study_add(words, request->table);
	if (request->options.quiet)
		cmd_study_add(words, "-q");
	cmd_study_add(words, "--");
	for (char **word = arguments; *word; word++)
		cmd_study_add(words, *word);
	if (run_command(&cmd_sweep, words, false) != 0)
		exit(1); /* the sweep has said why */
}

enum { TABLE = OPTION_FIRST, BOOTSTRAP, SWEEP, SWEEP_OPTIONS = 8 };

static int run_study(int argument_count, char **arguments)
{
	static const char *const sweep_options[] = {"--trials", "--design", "--seed", "--jobs", "--timeout",
		"--retries", "--time-from", "--keep"};
	struct request request = {0};
	struct description *description = &request.options.description;
	char *space;
	const char *bad;
	int option;

	options_init(&request.options);
	cmd_study_add(&request.sweep, "sweep");
	while ((option = command_option(&cmd_study, argument_count, arguments)) != -1)
		if (option == 'o')
			request.folder = strdup(optarg);
		else if (option == TABLE)
			request.table = strdup(optarg);
		else if (option == BOOTSTRAP)
			request.options.parameter.bootstrap =
				command_count(&cmd_study, option, optarg, 0, ULONG_MAX);
		else if (option >= SWEEP && option < SWEEP + SWEEP_OPTIONS) {
			cmd_study_add(&request.sweep, sweep_options[option - SWEEP]);
			cmd_study_add(&request.sweep, optarg);
		} else if (!options_take(&cmd_study, &request.options, option, optarg))
			command_unhandled(&cmd_study, option);
	if (optind >= argument_count)
		cmd_usage(&cmd_study, "expected a space");
	options_end(&cmd_study, &request.options);
	default_folder(&request, arguments[optind]);
	if (mkdir(request.folder, 0777) < 0 && errno != EEXIST)
		err(1, "%s", request.folder);
	trials(&request, arguments + optind);
	space = space_file_find(arguments[optind]);
	if (!space)
		errx(1, "out of memory");
	bad = description_read(description, space);
	if (bad)
		errx(1, "%s", bad);
	if (!description->split && !(description->share < 1))
		description->share = 2.0 / 3;
	analyse(&request, space);
	free(space);
	free(request.folder);
	free(request.table);
	options_free(&request.options);
	return 0;
}

static const struct option_row rows[] = {
	{"output", 'o', "DIR", "output folder, default: NAME-OF-SPACE.study"},
	{"table", TABLE, "FILE", "use a finished table"},
	{"trials", SWEEP, "N", "as in 'pmfit sweep'"},
	{"design", SWEEP + 1, "NAME", "as in 'pmfit sweep'"},
	{"plan-seed", SWEEP + 2, "N", "--seed of 'pmfit sweep'"},
	{"jobs", SWEEP + 3, "N", "as in 'pmfit sweep'"},
	{"timeout", SWEEP + 4, "SECONDS", "as in 'pmfit sweep'"},
	{"retries", SWEEP + 5, "N", "as in 'pmfit sweep'"},
	{"time-from", SWEEP + 6, "WHERE", "as in 'pmfit sweep'"},
	{"keep", SWEEP + 7, "WHAT", "as in 'pmfit sweep'"},
	{"bootstrap", BOOTSTRAP, "N", "bootstrap intervals of parameters from N resamples"},
	{"json", 'j', NULL, "print study.json, not study.txt"},
	{"quiet", 'q', NULL, "no progress and no warnings about the data"},
	{0},
};

const struct command cmd_study = {
	.name = "study",
	.summary = "the published protocol: trials, fits, tables",
	.usage = "[OPTION]... SPACE [-- COMMAND [ARGUMENT]...]\n"
		 "[OPTION]... --table TABLE.csv SPACE",
	.about = "Runs the trials of a space (see 'pmfit sweep --help'), or reads a finished table; fits "
		 "two thirds of them, with ten seeds each, without penalty and with L2 0.001; trains the "
		 "methods of 'pmfit baselines' on the same rows; computes the path over lambda with "
		 "cross-validation. Writes into a folder:\n"
		 "\n"
		 "  trials.csv\tthe trials, unless --table; a rerun resumes\n"
		 "  parameters.csv\tof both fits, mean and deviation over seeds  (Table 4.3)\n"
		 "  errors.csv\tMAPE, MAE, MSE, RMSE, R2 of each method      (Table 4.4)\n"
		 "  scaling.csv\textrinsic exponents and the constant         (Table 4.5)\n"
		 "  path.csv\terrors over lambda                           (figure 4.15)\n"
		 "  values.csv\tparameters over lambda            (figures 4.16 and 4.17)\n"
		 "  study.txt, study.json, study.html\tall tables\n"
		 "  model.json, model-l2.json\tthe models, for 'pmfit predict'\n"
		 "  report.html\tthe plots of 'pmfit html'\n"
		 "\n"
		 "With --table, SPACE may be any description of columns.\n",
	.options = OPTION_TABLES(rows, options_columns, options_fit),
	.after = "The split is --share 0.667 unless SPACE or an option sets another. The published search "
		 "settings are --scale none --method de.\n"
		 "\n"
		 "Penalties are ignored: the protocol has its own.\n"
		 "\n"
		 "Examples:\n"
		 "  pmfit study lenet5\n"
		 "  pmfit study --table runs.csv -d lenet.txt -o lenet.study lenet.txt\n"
		 "\n"
		 "Exit status: 0 success, 1 failure or interrupted, 2 usage error.\n",
	.run = run_study,
};
