/* What of a trial's command its processes need besides its words. */
#ifndef SWEEP_COMMAND_H
#define SWEEP_COMMAND_H

#include "sweep_run.h"

/* What {out} stands for; and a text with all placeholders filled in. The caller frees it; NULL without
 * memory. */
char *sweep_command_folder(const struct sweep_run *run, size_t trial);
char *sweep_command_fill(const struct sweep_run *run, size_t trial, char *const *values, const char *word);

/* A line's words, as a shell divides it that knows quotes and nothing else; sweep_run_free_arguments frees
 * them. NULL without memory. */
char **sweep_command_split(const char *text);

#endif
