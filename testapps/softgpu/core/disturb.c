/*
 * Disturbances: how the rules of SOFTGPU_DISTURB change modelled times.
 *
 * The one idea: everything follows from the rules and from what an operation is (rank, device, stream, how
 * many operations its stream had before, call, labels), so that the same run is disturbed in the same way.
 * Rules are kept apart by what they change, so that a run without any pays one comparison.
 */
#include "model.h"
#include "rules.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

/* So much host time must be owed before it is slept off: a shorter sleep costs more than it is worth. */
#define OWED_NS 100000

int sg_disturbs_launches;

static struct sg_rule *rules;
static int rule_count;
static int own_rank;
static int disturbs_times, disturbs_links;

/* Whether a rule changes something else than input, which needs no model clock. */
static int needs_clock(const struct sg_rule *rule)
{
	return rule->slow != 1 || rule->add_ns > 0 || rule->launch_ns > 0 || rule->latency_ns > 0 ||
	       rule->bandwidth != 1 || rule->jitter > 0;
}

int sg_disturb_start(char *error, size_t error_bytes)
{
	const char *text = getenv("SOFTGPU_DISTURB");

	own_rank = sg_rules_rank();
	if (text == NULL || *text == '\0')
		return 0;
	rule_count = sg_rules_read(text, &rules, error, error_bytes);
	if (rule_count < 0)
		return -1;
	for (int i = 0; i < rule_count; i++) {
		const struct sg_rule *rule = &rules[i];

		if (needs_clock(rule) && !sg_modelled()) {
			snprintf(error, error_bytes,
				"SOFTGPU_DISTURB: rule %d: found a change of modelled time without a model "
				"clock, expected SOFTGPU_PROFILE",
				i + 1);
			return -1;
		}
		disturbs_links |= rule->latency_ns > 0 || rule->bandwidth != 1;
		if (!sg_rule_has_rank(rule, own_rank))
			continue;
		disturbs_times |= rule->slow != 1 || rule->add_ns > 0 || rule->jitter > 0;
		sg_disturbs_launches |= rule->launch_ns > 0;
		sg_named |= rule->op[0] != '\0' || rule->layer[0] != '\0' || rule->phase[0] != '\0';
	}
	return 0;
}

static int is_like(const char *pattern, const char *name)
{
	return pattern[0] == '\0' || (name != NULL && fnmatch(pattern, name, 0) == 0);
}

static int selects(const struct sg_rule *rule, const struct sg_activity *what, int device)
{
	return sg_rule_has_rank(rule, own_rank) && (rule->device < 0 || rule->device == device) &&
	       is_like(rule->op, what->op) && is_like(rule->layer, what->layer) &&
	       is_like(rule->phase, what->phase);
}

static uint64_t mixed(uint64_t state, uint64_t value)
{
	/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014) after each word. */
	state += value + 0x9e3779b97f4a7c15u;
	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
	state = (state ^ state >> 27) * 0x94d049bb133111ebu;
	return state ^ state >> 31;
}

/* Evenly spread over -1 to 1. */
static double deviate(const struct sg_rule *rule, const struct sg_activity *what, uint64_t ordinal)
{
	uint64_t state = mixed(mixed(0, rule->seed), (uint64_t)own_rank);

	state = mixed(mixed(mixed(state, (uint64_t)what->device), what->stream), ordinal);
	return (double)(state >> 11) * 0x1p-52 - 1;
}

double sg_disturb_time(const struct sg_activity *what, uint64_t ordinal, double duration_ns)
{
	double added_ns = 0;

	if (SG_LIKELY(!disturbs_times))
		return duration_ns;
	for (int i = 0; i < rule_count; i++) {
		const struct sg_rule *rule = &rules[i];

		if (!selects(rule, what, what->device))
			continue;
		duration_ns *= rule->slow;
		if (rule->jitter > 0)
			duration_ns *= 1 + rule->jitter * deviate(rule, what, ordinal);
		added_ns += rule->add_ns * sg_time_scale;
	}
	return duration_ns + added_ns;
}

double sg_disturb_added(const struct sg_activity *what)
{
	double added_ns = 0;

	for (int i = 0; disturbs_times && i < rule_count; i++) {
		if (selects(&rules[i], what, what->device))
			added_ns += rules[i].add_ns * sg_time_scale;
	}
	return added_ns;
}

void sg_disturb_launch(const struct sg_activity *what, int device)
{
	static __thread double owed_ns;
	uint64_t begin_ns;

	if (what->kind == SG_ACTIVITY_NONE || sg_self.worker != NULL)
		return;
	for (int i = 0; i < rule_count; i++) {
		if (selects(&rules[i], what, device))
			owed_ns += rules[i].launch_ns * sg_time_scale;
	}
	if (owed_ns < OWED_NS)
		return;
	begin_ns = sg_now_ns();
	sg_sleep_until(begin_ns + sg_whole_ns(owed_ns));
	owed_ns -= (double)(sg_now_ns() - begin_ns);
}

/* Every rank must find the same link, so a rule's ranks are looked for at its ends. */
static int is_link(const struct sg_rule *rule, int rank, int other)
{
	if (!sg_rule_has_rank(rule, rank) && !sg_rule_has_rank(rule, other))
		return 0;
	if (rule->link[0] == SG_LINK_NONE)
		return 1;
	for (int turn = 0; turn < 2; turn++) {
		int a = rule->link[turn], b = rule->link[!turn];

		if ((a == SG_LINK_ANY || a == rank) && (b == SG_LINK_ANY || b == other))
			return 1;
	}
	return 0;
}

struct sg_link sg_disturb_link(struct sg_link link, int rank, int other)
{
	for (int i = 0; disturbs_links && rank != other && i < rule_count; i++) {
		if (!is_link(&rules[i], rank, other))
			continue;
		link.latency_ns += rules[i].latency_ns * sg_time_scale;
		link.bytes_per_ns *= rules[i].bandwidth;
	}
	return link;
}
