/* What is not as it should be with a run: see run.h. */
#include "base/table.h"
#include "base/text.h"
#include "run_job.h"
#include "trace/losses.h"
#include "timeline/constants.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct texts {
	const char **items;
	size_t count, room;
};

static void run_warning_add(struct texts *texts, const char *text)
{
	*MEM_PUSH(texts->items, texts->count, texts->room) = text;
}

/* What many ranks say alike, as of a setting that is wrong for all, is reported once. */
static bool is_reported_before(const struct timeline *timeline, size_t process, const char *warning)
{
	for (size_t i = process > 0 ? process - 1 : 0; i < process; i++)
		for (size_t k = 0; k < timeline->processes[i].warning_count; k++)
			if (strcmp(timeline->processes[i].warnings[k], warning) == 0)
				return true;
	return false;
}

/* What may be wrong with each of many traces alike. */
enum trouble {
	TROUBLE_READING,
	TROUBLE_END,
	TROUBLE_RECORDS,
	TROUBLE_TIMES,
	TROUBLE_DETAILS,
	TROUBLE_UNKNOWN,
	TROUBLE_REFUSED,
	TROUBLE_UNJOINED,
	TROUBLE_GRAPHS,
	TROUBLE_FUNCTIONS,
	TROUBLE_NO_TIMES,
	TROUBLE_COUNT,
};

#define MOST_NAMED 3 /* traces with one trouble that have a sentence each */

struct troubles {
	struct texts *texts;
	struct arena *arena;
	struct {
		size_t count, last; /* last: of the texts */
	} kinds[TROUBLE_COUNT];
};

static void add_trouble(struct troubles *troubles, enum trouble kind, const char *text)
{
	if (troubles->kinds[kind].count++ >= MOST_NAMED)
		return;
	troubles->kinds[kind].last = troubles->texts->count;
	run_warning_add(troubles->texts, text);
}

/* Says how many traces there are that are not named. */
static void end_troubles(struct troubles *troubles)
{
	for (int kind = 0; kind < TROUBLE_COUNT; kind++) {
		const size_t count = troubles->kinds[kind].count;
		const char **last = &troubles->texts->items[troubles->kinds[kind].last];

		if (count > MOST_NAMED)
			*last = arena_format(troubles->arena, "%s (and likewise %zu more trace%s)", *last,
				count - MOST_NAMED, pm_text_plural(count - MOST_NAMED));
	}
}

static void warn_of_process(struct troubles *troubles, const struct timeline_process *process)
{
	struct arena *arena = troubles->arena;

	if (process->trouble)
		add_trouble(troubles, TROUBLE_READING, process->trouble);
	if (!process->ended)
		add_trouble(troubles, TROUBLE_END,
			arena_format(arena,
				"%s: the end is missing: the process was killed, ended by "
				"_exit or exec, or is still running",
				process->path));
	if (process->lost_records)
		add_trouble(troubles, TROUBLE_RECORDS,
			arena_format(arena,
				"%s: %" PRIu64 " records were lost: times below may be too short%s",
				process->path, process->lost_records,
				losses_causes(process->losses, PM_LOSS_OF_RECORDS, arena)));
	if (process->lost_device_times && process->recorder)
		add_trouble(troubles, TROUBLE_TIMES,
			arena_format(arena,
				"%s: %" PRIu64
				" launches have no kernel with a time in the file: what the GPU did in the "
				"iterations with them is unknown (record shorter, or with larger buffers)",
				process->path, process->lost_device_times));
	else if (process->lost_device_times)
		add_trouble(troubles, TROUBLE_TIMES,
			arena_format(arena,
				"%s: %" PRIu64 " device times were lost: host times are used instead%s",
				process->path, process->lost_device_times,
				losses_causes(process->losses, PM_LOSS_OF_TIMES, arena)));
	if (process->lost_operations)
		add_trouble(troubles, TROUBLE_DETAILS,
			arena_format(arena,
				"%s: %" PRIu64
				" calls were recorded without their details: layers may be wrong%s",
				process->path, process->lost_operations,
				losses_causes(process->losses, PM_LOSS_OF_DETAILS, arena)));
	if (losses_unknown(process->losses))
		add_trouble(troubles, TROUBLE_UNKNOWN,
			arena_format(arena, "%s: %" PRIu64 " losses are of a kind unknown to this pmanalyze",
				process->path, losses_unknown(process->losses)));
	if (process->refused_records)
		add_trouble(troubles, TROUBLE_REFUSED,
			arena_format(arena, "%s: %" PRIu64 " records have no description and were skipped",
				process->path, process->refused_records));
	if (process->unjoined_intervals)
		add_trouble(troubles, TROUBLE_UNJOINED,
			arena_format(arena,
				"%s: %" PRIu64 " device intervals belong to no call and were skipped",
				process->path, process->unjoined_intervals));
	if (process->graphs_left)
		add_trouble(troubles, TROUBLE_GRAPHS,
			arena_format(arena,
				"%s: the captured graphs have too many operations to resolve their launches",
				process->path));
	if (process->unseen_calls)
		add_trouble(troubles, TROUBLE_FUNCTIONS,
			arena_format(arena,
				"%s: %" PRIu64
				" functions could not be intercepted: their calls are missing%s",
				process->path, process->unseen_calls,
				losses_causes(process->losses, PM_LOSS_OF_FUNCTIONS, arena)));
	if (process->device_source == PM_DEVICE_NONE)
		add_trouble(troubles, TROUBLE_NO_TIMES,
			arena_format(arena, "%s: no device times: the host time of each call is used instead",
				process->path));
}

/* "4.1 GB": memory for calls with their device intervals. */
static const char *memory_text(struct arena *arena, uint64_t calls)
{
	const double bytes =
		(double)calls * (2 * sizeof(struct timeline_call) + sizeof(struct timeline_interval));

	return bytes < 1e9 ? arena_format(arena, "%.0f MB", bytes / 1e6)
			   : arena_format(arena, "%.1f GB", bytes / 1e9);
}

/* Which part of the run is seen where traces have a constant size, or are long. */
static void warn_of_gaps(struct texts *texts, struct run *run)
{
	const struct timeline *timeline = &run->analysis.timeline;
	uint64_t there = 0, dropped = 0;
	int64_t longest_ns = 0;
	bool moving = false, unread = false;

	for (size_t i = 0; i < timeline->process_count; i++) {
		const struct timeline_process *process = &timeline->processes[i];
		const int64_t gap_ns = process->gap.end_ns - process->gap.begin_ns;

		there += process->call_count;
		dropped += process->gap.call_count;
		moving |= process->gap.moving;
		unread |= process->gap.unread;
		if (gap_ns > longest_ns)
			longest_ns = gap_ns;
	}
	if (unread)
		run_warning_add(texts,
			arena_format(&run->analysis.timeline.arena,
				"%s: a long run: %" PRIu64 " of %" PRIu64
				" calls are read, in stretches spread over it; --records all reads the others "
				"too, in about %s of memory",
				run->label, there, there + dropped,
				memory_text(&run->analysis.timeline.arena, there + dropped)));
	else if (longest_ns > 0)
		run_warning_add(
			texts, arena_format(&run->analysis.timeline.arena,
				       "%s: of constant size: the first and the last %" PRIu64
				       " calls are seen; %" PRIu64 " between them, of %s, were dropped%s",
				       run->label, there, dropped,
				       print_time(&run->analysis.timeline.arena, (double)longest_ns),
				       moving ? " (about: the program was writing)" : ""));
}

static void warn_of_attempts(struct texts *texts, struct run *run)
{
	const size_t count = run->analysis.timeline.attempt_count;

	if (count > 1)
		run_warning_add(texts,
			arena_format(&run->analysis.timeline.arena,
				"%s: reading the last of %zu attempts of this job; --job 1 to %zu select earlier ones",
				run->label, count, count - 1));
}

static const char *whole_text(struct analysis *analysis, const char *label)
{
	const struct analysis_rejected *rejected = &analysis->rejected;
	struct arena *arena = &analysis->timeline.arena;

	if (rejected->count == 0)
		return arena_format(arena, "%s: no iterations found: the recording counts as one", label);
	return arena_format(arena,
		"%s: iterations are unknown, and the recording counts as one: %zu would be right with a probability of "
		"%.0f%%; candidates: %s",
		label, rejected->count, rejected->confidence * 100,
		iteration_candidates_text(&rejected->candidates, arena));
}

/* Of the worker that is least sure; the iterations of others are found in the same way. */
static void warn_of_iterations(struct texts *texts, struct run *run)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	const struct iteration_list *list;

	if (analysis_is_communication(analysis))
		return; /* it has none */
	if (analysis->is_whole) {
		run_warning_add(texts, whole_text(analysis, run->label));
		return;
	}
	list = analysis_least_sure(analysis);
	if (!list || list->confidence >= RUN_SURE)
		return;
	if (iteration_is_searched(list))
		run_warning_add(texts,
			arena_format(arena,
				"%s: the iterations are uncertain, right with a probability of %.0f%%; "
				"candidates: %s",
				run->label, list->confidence * 100,
				iteration_candidates_text(&list->candidates, arena)));
	else
		run_warning_add(texts, arena_format(arena,
					       "%s: only %.0f%% of the computations are in iterations of the "
					       "usual kind: the figures may not be representative",
					       run->label, list->confidence * 100));
}

/* All-gathers of the iteration that layers were found in. */
static size_t count_gathers(const struct analysis *analysis, const struct analysis_worker *worker)
{
	const struct iteration *item = &worker->iterations.items[worker->layers.iteration];
	size_t count = 0;

	for (size_t i = item->first_call; i < item->call_end; i++) {
		const struct timeline_call *call =
			TIMELINE_CALL(&analysis->timeline, worker->worker->calls[i]);
		const struct flow *flow = &analysis->model.flows[call->operation];
		uint64_t bytes = 0;

		if (flow->kind != PM_KIND_COMM ||
			timeline_function(&analysis->timeline, call)->facts.role != PM_ROLE_ALL_GATHER)
			continue;
		for (uint32_t j = 0; j < flow->access_count; j++)
			bytes += flow_writes(&flow->accesses[j]) ? flow->accesses[j].bytes : 0;
		count += bytes >= EXCHANGE_FEW_BYTES;
	}
	return count;
}

/*
 * Memory that a layer's parameters are gathered to serves the next layer after it: there an address does not
 * tell a layer.
 */
static void warn_of_gathers(struct texts *texts, struct run *run)
{
	struct analysis *analysis = &run->analysis;

	for (size_t i = 0; i < analysis->worker_count; i++) {
		const struct analysis_worker *worker = &analysis->workers[i];
		const size_t count = analysis->timeline.processes[worker->worker->process].recorder
					     ? 0
					     : count_gathers(analysis, worker);

		if (count < REPEATS_LEAST || count <= worker->layers.followed_gathers)
			continue;
		run_warning_add(texts,
			arena_format(&analysis->timeline.arena,
				"%s: %zu all-gathers in an iteration: if they bring parameters of other ranks (FSDP, "
				"ZeRO), which layer uses them is not followed, and layers, forward and backward may "
				"be wrong",
				run->label, count));
		break;
	}
}

/* Networks that train in turns: the update of one lies between the passes of the other. */
static void warn_of_updates(struct texts *texts, struct run *run)
{
	struct analysis *analysis = &run->analysis;

	for (size_t i = 0; i < analysis->worker_count; i++) {
		const uint32_t updates = analysis->workers[i].layers.updates;

		if (updates < 2)
			continue;
		run_warning_add(texts,
			arena_format(&analysis->timeline.arena,
				"%s: %" PRIu32
				" updates in an iteration, with work between them: which of it is forward or "
				"backward, and of which layer, is not followed and may be wrong",
				run->label, updates));
		break;
	}
}

static void warn_of_doubt(struct texts *texts, struct run *run)
{
	static const char *const doubts[] = {[LAYER_NO_DOUBT] = NULL,
		[LAYER_WEIGHTS_ALONE] =
			"most weights are not what the optimizer works on: that is a copy of them (as with "
			"ZeRO), or they are frozen. Layers are those of matrix products and convolutions; "
			"norms and embeddings are counted to their neighbours",
		[LAYER_NOT_FOLLOWED] =
			"the parameters that are updated were not found in what the kernels work on: "
			"layers, forward and backward are by the order of the calls, and may be wrong"};
	enum layer_doubt most = LAYER_NO_DOUBT;

	for (size_t i = 0; i < run->analysis.worker_count; i++)
		if (run->analysis.workers[i].layers.doubt > most)
			most = run->analysis.workers[i].layers.doubt;
	if (doubts[most])
		run_warning_add(texts,
			arena_format(&run->analysis.timeline.arena, "%s: %s", run->label, doubts[most]));
}

const char **run_warnings(struct run *run)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	struct texts texts = {0};
	struct troubles troubles = {.texts = &texts, .arena = arena};
	const char **kept;
	int32_t world = -1;

	for (size_t i = 0; run->unread[i]; i++)
		run_warning_add(&texts, run->unread[i]);
	if (run->rule_from_file)
		run_warning_add(
			&texts, arena_format(arena, "%s: iterations are where %s beside the traces says",
					run->label, ITERATION_RULE_FILE));
	warn_of_attempts(&texts, run);
	warn_of_gaps(&texts, run);
	for (size_t i = 0; i < analysis->timeline.process_count; i++) {
		const struct timeline_process *process = &analysis->timeline.processes[i];

		warn_of_process(&troubles, process);
		for (size_t k = 0; k < process->warning_count; k++)
			if (!is_reported_before(&analysis->timeline, i, process->warnings[k]))
				run_warning_add(&texts,
					arena_format(arena, "%s: %s", process->path, process->warnings[k]));
		if (process->world > world)
			world = process->world;
	}
	end_troubles(&troubles);
	/* A rank may be a process or a GPU of one. */
	if (world > 0 && analysis->timeline.process_count < (size_t)world && analysis->worker_count > 0 &&
		analysis->worker_count < (size_t)world)
		run_warning_add(&texts, arena_format(arena, "%s: traces of %zu of %d ranks", run->label,
						analysis->worker_count, world));
	if (analysis->worker_count == 0 && !analysis_is_communication(analysis))
		run_warning_add(&texts, arena_format(arena, "%s: no iterations found: %s", run->label,
						run_why_none(analysis)));
	warn_of_iterations(&texts, run);
	warn_of_doubt(&texts, run);
	warn_of_gathers(&texts, run);
	warn_of_updates(&texts, run);
	if (analysis->timeline.residual_ns > 0)
		run_warning_add(&texts,
			arena_format(arena, "%s: the hosts' clocks disagree by %s at a collective",
				run->label, print_time(arena, (double)analysis->timeline.residual_ns)));
	kept = arena_alloc(arena, texts.count + 1, sizeof(*kept));
	if (texts.count)
		memcpy(kept, texts.items, texts.count * sizeof(*kept));
	free(texts.items);
	return kept;
}
