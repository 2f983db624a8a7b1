/* The HTML report: the order of its parts. See html.h. */
#include "html.h"
#include "base/terminal.h"
#include "page.h"

#include <err.h>
#include <stdlib.h>

static void open_run(struct html_page *page, struct html_run *run, struct run *from)
{
	*run = (struct html_run){
		.run = from, .analysis = &from->analysis, .findings = page->findings[page->run]};
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
	replay_build(run->analysis, whatif_most(run->analysis), &run->job);
	whatif_standard(&run->job, HTML_FACTOR, &run->changes);
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

static void write_run(struct html_page *page, struct run *from)
{
	struct html_run run;

	open_run(page, &run, from);
	html_head(page, &run);
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
	page.findings = mem_alloc(run_count, sizeof(*page.findings));
	for (size_t r = 0; r < run_count; r++)
		findings_find(&runs[r].analysis, &page.findings[r]);
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
	free(page.findings);
	arena_free(&page.arena);
}
