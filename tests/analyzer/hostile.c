/* Reader, dump, analysis and reports on bytes that may be anything: see hostile.h. */
#include "hostile.h"
#include "analyses/balance.h"
#include "analyses/comm.h"
#include "analyses/replay/critical.h"
#include "trace/dump.h"
#include "output/export/export.h"
#include "output/report.h"
#include "timeline/timeline_read.h"
#include "analyses/replay/whatif.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

static FILE *nowhere(void)
{
	static FILE *file;

	if (!file) {
		file = fopen("/dev/null", "w");
		if (!file)
			err(1, "/dev/null");
	}
	return file;
}

static void export_nowhere(const struct run *run)
{
	struct export_out out;

	if (export_open(&out, "/dev/null") < 0)
		err(1, "/dev/null");
	export_trace(&out, run);
	export_close(&out);
}

/* Critical path and changes. */
static void follow(const struct analysis *analysis, bool all)
{
	struct replay_job job;
	struct critical critical;
	struct whatif_list list;

	replay_build(analysis, all ? SIZE_MAX : 2, &job);
	critical_find(&job, all, &critical);
	critical_free(&critical);
	if (all) {
		whatif_standard(&job, 2, &list);
		whatif_list_free(&list);
	}
	replay_job_free(&job);
}

bool hostile_run(const void *data, size_t size)
{
	static unsigned runs;
	bool all = runs++ % 16 == 0; /* printing takes most of the time, and fails with less variety */
	struct dump_options how = {.operations = true, .records = true, .limit = all ? 200 : 2};
	struct timeline timeline;
	struct balance balance;
	struct comm comm;
	struct trace trace;
	struct run run;

	if (trace_parse(&trace, "hostile", data, size) < 0) {
		if (!strstr(trace.error, "hostile: byte "))
			errx(1, "refused without a sentence: '%s'", trace.error);
		trace_close(&trace);
		return false;
	}
	dump_print(&trace, &how, nowhere());
	timeline_init(&timeline);
	timeline_add(&timeline, &trace);
	trace_close(&trace);
	run_analyze(&run, &timeline, "hostile", 1);
	balance_find(&run.analysis, &balance);
	balance_free(&balance);
	comm_find(&run.analysis.timeline, &run.analysis.collectives, run.analysis.wait_ns, 1, &comm);
	comm_free(&comm);
	follow(&run.analysis, all);
	if (all) {
		report_run(&run, true, nowhere());
		report_run_csv(&run, nowhere());
		report_iterations_csv(&run, 1, nowhere());
		print_json_end(report_run_json(&run), nowhere());
		report_runs(&run, 1, nowhere());
		export_nowhere(&run);
	}
	run_close(&run);
	return true;
}
