/* The HTML report's head of a run: what ran where and when, on which GPUs, and how it was recorded. */
#include "base/text.h"
#include "output/report.h"
#include "page.h"

#include <string.h>
#include <time.h>

static const char *device_times(const struct timeline *timeline)
{
	static const char *const texts[] = {"none: host times are used instead",
		"from pairs of events around each call", "of each kernel, copy and set (CUPTI)"};

	for (size_t i = 1; i < timeline->process_count; i++)
		if (timeline->processes[i].device_source != timeline->processes[0].device_source)
			return "from different sources in the processes";
	return texts[timeline->processes[0].device_source];
}

static void write_fact(struct html_page *page, const char *name, const char *value)
{
	if (value && *value)
		fprintf(page->out, "<tr><th class=\"l\">%s</th><td class=\"l long\">%s</td></tr>\n", name,
			value);
}

/* "4 × NVIDIA H200"; NULL where the data have no name of the first worker's, or the workers' differ. */
static const char *gpu_name(struct html_page *page, const struct analysis *analysis)
{
	const char *name = NULL;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct worker *worker = analysis->workers[w].worker;
		const struct timeline_device *device =
			timeline_device(&analysis->timeline.processes[worker->process], worker->device);

		if (!device || !*device->name)
			return NULL;
		if (name && strcmp(name, device->name) != 0)
			return "of several kinds";
		name = device->name;
	}
	return name ? html_escape(page, name) : NULL;
}

/* Whether times are a GPU's own is the first thing to know of them. */
static const char *gpus(struct html_page *page, const struct html_run *run)
{
	const char *name = gpu_name(page, run->analysis),
		   *modelled = run_device(&run->run->analysis.timeline);
	const size_t count = run->analysis->worker_count;

	if (modelled)
		return arena_format(&page->arena,
			"%zu × <strong>%s</strong>: no such device, its times are calculated", count,
			html_escape(page, modelled));
	return arena_format(&page->arena, "%zu%s%s", count, name ? " × " : "", name ? name : "");
}

static const char *place(struct html_page *page, const struct analysis *analysis)
{
	const struct timeline_process *first = &analysis->timeline.processes[0];
	const char *host = analysis->timeline.host_count > 1
				   ? arena_format(&page->arena, "%u hosts", analysis->timeline.host_count)
				   : html_escape(page, first->host);

	return arena_format(&page->arena, "%s%s%zu process%s", host, *host ? ", " : "",
		analysis->timeline.process_count, analysis->timeline.process_count == 1 ? "" : "es");
}

/* When the recording began, by the first process's wall clock; "": its recorder does not say. */
static const char *date(struct html_page *page, const struct timeline *timeline)
{
	const struct timeline_process *first = &timeline->processes[0];
	char text[40] = "";
	struct tm parts;
	time_t seconds;

	if (first->recorder || !first->real_offset_ns || !first->call_count)
		return "";
	seconds = (time_t)((timeline_call(timeline, first->first_call).begin_ns - first->moved_ns +
				   first->real_offset_ns) /
			   1000000000);
	if (gmtime_r(&seconds, &parts))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
	return html_escape(page, text);
}

static const char *recorder(struct html_page *page, const struct html_run *run)
{
	const struct timeline *timeline = &run->analysis->timeline;
	const struct timeline_process *first = &timeline->processes[0];

	return arena_format(&page->arena, "%s; device times %s",
		html_escape(page, first->recorder ? first->recorder
				  : first->versions && *first->versions
					  ? arena_format(&page->arena, "pmhook, with %s", first->versions)
					  : "pmhook"),
		report_device_times(&run->run->analysis, device_times(timeline)));
}

/* The sentences of the report, which begin with the word that is on the left here. */
static const char *iterations(struct html_page *page, const struct analysis *analysis)
{
	const char *text = report_iterations_text(analysis, &page->arena), *colon = strstr(text, ": ");

	return html_escape(
		page, arena_format(&page->arena, "%s %s %s", colon ? colon + 2 : text,
			      report_told_text(analysis, &page->arena), report_direction_text(analysis)));
}

void html_head(struct html_page *page, const struct html_run *run)
{
	const struct analysis *analysis = run->analysis;
	const struct timeline_process *first = &analysis->timeline.processes[0];
	const char **warnings = run_warnings(run->run);
	const char *label = html_escape(page, run->run->label);

	fprintf(page->out,
		*first->program ? "<h1 id=\"s%zu\">%s <span class=\"tag\">%s</span></h1>\n"
				: "<h1 id=\"s%zu\">%s%s</h1>\n",
		html_entry(page, label, true), html_escape(page, first->program), label);
	fputs("<table class=\"facts\">\n", page->out);
	write_fact(page, "GPU", gpus(page, run));
	write_fact(page, "Command", first->command ? html_escape(page, first->command) : NULL);
	write_fact(page, "Host", place(page, analysis));
	write_fact(page, "Date", date(page, &analysis->timeline));
	write_fact(page, "Recorded by", recorder(page, run));
	if (analysis->worker_count)
		write_fact(page, "Iterations", iterations(page, analysis));
	write_fact(page, "Page by", "pmanalyze " PM_PROJECT_VERSION);
	fputs("</table>\n", page->out);
	for (size_t i = 0; warnings[i]; i++)
		fprintf(page->out, "<p class=\"warn\">Warning: %s.</p>\n", html_escape(page, warnings[i]));
}
