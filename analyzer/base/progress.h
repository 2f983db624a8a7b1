/*
 * How far a reading is, for someone who waits at a terminal: one line on stderr, from the third second on,
 * and erased at the end. Where stderr is no terminal nothing is written and no thread made.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct progress {
	const char *what; /* "reading" */
	size_t done, total;
	bool running, over;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
};

/* `what` must live as long. A struct that was never begun, or NULL, may be given to the others. */
void progress_begin(struct progress *progress, const char *what);

/* So many files are to come, beside those said before; and one of them is done. Any thread. */
void progress_expect(struct progress *progress, size_t files);
void progress_step(struct progress *progress);

/* Erases the line: to be called before anything else is printed. */
void progress_end(struct progress *progress);

#endif
