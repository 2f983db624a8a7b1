/*
 * The attempt, from the launcher's variables: see attempt.h.
 *
 * A launcher hands its variables down, so the nearest process above that does not have them itself is the
 * launcher, whatever wrapper stands between.
 */
#include "attempt.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/proc.h"
#include "intern.h"

#define GENERATIONS 6           /* wrappers between the launcher and the program */
#define ENVIRONMENT (64u << 10) /* of a process above, as far as it is looked through */

/* Variables of one launcher, NULL: it has none such. The first that is there counts. */
static const struct launcher {
	const char *restart, *restarts, *job;
} launchers[] = {
	{"TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID"},
	{"SLURM_RESTART_COUNT", NULL, "SLURM_JOB_ID"},
};

static bool has_variable(const char *environment, size_t byte_count, const char *name)
{
	const size_t name_bytes = strlen(name);

	for (const char *at = environment; at < environment + byte_count; at += strlen(at) + 1)
		if (strncmp(at, name, name_bytes) == 0 && at[name_bytes] == '=')
			return true;
	return false;
}

/* The process that has set the variable, 0: not known. */
static int find_launcher(const char *variable)
{
	static char environment[ENVIRONMENT]; /* under the lock of the decision */
	int pid = getppid();
	char path[64];
	size_t byte_count;

	for (int i = 0; i < GENERATIONS && pid > 1; i++) {
		snprintf(path, sizeof path, "/proc/%d/environ", pid);
		byte_count = pmh_proc_read(path, environment, sizeof environment);
		if (!byte_count)
			return 0;
		if (!has_variable(environment, byte_count, variable))
			return pid;
		pid = pmh_proc_parent(pid);
	}
	return 0;
}

/* A blank and "key=value"; nothing where the variable is not there, or would not be one word. */
static void add_variable(char *note, size_t note_bytes, const char *key, const char *variable)
{
	const char *value = variable ? getenv(variable) : NULL;
	const size_t used = strlen(note);

	if (!value || !*value)
		return;
	for (const char *c = value; *c; c++)
		if (!isgraph((unsigned char)*c))
			return;
	snprintf(note + used, note_bytes - used, " %s=%.128s", key, value);
}

void pmh_attempt_note(void)
{
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		const struct launcher *l = &launchers[i];
		char note[512] = "attempt:";
		int pid;

		if (!getenv(l->restart))
			continue;
		add_variable(note, sizeof note, "restart", l->restart);
		add_variable(note, sizeof note, "restarts", l->restarts);
		pid = l->restarts ? find_launcher(l->restart) : 0;
		if (pid)
			snprintf(note + strlen(note), sizeof note - strlen(note), " launcher=%d", pid);
		add_variable(note, sizeof note, "job", l->job);
		pmh_note(note);
		return;
	}
}
