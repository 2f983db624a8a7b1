/*
 * A program that fills the terminal and takes keys one by one. Whatever ends or stops the program (exit, a
 * signal, Ctrl-Z) leaves the terminal as it was before.
 *
 * The few sequences that this needs are those of the VT100 and xterm, which every terminal of today obeys: a
 * library of terminals would be a dependency for a dozen strings. What is shown passes the filter of
 * terminal.h.
 */
#ifndef BASE_SCREEN_H
#define BASE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* What screen_wait answers; characters are themselves. */
enum screen_event {
	SCREEN_TIME_OVER,
	SCREEN_READY,      /* the file can be read */
	SCREEN_CHANGED,    /* another size, or back from a stop: all is to be drawn again */
	SCREEN_GONE,       /* nobody is there any more to give keys */
	SCREEN_KEYS = 256, /* keys that are no characters */
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ESCAPE,
	SCREEN_OTHER, /* of no meaning here */
};

/* Can it: standard input and output are terminals, and no dumb ones? */
bool screen_can(void);

/*
 * Takes the terminal, once; screen_end, also called at exit, gives it back. From here on the signals that end
 * or stop a program are blocked in the caller's thread and those that it makes, and obeyed in screen_wait
 * alone. False, with errno: the terminal refuses.
 */
bool screen_begin(void);
void screen_end(void);

/* Columns and lines. */
void screen_size(int *columns, int *lines);

enum screen_style { SCREEN_PLAIN, SCREEN_BOLD, SCREEN_REVERSE };

/* A line, counted from 0, of `length` bytes without control characters; what is too long is cut off. */
void screen_line(int line, const char *text, size_t length, enum screen_style style);

/* Empty lines from this one on, and all that was drawn appears. */
void screen_rest(int line);

/* Waits for a key, for `file` (-1: none) to be readable, or for so long. */
int screen_wait(int file, int timeout_ms);

#endif
