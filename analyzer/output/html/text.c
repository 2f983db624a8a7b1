/*
 * What bounds the run, in one sentence, and at most five findings, the dearest first: who or what, what it
 * costs, what to try. What a finding costs is what a replay without it saves (whatif.h), so that findings can
 * be compared.
 */
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FINDINGS 5
#define MOST_STRAGGLERS 2
#define FINDING 0.03 /* of an iteration: what saves less is none */
#define LITTLE 0.001
#define MOST 0.8 /* of a gain */

struct finding {
	double gain_ns;
	const char *text; /* escaped, with its full stop */
	const char *try;
	bool layer; /* of a layer, which always costs something */
};

struct findings {
	struct html_page *page;
	const struct html_run *run;
	double whole_ns; /* an iteration */
	struct finding *items;
	size_t count, room;
};

static void add(struct findings *findings, double gain_ns, const char *text, const char *try)
{
	*MEM_PUSH(findings->items, findings->count, findings->room) =
		(struct finding){.gain_ns = gain_ns, .text = text, .try = try};
}

static const char *saves(struct findings *findings, double gain_ns)
{
	return arena_format(&findings->page->arena, "%s (%.1f%%)", html_time(findings->page, gain_ns),
		100 * gain_ns / findings->whole_ns);
}

/* The change's gain; 0: not asked, or none. */
static double gain_of(const struct html_run *run, enum whatif_kind kind, size_t worker)
{
	for (size_t i = 0; i < run->changes.count; i++) {
		const struct whatif_result *item = &run->changes.items[i];

		if (item->change.kind == kind && (kind != WHATIF_RANK || item->change.worker == worker))
			return fmax(item->gain_ns, 0);
	}
	return 0;
}

const char *html_cause_words(struct html_page *page, const struct html_run *run, const struct cause *cause)
{
	const char *text = cause_text(cause->kind);

	if (cause->layer[0])
		text = arena_format(&page->arena, "%s: %s", text, html_escape(page, cause->layer));
	if (cause->other != cause->worker)
		text = arena_format(&page->arena, "%s to %s", text, run->names[cause->other]);
	return arena_format(&page->arena, "%s%s%s: %s", text, isfinite(cause->cost_ns) ? ", cost " : "",
		isfinite(cause->cost_ns) ? html_time(page, cause->cost_ns) : "",
		html_escape(page, cause->evidence));
}

static const char *const cause_tries[CAUSE_COUNT] = {
	[CAUSE_SLOWER] = "compare that GPU’s clocks, power limit, temperature and other load",
	[CAUSE_LAYER] = "compare the kernels and algorithms chosen for that layer there with the others’",
	[CAUSE_LAYERS] = "compare the kernels and algorithms chosen there with the others’",
	[CAUSE_WORK] = "divide the batch evenly, or pad less",
	[CAUSE_INPUT] = "check that rank’s storage and number of readers; prefetch",
	[CAUSE_HOST] = "check that rank’s host: CPU affinity, other processes; use CUDA graphs",
	[CAUSE_STAGE] = "move layers from that stage to the others",
	[CAUSE_LINK] = "check that link: type, width, errors, and rank placement",
	[CAUSE_UNKNOWN] = "record that rank’s host calls and compare them with another rank",
};

/* A rank that others wait for, by its dearest cause. */
static void add_straggler(struct findings *findings, const struct cause *cause, bool shared)
{
	struct html_page *page = findings->page;
	const struct html_run *run = findings->run;
	double gain_ns =
		gain_of(run, cause->kind == CAUSE_STAGE ? WHATIF_STAGES : WHATIF_RANK, cause->worker);
	const char *text = arena_format(&page->arena, "Straggler <b>%s</b>", run->names[cause->worker]);

	if (cause->inflicted_ns > 0)
		text = arena_format(&page->arena,
			"%s: wait caused %s per iteration (sum over the other ranks; %.1f%% of their time)",
			text, html_time(page, cause->inflicted_ns), 100 * cause->share);
	text = arena_format(&page->arena, "%s; cause: %s%s.", text, html_cause_words(page, run, cause),
		shared ? arena_format(&page->arena, "; and more, see %s", "“Waiting and stragglers”") : "");
	if (gain_ns > LITTLE * findings->whole_ns)
		text = arena_format(&page->arena, "%s %s, an iteration would be %s shorter.", text,
			cause->kind == CAUSE_STAGE ? "With all stages balanced"
						   : "At the speed of other ranks",
			saves(findings, gain_ns));
	else if (run->changes.count && cause->kind != CAUSE_LINK && cause->kind != CAUSE_STAGE)
		text = arena_format(&page->arena,
			"%s But replayed with the times of other ranks the iteration is hardly shorter: "
			"other ranks then become stragglers.",
			text);
	if (!(gain_ns > LITTLE * findings->whole_ns) && isfinite(cause->cost_ns))
		gain_ns = cause->cost_ns;
	/* Kept however little it saves: that a rank is waited for was found by itself. */
	add(findings, fmax(gain_ns, FINDING * findings->whole_ns), text, cause_tries[cause->kind]);
}

/* The causes are by worker; the workers that are waited for longest are taken. */
static const struct cause *next_straggler(const struct cause_list *causes, double below_ns)
{
	const struct cause *next = NULL;

	for (size_t i = 0; i < causes->count; i++)
		if ((i == 0 || causes->items[i].worker != causes->items[i - 1].worker) &&
			causes->items[i].inflicted_ns < below_ns &&
			(!next || causes->items[i].inflicted_ns > next->inflicted_ns))
			next = &causes->items[i];
	return next;
}

static void add_stragglers(struct findings *findings)
{
	const struct cause_list *causes = &findings->run->causes;
	const struct cause *next = next_straggler(causes, INFINITY);

	for (int i = 0; i < MOST_STRAGGLERS && next; i++) {
		const struct cause *end = causes->items + causes->count;

		add_straggler(findings, next, next + 1 < end && next[1].worker == next->worker);
		next = next_straggler(causes, next->inflicted_ns);
	}
	if (causes->count)
		return;
	add(findings, gain_of(findings->run, WHATIF_BALANCE, 0),
		arena_format(&findings->page->arena,
			"<b>Ranks are imbalanced</b>, with changing stragglers: with all ranks balanced in "
			"each iteration, one would be %s shorter.",
			saves(findings, gain_of(findings->run, WHATIF_BALANCE, 0))),
		"check for batches of different work, host pauses and other jobs on the machines");
}

static void add_stages(struct findings *findings)
{
	double gain_ns = gain_of(findings->run, WHATIF_STAGES, 0) - gain_of(findings->run, WHATIF_BALANCE, 0);

	for (size_t i = 0; i < findings->run->causes.count; i++)
		if (findings->run->causes.items[i].kind == CAUSE_STAGE)
			return;
	add(findings, gain_ns,
		arena_format(&findings->page->arena,
			"<b>Stages are imbalanced</b>: with equal work in each, an iteration would be %s "
			"shorter.",
			saves(findings, gain_ns)),
		"partition the network differently");
}

static bool is_named_by_cause(const struct html_run *run, const char *title)
{
	for (size_t i = 0; i < run->causes.count; i++)
		if (strcmp(run->causes.items[i].layer, title) == 0)
			return true;
	return false;
}

static const char *const bound_tries[] = {
	[ROOFLINE_UNKNOWN] = "a different algorithm, data type or batch size",
	[ROOFLINE_COMPUTE] = "a smaller data type (tensor cores), or a different algorithm",
	[ROOFLINE_MEMORY] = "fuse it with its neighbours, a different layout, or a smaller data type",
	[ROOFLINE_LATENCY] = "its kernels are short: larger batches, fused kernels, CUDA graphs",
};

/* The pass of a layer that takes longest, by its title; NULL: not known. */
static const struct roofline_item *longest_pass(const struct roofline *roofline, const char *title)
{
	const struct roofline_item *longest = NULL;

	for (size_t i = 0; i < roofline->item_count; i++)
		if (strcmp(roofline->items[i].layer, title) == 0 &&
			isfinite(roofline->items[i].amount.time_ns) &&
			(!longest || roofline->items[i].amount.time_ns > longest->amount.time_ns))
			longest = &roofline->items[i];
	return longest;
}

static const char *bound_words(struct html_page *page, const struct roofline_item *item)
{
	if (!item || item->amount.bound == ROOFLINE_UNKNOWN || !isfinite(roofline_share(&item->amount)))
		return "";
	return arena_format(&page->arena, " Its longest pass (%s) is %s-bound, at %.0f%% of the roof.",
		roofline_direction_titles[item->direction], roofline_bound_keys[item->amount.bound],
		100 * roofline_share(&item->amount));
}

/* The layer with most to gain that no cause names already. */
static void add_layer(struct findings *findings)
{
	struct html_page *page = findings->page;
	const struct html_run *run = findings->run;

	for (size_t i = 0; i < run->changes.count; i++) {
		const struct whatif_result *item = &run->changes.items[i];
		const struct roofline_item *pass;
		const char *title;

		if (item->change.kind != WHATIF_LAYER)
			continue;
		title = layer_title(run->job.layers[item->change.layer].layer);
		if (is_named_by_cause(run, title))
			continue;
		pass = longest_pass(&run->roofline, title);
		add(findings, item->gain_ns,
			arena_format(&page->arena,
				"Layer <b>%s</b> is on the critical path for %s: 2× as fast, an iteration "
				"would be %s shorter.%s",
				html_escape(page, title),
				html_time(page, run->path.mean.layers_ns[item->change.layer]),
				saves(findings, item->gain_ns), bound_words(page, pass)),
			bound_tries[pass ? pass->amount.bound : ROOFLINE_UNKNOWN]);
		findings->items[findings->count - 1].layer = true;
		return;
	}
}

static void add_communication(struct findings *findings)
{
	struct html_page *page = findings->page;
	const struct analysis *analysis = findings->run->analysis;
	const struct analysis_worker *workers = analysis->workers;
	size_t count = analysis->worker_count;
	double hidden_ns = gain_of(findings->run, WHATIF_OVERLAP, 0);
	double faster_ns = gain_of(findings->run, WHATIF_COMMUNICATION, 0);
	double busy_ns = analysis_phase(workers, count, PHASE_COMMUNICATION, ANALYSIS_BUSY).mean;
	double exposed_ns = analysis_phase(workers, count, PHASE_COMMUNICATION, ANALYSIS_EXCLUSIVE).mean;

	add(findings, fmax(hidden_ns, faster_ns),
		arena_format(&page->arena,
			"<b>Communication</b> takes %s, of which %s is exposed (not overlapped) and %s is "
			"waiting for the last rank. Hiding it behind computation where dependencies allow "
			"would save %s, 2× as fast %s.",
			html_time(page, busy_ns), html_time(page, exposed_ns),
			html_time(page, analysis_wait(workers, count).mean), saves(findings, hidden_ns),
			saves(findings, faster_ns)),
		hidden_ns > faster_ns
			? "overlap gradient aggregation with the backward pass, in buckets of several layers"
			: "fewer and larger messages, faster links, smaller data types");
}

/* Does one rank alone make (almost) all of the gain, by a cause of this kind? Then it is named for it. */
static bool is_of_one_rank(const struct html_run *run, enum cause_kind kind, double gain_ns)
{
	for (size_t i = 0; i < run->causes.count; i++)
		if (run->causes.items[i].kind == kind &&
			gain_of(run, WHATIF_RANK, run->causes.items[i].worker) > MOST * gain_ns)
			return true;
	return false;
}

static void add_supply(struct findings *findings)
{
	struct html_page *page = findings->page;
	double input_ns = gain_of(findings->run, WHATIF_INPUT, 0),
	       host_ns = gain_of(findings->run, WHATIF_HOST, 0);

	if (!is_of_one_rank(findings->run, CAUSE_INPUT, input_ns))
		add(findings, input_ns,
			arena_format(&page->arena,
				"<b>Input</b> (reading, splitting and copying the batch) delays the GPUs: zero "
				"input time would save %s.",
				saves(findings, input_ns)),
			"prefetch in worker processes or threads, pin host memory, copy on a separate "
			"stream");
	if (!is_of_one_rank(findings->run, CAUSE_HOST, host_ns))
		add(findings, host_ns,
			arena_format(&page->arena,
				"<b>Launches</b>: the hosts enqueue work too late; zero launch time would "
				"save %s.",
				saves(findings, host_ns)),
			"larger batches, CUDA graphs, fused kernels, fewer synchronizations");
}

static int compare_findings(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;

	if (a->layer != b->layer)
		return a->layer ? 1 : -1;
	return a->gain_ns < b->gain_ns ? 1 : a->gain_ns > b->gain_ns ? -1 : 0;
}

/* `bound_is_asked`: is there a change that is about what bounds the run? */
static void write_findings(struct findings *findings, bool bound_is_asked)
{
	FILE *out = findings->page->out;
	size_t shown = 0;
	bool any = false;

	qsort(findings->items, findings->count, sizeof(*findings->items), compare_findings);
	for (size_t i = 0; i < findings->count; i++)
		any |= !findings->items[i].layer &&
		       findings->items[i].gain_ns >= FINDING * findings->whole_ns;
	fputs("<ol aria-label=\"Findings\">\n", out);
	if (!any && !findings->run->changes.count)
		fputs("<li>Gains of changes are unknown: no iteration could be replayed.</li>\n", out);
	else if (!any)
		fprintf(out,
			"<li><b>Nothing stands out</b>: %sneither communication%s, input nor launches cost "
			"%.0f%% of an iteration.%s</li>\n",
			findings->run->analysis->worker_count > 1 ? "no straggler, and " : "",
			findings->run->analysis->stage_count > 1 ? ", stage imbalance" : "", 100 * FINDING,
			bound_is_asked ? ""
				       : " But none of these changes shortens most of it: see the timeline.");
	for (size_t i = 0; i < findings->count && shown < MOST_FINDINGS; i++) {
		const struct finding *item = &findings->items[i];

		if (!(item->gain_ns >= FINDING * findings->whole_ns))
			continue;
		fprintf(out, "<li>%s <span class=\"try\">Try: %s.</span></li>\n", item->text, item->try);
		shown++;
	}
	fputs("</ol>\n", out);
}

void html_words(struct html_page *page, const struct html_run *run)
{
	struct findings findings = {.page = page,
		.run = run,
		.whole_ns = run->changes.count
				    ? run->changes.replayed_ns
				    : analysis_iteration(run->analysis->workers, run->analysis->worker_count)
					      .mean};
	bool bound_is_asked;

	fputs("<div class=\"work\">\n", page->out);
	if (run->labelled) {
		html_labelled_words(page, run);
	} else {
		bound_is_asked = html_bound(page, run);
		add_stragglers(&findings);
		add_stages(&findings);
		add_communication(&findings);
		add_supply(&findings);
		add_layer(&findings);
		write_findings(&findings, bound_is_asked);
	}
	fputs("</div>\n", page->out);
	free(findings.items);
}
