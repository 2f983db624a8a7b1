/* The table of a sweep: see sweep_table.h. */
#include "sweep_table.h"
#include "base/csv.h"
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How long another's lock is waited for: 2 s. */
#define LOCK_TRIES 100
#define LOCK_MOMENT_NS 20000000

const char *const sweep_status_names[] = {"done", "failed", "impossible", NULL};

static __attribute__((format(printf, 3, 4))) int fail(
	struct sweep_table *table, int status, const char *format, ...)
{
	int used = snprintf(table->error, sizeof(table->error), "%s: ", table->path);
	va_list list;

	va_start(list, format);
	vsnprintf(table->error + used, sizeof(table->error) - (size_t)used, format, list);
	va_end(list);
	return status;
}

static void write_header(const struct sweep_table *table, FILE *out)
{
	const struct space_file *space = table->plan->space;

	struct csv_line line = {.out = out};

	csv_put(&line, "plan");
	csv_put(&line, "trial");
	for (size_t c = 0; c < space->column_count; c++)
		csv_put(&line, space->columns[c].name);
	csv_put(&line, space->description.time);
	fputs(",status,attempts,seconds,note\n", out);
}

static void write_row(const struct sweep_table *table, const struct sweep_row *row, FILE *out)
{
	struct csv_line line = {.out = out};
	char *note = row->note ? strdup(row->note) : NULL;

	/* somebody's output: one line, without what a terminal would obey */
	for (char *at = note; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = ' ';
	csv_format(&line, "%016" PRIx64, table->plan->hash);
	csv_put_number(&line, (double)(row->trial + 1));
	for (size_t c = 0; c < table->plan->space->column_count; c++)
		csv_put(&line, row->values[c]);
	csv_put_number(&line, row->status == SWEEP_DONE ? row->time : NAN);
	csv_put(&line, sweep_status_names[row->status]);
	csv_put_number(&line, (double)row->attempts);
	csv_format(&line, "%.3f", row->seconds);
	csv_put(&line, note);
	csv_end(&line);
	free(note);
}

static bool remember(struct sweep_table *table, size_t trial, enum sweep_status status, double time)
{
	if (trial >= table->room) {
		size_t room = 2 * trial + 64;
		bool *has = realloc(table->has, room * sizeof(*has));
		double *times = realloc(table->times, room * sizeof(*times));

		table->has = has ? has : table->has;
		table->times = times ? times : table->times;
		if (!has || !times)
			return false;
		memset(has + table->room, 0, (room - table->room) * sizeof(*has));
		table->room = room;
	}
	table->has[trial] = true;
	if (status == SWEEP_DONE)
		table->times[table->counts[SWEEP_DONE]] = time;
	table->counts[status]++;
	return true;
}

/* A file that does not begin as ours does is somebody else's: nothing of it is touched. */
static int check_begin(struct sweep_table *table, bool *is_new)
{
	char *header = NULL, *begin;
	size_t size = 0;
	FILE *out = open_memstream(&header, &size);
	int status = 0;
	ssize_t got;

	if (!out)
		return fail(table, -ENOMEM, "out of memory");
	write_header(table, out);
	begin = fclose(out) == 0 ? calloc(size + 1, 1) : NULL;
	got = begin ? pread(table->file, begin, size, 0) : -1;
	if (got < 0)
		status = fail(table, -EIO, "cannot read");
	else if (memcmp(begin, header, (size_t)got) != 0)
		status = fail(table, -EINVAL, "is not a table of this sweep: the header is not '%.*s'",
			(int)(size - 1), header);
	*is_new = got >= 0 && lseek(table->file, 0, SEEK_END) <= (off_t)size;
	if (status == 0 && *is_new &&
		(ftruncate(table->file, 0) < 0 || write(table->file, header, size) != (ssize_t)size ||
			fsync(table->file) < 0)) {
		status = fail(table, -errno, "%s", strerror(errno));
		if (ftruncate(table->file, 0) < 0)
			status = -EIO;
	}
	free(begin);
	free(header);
	return status;
}

static int cut_half_line(struct sweep_table *table)
{
	off_t end = lseek(table->file, 0, SEEK_END), at = end;
	char byte = 0;

	while (at > 0 && pread(table->file, &byte, 1, at - 1) == 1 && byte != '\n')
		at--;
	table->cut = (size_t)(end - at);
	if (table->cut && (ftruncate(table->file, at) < 0 || fsync(table->file) < 0))
		return fail(table, -errno, "%s", strerror(errno));
	return 0;
}

/* The row's values have to be those that the plan has for that trial: a space that was edited has a hash of
 * its own, but a table that was edited has not. */
static int check_row(struct sweep_table *table, const struct csv *csv, size_t row)
{
	const struct sweep_plan *plan = table->plan;
	size_t column_count = plan->space->column_count, line = csv->lines[row];
	char **cells = csv->cells + row * csv->column_count, *values[column_count], *end;
	uint64_t hash = strtoull(cells[0], &end, 16);
	size_t trial = strtoull(cells[1], NULL, 10) - 1;
	double time = 0;
	const char *bad;
	int status = 0, word = 0;

	if (hash != plan->hash || *end)
		return fail(table, -EINVAL,
			"line %zu belongs to another plan (%s, not %016" PRIx64
			"): the space, the command, the design or the seed has changed; use another table",
			line, cells[0], plan->hash);
	if (trial > SIZE_MAX / 4 || !sweep_plan_has(plan, trial))
		return fail(table, -EINVAL, "line %zu: no trial %s in the plan", line, cells[1]);
	if (sweep_table_has(table, trial))
		return fail(table, -EINVAL, "line %zu: trial %s appears twice", line, cells[1]);
	memset(values, 0, sizeof(values));
	bad = sweep_plan_trial(plan, trial, values);
	for (size_t c = 0; c < column_count && !bad && status == 0; c++)
		if (strcmp(values[c], cells[2 + c]) != 0)
			status = fail(table, -EINVAL, "line %zu: trial %s has %s %s, not %s", line, cells[1],
				csv->names[2 + c], values[c], cells[2 + c]);
	sweep_plan_free_values(plan, values);
	if (bad)
		return fail(table, -EINVAL, "%s", bad);
	while (sweep_status_names[word] && strcmp(sweep_status_names[word], cells[column_count + 3]) != 0)
		word++;
	if (status == 0 && (word == SWEEP_STATUS_COUNT ||
				   (word == SWEEP_DONE && csv_number(cells[column_count + 2], &time) < 0)))
		status = fail(table, -EINVAL, "line %zu: status or time missing", line);
	if (status == 0 && !remember(table, trial, (enum sweep_status)word, time))
		status = fail(table, -ENOMEM, "out of memory");
	return status;
}

static int read_rows(struct sweep_table *table)
{
	struct csv csv;
	int status = csv_read(&csv, table->path);

	if (status < 0)
		snprintf(table->error, sizeof(table->error), "%s", csv.error);
	for (size_t row = 0; status == 0 && row < csv.row_count; row++)
		status = check_row(table, &csv, row);
	csv_free(&csv);
	return status;
}

/* A sweep that was killed while it started a trial leaves the lock to a process that has not become the
 * trial's program yet, for a moment. */
static int take_lock(int file)
{
	const struct timespec moment = {.tv_nsec = LOCK_MOMENT_NS};

	for (size_t i = 0; i < LOCK_TRIES; i++) {
		if (flock(file, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		nanosleep(&moment, NULL);
	}
	errno = EWOULDBLOCK;
	return -1;
}

static int open_locked(struct sweep_table *table, const char *path, int flags)
{
	struct stat mine, named;

	table->file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
	if (table->file < 0)
		return fail(table, -errno, "%s", strerror(errno));
	if (take_lock(table->file) < 0)
		return fail(table, -errno,
			errno == EWOULDBLOCK ? "another sweep is writing it" : "cannot be locked");
	if (fstat(table->file, &mine) < 0 || stat(path, &named) < 0 || mine.st_ino != named.st_ino)
		return fail(table, -EAGAIN, "has just been replaced by another sweep");
	if (!S_ISREG(mine.st_mode))
		return fail(table, -EINVAL, "is not a regular file");
	return 0;
}

static void sync_folder(const char *path)
{
	char *copy = strdup(path);
	int folder = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (folder >= 0) {
		fsync(folder);
		close(folder);
	}
	free(copy);
}

/* The table without the rows of failed trials, in its place and with its lock: the old one is there until the
 * new one is whole. */
static int drop_failed(struct sweep_table *table)
{
	FILE *in = fopen(table->path, "re"), *out = NULL;
	struct pm_output output;
	char *line = NULL, *mark;
	size_t room = 0;
	int status = in ? pm_output_open(&output, table->path, false) : -errno, fresh = -1;

	if (status == 0) {
		out = pm_output_stream(&output);
		fresh = fcntl(output.file, F_DUPFD_CLOEXEC, 3);
		while (out && getline(&line, &room, in) >= 0) {
			/* the status is after so many commas, and none of the cells before it has any */
			mark = line;
			for (size_t i = 0; mark && i < table->plan->space->column_count + 3; i++)
				mark = strchr(mark + (i > 0), ',');
			if (!mark || strncmp(mark, ",failed,", 8) != 0)
				fputs(line, out);
		}
		status = !out || fresh < 0 || ferror(in) || take_lock(fresh) < 0 ||
					 fcntl(fresh, F_SETFL, O_APPEND) < 0
				 ? EIO
				 : 0;
		status = pm_output_close(&output, status);
	}
	if (status < 0) {
		status = fail(table, status, "cannot be rewritten: %s", strerror(-status));
		if (fresh >= 0)
			close(fresh);
	} else {
		close(table->file);
		table->file = fresh;
		memset(table->counts, 0, sizeof(table->counts));
		memset(table->has, 0, table->room * sizeof(*table->has));
		sync_folder(table->path);
		status = read_rows(table);
	}
	if (in)
		fclose(in);
	free(line);
	return status;
}

int sweep_table_open(struct sweep_table *table, const char *path, const struct sweep_plan *plan, bool again)
{
	bool is_new = false;
	int status;

	*table = (struct sweep_table){.file = -1, .plan = plan, .path = strdup(path)};
	if (!table->path)
		return -ENOMEM;
	status = open_locked(table, path, 0);
	if (status == 0)
		status = check_begin(table, &is_new);
	if (status == 0 && is_new)
		sync_folder(path);
	if (status < 0 || is_new)
		return status;
	status = cut_half_line(table);
	if (status == 0)
		status = read_rows(table);
	if (status == 0 && again && table->counts[SWEEP_FAILED])
		status = drop_failed(table);
	return status;
}

bool sweep_table_has(const struct sweep_table *table, size_t trial)
{
	return trial < table->room && table->has[trial];
}

int sweep_table_add(struct sweep_table *table, const struct sweep_row *row)
{
	off_t end = lseek(table->file, 0, SEEK_END);
	char *line = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&line, &size);
	int status = 0;
	ssize_t wrote;

	if (!out)
		return fail(table, -ENOMEM, "out of memory");
	write_row(table, row, out);
	if (fclose(out) != 0) {
		free(line);
		return fail(table, -ENOMEM, "out of memory");
	}
	wrote = write(table->file, line, size);
	if (wrote != (ssize_t)size || fdatasync(table->file) < 0) {
		status = fail(table, -EIO, "trial %zu cannot be written: %s", row->trial + 1,
			wrote >= 0 && wrote != (ssize_t)size ? "no space left" : strerror(errno));
		if (ftruncate(table->file, end) < 0)
			fail(table, -EIO, "ends in an incomplete line and cannot be truncated");
	} else if (!remember(table, row->trial, row->status, row->time)) {
		status = fail(table, -ENOMEM, "out of memory");
	}
	free(line);
	return status;
}

void sweep_table_close(struct sweep_table *table)
{
	if (table->file >= 0)
		close(table->file);
	free(table->has);
	free(table->times);
	free(table->path);
	*table = (struct sweep_table){.file = -1};
}
