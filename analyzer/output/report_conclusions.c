/* What follows from one run's phases: the equation, graphs, communication, the pipeline and the balance. */
#include "report.h"
#include "analyses/load_imbalance.h"
#include "analyses/pipeline.h"

double report_equation(const struct analysis *analysis)
{
	const struct analysis_worker *workers = analysis->workers;
	size_t count = analysis->worker_count;
	double longest = 0;

	for (size_t i = 0; i < count; i++) {
		double sum = analysis_phase(&workers[i], 1, PHASE_FORWARD, ANALYSIS_BUSY).mean +
			     analysis_phase(&workers[i], 1, PHASE_BACKWARD, ANALYSIS_BUSY).mean +
			     analysis_phase(&workers[i], 1, PHASE_COMMUNICATION, ANALYSIS_BUSY).mean +
			     analysis_phase(&workers[i], 1, PHASE_GRAPH, ANALYSIS_BUSY).mean;

		if (sum > longest)
			longest = sum;
	}
	return analysis_phase(workers, count, PHASE_IO, ANALYSIS_BUSY).mean +
	       analysis_phase(workers, count, PHASE_H2D, ANALYSIS_BUSY).mean +
	       analysis_phase(workers, count, PHASE_MD, ANALYSIS_BUSY).mean + longest +
	       analysis_phase(workers, count, PHASE_UPDATE, ANALYSIS_BUSY).mean;
}

struct report_communication report_communication(const struct analysis *analysis)
{
	return (struct report_communication){
		analysis_phase(analysis->workers, analysis->worker_count, PHASE_COMMUNICATION, ANALYSIS_BUSY)
			.mean,
		analysis_phase(
			analysis->workers, analysis->worker_count, PHASE_COMMUNICATION, ANALYSIS_EXCLUSIVE)
			.mean,
		analysis_wait(analysis->workers, analysis->worker_count).mean,
	};
}

bool report_ranks_absent(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->timeline.process_count; i++)
		if (analysis->timeline.processes[i].world > (int32_t)analysis->worker_count)
			return true;
	return false;
}

const char *report_equation_rest(struct arena *arena, double equation_ns, double iteration_ns, bool unknown)
{
	const char *rest = unknown ? "other, unknown or idle time" : "other work or idle time";

	if (!(equation_ns > 0))
		return arena_format(arena, "all of it %s", rest);
	return arena_format(arena,
		equation_ns > iteration_ns
			? "the equation explains %.1f%%: overlapping phases count twice, and %s does not count"
			: "the equation explains %.1f%%; the rest is %s, minus overlap",
		100 * equation_ns / iteration_ns, rest);
}

const char *report_exposed_text(struct arena *arena, double exposed_ns, double busy_ns)
{
	if (exposed_ns >= 0.9995 * busy_ns)
		return "all";
	return arena_format(
		arena, "%s (%.1f%%) of it", print_time(arena, exposed_ns), 100 * exposed_ns / busy_ns);
}

static void print_pipeline(struct analysis *analysis, FILE *out)
{
	struct pipeline pipeline;

	pipeline_find(analysis, &pipeline);
	if (pipeline.stages > 1)
		print_paragraph(pipeline_text(&pipeline, &analysis->timeline.arena), 2, out);
}

static void print_equation(struct analysis *analysis, double graph_ns, FILE *out)
{
	struct arena *arena = &analysis->timeline.arena;
	double iteration_ns = analysis_iteration(analysis->workers, analysis->worker_count).mean;
	double equation_ns = report_equation(analysis);

	if (analysis->is_whole) /* it is of a step */
		return;
	print_paragraph(
		arena_format(arena,
			"Equation (%s): t_io + t_h2d + t_md + %s + t_u = %s; measured t_iter = %s "
			"(%s).",
			analysis->worker_count > 1 ? "3.3" : "3.2",
			arena_format(arena,
				analysis->worker_count > 1 ? "max(t_f + t_b + t_c%s)" : "t_f + t_b + t_c%s",
				graph_ns > 0 ? " + t_graph" : ""),
			print_time(arena, equation_ns), print_time(arena, iteration_ns),
			report_equation_rest(
				arena, equation_ns, iteration_ns, report_phases_unlabelled(analysis))),
		2, out);
}

void report_conclusions(struct run *run, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	double graph_ns =
		analysis_phase(analysis->workers, analysis->worker_count, PHASE_GRAPH, ANALYSIS_BUSY).mean;
	struct report_communication communication = report_communication(analysis);

	if (!analysis->is_whole || analysis->worker_count > 1 || graph_ns > 0 || communication.busy_ns > 0)
		fputc('\n', out);
	print_equation(analysis, graph_ns, out);
	if (graph_ns > 0)
		print_paragraph(arena_format(arena,
					"Graphs: %s of %s is in captured graphs timed as a whole; CUPTI "
					"device times resolve their operations.",
					print_time(arena, graph_ns),
					analysis->is_whole ? "the recording" : "an iteration"),
			2, out);
	if (communication.busy_ns > 0)
		print_paragraph(
			arena_format(arena, "Communication: %s busy, %s exposed; %s",
				print_time(arena, communication.busy_ns),
				report_exposed_text(arena, communication.exposed_ns, communication.busy_ns),
				report_ranks_absent(analysis)
					? "how much of it is waiting for ranks without a trace is unknown."
					: arena_format(arena, "%s waits for the last rank.",
						  print_time(arena, communication.wait_ns))),
			2, out);
	print_pipeline(analysis, out);
	if (analysis->worker_count > 1) {
		size_t slowest = analysis_slowest(analysis);
		double mean = analysis_compute(analysis->workers, analysis->worker_count).mean;
		double its = analysis_compute(&analysis->workers[slowest], 1).mean;

		if (!(mean > 0))
			return;
		print_paragraph(arena_format(arena,
					"Balance: LIF %.3f (3.8); %s computes longest, %s (mean %+.1f%%).",
					load_imbalance_computing(analysis),
					analysis_worker_name(analysis, &analysis->workers[slowest]),
					print_time(arena, its), (its / mean - 1) * 100),
			2, out);
	}
}
