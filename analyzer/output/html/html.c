/* The HTML report: the order of its parts, and the head of each run. See html.h. */
#include "html.h"
#include "base/terminal.h"
#include "base/text.h"
#include "output/report.h"
#include "page.h"

#include <err.h>
#include <stdlib.h>

static void open_run(struct html_page *page, struct html_run *run, struct run *from)
{
	*run = (struct html_run){.run = from, .analysis = &from->analysis};
	findings_find(run->analysis, &run->findings);
	run->names = arena_alloc(&page->arena, run->analysis->worker_count, sizeof(*run->names));
	for (size_t w = 0; w < run->analysis->worker_count; w++)
		run->names[w] =
			html_escape(page, analysis_worker_name(run->analysis, &run->analysis->workers[w]));
	run->job.analysis = run->analysis;
	roofline_find(run->analysis, &(struct roofline_options){0}, &run->roofline);
	if (run->analysis->worker_count == 0)
		return;
	if (run->findings.job)
		return;
	if (page->progress)
		pm_terminal_progress("replaying optimization candidates ...");
	whatif_standard(run->analysis, whatif_most(run->analysis), HTML_FACTOR, &run->changes);
	replay_build(run->analysis, whatif_most(run->analysis), &run->job);
	critical_find(&run->job, false, &run->path);
	if (page->progress)
		pm_terminal_clear();
}

static void close_run(struct html_run *run)
{
	roofline_free(&run->roofline);
	critical_free(&run->path);
	replay_job_free(&run->job);
	whatif_list_free(&run->changes);
	findings_free(&run->findings);
}

static const char *device_times(const struct timeline *timeline)
{
	static const char *const texts[] = {"none: host times are used instead",
		"from pairs of events around each call", "of each kernel, copy and set (CUPTI)"};

	for (size_t i = 1; i < timeline->process_count; i++)
		if (timeline->processes[i].device_source != timeline->processes[0].device_source)
			return "from different sources in the processes";
	return texts[timeline->processes[0].device_source];
}

static void write_head(struct html_page *page, const struct html_run *run)
{
	const struct analysis *analysis = run->analysis;
	const struct timeline_process *first = &analysis->timeline.processes[0];
	const char **warnings = run_warnings(run->run);

	const char *label = html_escape(page, run->run->label);

	fprintf(page->out,
		*first->program ? "<h1 id=\"s%zu\">%s <span class=\"tag\">%s</span></h1>\n<p>"
				: "<h1 id=\"s%zu\">%s%s</h1>\n<p>",
		html_entry(page, label, true), html_escape(page, first->program), label);
	/* Not every recorder says where it ran. */
	if (analysis->timeline.host_count > 1)
		fprintf(page->out, "%u hosts, ", analysis->timeline.host_count);
	else if (*first->host)
		fprintf(page->out, "Host %s, ", html_escape(page, first->host));
	else if (first->recorder)
		fprintf(page->out, "Recorded by %s, ", first->recorder);
	fprintf(page->out, "%zu process%s, %zu GPU%s. ", analysis->timeline.process_count,
		analysis->timeline.process_count == 1 ? "" : "es", analysis->worker_count,
		pm_text_plural(analysis->worker_count));
	if (analysis->worker_count)
		fprintf(page->out, "%s %s %s ", report_iterations_text(analysis, &page->arena),
			report_told_text(analysis, &page->arena), report_direction_text(analysis));
	if (run_device(&run->run->analysis.timeline))
		fprintf(page->out, "<strong>Device: %s.</strong> ",
			html_escape(page, run_device(&run->run->analysis.timeline)));
	fprintf(page->out, "Device times: %s.</p>\n",
		report_device_times(&run->run->analysis, device_times(&analysis->timeline)));
	for (size_t i = 0; warnings[i]; i++)
		fprintf(page->out, "<p class=\"warn\">Warning: %s.</p>\n", html_escape(page, warnings[i]));
}

static void write_run(struct html_page *page, struct run *from)
{
	struct html_run run;

	open_run(page, &run, from);
	write_head(page, &run);
	if (run.analysis->worker_count) {
		html_words(page, &run);
		html_missing(page, &run);
		html_slowdown(page, &run);
		html_help(page, &run);
		html_path(page, &run);
		html_phases(page, &run);
		html_timeline(page, &run);
		html_whole_run(page, &run);
		html_iterations(page, &run);
		html_calls(page, &run);
		html_flame(page, &run);
		html_kernels(page, &run);
		html_layers(page, &run);
		html_heat(page, &run);
		html_waits(page, &run);
		html_model(page, &run);
		html_roofline(page, &run);
	}
	close_run(&run);
}

/* The parts come first, into memory: the contents before them are known by then. */
void html_write(struct run *runs, size_t run_count, size_t event_most, bool progress, FILE *out)
{
	struct html_page page = {.progress = progress, .event_most = event_most};
	char *text = NULL;
	size_t length = 0;

	page.out = open_memstream(&text, &length);
	if (!page.out)
		err(1, "out of memory for the page");
	if (run_count > 1)
		html_compare(&page, runs, run_count);
	for (size_t r = 0; r < run_count; r++) {
		page.run = r;
		write_run(&page, &runs[r]);
	}
	if (fclose(page.out) != 0)
		err(1, "out of memory for the page");
	page.out = out;
	html_page_begin(&page, runs[0].label);
	html_page_contents(&page);
	fwrite(text, 1, length, out);
	fputs("<script>//<![CDATA[\n(function () {\n\"use strict\";\n", out);
	fwrite(html_script, 1, html_script_bytes, out);
	fputs("})();\n//]]></script>\n", out);
	html_end(page.out);
	free(text);
	free(page.entries);
	arena_free(&page.arena);
}
