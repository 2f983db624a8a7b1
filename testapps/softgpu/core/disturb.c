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
#include <string.h>
#include <unistd.h>

/* So much host time must be owed before it is slept off: a shorter sleep costs more than it is worth. */
#define OWED_NS 100000

int sg_disturbs_launches;

static struct sg_rule *rules;
static int rule_count;
static int own_rank;
static int disturbs_times, disturbs_links;
static pid_t owner;

/* Which rules have changed something, and the first layers that there were, for a rule that names another. */
#define LAYERS_TOLD 6
static _Atomic char *matched;
static _Atomic int asked;
static pthread_mutex_t layers_lock = PTHREAD_MUTEX_INITIALIZER;
static char layers[LAYERS_TOLD + 1][SG_RULE_NAME]; /* one more than are told */
static int layer_count;

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
	owner = getpid();
	matched = calloc((size_t)rule_count + 1, sizeof(*matched));
	if (matched == NULL) {
		snprintf(error, error_bytes, "SOFTGPU_DISTURB: out of memory");
		return -1;
	}
	for (int i = 0; i < rule_count; i++) {
		const struct sg_rule *rule = &rules[i];

		if (rule->device >= sg_device_count()) {
			snprintf(error, error_bytes,
				"SOFTGPU_DISTURB: rule %d: found 'device=%d', but the devices are 0 to %d",
				i + 1, rule->device, sg_device_count() - 1);
			return -1;
		}

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

static void keep_layer(const char *name)
{
	int i = 0;

	pthread_mutex_lock(&layers_lock);
	while (i < layer_count && strncmp(layers[i], name, SG_RULE_NAME - 1) != 0)
		i++;
	if (i == layer_count && i <= LAYERS_TOLD)
		snprintf(layers[layer_count++], SG_RULE_NAME, "%s", name);
	pthread_mutex_unlock(&layers_lock);
}

static int selects(int number, const struct sg_activity *what, int device)
{
	const struct sg_rule *rule = &rules[number];

	if (!sg_rule_has_rank(rule, own_rank))
		return 0;
	if ((rule->device < 0 || rule->device == device) && is_like(rule->op, what->op) &&
		is_like(rule->layer, what->layer) && is_like(rule->phase, what->phase)) {
		if (!atomic_load_explicit(&matched[number], memory_order_relaxed))
			atomic_store_explicit(&matched[number], 1, memory_order_relaxed);
		return 1;
	}
	if (rule->layer[0] != '\0' && what->layer != NULL &&
		!atomic_load_explicit(&matched[number], memory_order_relaxed))
		keep_layer(what->layer);
	return 0;
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

	if (SG_LIKELY(rule_count == 0))
		return duration_ns;
	atomic_store_explicit(&asked, 1, memory_order_relaxed);
	if (!disturbs_times)
		return duration_ns;
	for (int i = 0; i < rule_count; i++) {
		const struct sg_rule *rule = &rules[i];

		if (!selects(i, what, what->device))
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
		if (selects(i, what, what->device))
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
		if (selects(i, what, device))
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
		atomic_store_explicit(&matched[i], 1, memory_order_relaxed);
		link.latency_ns += rules[i].latency_ns * sg_time_scale;
		link.bytes_per_ns *= rules[i].bandwidth;
	}
	return link;
}

/* "rank=2 layer=conv9": what the rule selects by. */
static void put_selectors(const struct sg_rule *rule, FILE *out)
{
	const char *const names[][2] = {{"layer", rule->layer}, {"phase", rule->phase}, {"op", rule->op}};

	for (int i = 0; i < rule->rank_count && i < 4; i++)
		fprintf(out, "%s%d%s", i == 0 ? " rank=" : ",", rule->ranks[i],
			i == 3 && rule->rank_count > 4 ? ",..." : "");
	if (rule->device >= 0)
		fprintf(out, " device=%d", rule->device);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i][1][0] != '\0')
			fprintf(out, " %s=%s", names[i][0], names[i][1]);
	}
	for (int i = 0; i < 2 && rule->link[0] != SG_LINK_NONE; i++) {
		fputs(i == 0 ? " link=" : "-", out);
		if (rule->link[i] == SG_LINK_ANY)
			fputc('*', out);
		else
			fprintf(out, "%d", rule->link[i]);
	}
}

static void put_layers(FILE *out)
{
	if (layer_count == 0)
		fputs("; no operation had a layer's label (softgpu_truth)", out);
	for (int i = 0; i < layer_count && i < LAYERS_TOLD; i++)
		fprintf(out, "%s%s", i == 0 ? "; the layers are " : ", ", layers[i]);
	if (layer_count > LAYERS_TOLD)
		fputs(", ...", out);
}

/* A mistake in a name that only the run's end can show. Links are every rank's, so one says it. */
__attribute__((destructor)) static void tell_unmatched(void)
{
	if (rule_count <= 0 || getpid() != owner || !atomic_load(&asked))
		return;
	for (int i = 0; i < rule_count; i++) {
		const struct sg_rule *rule = &rules[i];
		int is_of_link = rule->latency_ns > 0 || rule->bandwidth != 1;
		char *text = NULL;
		size_t length;
		FILE *out;

		if (atomic_load(&matched[i]) || !needs_clock(rule) ||
			(is_of_link ? own_rank != 0 : !sg_rule_has_rank(rule, own_rank)))
			continue;
		out = open_memstream(&text, &length);
		if (out == NULL)
			return;
		put_selectors(rule, out);
		fprintf(out, "%s", is_of_link ? ": no link of the run matched" : ": no operation matched");
		if (rule->layer[0] != '\0')
			put_layers(out);
		if (fclose(out) == 0)
			fprintf(stderr, "softgpu: SOFTGPU_DISTURB: rank %d: rule %d has changed nothing:%s\n",
				own_rank, i + 1, text);
		free(text);
	}
}
