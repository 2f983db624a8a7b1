/* pmanalyze window: what each GPU did in the window that a profiler recorded, as HolisticTraceAnalysis counts
 * it. */
#include "cmd_imported.h"
#include "import/imported_kind.h"
#include "import/window.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct job {
	struct window_options options;
	struct window *windows; /* by rank */
	size_t count;
	size_t kernel_rows;
	bool streams;
};

static void cmd_window_take(
	struct cmd_imported *how, const struct imported *imported, uint32_t worker, void *row)
{
	const struct job *job = how->context;

	window_find(imported, worker, &job->options, row);
}

static void warn_of_windows(struct cmd_imported *how, const struct job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		const struct window *window = &job->windows[i];

		if (window->event_count == 0)
			cmd_imported_warn(
				how, arena_format(&how->arena, "%s: no device events, and no labelled phases",
					     window->path));
		else if (window->used_count == 0)
			cmd_imported_warn(
				how, arena_format(&how->arena,
					     "%s: no device event launched in the profiled steps (try "
					     "--last-step include)",
					     window->path));
	}
	for (size_t i = 0; i < how->file_count; i++)
		if (how->files[i].row_count == 0 && !how->files[i].failed)
			cmd_imported_warn(
				how, arena_format(&how->arena, "%s: no device events, and no labelled phases",
					     how->files[i].path));
	for (size_t i = 0; i < job->count; i++)
		if (job->windows[i].labelled) {
			cmd_imported_warn(
				how, arena_format(&how->arena,
					     "%s: no device events: labelled phases are used instead, "
					     "classified by their labels",
					     job->windows[i].path));
			break;
		}
}

static double share(int64_t part_ns, int64_t whole_ns)
{
	return whole_ns > 0 ? (double)part_ns / (double)whole_ns : NAN;
}

static void rank_table(struct print_table *table, const struct job *job)
{
	size_t rank = print_column(table, "rank", "rank", PRINT_COUNT);
	size_t label = print_column(
		table, "label", job->count && job->windows[0].label ? "worker" : NULL, PRINT_WORD);
	size_t file = print_column(table, "file", NULL, PRINT_WORD);
	size_t whole = print_column(table, "window", "window", PRINT_TIME);
	size_t idle = print_column(table, "idle", "idle", PRINT_TIME);
	size_t idle_share = print_column(table, "idle_share", "", PRINT_SHARE);
	size_t compute = print_column(table, "compute", "compute", PRINT_TIME);
	size_t compute_share = print_column(table, "compute_share", "", PRINT_SHARE);
	size_t rest = print_column(table, "non_compute", "non-compute", PRINT_TIME);
	size_t rest_share = print_column(table, "non_compute_share", "", PRINT_SHARE);
	size_t communication = print_column(table, "communication", NULL, PRINT_TIME);
	size_t memory = print_column(table, "memory", NULL, PRINT_TIME);
	size_t both = print_column(table, "overlap", NULL, PRINT_TIME);
	size_t both_share = print_column(table, "overlap_share", "overlap", PRINT_SHARE);
	size_t steps = print_column(table, "steps", NULL, PRINT_COUNT);
	size_t events = print_column(table, "events", NULL, PRINT_COUNT);
	size_t used = print_column(table, "events_used", NULL, PRINT_COUNT);

	for (size_t i = 0; i < job->count; i++) {
		const struct window *window = &job->windows[i];
		int64_t ns = window->end_ns - window->begin_ns;

		print_row(table);
		print_number(table, rank, window->rank);
		if (window->label)
			print_word(table, label, window->label);
		print_word(table, file, window->path);
		print_number(table, steps, (double)window->step_count);
		print_number(table, events, (double)window->event_count);
		print_number(table, used, (double)window->used_count);
		if (window->used_count == 0)
			continue;
		print_number(table, whole, (double)ns);
		print_number(table, idle, (double)window->idle_ns);
		print_number(table, idle_share, share(window->idle_ns, ns));
		print_number(table, compute, (double)window->compute_ns);
		print_number(table, compute_share, share(window->compute_ns, ns));
		print_number(table, rest, (double)window->non_compute_ns);
		print_number(table, rest_share, share(window->non_compute_ns, ns));
		print_number(table, communication, (double)window->communication_ns);
		print_number(table, memory, (double)window->memory_ns);
		print_number(table, both, (double)window->overlap_ns);
		print_number(table, both_share, window_overlap(window));
	}
}

struct type_row {
	const char *name;
	double ns;
};

static int compare_types(const void *a, const void *b)
{
	const struct type_row *one = a, *other = b;

	return one->ns > other->ns ? -1 : one->ns < other->ns;
}

/* Over all ranks: the time in which just these kinds run. What is neither of the three named is left out. */
static void type_table(struct print_table *table, const struct job *job)
{
	struct type_row rows[1 << IMPORTED_OTHER] = {{0}};
	size_t type = print_column(table, "kernel_type", "kernel type", PRINT_WORD);
	size_t time = print_column(table, "time", "time", PRINT_TIME);
	size_t part = print_column(table, "share", "share", PRINT_SHARE);
	double sum_ns = 0;

	for (unsigned set = 1; set < 1 << IMPORTED_OTHER; set++) {
		rows[set].name = window_set_name(table->arena, set);
		for (size_t i = 0; i < job->count; i++)
			rows[set].ns += (double)(job->windows[i].together_ns[set] +
						 job->windows[i].together_ns[set | 1 << IMPORTED_OTHER]);
		sum_ns += rows[set].ns;
	}
	qsort(rows, 1 << IMPORTED_OTHER, sizeof(*rows), compare_types);
	for (size_t i = 0; i < 1 << IMPORTED_OTHER && rows[i].ns > 0; i++) {
		print_row(table);
		print_word(table, type, rows[i].name);
		print_number(table, time, rows[i].ns);
		print_number(table, part, rows[i].ns / sum_ns);
	}
}

static void stream_table(struct print_table *table, const struct job *job)
{
	size_t rank = print_column(table, "rank", "rank", PRINT_COUNT);
	size_t device = print_column(table, "device", NULL, PRINT_COUNT);
	size_t stream = print_column(table, "stream", "stream", PRINT_COUNT);
	size_t first = 0;

	for (unsigned cause = 0; cause < WINDOW_IDLES; cause++) {
		size_t column =
			print_column(table, window_idle_name(cause), window_idle_name(cause), PRINT_TIME);

		first = cause == 0 ? column : first;
		print_column(table, arena_format(table->arena, "%s_gaps", window_idle_name(cause)), "gaps",
			PRINT_COUNT);
	}
	for (size_t i = 0; i < job->count; i++)
		for (size_t j = 0; j < job->windows[i].stream_count; j++) {
			const struct window_stream *row = &job->windows[i].streams[j];

			print_row(table);
			print_number(table, rank, job->windows[i].rank);
			print_number(table, device, row->device);
			print_number(table, stream, (double)row->stream);
			for (unsigned cause = 0; cause < WINDOW_IDLES; cause++) {
				print_number(table, first + 2 * cause, (double)row->idle_ns[cause]);
				print_number(table, first + 2 * cause + 1, (double)row->gaps[cause]);
			}
		}
}

/* The front of a name, which in text must leave room for the figures. */
static const char *short_name(struct arena *arena, const char *name, enum print_form form)
{
	return form == PRINT_TEXT && strlen(name) > 34 ? arena_format(arena, "%.31s...", name) : name;
}

static void kernel_table(struct print_table *table, const struct job *job, enum print_form form)
{
	size_t name = print_column(table, "kernel", "kernel", PRINT_WORD);
	size_t type = print_column(table, "kernel_type", NULL, PRINT_WORD);
	size_t count = print_column(table, "count", "count", PRINT_COUNT);
	size_t sum = print_column(table, "sum", "sum", PRINT_TIME);
	size_t mean = print_column(table, "mean", "mean", PRINT_TIME);
	size_t least = print_column(table, "min", "min", PRINT_TIME);
	size_t greatest = print_column(table, "max", "max", PRINT_TIME);
	size_t kernel_count;
	struct window_kernel *kernels = window_all_kernels(job->windows, job->count, &kernel_count);

	for (size_t i = 0; i < kernel_count && i < job->kernel_rows; i++) {
		print_row(table);
		print_word(table, name, short_name(table->arena, kernels[i].name, form));
		print_word(table, type, imported_kind_name(kernels[i].kind));
		print_number(table, count, (double)kernels[i].count);
		print_number(table, sum, (double)kernels[i].sum_ns);
		print_number(table, mean, (double)kernels[i].sum_ns / (double)kernels[i].count);
		print_number(table, least, (double)kernels[i].least_ns);
		print_number(table, greatest, (double)kernels[i].greatest_ns);
	}
	free(kernels);
}

static void print_all(struct cmd_imported *how, const struct job *job, FILE *out)
{
	static const char *const keys[] = {"ranks", "kernel_types", "streams", "kernels"};
	static const char *const titles[] = {"Windows", "Kernel types, sum over ranks",
		"Idle between events of a stream", "Kernels, sum over ranks"};
	cJSON *object = how->form == PRINT_JSON ? cJSON_CreateObject() : NULL;

	if (object)
		cJSON_AddStringToObject(object, "last_step", job->options.last_step ? "include" : "exclude");
	for (int i = 0; i < 4; i++) {
		struct print_table table;

		if (how->form == PRINT_TEXT &&
			((i == 2 && !job->streams) || (i == 3 && job->kernel_rows == 0)))
			continue;
		print_init(&table, &how->arena);
		if (i == 0)
			rank_table(&table, job);
		else if (i == 1)
			type_table(&table, job);
		else if (i == 2)
			stream_table(&table, job);
		else
			kernel_table(&table, job, how->form);
		if (how->form != PRINT_TEXT || table.row_count > 0)
			print_part(&table, how->form, object, keys[i], titles[i], i > 0, out);
		print_free(&table);
	}
	if (!object)
		return;
	cJSON_AddItemToObject(object, "warnings", cmd_imported_json_warnings(how));
	print_json_end(object, out);
}

enum {
	OPTION_LAST_STEP = OPTION_FIRST,
	OPTION_KERNEL_DELAY,
	OPTION_KERNELS,
	OPTION_STREAMS,
	OPTION_HTA_LAUNCHES
};

static int run_window(int argument_count, char **arguments)
{
	static const char *const last_steps[] = {"include", "exclude", NULL};
	struct job job = {.options = {.delay_ns = WINDOW_DELAY_NS}, .kernel_rows = 10};
	struct cmd_imported how = {.command = &cmd_window,
		.row_bytes = sizeof(struct window),
		.rank_at = offsetof(struct window, rank),
		.given_rank_at = offsetof(struct window, given_rank),
		.take = cmd_window_take,
		.context = &job};
	int option, status = 1;

	while ((option = command_option(&cmd_window, argument_count, arguments)) != -1) {
		if (option == OPTION_LAST_STEP)
			job.options.last_step = command_word(&cmd_window, option, optarg, last_steps) == 0;
		else if (option == OPTION_KERNEL_DELAY)
			job.options.delay_ns = 1000 * (int64_t)command_count(&cmd_window, option, optarg, 0,
							      INT64_MAX / 1000);
		else if (option == OPTION_KERNELS)
			job.kernel_rows = command_count(&cmd_window, option, optarg, 0, SIZE_MAX);
		else if (option == OPTION_STREAMS)
			job.streams = true;
		else if (option == OPTION_HTA_LAUNCHES)
			job.options.hta_launches = true;
		else if (!cmd_imported_option(&how, option, optarg))
			command_unhandled(&cmd_window, option);
	}
	cmd_imported_read(&how, arguments + optind, (size_t)(argument_count - optind), IMPORTED_WANT_STEPS);
	job.windows = how.rows;
	job.count = how.row_count;
	warn_of_windows(&how, &job);
	print_all(&how, &job, stdout);
	for (size_t i = 0; i < job.count; i++)
		status = job.windows[i].used_count > 0 ? 0 : status;
	if (how.form != PRINT_JSON) {
		fflush(stdout);
		cmd_imported_print_warnings(&how);
	}
	for (size_t i = 0; i < job.count; i++)
		window_free(&job.windows[i]);
	cmd_imported_free(&how);
	return status;
}

static const struct option_row rows[] = {
	{"last-step", OPTION_LAST_STEP, "include|exclude",
		"whether work launched by the last ProfilerStep counts (default: exclude, since "
		"its end is often missing)"},
	{"kernel-delay", OPTION_KERNEL_DELAY, "US", "see kernel_wait (default: 30)"},
	{"hta-launches", OPTION_HTA_LAUNCHES, NULL,
		"as HTA, take the first event of the file as the launch of kernels whose call is "
		"not in the trace (default: such a kernel was launched before it started, and did "
		"not wait for the host)"},
	{"kernels", OPTION_KERNELS, "N", "kernels listed, longest total first (default: 10)"},
	{"streams", OPTION_STREAMS, NULL, "the table of idle times, in text too"},
	{"json", CMD_JSON, NULL, "all tables as JSON, with more columns than text; times in ns"},
	{"csv", CMD_CSV, NULL, "the four tables as CSV, an empty line between them"},
	{0},
};

const struct command cmd_window = {
	.name = "window",
	.summary = "traces of other profilers: idle, compute and overlap, as in HTA",
	.usage = "[OPTION]... TRACE...",
	.about = "A TRACE is a file of Kineto (the PyTorch profiler: *.json, *.json.gz), an SQLite "
		 "export of Nsight Systems (nsys export --type sqlite), another Chrome-trace JSON "
		 "whose events label phases, or a folder of such files. Files are ranks: as their "
		 "distributedInfo says, else their names (worker3, rank_3, trace_3.json), else in "
		 "order; each GPU of an Nsight Systems export is one.\n"
		 "\n"
		 "The definitions are those of HolisticTraceAnalysis 0.6.1, the times exact (to "
		 "the ns; HTA rounds to us). Events are kernels, copies and fills on a device. "
		 "With more than one ProfilerStep, events launched before the last one started are "
		 "kept (or ended: --last-step include); otherwise all.\n"
		 "\n"
		 "  window\tfrom the first start to the last end of the events\n"
		 "  idle\tthe part in which no event runs\n"
		 "  compute\ta computation kernel runs\n"
		 "  non-compute\tonly other events run: window = idle + compute + non-compute\n"
		 "  overlap\tshare of the communication that overlaps computation\n"
		 "\n"
		 "A kernel is communication if its name starts with nccl, hccl or hip or has "
		 "ncclKernel in it; memory if it starts with Memcpy, Memset or dma; other if it "
		 "has Sync, Memcpy, Memset or dma in it; else computation. Kernel types are summed "
		 "over ranks by concurrency.\n"
		 "\n"
		 "Idle of a stream is the gap between an event and the one before it:\n"
		 "\n"
		 "  host_wait\tlaunched after the end of the other: the host was late\n"
		 "  kernel_wait\tthe gap is shorter than --kernel-delay: launch latency\n"
		 "  other\tit waited for other device work\n",
	.options = OPTION_TABLES(rows, cmd_imported_rows),
	.after = "A truncated file, as when the profiler was killed, is read up to its end, with a "
		 "warning that gives the position.\n"
		 "\n"
		 "Exit status: 0 success, 1 no readable file or none with events, 2 usage error.\n",
	.run = run_window,
};
