/*
 * What labels mean. A label is taken apart into words, spelled one way, and words that do not matter are left
 * out ("compute", "warmup", numbers); what remains must be a row of the table.
 */
#include "labelled.h"

#include <ctype.h>
#include <string.h>

static const struct {
	const char *words;
	uint8_t types[2];
} labels[] = {
	{"forward", {LABELLED_FORWARD, LABELLED_TYPES}},
	{"backward", {LABELLED_BACKWARD, LABELLED_TYPES}},
	{"forward send", {LABELLED_FORWARD_SEND, LABELLED_TYPES}},
	{"send forward", {LABELLED_FORWARD_SEND, LABELLED_TYPES}},
	{"forward recv", {LABELLED_FORWARD_RECV, LABELLED_TYPES}},
	{"recv forward", {LABELLED_FORWARD_RECV, LABELLED_TYPES}},
	{"backward send", {LABELLED_BACKWARD_SEND, LABELLED_TYPES}},
	{"send backward", {LABELLED_BACKWARD_SEND, LABELLED_TYPES}},
	{"backward recv", {LABELLED_BACKWARD_RECV, LABELLED_TYPES}},
	{"recv backward", {LABELLED_BACKWARD_RECV, LABELLED_TYPES}},
	{"forward send backward recv", {LABELLED_FORWARD_SEND, LABELLED_BACKWARD_RECV}},
	{"send forward recv backward", {LABELLED_FORWARD_SEND, LABELLED_BACKWARD_RECV}},
	{"exchange next", {LABELLED_FORWARD_SEND, LABELLED_BACKWARD_RECV}},
	{"backward send forward recv", {LABELLED_BACKWARD_SEND, LABELLED_FORWARD_RECV}},
	{"send backward recv forward", {LABELLED_BACKWARD_SEND, LABELLED_FORWARD_RECV}},
	{"exchange prev", {LABELLED_BACKWARD_SEND, LABELLED_FORWARD_RECV}},
	{"forward send forward recv", {LABELLED_FORWARD_SEND, LABELLED_FORWARD_RECV}},
	{"send forward recv forward", {LABELLED_FORWARD_SEND, LABELLED_FORWARD_RECV}},
	{"backward send backward recv", {LABELLED_BACKWARD_SEND, LABELLED_BACKWARD_RECV}},
	{"send backward recv backward", {LABELLED_BACKWARD_SEND, LABELLED_BACKWARD_RECV}},
	{"param allgather", {LABELLED_GATHER, LABELLED_TYPES}},
	{"allgather", {LABELLED_GATHER, LABELLED_TYPES}},
	{"grad reducescatter", {LABELLED_REDUCE, LABELLED_TYPES}},
	{"grad allreduce", {LABELLED_REDUCE, LABELLED_TYPES}},
	{"reducescatter", {LABELLED_REDUCE, LABELLED_TYPES}},
	{"allreduce", {LABELLED_REDUCE, LABELLED_TYPES}},
	{"grad sync", {LABELLED_REDUCE, LABELLED_TYPES}},
	{"all grad sync", {LABELLED_REDUCE, LABELLED_TYPES}},
	{"separate grad allreduce", {LABELLED_SEPARATE, LABELLED_TYPES}},
	{"layernorm grad allreduce", {LABELLED_NORM, LABELLED_TYPES}},
	{"embedding grad allreduce", {LABELLED_EMBEDDING, LABELLED_TYPES}},
	{"optimizer clip main grad", {LABELLED_CLIP, LABELLED_TYPES}},
	{"clip main grad", {LABELLED_CLIP, LABELLED_TYPES}},
	{"clip grad", {LABELLED_CLIP, LABELLED_TYPES}},
	{"grad norm", {LABELLED_CLIP, LABELLED_TYPES}},
	{"optimizer", {LABELLED_UPDATE, LABELLED_TYPES}},
	{"update", {LABELLED_UPDATE, LABELLED_TYPES}},
	{"gc", {LABELLED_COLLECTION, LABELLED_TYPES}},
	{"garbage collection", {LABELLED_COLLECTION, LABELLED_TYPES}},
};

/* Spelled one way; what becomes nothing does not matter. */
static const struct {
	const char *word, *instead;
} spellings[] = {
	{"compute", ""},
	{"pass", ""},
	{"step", ""},
	{"warmup", ""},
	{"steady", ""},
	{"cooldown", ""},
	{"extra", ""},
	{"micro", ""},
	{"batch", ""},
	{"microbatch", ""},
	{"mb", ""},
	{"chunk", ""},
	{"rank", ""},
	{"stage", ""},
	{"from", ""},
	{"to", ""},
	{"fwd", "forward"},
	{"bwd", "backward"},
	{"bckwd", "backward"},
	{"receive", "recv"},
	{"grads", "grad"},
	{"gradients", "grad"},
	{"gradient", "grad"},
	{"params", "param"},
	{"parameters", "param"},
	{"weights", "param"},
	{"optim", "optimizer"},
	{"optimiser", "optimizer"},
};

static const char *const type_names[LABELLED_TYPES] = {
	[LABELLED_FORWARD] = "forward-compute",
	[LABELLED_BACKWARD] = "backward-compute",
	[LABELLED_FORWARD_SEND] = "forward-send",
	[LABELLED_FORWARD_RECV] = "forward-recv",
	[LABELLED_BACKWARD_SEND] = "backward-send",
	[LABELLED_BACKWARD_RECV] = "backward-recv",
	[LABELLED_GATHER] = "params-all-gather",
	[LABELLED_REDUCE] = "grads-reduce-scatter",
	[LABELLED_SEPARATE] = "separate-grads-all-reduce",
	[LABELLED_NORM] = "layernorm-grads-all-reduce",
	[LABELLED_EMBEDDING] = "embedding-grads-all-reduce",
	[LABELLED_CLIP] = "optimizer-clip-main-grad",
	[LABELLED_UPDATE] = "optimizer",
	[LABELLED_COLLECTION] = "gc",
};

const char *labelled_type_name(unsigned type)
{
	return type_names[type];
}

bool labelled_is_compute(unsigned type)
{
	return type == LABELLED_FORWARD || type == LABELLED_BACKWARD;
}

bool labelled_is_communication(unsigned type)
{
	return !labelled_is_compute(type) && type != LABELLED_UPDATE && type != LABELLED_COLLECTION;
}

/* The next word in small letters, at most `room` - 1 of them; answers where it ends, NULL: there is none. */
static const char *next_word(const char *place, const char *end, char *word, size_t room)
{
	size_t length = 0;

	while (place < end && !isalpha((unsigned char)*place))
		place++;
	if (place == end)
		return NULL;
	for (; place < end && isalpha((unsigned char)*place); place++)
		if (length + 1 < room)
			word[length++] = (char)tolower((unsigned char)*place);
	word[length] = 0;
	return place;
}

static const char *spell(const char *word)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++)
		if (strcmp(spellings[i].word, word) == 0)
			return spellings[i].instead;
	return word;
}

/* "all reduce" and "reduce scatter" are one word. */
static bool joins(const char *last, const char *word)
{
	return (strcmp(last, "all") == 0 && (strcmp(word, "reduce") == 0 || strcmp(word, "gather") == 0)) ||
	       (strcmp(last, "reduce") == 0 && strcmp(word, "scatter") == 0);
}

int labelled_name_types(const char *name, size_t length, uint8_t types[2])
{
	char word[32], last[32] = "", text[128];
	const char *end = name + length, *place = name;
	size_t used = 0;

	while ((place = next_word(place, end, word, sizeof(word)))) {
		const char *spelled = spell(word);
		size_t spelled_length = strlen(spelled);

		if (!*spelled)
			continue;
		if (used + spelled_length + 2 > sizeof(text))
			return 0;
		if (used > 0 && !joins(last, spelled))
			text[used++] = ' ';
		memcpy(text + used, spelled, spelled_length);
		used += spelled_length;
		memcpy(last, spelled, spelled_length + 1);
	}
	text[used] = 0;
	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		if (strcmp(labels[i].words, text) == 0) {
			types[0] = labels[i].types[0];
			types[1] = labels[i].types[1];
			return types[1] == LABELLED_TYPES ? 1 : 2;
		}
	return 0;
}

static int32_t *coordinate(const char *word, struct labelled_place *place)
{
	static const struct {
		const char *word;
		size_t at;
	} words[] = {
		{"dp", offsetof(struct labelled_place, data)},
		{"data", offsetof(struct labelled_place, data)},
		{"pp", offsetof(struct labelled_place, stage)},
		{"pipeline", offsetof(struct labelled_place, stage)},
		{"stage", offsetof(struct labelled_place, stage)},
		{"tp", offsetof(struct labelled_place, tensor)},
		{"tensor", offsetof(struct labelled_place, tensor)},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, word) == 0)
			return (int32_t *)((char *)place + words[i].at);
	return NULL;
}

void labelled_place_of(const char *name, struct labelled_place *place)
{
	const char *end = name + strlen(name), *at = name;
	char word[32];

	while ((at = next_word(at, end, word, sizeof(word)))) {
		int32_t *number = coordinate(word, place);
		const char *digits;
		int32_t value = 0;

		/* "rank" after what it is a rank of says no more than that does. */
		if (number && (digits = next_word(at, end, word, sizeof(word))) &&
			(strcmp(word, "rank") == 0 || strcmp(word, "rk") == 0) &&
			digits - at - (ptrdiff_t)strlen(word) <= 1 && !isdigit((unsigned char)*at))
			at = digits;
		else if (!number && strcmp(word, "rank") == 0)
			number = &place->rank;
		if (!number)
			continue;
		digits = at + strspn(at, " [_:=#-");
		if (!isdigit((unsigned char)*digits))
			continue;
		for (; isdigit((unsigned char)*digits) && value < 10000000; digits++)
			value = value * 10 + (*digits - '0');
		if (*number < 0)
			*number = value;
		at = digits;
	}
}
