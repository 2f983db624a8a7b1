/* A filter before the terminal: see terminal.h. */
#include "terminal.h"
#include "text.h"

#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES 65536
#define USUAL_WIDTH 80
#define ESCAPED_BYTES 4

struct filter {
	FILE *stream; /* NULL: not begun */
	int file;
	bool open;    /* for the program's own sequences */
	char held[4]; /* a character whose rest has not come */
	size_t held_count;
	char room[ESCAPED_BYTES * 1024];
	size_t used;
};

/* No longer in ASCII than in UTF-8, which `put` relies on. */
static const struct {
	const char *utf8, *ascii;
} signs[] = {{"×", "x"}, {"≥", ">="}};

static bool signs_spelled;

static struct filter filters[] = {{.file = STDOUT_FILENO}, {.file = STDERR_FILENO}};

/* What could not be written is dropped: the stream has the error. */
static bool write_room(struct filter *filter)
{
	size_t done = 0, count = filter->used;

	filter->used = 0;
	while (done < count) {
		ssize_t wrote = write(filter->file, filter->room + done, count - done);

		if (wrote < 0 && errno != EINTR)
			return false;
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	return true;
}

static const char *ascii_of(const char *bytes, size_t count)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (strlen(signs[i].utf8) == count && memcmp(signs[i].utf8, bytes, count) == 0)
			return signs[i].ascii;
	return NULL;
}

static bool put(struct filter *filter, const char *bytes, size_t count, bool spelled)
{
	static const char digits[] = "0123456789abcdef";

	if (signs_spelled && ascii_of(bytes, count)) {
		bytes = ascii_of(bytes, count);
		count = strlen(bytes);
	}
	if (filter->used + ESCAPED_BYTES * count > sizeof(filter->room) && !write_room(filter))
		return false;
	for (size_t i = 0; i < count; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (spelled) {
			filter->room[filter->used++] = '\\';
			filter->room[filter->used++] = 'x';
			filter->room[filter->used++] = digits[byte >> 4];
			filter->room[filter->used++] = digits[byte & 15];
		} else {
			filter->room[filter->used++] = bytes[i];
		}
	}
	return true;
}

/* A stream's writer (fopencookie): `count`, or 0 with errno. */
static ssize_t pass(void *cookie, const char *bytes, size_t count)
{
	struct filter *filter = cookie;
	size_t taken = 0;

	while (taken < count) {
		const char *next = bytes + taken;
		size_t left = count - taken, length;
		char joined[sizeof(filter->held) + 1];

		if (filter->held_count) {
			/* one byte more for what is held: it is a character then, or needs more, or is none
			 */
			memcpy(joined, filter->held, filter->held_count);
			joined[filter->held_count] = *next;
			next = joined;
			left = filter->held_count + 1;
		}
		length = pm_text_character(next, left);
		if (length == 0 && pm_text_unfinished(next, left)) {
			memcpy(filter->held, next, left);
			taken += left - filter->held_count;
			filter->held_count = left;
			continue;
		}
		if (filter->held_count && length == 0) {
			/* the byte that has come is looked at again, alone */
			if (!put(filter, filter->held, filter->held_count, true))
				return 0;
			filter->held_count = 0;
			continue;
		}
		if (!put(filter, next, length ? length : 1,
			    !filter->open && (length == 0 || pm_text_controls(next, length))))
			return 0;
		taken += (length ? length : 1) - filter->held_count;
		filter->held_count = 0;
	}
	return write_room(filter) ? (ssize_t)count : 0;
}

static struct filter *filter_of(FILE *stream)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		if (filters[i].stream == stream)
			return &filters[i];
	return NULL;
}

/* What is held at the end was no character. */
static void end(void)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		struct filter *filter = &filters[i];

		fflush(filter->stream);
		if (filter->held_count && put(filter, filter->held, filter->held_count, true))
			write_room(filter);
		filter->held_count = 0;
	}
}

void pm_terminal_begin(void)
{
	static const cookie_io_functions_t functions = {.write = pass};
	FILE *out = fopencookie(&filters[0], "w", functions),
	     *errors = fopencookie(&filters[1], "w", functions);

	if (!out || !errors)
		errx(1, "out of memory");
	setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFFER_BYTES);
	setvbuf(errors, NULL, _IONBF, 0);
	filters[0].stream = stdout = out;
	filters[1].stream = stderr = errors;
	atexit(end);
}

bool pm_terminal_utf8(void)
{
	static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *locale = getenv(variables[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

void pm_terminal_spell_signs(void)
{
	signs_spelled = !pm_terminal_utf8();
}

void pm_terminal_control(FILE *stream, const char *sequence)
{
	struct filter *filter = filter_of(stream);

	flockfile(stream);
	if (filter) {
		fflush(stream);
		filter->open = true;
	}
	fputs(sequence, stream);
	if (filter) {
		fflush(stream);
		filter->open = false;
	}
	funlockfile(stream);
}

bool pm_terminal_is(FILE *stream)
{
	const struct filter *filter = filter_of(stream);
	int file = filter ? filter->file : fileno(stream);

	return file >= 0 && isatty(file);
}

int pm_terminal_width(FILE *stream)
{
	const struct filter *filter = filter_of(stream);
	struct winsize size;

	if (ioctl(filter ? filter->file : fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return USUAL_WIDTH;
}

static double line_seconds = 60;

void pm_terminal_line_every(double seconds)
{
	line_seconds = seconds;
}

/* Is a line due in a log? stderr is locked. */
static bool is_line_due(void)
{
	static double last = -1;
	struct timespec time;
	double now;

	clock_gettime(CLOCK_MONOTONIC, &time);
	now = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
	if (last < 0)
		last = now;
	if (now - last < line_seconds)
		return false;
	last = now;
	return true;
}

void pm_terminal_progress(const char *format, ...)
{
	va_list list;

	flockfile(stderr);
	if (!pm_terminal_is(stderr)) {
		if (is_line_due()) {
			va_start(list, format);
			vfprintf(stderr, format, list);
			va_end(list);
			putc('\n', stderr);
			fflush(stderr);
		}
		funlockfile(stderr);
		return;
	}
	pm_terminal_control(stderr, "\r");
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	pm_terminal_control(stderr, "\033[K");
	funlockfile(stderr);
}

void pm_terminal_clear(void)
{
	if (!pm_terminal_is(stderr))
		return;
	pm_terminal_control(stderr, "\r\033[K");
}
