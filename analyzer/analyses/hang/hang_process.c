/* What the system knows of a traced process: whether it still runs. */
#include "hang_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Seconds since the epoch at which the system started, 0: not known. */
static double boot_time(void)
{
	FILE *file = fopen("/proc/stat", "re");
	char line[256];
	double seconds = 0;

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "btime ", 6) == 0)
			seconds = strtod(line + 6, NULL);
	if (file)
		(void)fclose(file);
	return seconds;
}

char *hang_process_stat(const char *pid, char *text, size_t text_bytes)
{
	char path[64];
	size_t size;
	FILE *file;
	char *at;

	snprintf(path, sizeof(path), "/proc/%.40s/stat", pid);
	file = fopen(path, "re");
	size = file ? fread(text, 1, text_bytes - 1, file) : 0;
	if (file)
		(void)fclose(file);
	text[size] = 0;
	at = strrchr(text, ')'); /* its name may have any characters */
	return at && at[1] == ' ' && at[2] ? at + 2 : NULL;
}

/* The state letter of a process, and when it was started; 0: there is none. */
static char state_of(uint32_t pid, double *started)
{
	char name[16], text[1024], *at, *save = NULL;
	char state;

	snprintf(name, sizeof(name), "%u", pid);
	at = hang_process_stat(name, text, sizeof(text));
	if (!at)
		return 0;
	state = *at;
	at = strtok_r(at, " ", &save);
	for (int field = 3; at && field < 22; field++)
		at = strtok_r(NULL, " ", &save);
	*started = at ? boot_time() + strtod(at, NULL) / (double)sysconf(_SC_CLK_TCK) : 0;
	return state;
}

static bool is_of_this_host(const struct trace *trace)
{
	char host[sizeof(trace->header.host)];

	if (gethostname(host, sizeof(host)) < 0)
		return false;
	host[sizeof(host) - 1] = 0;
	return strcmp(host, trace->header.host) == 0;
}

/* The state of a process that was there when the trace began; 0: it is gone. */
static char state_since(const struct trace *trace, uint32_t pid)
{
	double started;
	const char state = state_of(pid, &started);

	/* Another process may have the number by now; the clock of starts has hundredths of a second. */
	if (!state || state == 'Z' || state == 'X' || started > (double)trace->header.real_ns / 1e9 + 2)
		return 0;
	return state;
}

enum hang_process hang_process_of(const struct trace *trace)
{
	char state;

	if (trace->ended)
		return HANG_ENDED;
	if (!is_of_this_host(trace))
		return HANG_UNKNOWN;
	state = state_since(trace, trace->header.pid);
	return !state ? HANG_GONE : state == 'T' ? HANG_STOPPED : state == 't' ? HANG_HELD : HANG_RUNS;
}

bool hang_launcher_runs(const struct trace *trace, uint32_t launcher)
{
	return launcher && is_of_this_host(trace) && state_since(trace, launcher);
}
