/* Processes of trials: started with their output in files, ended with all that they have started. */
#ifndef SWEEP_CHILD_H
#define SWEEP_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Starts a process in a group of its own, with no input, which ends when this one dies. Its standard output
 * goes to the file `output`, what it complains to `errors`, which is appended to if it is the same. Programs
 * are looked for in PATH, and after it beside this program. Its signal mask is `mask`. The pid, or -errno.
 */
pid_t sweep_child_start(char *const *words, const char *output, const char *errors, const sigset_t *mask);

/* Sends the signal to the process and all of its group. */
void sweep_child_kill(pid_t pid, int number);

/* Whether it has ended, and how; then what is left of its group is killed. */
bool sweep_child_ended(pid_t pid, int *status);

/* A folder with all that is in it, or a file; one that is not there is no failure. */
void sweep_child_remove(const char *path);

/* The end of a file, at most `size` - 1 bytes, and in it the last line that is not blank. */
void sweep_child_tail(const char *path, char *text, size_t size);
char *sweep_child_last_line(char *text);

#endif
