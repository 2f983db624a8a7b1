/* Who took part in a job and what of it was seen: the head of the report, and its end. See report_summary.h.
 */
#include "report_summary.h"
#include "base/text.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>

struct report_summary_head report_summary_head(const struct summaries *job)
{
	struct report_summary_head head = {.least_used = UINT64_MAX,
		.least_found = UINT64_MAX,
		.sampled_least = UINT64_MAX,
		.confidence = 1,
		.program = job->list.items[0].program};

	for (size_t i = 0; i < job->list.count; i++) {
		head.sources[job->list.items[i].device_source]++;
		head.programs |= job->list.items[i].program != head.program;
	}
	for (size_t w = 0; w < job->worker_count; w++) {
		const struct summary_worker *figures = job->workers[w].figures;

#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
		head.least_used = LEAST(head.least_used, figures->used);
		head.most_used = MOST(head.most_used, figures->used);
		head.least_found = LEAST(head.least_found, figures->found);
		head.most_found = MOST(head.most_found, figures->found);
		head.sampled_least = LEAST(head.sampled_least, figures->sampled);
		head.sampled_most = MOST(head.sampled_most, figures->sampled);
		head.confidence = LEAST(head.confidence, figures->confidence);
		head.by_period += figures->by_period;
		for (int i = 0; i < 4; i++) {
			head.kinds[i] += figures->kinds[i];
			head.gaps[i] += figures->gaps[i];
			head.gap_ns[i] += figures->gap_ns[i];
		}
	}
	return head;
}

static const char *range(struct arena *arena, uint64_t least, uint64_t most)
{
	return least == most ? arena_format(arena, "%llu", (unsigned long long)most)
			     : arena_format(arena, "%llu to %llu", (unsigned long long)least,
				       (unsigned long long)most);
}

/* A mean over ranks, "1" or "0.3". */
static const char *each(struct arena *arena, uint64_t sum, size_t ranks)
{
	return arena_format(arena, sum % ranks ? "%.1f" : "%.0f", (double)sum / (double)ranks);
}

static const char *left_out(struct summaries *job, const struct report_summary_head *head)
{
	static const char *const kinds[4] = {NULL, "warm-up iterations", "iterations with different sizes",
		"iterations with different calls"};
	static const char *const gaps[4] = {
		"set-up", "forward work without an update", "incomplete iterations", "other stretches"};
	struct arena *arena = &job->names.arena;
	const char *text = "";

	for (int i = 0; i < 4; i++)
		if (head->gaps[i])
			text = arena_format(arena, "%s%s%s (%s)", text, *text ? ", " : "", gaps[i],
				print_time(arena, head->gap_ns[i] / (double)job->worker_count));
	for (int i = 1; i < 4; i++)
		if (head->kinds[i])
			text = arena_format(arena, "%s%s%s (%s)", text, *text ? ", " : "", kinds[i],
				each(arena, head->kinds[i], job->worker_count));
	return *text ? text : "nothing";
}

static const char *source_text(const struct summaries *job, const struct report_summary_head *head, bool key)
{
	static const char *const texts[3] = {
		"none", "from pairs of events around each call", "of each kernel, copy and set (CUPTI)"};
	static const char *const keys[3] = {"none", "events", "cupti"};

	for (int i = 0; i < 3; i++)
		if (head->sources[i] == job->list.count)
			return key ? keys[i] : texts[i];
	return key ? "mixed" : "from different sources in the processes";
}

void report_summary_print_head(struct summaries *job, const struct report_summary_head *head, FILE *out)
{
	struct arena *arena = &job->names.arena;
	size_t processes = job->list.count;
	/* Nobody but our own hook says what ran where. */
	bool elsewhere = !*head->program && !*job->list.items[0].host;
	const char *host = job->host_count > 1 ? arena_format(arena, "%zu hosts", job->host_count)
					       : print_clean(arena, job->list.items[0].host);

	print_heading(arena_format(arena, "%s: %s, %zu process%s, %zu GPU%s; from summaries",
			      print_clean(arena, job->label),
			      elsewhere ? "recorded by another profiler"
					: arena_format(arena, "%s%s on %s", print_clean(arena, head->program),
						  head->programs ? " and others" : "", host),
			      processes, processes == 1 ? "" : "es", job->worker_count,
			      pm_text_plural(job->worker_count)),
		out);
	if (job->worker_count == 0)
		return;
	print_paragraph(
		arena_format(arena, "Iterations: %s of %s used on each rank, found by %s, confidence %.0f%%.",
			range(arena, head->least_used, head->most_used),
			range(arena, head->least_found, head->most_found),
			elsewhere              ? "each trace's markers or calls"
			: head->by_period == 0 ? "the model's updates"
			: head->by_period == job->worker_count
				? "the period of the calls"
				: "the model's updates or the period of the calls",
			head->confidence * 100),
		2, out);
	print_paragraph(arena_format(arena, "Left out, mean of a rank: %s.", left_out(job, head)), 2, out);
	print_paragraph(arena_format(arena, "Device times: %s.", source_text(job, head, false)), 2, out);
}

const char *report_summary_source(const struct summaries *job, const struct report_summary_head *head)
{
	return source_text(job, head, true);
}

void report_summary_print_sample(struct summaries *job, const struct report_summary_head *head, FILE *out)
{
	struct arena *arena = &job->names.arena;
	int64_t most_ns = 0;
	double unsure_ns = 0;
	size_t alone = 0;

	for (size_t h = 0; h < job->host_count; h++) {
		most_ns = MOST(most_ns, llabs(job->hosts[h].settled_ns));
		if (isfinite(job->hosts[h].unsure_ns))
			unsure_ns = fmax(unsure_ns, job->hosts[h].unsure_ns);
		else
			alone++;
	}
	print_paragraph(
		arena_format(arena, "Sampled: %zu collectives of %s iterations%s.", job->meeting_count,
			range(arena, head->sampled_least, head->sampled_most),
			job->partial_count
				? arena_format(arena, "; %zu not sampled by all of their ranks are left out",
					  job->partial_count)
				: ""),
		2, out);
	if (job->host_count > 1)
		print_paragraph(
			arena_format(arena,
				"Clocks: %zu hosts, shifted by up to %s so that no collective ends before "
				"its last rank starts; residual %s, uncertainty by causality alone up to "
				"%s%s.",
				job->host_count, print_time(arena, (double)most_ns),
				print_time(arena, (double)job->residual_ns), print_time(arena, unsure_ns),
				alone ? arena_format(arena,
						"; %zu hosts share no collective with the others and keep "
						"their wall clocks",
						alone)
				      : ""),
			2, out);
}
