/* Is a side slower than the base by more than is allowed? For programs that decide by it, such as a merge
 * request's checks. */
#include "compare.h"

#include <math.h>

static bool judged(const struct compare_row *row)
{
	return row && row->effect.enough && isfinite(row->effect.p) && isfinite(row->effect.low) &&
	       row->base > 0;
}

enum compare_gate compare_gate(const struct compare_pair *pair, double allowed)
{
	const struct compare_row *row = compare_find(pair, COMPARE_WHOLE, "t_iter");

	if (!judged(row))
		return COMPARE_GATE_UNKNOWN;
	if (compare_change(row) > allowed && row->effect.p <= COMPARE_LEVEL && row->effect.low > 0)
		return COMPARE_GATE_SLOWER;
	if (row->effect.high > allowed * row->base)
		return COMPARE_GATE_UNSURE;
	return COMPARE_GATE_PASSED;
}

static const char *figures(struct compare *compare, const struct compare_row *row)
{
	return arena_format(&compare->arena, "%+.1f%% of the iteration, 95%% CI %+.1f%% to %+.1f%%",
		100 * compare_change(row), 100 * row->effect.low / row->base,
		100 * row->effect.high / row->base);
}

const char *compare_gate_text(struct compare *compare, const struct compare_pair *pair, double allowed)
{
	const struct compare_row *row = compare_find(pair, COMPARE_WHOLE, "t_iter");
	const char *base = compare->sides[pair->base].name, *other = compare->sides[pair->other].name;
	double percent = 100 * allowed;
	const char *text;

	switch (compare_gate(pair, allowed)) {
	case COMPARE_GATE_PASSED:
		return arena_format(&compare->arena, "%s passes: not slower than %s by more than %.3g%% (%s)",
			other, base, percent, figures(compare, row));
	case COMPARE_GATE_UNSURE:
		return arena_format(&compare->arena,
			"%s passes, though not surely: that it is slower than %s by more than %.3g%% is neither "
			"shown nor excluded (%s, p = %.2g); record more iterations or repetitions",
			other, base, percent, figures(compare, row), row->effect.p);
	case COMPARE_GATE_SLOWER:
		break;
	default:
		return arena_format(&compare->arena,
			"%s cannot be judged against %s: too few iterations; record more, or repetitions "
			"(--group)",
			other, base);
	}
	text = arena_format(&compare->arena,
		"%s fails: slower than %s, on average by more than the %.3g%% allowed (%s, p = %.2g).", other,
		base, percent, figures(compare, row), row->effect.p);
	for (const char **words = compare_words(compare, pair); *words; words++)
		text = arena_format(&compare->arena, "%s %s.", text, *words);
	return text;
}
