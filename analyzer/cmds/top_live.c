/*
 * The live view of pmanalyze top. The run is read on a thread of its own, so that keys never wait; the screen
 * shows the last reading.
 */
#include "top_live.h"
#include "base/plot_text.h"
#include "base/screen.h"
#include "live.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define TABLE_HEAD 2   /* lines of a table before its first row */
#define HEIGHT_LEAST 6 /* lines of a terminal: of a lower one the table has no place */
#define ROWS_LEAST 4   /* of the table, where not all fits */

/* ---- readings beside the screen ---- */

struct reader {
	struct snapshot_source *source;
	pthread_t thread;
	int done[2]; /* a pipe: a byte when a reading is over */
	bool busy;
	double begun_s, next_s;
};

static void *read_beside(void *context)
{
	struct reader *reader = context;
	struct snapshot *snapshot = snapshot_read(reader->source);

	while (write(reader->done[1], "", 1) < 0 && errno == EINTR)
		;
	return snapshot;
}

static void reader_begin(struct reader *reader)
{
	reader->begun_s = live_now_s();
	reader->busy = pthread_create(&reader->thread, NULL, read_beside, reader) == 0;
	reader->next_s = reader->begun_s + 1; /* where no thread could be made */
}

static struct snapshot *reader_end(struct reader *reader, double every_s)
{
	void *snapshot;
	char byte;

	while (read(reader->done[0], &byte, 1) < 0 && errno == EINTR)
		;
	pthread_join(reader->thread, &snapshot);
	reader->busy = false;
	reader->next_s = reader->begun_s + live_interval(((struct snapshot *)snapshot)->took_s, every_s);
	return snapshot;
}

/* ---- the screen ---- */

struct view {
	struct snapshot *snapshot; /* NULL before the first */
	enum top_order order;
	size_t *workers; /* of the snapshot, in that order */
	size_t row;      /* selected, among these */
	size_t top;      /* row of the table that is shown first */
	size_t page;     /* rows that are shown */
	bool opened;     /* one worker alone is shown, with its layers */
	size_t opened_worker, layer_top, layer_count;
	bool plain;
	struct top_mark mark;
};

/* Text as lines. */
struct lines {
	char *text;
	size_t size;
	FILE *stream;
	size_t at; /* of the next line */
};

static FILE *lines_begin(struct lines *lines)
{
	*lines = (struct lines){0};
	lines->stream = open_memstream(&lines->text, &lines->size);
	if (!lines->stream)
		abort();
	return lines->stream;
}

static size_t lines_end(struct lines *lines)
{
	size_t count = 0;

	(void)fclose(lines->stream);
	for (size_t i = 0; i < lines->size; i++)
		count += lines->text[i] == '\n';
	return count;
}

/* Draws the next line, or passes over it. */
static void lines_next(struct lines *lines, int line, enum screen_style style)
{
	const char *begin = lines->text + lines->at;
	const char *end = memchr(begin, '\n', lines->size - lines->at);
	const size_t length = end ? (size_t)(end - begin) : lines->size - lines->at;

	lines->at += length + (end != NULL);
	if (line >= 0)
		screen_line(line, begin, length, style);
}

static bool has_figures(const struct view *view)
{
	return view->snapshot && !view->snapshot->error;
}

static void print_head(const struct view *view, const struct top_paper *paper, FILE *out)
{
	if (!view->snapshot)
		fputs("Reading...\n", out);
	else if (view->snapshot->error)
		fprintf(out, "%s\n", view->snapshot->error);
	else if (view->opened)
		top_print_rank(&view->snapshot->recent, &view->snapshot->recent.workers[view->opened_worker],
			paper, out);
	else
		top_print_run(&view->snapshot->recent, paper, out);
}

/* The number of rows. */
static size_t print_rows(const struct view *view, FILE *out)
{
	struct print_table table;
	struct recent *recent;
	size_t count;

	if (!has_figures(view) || view->snapshot->recent.worker_count == 0)
		return 0;
	recent = &view->snapshot->recent;
	print_init(&table, recent->arena);
	if (view->opened)
		top_layers(&recent->workers[view->opened_worker], &table);
	else
		top_ranks(recent, view->workers, &table);
	count = table.row_count;
	if (count > 0)
		print_text(&table,
			view->opened ? "Layers, means of the last iterations"
				     : "Ranks, medians of the last iterations",
			out);
	print_free(&table);
	return count;
}

static void draw_footer(const struct view *view, int line)
{
	char text[256];
	int used;

	if (view->opened)
		used = snprintf(text, sizeof(text), "q quit  Left back  arrows scroll");
	else
		used = snprintf(text, sizeof(text), "q quit  s sort: %s  m mark  Enter rank  arrows select",
			top_orders[view->order]);
	if (has_figures(view))
		snprintf(text + used, sizeof(text) - (size_t)used,
			view->snapshot->recent.ended ? "  ended" : "  read in %.2f s",
			view->snapshot->took_s);
	screen_line(line, text, strlen(text), SCREEN_REVERSE);
}

/* How many lines of the head are shown, and from which row on how many rows. */
static size_t divide(struct view *view, size_t room, size_t head_count, size_t row_count)
{
	size_t *top = view->opened ? &view->layer_top : &view->top;
	const size_t between = row_count ? 1 + TABLE_HEAD : 0; /* an empty line */
	size_t least = row_count < ROWS_LEAST ? row_count : ROWS_LEAST;

	if (least > 1 &&
		between + least >= room) /* a line of the head, before all rows that should be there */
		least = room > between + 1 ? room - between - 1 : 1;
	if (head_count + between + least > room)
		head_count = room > between + least ? room - between - least : 0;
	view->page = room > head_count + between ? room - head_count - between : 1;
	if (!view->opened) {
		if (view->row >= row_count)
			view->row = row_count ? row_count - 1 : 0;
		if (view->row < *top)
			*top = view->row;
		if (view->row >= *top + view->page)
			*top = view->row - view->page + 1;
	}
	if (*top + view->page > row_count)
		*top = row_count > view->page ? row_count - view->page : 0;
	return head_count;
}

static void draw(struct view *view)
{
	struct lines head, table;
	int columns, height, line = 0;
	size_t head_count, row_count, shown, top;

	screen_size(&columns, &height);
	print_head(view, &(struct top_paper){columns, view->plain, &view->mark}, lines_begin(&head));
	head_count = lines_end(&head);
	row_count = print_rows(view, lines_begin(&table));
	(void)lines_end(&table);
	if (height < HEIGHT_LEAST)
		row_count = 0;
	shown = divide(view, height > 1 ? (size_t)height - 1 : 1, head_count, row_count);
	for (size_t i = 0; i < shown; i++)
		lines_next(&head, line++, i == 0 ? SCREEN_BOLD : SCREEN_PLAIN);
	if (row_count > 0) {
		screen_line(line++, "", 0, SCREEN_PLAIN);
		for (int i = 0; i < TABLE_HEAD; i++)
			lines_next(&table, line++, i == 0 ? SCREEN_BOLD : SCREEN_PLAIN);
		top = view->opened ? view->layer_top : view->top;
		for (size_t row = 0; row < row_count && row < top + view->page; row++)
			lines_next(&table, row < top ? -1 : line++,
				!view->opened && row == view->row ? SCREEN_REVERSE : SCREEN_PLAIN);
	}
	if (line < height - 1)
		screen_rest(line);
	draw_footer(view, height - 1);
	view->layer_count = row_count;
	free(head.text);
	free(table.text);
}

static void sort(struct view *view)
{
	if (has_figures(view))
		top_sort(&view->snapshot->recent, view->order, view->workers);
}

static void show(struct view *view, struct snapshot *snapshot)
{
	snapshot_free(view->snapshot);
	view->snapshot = snapshot;
	free(view->workers);
	view->workers = NULL;
	if (!has_figures(view)) {
		view->opened = false;
		return;
	}
	view->workers = mem_alloc(snapshot->recent.worker_count, sizeof(*view->workers));
	if (view->opened_worker >= snapshot->recent.worker_count)
		view->opened = false;
	sort(view);
}

static void move_by(struct view *view, int64_t rows)
{
	size_t *place = view->opened ? &view->layer_top : &view->row;

	*place = rows < 0 && (size_t)-rows > *place ? 0 : *place + (size_t)rows;
}

/* False: quit. */
static bool key(struct view *view, int key)
{
	switch (key) {
	case 'q':
	case SCREEN_GONE:
		return false;
	case 's':
		view->order = view->opened ? view->order : (view->order + 1) % TOP_ORDER_COUNT;
		sort(view);
		break;
	case 'm':
		if (view->mark.is_set || !has_figures(view))
			view->mark.is_set = false;
		else
			view->mark = top_mark(&view->snapshot->recent);
		break;
	case 'k':
	case SCREEN_UP:
		move_by(view, -1);
		break;
	case 'j':
	case SCREEN_DOWN:
		move_by(view, 1);
		break;
	case SCREEN_PAGE_UP:
		move_by(view, -(int64_t)view->page);
		break;
	case SCREEN_PAGE_DOWN:
	case ' ':
		move_by(view, (int64_t)view->page);
		break;
	case SCREEN_HOME:
		move_by(view, INT32_MIN);
		break;
	case SCREEN_END:
		move_by(view, INT32_MAX);
		break;
	case '\n':
	case SCREEN_RIGHT:
		if (has_figures(view) && !view->opened && view->row < view->snapshot->recent.worker_count) {
			view->opened = true;
			view->opened_worker = view->workers[view->row];
			view->layer_top = 0;
		}
		break;
	case SCREEN_LEFT:
	case SCREEN_ESCAPE:
		view->opened = false;
		break;
	default:
		break;
	}
	return true;
}

static int until(const struct reader *reader)
{
	const double left_s = reader->next_s - live_now_s();

	return left_s <= 0 ? 0 : (int)(1000 * left_s) + 1;
}

int top_live(struct snapshot_source *source, enum top_order order, double every_s)
{
	/* a reading that still goes on at the end uses its own */
	static struct reader reader;
	static struct view view;
	int event;

	reader = (struct reader){.source = source};
	view = (struct view){.order = order, .plain = plot_text_for(stdout, false).plain};
	if (pipe2(reader.done, O_CLOEXEC) < 0 || !screen_begin()) {
		warn("the terminal");
		return 1;
	}
	live_be_polite();
	do {
		const bool over = has_figures(&view) && view.snapshot->recent.ended;

		if (!reader.busy && !over && live_now_s() >= reader.next_s)
			reader_begin(&reader);
		draw(&view);
		event = screen_wait(reader.done[0], reader.busy || over ? 60000 : until(&reader));
		if (event == SCREEN_READY)
			show(&view, reader_end(&reader, every_s));
	} while (key(&view, event));
	screen_end();
	if (!reader.busy)
		show(&view, NULL);
	return 0;
}
