/* A pair judged by what is allowed: see compare_gate.h. */
#include "compare_gate.h"
#include "compare_series.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stddef.h>

static bool has_device_times(const struct compare_side *side)
{
	for (size_t r = 0; r < side->run_count; r++)
		if (!compare_has_device_times(side->runs[r]))
			return false;
	return true;
}

double compare_processor_wait(const struct run *run)
{
	const struct timeline *timeline = &run->analysis.timeline;
	double greatest = NAN;

	for (size_t p = 0; p < timeline->process_count; p++)
		greatest = fmax(greatest, timeline->processes[p].processor_wait);
	return greatest;
}

static double greatest_wait(const struct compare_side *side)
{
	double greatest = NAN;

	for (size_t r = 0; r < side->run_count; r++)
		greatest = fmax(greatest, compare_processor_wait(side->runs[r]));
	return greatest;
}

static void judge(const struct compare *compare, const struct compare_pair *pair,
	struct compare_measure measure, double allowed, struct slower *slower)
{
	struct compare_series base = compare_series(compare, pair->base, measure);
	struct compare_series other = compare_series(compare, pair->other, measure);

	*slower = (struct slower){
		.answer = SLOWER_UNKNOWN, .margin = allowed, .change = NAN, .low = NAN, .high = NAN};
	if (base.mean > 0 && other.mean > 0)
		slower_find(&base.side, &other.side, allowed, compare->how.seed, slower);
	compare_series_free(&base);
	compare_series_free(&other);
}

static void judge_device(
	const struct compare *compare, const struct compare_pair *pair, double allowed, struct slower *slower)
{
	const struct compare_side *base = &compare->sides[pair->base], *other = &compare->sides[pair->other];
	struct compare_measure measure = compare_device_time;

	*slower = (struct slower){
		.answer = SLOWER_UNKNOWN, .margin = allowed, .change = NAN, .low = NAN, .high = NAN};
	if (!has_device_times(base) || !has_device_times(other))
		return;
	judge(compare, pair, measure, allowed, slower);
	if (!isnan(slower->change))
		return;
	/* of traces that cannot tell communication */
	measure = (struct compare_measure){.what = MEASURE_TIME,
		.offset = offsetof(struct phase_times, compute_ns),
		.phase = PHASE_COUNT};
	judge(compare, pair, measure, allowed, slower);
}

static bool is_open(enum slower_answer answer)
{
	return answer == SLOWER_UNDECIDED || answer == SLOWER_UNKNOWN;
}

/* Either of both may be slower, and neither may be open. */
static void settle_both(struct compare_gate *gate)
{
	const bool device_first = gate->device.answer == SLOWER_YES ||
				  (is_open(gate->device.answer) && gate->step.answer != SLOWER_YES);

	gate->by = device_first || (gate->step.answer == SLOWER_NO && gate->device.answer == SLOWER_NO)
			   ? COMPARE_GATE_DEVICE
			   : COMPARE_GATE_STEP;
	/* one run of each side: what lies between runs is in the step's time, and not in its bounds */
	if (gate->by == COMPARE_GATE_STEP && gate->step.answer == SLOWER_YES && !gate->step.repeated)
		gate->answer = SLOWER_UNDECIDED;
	else
		gate->answer = gate->by == COMPARE_GATE_DEVICE ? gate->device.answer : gate->step.answer;
}

static bool is_shared(const struct compare_gate *gate)
{
	return gate->processor_wait >= COMPARE_GATE_SHARED;
}

void compare_gate(const struct compare *compare, const struct compare_pair *pair, double allowed,
	enum compare_gate_time time, struct compare_gate *gate)
{
	judge(compare, pair, compare_step_time, allowed, &gate->step);
	judge_device(compare, pair, allowed, &gate->device);
	gate->processor_wait =
		fmax(greatest_wait(&compare->sides[pair->base]), greatest_wait(&compare->sides[pair->other]));
	compare_gate_settle(gate, time);
}

void compare_gate_settle(struct compare_gate *gate, enum compare_gate_time time)
{
	if (time == COMPARE_GATE_AUTO && isnan(gate->device.change))
		time = COMPARE_GATE_STEP;
	if (time == COMPARE_GATE_AUTO && is_shared(gate))
		time = COMPARE_GATE_DEVICE;
	if (time == COMPARE_GATE_AUTO) {
		settle_both(gate);
		return;
	}
	gate->by = time;
	gate->answer = time == COMPARE_GATE_DEVICE ? gate->device.answer : gate->step.answer;
	/* what other jobs did to one run of each side is not in the bounds */
	if (time == COMPARE_GATE_STEP && is_shared(gate) && !gate->step.repeated)
		gate->answer = SLOWER_UNDECIDED;
}

const char *compare_gate_word(enum slower_answer answer)
{
	return answer == SLOWER_YES ? "slower" : answer == SLOWER_NO ? "not slower" : "undecided";
}

/* Without the sign of what is 0.0. */
static double percent_of(double share)
{
	return fabs(share) < 0.0005 ? 0 : 100 * share;
}

static const char *figures(struct arena *arena, const char *what, const struct slower *slower)
{
	const char *change = arena_format(arena, "%s %+.1f%%", what, percent_of(slower->change));

	if (isnan(slower->change))
		return arena_format(arena, "%s unknown", what);
	if (isnan(slower->low))
		return arena_format(arena, "%s, too few iterations for bounds", change);
	if (slower->answer == SLOWER_YES)
		return arena_format(arena, "%s (95%%: at least %+.1f%%)", change, percent_of(slower->low));
	if (slower->answer == SLOWER_NO)
		return arena_format(arena, "%s (95%%: at most %+.1f%%)", change, percent_of(slower->high));
	return arena_format(arena, "%s (95%% to each side: %+.1f%% to %+.1f%%)", change,
		percent_of(slower->low), percent_of(slower->high));
}

/* What would decide. */
static const char *remedy(struct arena *arena, const struct compare_gate *gate)
{
	const struct slower *slower = gate->by == COMPARE_GATE_DEVICE ? &gate->device : &gate->step;

	if (isnan(slower->change))
		return "Record device times (PMHOOK_DEVICE), or judge the step's (--gate-by step).";
	if (slower->answer == SLOWER_UNKNOWN)
		return "Record some tens of iterations, or repetitions (--group).";
	if (slower->answer == SLOWER_YES || slower->answer == SLOWER_NO)
		return "One run per side does not show how step time varies between runs: record three "
		       "or more (--group), or judge device time (--gate-by device).";
	if (slower->runs == 0)
		return arena_format(arena,
			"The difference is too close to the margin for %d runs of each side.",
			SLOWER_MOST_RUNS);
	return arena_format(arena, "%zu runs of each side would decide it%s (--group).", slower->runs,
		slower->repeated ? "" : ", if runs differ no more than iterations do");
}

static const char *host_text(struct arena *arena, const struct compare_gate *gate)
{
	if (!is_shared(gate))
		return "";
	return arena_format(arena,
		" The hosts are shared: threads waited for a processor in up to %.0f%% of their time.",
		100 * gate->processor_wait);
}

const char *compare_gate_verdict(
	struct arena *arena, const char *base, const char *other, const struct compare_gate *gate)
{
	const char *step = figures(arena, "step time", &gate->step);
	const char *device = figures(arena, "device time", &gate->device);
	const char *both = gate->by == COMPARE_GATE_DEVICE ? arena_format(arena, "by %s; %s", device, step)
							   : arena_format(arena, "by %s; %s", step, device);
	const double percent = 100 * gate->step.margin;

	if (gate->answer == SLOWER_YES)
		return arena_format(arena, "%s fails: slower than %s by more than the %.3g%% allowed: %s.%s",
			other, base, percent, both, host_text(arena, gate));
	if (gate->answer == SLOWER_NO)
		return arena_format(arena, "%s passes: not slower than %s by more than %.3g%%: %s.%s", other,
			base, percent, both, host_text(arena, gate));
	return arena_format(arena,
		"%s is undecided: the data neither show nor rule out that it is slower than %s by more than %.3g%%: %s.%s %s",
		other, base, percent, both, host_text(arena, gate), remedy(arena, gate));
}

const char *compare_gate_text(
	struct compare *compare, const struct compare_pair *pair, const struct compare_gate *gate)
{
	const char *text = compare_gate_verdict(
		&compare->arena, compare->sides[pair->base].name, compare->sides[pair->other].name, gate);

	for (const char **words = compare_words(compare, pair); gate->answer == SLOWER_YES && *words; words++)
		text = arena_format(&compare->arena, "%s %s.", text, *words);
	return text;
}

static cJSON *slower_json(const struct slower *slower)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "answer", compare_gate_word(slower->answer));
	print_json_number(object, "change", slower->change);
	print_json_number(object, "low", slower->low);
	print_json_number(object, "high", slower->high);
	print_json_number(object, "runs_to_decide", slower->runs ? (double)slower->runs : NAN);
	return object;
}

cJSON *compare_gate_json(const char *base, const char *other, const struct compare_gate *gate)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "base", base);
	cJSON_AddStringToObject(object, "other", other);
	cJSON_AddStringToObject(object, "answer", compare_gate_word(gate->answer));
	cJSON_AddStringToObject(object, "decided_by", gate->by == COMPARE_GATE_DEVICE ? "device" : "step");
	print_json_number(object, "allowed", gate->step.margin);
	print_json_number(object, "processor_wait", gate->processor_wait);
	cJSON_AddItemToObject(object, "step", slower_json(&gate->step));
	cJSON_AddItemToObject(object, "device", slower_json(&gate->device));
	return object;
}
