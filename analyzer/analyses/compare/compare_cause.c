/* Why the sides differ: see compare_cause in compare.h. Each side's findings say what it loses time to; a
 * finding is the same in both where its kind and subject are. */
#include "analyses/finding/finding.h"
#include "compare.h"

#include <math.h>
#include <string.h>

static double gain_of(const struct finding *finding)
{
	return finding && isfinite(finding->gain_ns) ? finding->gain_ns : 0;
}

static const struct finding *find(const struct finding_list *list, const struct finding *like)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kind == like->kind && strcmp(list->items[i].subject, like->subject) == 0)
			return &list->items[i];
	return NULL;
}

struct change {
	const struct finding *finding; /* of the side that loses more */
	double ns;                     /* other - base */
	double base_ns, other_ns;
};

/* Of the findings of `list`, with those of `against`, the one that changes most in the direction of `sign`.
 */
static void find_change(const struct finding_list *list, const struct finding_list *against, bool base,
	double sign, struct change *most)
{
	for (size_t i = 0; i < list->count; i++) {
		double own_ns = gain_of(&list->items[i]), their_ns = gain_of(find(against, &list->items[i]));
		double base_ns = base ? own_ns : their_ns, other_ns = base ? their_ns : own_ns;

		if (sign * (other_ns - base_ns) > sign * most->ns)
			*most = (struct change){&list->items[i], other_ns - base_ns, base_ns, other_ns};
	}
}

/* The layer whose computation differs most, decidedly, in the direction of `sign`; NULL: none does. */
static const struct compare_row *most_different_layer(const struct compare_pair *pair, double sign)
{
	const struct compare_row *most = NULL;

	for (size_t i = 0; i < pair->row_count; i++) {
		const struct compare_row *row = &pair->rows[i];

		if (row->kind == COMPARE_LAYER &&
			(row->word == COMPARE_FASTER || row->word == COMPARE_SLOWER) &&
			row->effect.difference * sign > 0 &&
			(!most || row->effect.difference * sign > most->effect.difference * sign))
			most = row;
	}
	return most;
}

static const char *share_text(struct compare *compare, double share)
{
	return share >= 1 ? "all of the difference"
			  : arena_format(&compare->arena, "%.0f%% of the difference", 100 * share);
}

static const char *gain_text(struct compare *compare, double ns)
{
	return ns > 0 ? print_time(&compare->arena, ns) : "less than 1%";
}

static const char *change_text(struct compare *compare, const struct compare_pair *pair,
	const struct change *change, double difference_ns)
{
	struct arena *arena = &compare->arena;
	const char *title = arena_text(arena, change->finding->title, strlen(change->finding->title));

	return arena_format(arena, "Cause: %s (a step loses at most %s to it in %s, %s in %s: up to %s)",
		title, gain_text(compare, change->other_ns), compare->sides[pair->other].name,
		gain_text(compare, change->base_ns), compare->sides[pair->base].name,
		share_text(compare, change->ns / difference_ns));
}

const char *compare_cause(struct compare *compare, const struct compare_pair *pair)
{
	const struct compare_row *iteration = compare_find(pair, COMPARE_WHOLE, "t_iter"), *layer;
	struct finding_list base, other;
	struct change most = {0};
	const char *text = NULL;
	double difference_ns, sign;

	if (!iteration || (iteration->word != COMPARE_FASTER && iteration->word != COMPARE_SLOWER) ||
		compare->how.per_sample)
		return NULL;
	difference_ns = iteration->effect.difference;
	sign = difference_ns > 0 ? 1 : -1;
	findings_find(&compare->sides[pair->base].runs[0]->analysis, &base);
	findings_find(&compare->sides[pair->other].runs[0]->analysis, &other);
	find_change(&base, &other, true, sign, &most);
	find_change(&other, &base, false, sign, &most);
	layer = most_different_layer(pair, sign);
	if (most.finding && most.ns / difference_ns >= EXPLAINED_LEAST &&
		(!layer || sign * most.ns >= sign * layer->effect.difference))
		text = change_text(compare, pair, &most, difference_ns);
	else if (layer && layer->effect.difference / difference_ns >= EXPLAINED_LEAST)
		text = arena_format(&compare->arena,
			"Cause: layer %s computes for %s %s, mean of the ranks (%s)", layer->title,
			print_time(&compare->arena, fabs(layer->effect.difference)),
			sign > 0 ? "more" : "less",
			share_text(compare, layer->effect.difference / difference_ns));
	findings_free(&base);
	findings_free(&other);
	return text;
}
