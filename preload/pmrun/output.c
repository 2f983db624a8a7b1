/*
 * What the ranks print, with --prefix: each rank writes into pipes of its own, and one thread hands whole
 * lines on, so that no line has parts of two ranks, and the status line below them is taken away before and
 * drawn again after them.
 */
#include "output.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE 8192 /* bytes; longer lines are handed on in pieces */

struct source {
	int fd;     /* the end that is read; -1: closed */
	int writer; /* the rank's end, until it has started */
	int to;     /* STDOUT_FILENO or STDERR_FILENO */
	int rank;
	size_t used;
	char line[LINE];
};

static struct source *sources;
static struct pollfd *polled; /* of the sources, and after them the pipe that ends the thread */
static int source_count, end_pipe[2];
static pthread_t thread;
static bool threaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char status[256]; /* shown on the terminal's last line; "": nothing */

static void draw(const char *text)
{
	fprintf(stderr, "\r%s\033[K", text);
	fflush(stderr);
}

void pmrun_status(const char *text)
{
	pthread_mutex_lock(&lock);
	if (*text || *status)
		draw(text);
	snprintf(status, sizeof status, "%s", text);
	pthread_mutex_unlock(&lock);
}

static void put(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t written = write(fd, bytes, n);

		if (written < 0 && errno != EINTR)
			return; /* nobody reads any more */
		if (written > 0) {
			bytes += written;
			n -= (size_t)written;
		}
	}
}

/* Hands on the first `n` bytes of what a source has. */
static void put_line(struct source *s, size_t n)
{
	char text[LINE + 32];
	const bool whole = n > 0 && s->line[n - 1] == '\n';
	const int length =
		snprintf(text, sizeof text, "[%d] %.*s%s", s->rank, (int)n, s->line, whole ? "" : "\n");

	pthread_mutex_lock(&lock);
	if (*status)
		draw("");
	put(s->to, text, (size_t)length);
	if (*status)
		draw(status);
	pthread_mutex_unlock(&lock);
	s->used -= n;
	memmove(s->line, s->line + n, s->used);
}

/* A line of zeros and the like is data: snprintf would stop there, so they are shown as blanks. */
static void clean(char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!bytes[i])
			bytes[i] = ' ';
}

static void output_take(struct source *s)
{
	ssize_t n = read(s->fd, s->line + s->used, sizeof s->line - s->used);
	char *end;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		if (s->used > 0)
			put_line(s, s->used);
		close(s->fd);
		s->fd = -1;
		return;
	}
	clean(s->line + s->used, (size_t)n);
	s->used += (size_t)n;
	while (s->used > 0 && (end = memchr(s->line, '\n', s->used)))
		put_line(s, (size_t)(end - s->line) + 1);
	if (s->used == sizeof s->line)
		put_line(s, s->used);
}

/* Until all pipes are closed, or, when the ranks have ended, until nothing is left in them: what a rank has
 * started may keep them for ever. */
static void *pass_on(void *unused)
{
	bool ending = false;

	(void)unused;
	for (;;) {
		int ready, open = 0;

		for (int i = 0; i < source_count; i++) {
			polled[i] = (struct pollfd){.fd = sources[i].fd, .events = POLLIN};
			open += sources[i].fd >= 0;
		}
		polled[source_count] = (struct pollfd){.fd = ending ? -1 : end_pipe[0], .events = POLLIN};
		if (open == 0)
			return NULL;
		ready = poll(polled, (nfds_t)source_count + 1, ending ? 0 : -1);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			break;
		ending = ending || polled[source_count].revents;
		for (int i = 0; i < source_count; i++)
			if (polled[i].revents)
				output_take(&sources[i]);
	}
	for (int i = 0; i < source_count; i++)
		if (sources[i].fd >= 0 && sources[i].used > 0)
			put_line(&sources[i], sources[i].used);
	return NULL;
}

void pmrun_output_prepare(int rank)
{
	for (int to = STDOUT_FILENO; to <= STDERR_FILENO; to++) {
		struct source *more = realloc(sources, sizeof *sources * ((size_t)source_count + 1));
		int ends[2];

		if (!more)
			errx(125, "out of memory");
		sources = more;
		if (pipe2(ends, O_CLOEXEC) != 0)
			err(125, "pipe");
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		sources[source_count].fd = ends[0];
		sources[source_count].writer = ends[1];
		sources[source_count].to = to;
		sources[source_count].rank = rank;
		sources[source_count++].used = 0;
	}
}

void pmrun_output_become(void)
{
	for (int i = source_count - 2; i < source_count; i++)
		dup2(sources[i].writer, sources[i].to);
}

void pmrun_output_started(void)
{
	for (int i = source_count - 2; i < source_count; i++)
		close(sources[i].writer);
}

void pmrun_output_start(void)
{
	int error;

	polled = calloc((size_t)source_count + 1, sizeof *polled);
	if (!polled)
		errx(125, "out of memory");
	if (pipe2(end_pipe, O_CLOEXEC) != 0)
		err(125, "pipe");
	error = pthread_create(&thread, NULL, pass_on, NULL);
	if (error)
		errx(125, "cannot start a thread: %s", strerror(error));
	threaded = true;
}

void pmrun_output_finish(void)
{
	if (!threaded)
		return;
	close(end_pipe[1]);
	pthread_join(thread, NULL);
	close(end_pipe[0]);
	for (int i = 0; i < source_count; i++)
		if (sources[i].fd >= 0)
			close(sources[i].fd);
	free(sources);
	free(polled);
	threaded = false;
}
