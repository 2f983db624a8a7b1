/* Which findings are about a change of whatif.h: see finding_whatif.h. */
#include "finding_whatif.h"

#define BIT(kind) (1u << FINDING_##kind)
#define UNEVEN (BIT(STRAGGLER) | BIT(WAITING) | BIT(OUTLIERS))
#define HOSTS (BIT(INPUT) | BIT(OFFLOAD) | BIT(CALL) | BIT(LAUNCH) | BIT(LATENCY))

static const struct {
	unsigned findings; /* a bit for each kind */
	const char *why;
} changes[] = {
	[WHATIF_LAYER] = {0, NULL},
	[WHATIF_COMMUNICATION] = {BIT(COMMUNICATION) | BIT(OUTLIERS),
		"the ranks with more exposed communication than the one with the least gain, too"},
	[WHATIF_OVERLAP] = {BIT(COMMUNICATION) | UNEVEN,
		"waiting for other ranks is hidden with it, also what no finding names"},
	[WHATIF_HOST] = {UNEVEN | HOSTS,
		"gaps that the trace attributes to no launch are gone, too, and so are those of single ranks"},
	[WHATIF_INPUT] = {BIT(INPUT) | BIT(OFFLOAD) | UNEVEN,
		"the ranks that wait longer for their batch than the one that waits least gain, too"},
	[WHATIF_BALANCE] = {UNEVEN,
		"it evens out each layer and phase in each iteration; a finding names what recurs"},
	[WHATIF_STAGES] = {UNEVEN | BIT(IMBALANCE) | BIT(COMMUNICATION),
		"it evens out the stages in each iteration; a finding names what recurs"},
	[WHATIF_RANK] = {UNEVEN,
		"it gives the rank the others' times in all it does; a finding names each cause that recurs"},
};

static bool is_about(const struct finding *finding, const struct whatif_change *change)
{
	if (!(changes[change->kind].findings & 1u << finding->kind) || !(finding->gain_ns > 0))
		return false;
	return change->kind != WHATIF_RANK || finding->worker == SIZE_MAX ||
	       finding->worker == change->worker;
}

bool finding_whatif(
	struct finding_list *list, const struct whatif_result *result, struct finding_whatif *found)
{
	*found = (struct finding_whatif){.numbers = ""};
	if (!changes[result->change.kind].findings)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		if (!is_about(&list->items[i], &result->change))
			continue;
		found->gain_ns += list->items[i].gain_ns;
		found->numbers = arena_format(
			&list->arena, "%s%s%zu", found->numbers, *found->numbers ? ", " : "", i + 1);
	}
	if (result->gain_ns > found->gain_ns + FINDING_LEAST * list->step.mean_ns)
		found->why = changes[result->change.kind].why;
	return true;
}
