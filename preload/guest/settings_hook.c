/*
 * The settings of this process. Mistakes in them are kept in the trace of every process that records, and
 * told on standard error once a job where that can be known: not by ranks above 0, not by a child of a
 * process that records.
 */
#include "hook.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct pmh_settings pmh_settings;

/* Guarded, as all here, by the lock of the decision (process.c). */
static char room[PMH_SETTINGS_BYTES];
static char complaints[2048]; /* one behind the other, each with its zero */
static size_t complaints_bytes;
static bool told;

static void keep_complaint(const char *sentence, void *data)
{
	size_t n = strlen(sentence) + 1;

	(void)data;
	if (n > sizeof complaints - complaints_bytes)
		return;
	memcpy(complaints + complaints_bytes, sentence, n);
	complaints_bytes += n;
}

void pmh_settings_begin(void)
{
	complaints_bytes = 0;
	pmh_settings_read(&pmh_settings, room, keep_complaint, NULL);
}

void pmh_settings_tell(void)
{
	static char text[512];
	const bool silent = !complaints_bytes || told || pmh_trace_launched_rank() > 0 || pmh_is_worker();

	for (const char *c = complaints; c < complaints + complaints_bytes; c += strlen(c) + 1) {
		/* of a variable that is no setting there is no default */
		const char *end = strstr(c, " is not a setting") ? "" : "; the default is used";
		int n;

		snprintf(text, sizeof text, "warning: %.400s%s", c, end);
		pmh_note(text);
		n = snprintf(text, sizeof text, "pmhook: %.400s%s\n", c, end);
		if (!silent && n > 0)
			syscall(SYS_write, STDERR_FILENO, text, (size_t)n);
	}
	told = true;
}
