/*
 * What runs without gradients: an evaluation, if it works with weights to which gradients go back, else a
 * teacher or another frozen model. A product without weights, as of a figure that a module keeps of its own
 * results, is neither: it is between two operators of the same module.
 */
#include "layer_framework.h"

#include <stdlib.h>
#include <string.h>

struct search {
	const struct framework_word *words; /* by step */
	const uint32_t *next;               /* by step */
	uint32_t count;
	const char **trained; /* modules to which gradients go back, in order of texts */
	size_t trained_count, trained_room;
};

enum layer_anchor layer_anchor_of(const struct framework_word *word)
{
	switch (word->place) {
	case FRAMEWORK_FORWARD:
		return word->module ? LAYER_IN_FORWARD : LAYER_NO_ANCHOR;
	case FRAMEWORK_BACKWARD:
	case FRAMEWORK_AGAIN:
		return LAYER_IN_BACKWARD;
	case FRAMEWORK_UPDATE:
		return LAYER_IN_UPDATE;
	default:
		return LAYER_NO_ANCHOR;
	}
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void find_trained(struct search *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->words[i].place == FRAMEWORK_BACKWARD && s->words[i].module)
			*MEM_PUSH(s->trained, s->trained_count, s->trained_room) = s->words[i].module;
	if (s->trained_count)
		qsort(s->trained, s->trained_count, sizeof(*s->trained), compare_texts);
}

static bool is_trained(const struct search *s, const char *module)
{
	return s->trained_count &&
	       bsearch(&module, s->trained, s->trained_count, sizeof(*s->trained), compare_texts);
}

/* Of a pass without gradients, which works with weights somewhere: are those trained too? LAYER_WHY_NONE: it
 * is no pass; LAYER_WHY_EVALUATION: of which modules they are is not known, or nothing is trained. */
static enum layer_why evaluation_of(const struct search *s, uint32_t first, uint32_t end)
{
	enum layer_why rule = LAYER_WHY_NONE;

	for (uint32_t i = first; i < end; i++) {
		if (!s->words[i].weighs)
			continue;
		if (!s->words[i].module || !s->trained_count)
			return LAYER_WHY_EVALUATION;
		if (is_trained(s, s->words[i].module)) {
			if (layer_is_class_name(s->words[i].module)) /* it may be another one of that class */
				return LAYER_WHY_EVALUATION;
			rule = LAYER_WHY_NO_GRADIENTS;
		}
		if (rule == LAYER_WHY_NONE)
			rule = LAYER_WHY_FROZEN;
	}
	return rule;
}

/* Is all of it one module's own and without weights, and are the passes before and after it within that?
 * before: the last anchor, or NULL. */
static bool is_figure(
	const struct search *s, const struct framework_word *before, uint32_t first, uint32_t end)
{
	const char *module = s->words[first].module;
	const struct framework_word *after = s->next[first] == GRAPH_NONE ? NULL : &s->words[s->next[first]];

	if (!module || !before || !after || layer_anchor_of(before) != LAYER_IN_FORWARD ||
		!framework_is_within(before->module, module) || !framework_is_within(after->module, module))
		return false;
	for (uint32_t i = first; i < end; i++)
		if (!s->words[i].module || strcmp(s->words[i].module, module) != 0 ||
			(s->words[i].weighs && s->words[i].owns))
			return false;
	return true;
}

void layer_find_evaluations(
	const struct framework_word *words, const uint32_t *next, uint32_t count, enum layer_why *evaluates)
{
	struct search s = {.words = words, .next = next, .count = count};
	const struct framework_word *before = NULL;

	find_trained(&s);
	for (uint32_t i = 0, end; i < count; i = end) {
		enum layer_why rule;

		end = i + 1;
		if (words[i].place != FRAMEWORK_NO_GRADIENTS) {
			before = layer_anchor_of(&words[i]) ? &words[i] : before;
			continue;
		}
		while (end < count && words[end].place == FRAMEWORK_NO_GRADIENTS)
			end++;
		if (is_figure(&s, before, i, end))
			continue;
		rule = evaluation_of(&s, i, end);
		for (uint32_t j = i; j < end; j++)
			evaluates[j] = rule;
	}
	free(s.trained);
}
