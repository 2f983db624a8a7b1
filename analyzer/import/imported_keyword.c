/*
 * What single names in a trace say: see imported_keyword.h. Labels are read word by word, so that "## forward
 * ##", "forward-compute" and "DistributedDataParallel.forward" are one thing and "forwarding" is none.
 */
#include "imported_keyword.h"
#include "framework/framework_kind.h"
#include "timeline/phase_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Words in labels, as bits. */
enum {
	KEYWORD_FORWARD = 1,
	KEYWORD_BACKWARD = 2,
	KEYWORD_OPTIMIZER = 4,
	KEYWORD_ZERO = 8,
	KEYWORD_GRADIENT = 16,
	KEYWORD_CLIP = 32,
	KEYWORD_COPY = 64,
	KEYWORD_DEVICE = 128,
	KEYWORD_H2D = 256,
	KEYWORD_UPDATE = 512,
	KEYWORD_WEIGHT = 1024,
};

static unsigned word_bits(const char *word, size_t length)
{
	static const struct {
		const char *word;
		unsigned bits;
	} known[] = {{"forward", KEYWORD_FORWARD}, {"fwd", KEYWORD_FORWARD}, {"fprop", KEYWORD_FORWARD},
		{"backward", KEYWORD_BACKWARD}, {"bwd", KEYWORD_BACKWARD}, {"bprop", KEYWORD_BACKWARD},
		{"optimizer", KEYWORD_OPTIMIZER}, {"optim", KEYWORD_OPTIMIZER}, {"zero", KEYWORD_ZERO},
		{"grad", KEYWORD_GRADIENT}, {"grads", KEYWORD_GRADIENT}, {"gradient", KEYWORD_GRADIENT},
		{"gradients", KEYWORD_GRADIENT}, {"clip", KEYWORD_CLIP}, {"copy", KEYWORD_COPY},
		{"move", KEYWORD_COPY}, {"transfer", KEYWORD_COPY}, {"upload", KEYWORD_COPY},
		{"gpu", KEYWORD_DEVICE}, {"device", KEYWORD_DEVICE}, {"cuda", KEYWORD_DEVICE},
		{"h2d", KEYWORD_H2D}, {"htod", KEYWORD_H2D}, {"update", KEYWORD_UPDATE},
		{"weight", KEYWORD_WEIGHT}, {"weights", KEYWORD_WEIGHT}, {"param", KEYWORD_WEIGHT},
		{"params", KEYWORD_WEIGHT}, {"parameters", KEYWORD_WEIGHT}};

	for (size_t i = 0; i < COUNT(known); i++)
		if (strlen(known[i].word) == length && strncasecmp(word, known[i].word, length) == 0)
			return known[i].bits;
	return 0;
}

/* The letters of pipelines' schedules, where parentheses say that it is one: "attn (F)", "MLP(W)"; W is the
 * weights' part of the backward pass. */
static unsigned letter_bits(const char *place, size_t length, bool behind)
{
	if (!behind || length != 1 || place[1] != ')')
		return 0;
	return *place == 'F' ? KEYWORD_FORWARD : *place == 'B' || *place == 'W' ? KEYWORD_BACKWARD : 0;
}

uint8_t imported_keyword_label(const char *label)
{
	unsigned bits = 0, passes;

	for (const char *place = label; *place;) {
		size_t length = 0;

		while (isalnum((unsigned char)place[length]))
			length++;
		bits |= word_bits(place, length);
		bits |= letter_bits(place, length, place > label && place[-1] == '(');
		place += length + (length == 0);
	}
	if ((bits & KEYWORD_ZERO) && (bits & KEYWORD_GRADIENT))
		return PHASE_OTHER + 1;
	if ((bits & KEYWORD_CLIP) && (bits & KEYWORD_GRADIENT))
		return PHASE_UPDATE + 1;
	if ((bits & KEYWORD_UPDATE) && ((bits & KEYWORD_WEIGHT) || strcasecmp(label, "update") == 0))
		bits |= KEYWORD_OPTIMIZER;
	if ((bits & KEYWORD_H2D) || ((bits & KEYWORD_COPY) && (bits & KEYWORD_DEVICE)))
		return PHASE_H2D + 1;
	passes = bits & (KEYWORD_FORWARD | KEYWORD_BACKWARD | KEYWORD_OPTIMIZER);
	if (passes == KEYWORD_FORWARD)
		return PHASE_FORWARD + 1;
	if (passes == KEYWORD_BACKWARD)
		return PHASE_BACKWARD + 1;
	return passes == KEYWORD_OPTIMIZER ? PHASE_UPDATE + 1 : 0;
}

static bool begins(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* "AddmmBackward0", "autograd::engine::evaluate_function: ...", "torch::autograd::AccumulateGrad",
 * "aten::threshold_backward"; not "RegisterPostBackwardFunction". */
static bool is_backward(const char *name)
{
	if (begins(name, "autograd::engine::") || begins(name, "torch::autograd::"))
		return true;
	for (const char *place = name; (place = strstr(place, "Backward"));) {
		place += 8;
		if (place[strspn(place, "0123456789>")] == 0)
			return true;
	}
	return strstr(name, "_backward") && strstr(name, "::");
}

static bool has_one(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

static bool is_sum(const char *name)
{
	return strcmp(name, "aten::add") == 0 || strcmp(name, "aten::add_") == 0;
}

bool imported_keyword_shaped(const char *name)
{
	return is_sum(name) || framework_layer_kind(name);
}

bool imported_keyword_product(const char *name)
{
	static const char *const products[] = {
		"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_addmm_activation"};

	for (size_t i = 0; i < COUNT(products); i++)
		if (strcmp(name, products[i]) == 0)
			return true;
	return false;
}

static uint16_t operator_flags(const char *name)
{
	static const char *const updates[] = {"aten::_foreach", "aten::_fused_", "multi_tensor", "addcdiv",
		"fused_adam", "fused_sgd", NULL};
	static const char *const in_place[] = {"aten::add_", "aten::mul_", "aten::sub_", "aten::div_",
		"aten::lerp_", "aten::addcmul_", "aten::sqrt", "aten::sqrt_", "aten::norm",
		"aten::linalg_vector_norm"};
	static const char *const copies[] = {
		"aten::to", "aten::copy_", "aten::_to_copy", "aten::contiguous", "aten::clone", "aten::cuda"};
	uint16_t flags = IMPORTED_KEYWORD_PLAIN;

	if (is_backward(name))
		return (uint16_t)(flags | IMPORTED_KEYWORD_BACKWARD |
				  (strstr(name, "AccumulateGrad") ? IMPORTED_KEYWORD_ADDS_UP : 0));
	if (is_sum(name))
		flags |= IMPORTED_KEYWORD_SUM;
	if (strcmp(name, "aten::zero_") == 0 || strcmp(name, "aten::_foreach_zero_") == 0)
		flags |= IMPORTED_KEYWORD_ZERO;
	else if (has_one(name, updates))
		flags |= IMPORTED_KEYWORD_UPDATE;
	for (size_t i = 0; i < COUNT(in_place); i++)
		if (strcmp(name, in_place[i]) == 0)
			flags |= IMPORTED_KEYWORD_INPLACE;
	for (size_t i = 0; i < COUNT(copies); i++)
		if (strcmp(name, copies[i]) == 0)
			flags |= IMPORTED_KEYWORD_COPY;
	return flags;
}

struct imported_keyword imported_keyword_of(const char *name)
{
	struct imported_keyword word = {0};

	if (begins(name, "ProfilerStep")) {
		word.flags = IMPORTED_KEYWORD_STEP;
	} else if (strcasestr(name, "dataloader")) {
		word.flags = IMPORTED_KEYWORD_LOADER;
	} else if (!strstr(name, "::") && !is_backward(name) && (word.label = imported_keyword_label(name))) {
		if (word.label == PHASE_UPDATE + 1 || word.label == PHASE_OTHER + 1)
			word.flags = IMPORTED_KEYWORD_STEP;
	} else {
		word.flags = operator_flags(name);
		if (!(word.flags & IMPORTED_KEYWORD_BACKWARD))
			word.kind = framework_layer_kind(name);
	}
	return word;
}

uint8_t imported_keyword_kernel(const char *name)
{
	static const char *const updates[] = {"multi_tensor_apply", "multi_tensor_", "adam", "lamb_", "sgd_",
		"_sgd", "adagrad", "rmsprop", "addcdiv", "addcmul", NULL};
	static const char *const backwards[] = {
		"dgrad", "wgrad", "bn_bw", "bwd", "backward", "bprop", "grad_input", "grad_weight", NULL};
	static const char *const forwards[] = {"fprop", "bn_fw", "fwd", "forward", NULL};

	if (strstr(name, "HtoD") || strstr(name, "HostToDevice"))
		return PHASE_H2D + 1;
	if (begins(name, "Memcpy") || begins(name, "Memset"))
		return 0;
	if (has_one(name, updates))
		return PHASE_UPDATE + 1;
	if (has_one(name, backwards))
		return PHASE_BACKWARD + 1;
	return has_one(name, forwards) ? PHASE_FORWARD + 1 : 0;
}

/* A number after the words in a text, or -1. */
static int64_t number_behind(const char *text, const char *words)
{
	const char *place = strstr(text, words);

	return place ? strtoll(place + strlen(words), NULL, 10) : -1;
}

void imported_keyword_range(struct imported *imported, uint32_t span)
{
	const char *text = imported->strings.items[imported->spans.name[span]], *name;
	const char *sizes = strstr(text, ", sizes = [");
	int64_t number = number_behind(text, ", op_id = ");

	if (number < 0 && !strstr(text, ", seq = "))
		return;
	imported->spans.kind[span] = IMPORTED_OPERATOR;
	imported->spans.sequence[span] = number_behind(text, ", seq = ");
	imported->spans.external[span] = number > 0 ? (uint64_t)number : 0;
	imported->spans.name[span] =
		intern_text(&imported->strings, text, (size_t)(strchr(text, ',') - text));
	name = imported->strings.items[imported->spans.name[span]];
	if (sizes && imported_keyword_shaped(name))
		imported->spans.shapes[span] =
			intern_text(&imported->strings, sizes + 10, strlen(sizes + 10));
}
