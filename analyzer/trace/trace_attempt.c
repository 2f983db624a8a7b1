/* The note of the attempt: see trace_attempt.h. */
#include "trace_attempt.h"
#include "trace.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The number after " key=", -1: none. */
static long number_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	char *end;
	long number;

	if (!at)
		return -1;
	at += strlen(key);
	number = strtol(at, &end, 10);
	return end > at && number >= 0 && number <= INT_MAX ? number : -1;
}

struct trace_attempt trace_attempt(const struct trace *trace)
{
	static const char word[] = "attempt:";
	struct trace_attempt attempt = {.restarts = -1, .job = ""};
	const char *text = NULL, *job;
	long launcher;

	for (size_t i = 0; i < trace->note_count && !text; i++)
		if (strncmp(trace->notes[i], word, strlen(word)) == 0)
			text = trace->notes[i] + strlen(word);
	if (!text || number_of(text, " restart=") < 0)
		return attempt;
	attempt.known = true;
	attempt.restart = (int)number_of(text, " restart=");
	attempt.restarts = (int)number_of(text, " restarts=");
	launcher = number_of(text, " launcher=");
	attempt.launcher = launcher > 0 ? (uint32_t)launcher : 0;
	job = strstr(text, " job="); /* the last word */
	attempt.job = job ? job + strlen(" job=") : "";
	return attempt;
}

/* torchrun calls a job "none" to which nobody gave a name. */
static bool has_name(const struct trace_attempt *attempt)
{
	return *attempt->job && strcmp(attempt->job, "none") != 0;
}

bool trace_attempt_same_job(
	const struct trace_attempt *a, const char *host_a, const struct trace_attempt *b, const char *host_b)
{
	if (!a->known || !b->known)
		return false;
	if (has_name(a) || has_name(b))
		return strcmp(a->job, b->job) == 0;
	return a->launcher && a->launcher == b->launcher && strcmp(host_a, host_b) == 0;
}
