/*
 * What a program says, without what would control the terminal of whoever reads it. After pm_terminal_begin
 * all that goes to `stdout` and `stderr`, by whatever function, passes one filter, which spells control
 * characters and what is no UTF-8 as \xNN. The program's own colours and lines of progress are the only way
 * around it.
 */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Once, before anything is printed. */
void pm_terminal_begin(void);

/* Is the locale's encoding UTF-8, by the variables that say so? */
bool pm_terminal_utf8(void);

/* For text, not for data: where the locale is not UTF-8, the signs that pmhook's own sentences have become
 * ASCII from now on ("2.00x"). Other text stays. */
void pm_terminal_spell_signs(void);

/* A control sequence of the program's own. */
void pm_terminal_control(FILE *stream, const char *sequence);

/* Is the stream, filtered or not, a terminal? */
bool pm_terminal_is(FILE *stream);

/* The columns of the stream's terminal; 80 where it is none, or does not say. */
int pm_terminal_width(FILE *stream);

/* The line of progress on stderr becomes this text, or is cleared. Where stderr is no terminal, the text is a
 * line of its own, at most one in so many seconds (60), the first that long after the first call: a log shows
 * that something goes on. */
void pm_terminal_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pm_terminal_clear(void);
void pm_terminal_line_every(double seconds);

#endif
