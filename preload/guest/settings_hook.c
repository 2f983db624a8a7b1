/*
 * The settings of this process, read once it decides. Guarded, as all here, by the lock of the decision.
 */
#include "settings_hook.h"

#include <stdlib.h>
#include <string.h>

struct pmh_settings pmh_settings;

static char room[PMH_SETTINGS_BYTES];
static char complaints[2048]; /* one after the other, each with its zero */
static size_t complaints_bytes;

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

const char *pmh_settings_complaint(const char *before)
{
	const char *next = before ? before + strlen(before) + 1 : complaints;

	return next < complaints + complaints_bytes ? next : NULL;
}

void pmh_trouble(void)
{
	if (pmh_settings.strict && strcmp(pmh_settings.strict, "on") == 0)
		abort();
}
