/*
 * Which layer of one run is which of another. Both are sequences in order of execution: of all ways to pair
 * them without crossing, the one with the greatest sum of likenesses is taken (Needleman and Wunsch 1970).
 * What is left over then, since branches may be run in another order, is paired where names or sizes are
 * alike.
 */
#include "compare.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct likeness {
	double score; /* 0: cannot be the same layer */
	const char *by;
	bool sizes_differ;
};

struct sequence {
	const struct layer **items;
	size_t count, room;
};

/* Words that frameworks have for one kind of layer; compared in small letters, and a kind may be a part of
 * the name's stem only where it begins it. */
static const struct {
	const char *word, *kind;
} kinds[] = {{"batchnorm", "norm"}, {"batch_norm", "norm"}, {"batch_normalization", "norm"}, {"bn", "norm"},
	{"layernorm", "norm"}, {"norm", "norm"}, {"maxpool", "pool"}, {"max_pool", "pool"},
	{"avgpool", "pool"}, {"avg_pool", "pool"}, {"average_pool", "pool"}, {"global_average_pool", "pool"},
	{"adaptiveavgpool", "pool"}, {"pool", "pool"}, {"conv", "conv"}, {"linear", "fc"}, {"dense", "fc"},
	{"fc", "fc"}, {"gemm", "fc"}, {"softmax", "softmax"}, {"log_softmax", "softmax"},
	{"crossentropy", "softmax"}, {"cross_entropy", "softmax"}, {"dropout", "dropout"}, {"relu", "relu"},
	{"lstm", "lstm"}, {"gru", "gru"}, {"rnn", "rnn"}, {"attention", "attention"},
	{"multihead", "attention"}, {"embedding", "embedding"}, {"add", "add"}, {"loss", "loss"}};

/* The last part of a name: of "net.layer1.0.conv1" or "model/conv2d_1/Conv2D" that with a known kind. */
static const char *kind_of(const char *name)
{
	const char *end = name + strlen(name);

	while (end > name) {
		const char *begin = end;

		while (begin > name && begin[-1] != '.' && begin[-1] != '/')
			begin--;
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (strncasecmp(begin, kinds[i].word, strlen(kinds[i].word)) == 0)
				return kinds[i].kind;
		end = begin > name ? begin - 1 : name;
	}
	return "";
}

static const char *layer_kind_of(const struct layer *layer)
{
	const char *kind = kind_of(layer->name);

	return *kind ? kind : kind_of(layer->module);
}

/* The number in a name by which its kind is counted, "conv2d_1": 1; -1: none. */
static long ordinal(const char *name)
{
	size_t end = strlen(name), begin = end;

	while (begin > 0 && isdigit((unsigned char)name[begin - 1]))
		begin--;
	return begin < end && end - begin < 9 ? strtol(name + begin, NULL, 10) : -1;
}

/* Up to the sizes: "5x5x6->16" of "5x5x6->16 s1 p0", "max 2x2" of "max 2x2 s2". */
static size_t sizes_length(const char *text)
{
	size_t length = strcspn(text, " ");

	if (strcspn(text, "0123456789") >= length && text[length])
		length += 1 + strcspn(text + length + 1, " ");
	return length;
}

static bool same_sizes(const char *a, const char *b)
{
	size_t length = sizes_length(a);

	return length > 0 && sizes_length(b) == length && strncmp(a, b, length) == 0;
}

/* An input's shape without the batch. */
static bool same_input(const char *a, const char *b)
{
	const char *x = strchr(a, 'x'), *y = strchr(b, 'x');

	return x && y && strcmp(x, y) == 0;
}

/* alike_models: they have as many layers, so that a name that was counted out means the same in both. */
static struct likeness compare_layers(const struct layer *a, const struct layer *b, bool alike_models)
{
	const char *kind = layer_kind_of(a), *other_kind = layer_kind_of(b);
	bool module = a->module[0] && strcmp(a->module, b->module) == 0;
	bool name = strcmp(a->name, b->name) == 0 || strcmp(layer_title(a), layer_title(b)) == 0;
	bool alike = *kind && strcmp(kind, other_kind) == 0;
	bool reported = a->text[0] && b->text[0];
	bool sizes = reported && same_sizes(a->text, b->text);
	bool parameters = a->parameter_count > 0 && a->parameter_count == b->parameter_count;
	bool uneven = a->parameter_count > 0 && b->parameter_count > 0 && !parameters;
	struct likeness like = {0};

	if (*kind && *other_kind && !alike)
		return like;
	like.sizes_differ = (reported && !sizes) || uneven;
	like.by = module ? "module" : name ? "name" : sizes || parameters ? "sizes" : "position";
	/* Other sizes are another layer, unless its name says that it was made so. */
	if (like.sizes_differ && !module && !(name && alike_models))
		return like;
	if (!module && !name && !sizes && !parameters && !alike)
		return like;
	like.score = 8.0 * module + 4.0 * name + 6.0 * sizes + 5.0 * parameters + 1.0 * alike +
		     0.5 * (ordinal(a->name) >= 0 && ordinal(a->name) == ordinal(b->name)) +
		     1.0 * same_input(a->input, b->input) + 0.1;
	if (like.sizes_differ)
		like.score /= 2;
	return like;
}

static struct sequence all_layers(const struct analysis *analysis)
{
	struct sequence sequence = {0};

	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t l = 0; l < layers->count; l++)
			*MEM_PUSH(sequence.items, sequence.count, sequence.room) = &layers->items[l];
	}
	return sequence;
}

#define ALONE SIZE_MAX

/* partners[i]: of base layer i. */
static void align(const struct sequence *base, const struct sequence *other, size_t *partners)
{
	size_t width = other->count + 1;
	double *best = mem_alloc((base->count + 1) * width, sizeof(*best));

	for (size_t i = base->count; i-- > 0;)
		for (size_t j = other->count; j-- > 0;) {
			double score =
				compare_layers(base->items[i], other->items[j], base->count == other->count)
					.score;
			double skip = best[(i + 1) * width + j] > best[i * width + j + 1]
					      ? best[(i + 1) * width + j]
					      : best[i * width + j + 1];
			double pair = score > 0 ? score + best[(i + 1) * width + j + 1] : -1;

			best[i * width + j] = pair >= skip ? pair : skip;
		}
	for (size_t i = 0, j = 0; i < base->count;) {
		double score = j < other->count ? compare_layers(base->items[i], other->items[j],
							  base->count == other->count)
							  .score
						: 0;

		partners[i] = ALONE;
		if (score > 0 && best[i * width + j] == score + best[(i + 1) * width + j + 1])
			partners[i++] = j++;
		else if (j < other->count && best[i * width + j] == best[i * width + j + 1])
			j++;
		else
			i++;
	}
	free(best);
}

/* Pairs that cross others: only where it is more than a kind that is alike. */
static void pair_rest(
	const struct sequence *base, const struct sequence *other, size_t *partners, bool *taken)
{
	for (size_t i = 0; i < base->count; i++) {
		double greatest = 4;

		if (partners[i] != ALONE)
			continue;
		for (size_t j = 0; j < other->count; j++) {
			double score = taken[j] ? 0
						: compare_layers(base->items[i], other->items[j],
							  base->count == other->count)
							  .score;

			if (score > greatest) {
				greatest = score;
				partners[i] = j;
			}
		}
		if (partners[i] != ALONE)
			taken[partners[i]] = true;
	}
}

static void compare_match_add(
	struct compare_pair *pair, const struct layer *base, const struct layer *other, bool alike_models)
{
	struct likeness like = {.by = ""};

	if (base && other)
		like = compare_layers(base, other, alike_models);
	*MEM_PUSH(pair->matches, pair->match_count, pair->match_room) = (struct compare_match){
		.base = base, .other = other, .by = like.by, .sizes_differ = like.sizes_differ};
}

void compare_match(const struct analysis *base, const struct analysis *other, struct compare_pair *pair)
{
	struct sequence from = all_layers(base), to = all_layers(other);
	size_t *partners = mem_alloc(from.count, sizeof(*partners));
	bool *taken = mem_alloc(to.count, sizeof(*taken));

	align(&from, &to, partners);
	for (size_t i = 0; i < from.count; i++)
		if (partners[i] != ALONE)
			taken[partners[i]] = true;
	pair_rest(&from, &to, partners, taken);
	for (size_t i = 0; i < from.count; i++)
		compare_match_add(pair, from.items[i], partners[i] == ALONE ? NULL : to.items[partners[i]],
			from.count == to.count);
	for (size_t j = 0; j < to.count; j++)
		if (!taken[j])
			compare_match_add(pair, NULL, to.items[j], false);
	free(partners);
	free(taken);
	free(from.items);
	free(to.items);
}
