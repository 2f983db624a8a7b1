/*
 * What names tell of an operation: the kernel's own first, then the functions at its call site from the
 * innermost on. The first of them that says anything decides, so that a function "update" around a whole
 * iteration does not make updates of its forward work.
 */
#include "sequence.h"
#include "timeline/phase_name.h"

#include <ctype.h>
#include <string.h>

#define NAME_BYTES 600 /* of a name that are looked at */

enum edges {
	INSIDE_A_WORD,
	BEGINS_A_WORD, /* after no letter: after the length of a mangled name too */
	WHOLE_WORD,    /* nor a letter, digit or underscore after it */
};

struct keyword {
	const char *text;
	enum edges edges;
};

static const struct keyword update_words[] = {{"optimizer", INSIDE_A_WORD}, {"fused_adam", BEGINS_A_WORD},
	{"fusedadam", BEGINS_A_WORD}, {"adam", BEGINS_A_WORD}, {"sgd", WHOLE_WORD}, {"fused_sgd", WHOLE_WORD},
	{"rmsprop", WHOLE_WORD}, {"adagrad", WHOLE_WORD}, {"adadelta", WHOLE_WORD}, {"nadam", WHOLE_WORD},
	{"radam", WHOLE_WORD}, {"lamb", WHOLE_WORD}, {"lars", WHOLE_WORD}, {"adafactor", WHOLE_WORD},
	{"lion", WHOLE_WORD}, {"lbfgs", WHOLE_WORD}, {"muon", WHOLE_WORD}, {"rprop", WHOLE_WORD},
	{"asgd", WHOLE_WORD}, {"update", BEGINS_A_WORD}};

/* Of work on lists of tensors, which mostly is an update: not where a module does it, as one does that
 * gathers its parameters from other ranks. */
static const struct keyword list_words[] = {
	{"multi_tensor_apply", INSIDE_A_WORD}, {"foreach", INSIDE_A_WORD}};

/* Names with an update in them that is none of the model. */
static const char *const not_updates[] = {"zero_grad", "metric", "running_update", "stats_update",
	"update_running", "update_stat", "update_bn", "updatestat", "updateoutput", "update_output",
	"updategradinput", "updateaccgrad", "update_cache", "cache_update", "kv_update", "all_gather",
	"allgather", "reduce_scatter", "all_reduce", "allreduce", "foreach_reduce"};
static const char *const backward_words[] = {
	"backward", "bprop", "bwd", "dgrad", "wgrad", "updategradinput", "grad_input", "gradinput"};
static const char *const forward_words[] = {"forward", "fprop"};

/* Frames of these say nothing: the interpreter's own. */
static const char *const silent[] = {"libpython", "_py", "pyobject", "pyeval"};

static bool has_any(const char *name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

#define HAS_ANY(name, words) has_any(name, words, sizeof(words) / sizeof(*(words)))

static bool has_keyword(const char *name, const struct keyword *keyword)
{
	size_t length = strlen(keyword->text);

	for (const char *at = name; (at = strstr(at, keyword->text)); at++) {
		bool begins = at == name || !isalpha((unsigned char)at[-1]);
		bool ends = !isalnum((unsigned char)at[length]) && at[length] != '_';

		if (keyword->edges == INSIDE_A_WORD || (begins && (keyword->edges == BEGINS_A_WORD || ends)))
			return true;
	}
	return false;
}

static bool is_update_name(const char *name)
{
	if (HAS_ANY(name, not_updates))
		return false;
	for (size_t i = 0; i < sizeof(update_words) / sizeof(*update_words); i++)
		if (has_keyword(name, &update_words[i]))
			return true;
	return false;
}

static bool is_list_name(const char *name)
{
	if (HAS_ANY(name, not_updates))
		return false;
	for (size_t i = 0; i < sizeof(list_words) / sizeof(*list_words); i++)
		if (has_keyword(name, &list_words[i]))
			return true;
	return false;
}

/* Of one name, in small letters; 0: it says nothing. */
static uint8_t label_of(const char *name)
{
	if (HAS_ANY(name, silent))
		return 0;
	if (HAS_ANY(name, backward_words))
		return SEQUENCE_BACKWARD;
	if (is_update_name(name) || is_list_name(name))
		return SEQUENCE_UPDATE;
	return HAS_ANY(name, forward_words) ? SEQUENCE_FORWARD : 0;
}

static void lower(char *to, const char *from, size_t length)
{
	if (length >= NAME_BYTES)
		length = NAME_BYTES - 1;
	for (size_t i = 0; i < length; i++)
		to[i] = (char)tolower((unsigned char)from[i]);
	to[length] = 0;
}

const char *sequence_kernel(const struct timeline *timeline, const struct timeline_operation *operation)
{
	const struct timeline_function *function = &timeline->functions[operation->function];

	for (uint32_t i = 0; i < operation->value_count; i++) {
		const char *label = function->labels[i].name;

		if (function->labels[i].type == PM_VALUE_STRING &&
			(strcmp(label, "kernel") == 0 || strcmp(label, "name") == 0 ||
				strcmp(label, "func") == 0) &&
			operation->values[i] < timeline->string_count)
			return timeline->strings[operation->values[i]];
	}
	return NULL;
}

/* The optimizer's own method around forward work: it evaluates a closure. */
static bool is_step(const char *name)
{
	const char *at = strstr(name, ".step (");

	return at && is_update_name(name);
}

/*
 * By the call site. `forward`: the work is surely forward, whoever calls it; then only an optimizer's step
 * around it matters.
 */
static uint8_t label_of_site(const char *site, bool forward)
{
	char name[NAME_BYTES];
	uint8_t label = 0;

	for (const char *end; site && *site; site = *end ? end + 3 : end) {
		uint8_t here;

		end = strstr(site, " < ");
		if (!end)
			end = site + strlen(site);
		lower(name, site, (size_t)(end - site));
		if (strstr(name, "zero_grad") && !label)
			return 0;
		here = label_of(name);
		if (!label)
			label = here;
		if ((forward || label == SEQUENCE_FORWARD) && is_step(name))
			return SEQUENCE_INSIDE;
		if (label && label != SEQUENCE_FORWARD && !forward)
			break;
	}
	return forward ? SEQUENCE_FORWARD : label;
}

/* The innermost function of Python's, as it stands in a call site; its length, 0: there is none. */
static size_t innermost(const char **site)
{
	for (const char *end; *site && **site; *site = *end ? end + 3 : end) {
		end = strstr(*site, " < ");
		if (!end)
			end = *site + strlen(*site);
		if (memmem(*site, (size_t)(end - *site), ".py", 3))
			return (size_t)(end - *site);
	}
	return 0;
}

/*
 * Is the innermost function of Python's a method of a class that keeps a mean of parameters, by its name?
 * Such a class is a module to PyTorch, but no layer (AveragedModel, ModelEmaV3, ExponentialMovingAverage).
 * Modules of PyTorch's own do not show their methods, so that other names say nothing of them.
 */
static bool is_mean_of_parameters(const char *site)
{
	static const char *const classes[] = {"Averag", "EMA", "Ema"};
	const size_t length = innermost(&site);
	const char *dot = length ? memchr(site, '.', length) : NULL;

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes) && dot; i++)
		if (dot < (const char *)memmem(site, length, ".py", 3) &&
			memmem(site, (size_t)(dot - site), classes[i], strlen(classes[i])))
			return true;
	return false;
}

/* Is it an optimizer's step? That may be called by a module, which has the model in it
 * (DeepSpeedEngine.step). */
static bool is_in_step(const char *site)
{
	const size_t length = innermost(&site);
	char name[NAME_BYTES];

	lower(name, length ? site : "", length);
	return is_step(name);
}

bool sequence_is_called_in(const char *site, const char *other)
{
	const size_t length = innermost(&other);
	const char *end = length ? memmem(other, length, " (", 2) : NULL;
	const char *inner = end ? memmem(other, (size_t)(end - other), ".<locals>", 9) : NULL;
	const size_t name = inner ? (size_t)(inner - other) : end ? (size_t)(end - other) : 0;

	for (const char *at = site; at && name; at = strstr(at, " < ")) {
		at += strncmp(at, " < ", 3) == 0 ? 3 : 0;
		if (strncmp(at, other, name) == 0 && strncmp(at + name, " (", 2) == 0)
			return true;
	}
	return false;
}

uint8_t sequence_label(const struct timeline *timeline, const struct timeline_operation *operation)
{
	const struct timeline_function *function = &timeline->functions[operation->function];
	const char *kernel = sequence_kernel(timeline, operation);
	char name[NAME_BYTES];
	uint8_t label = 0;
	bool module;

	if (operation->given_phase == PHASE_UPDATE + 1)
		return SEQUENCE_UPDATE;
	if (operation->given_phase == PHASE_BACKWARD + 1 || function->kind == PM_KIND_BACKWARD)
		return SEQUENCE_BACKWARD;
	if (operation->given_phase == PHASE_FORWARD + 1)
		return SEQUENCE_FORWARD;
	if (function->kind == PM_KIND_COMM)
		return 0;
	if (kernel) {
		lower(name, kernel, strlen(kernel));
		label = label_of(name);
	}
	module = operation->module && *operation->module && !is_mean_of_parameters(operation->site) &&
		 !is_in_step(operation->site);
	if (label == SEQUENCE_UPDATE && module && !is_update_name(name))
		label = 0;
	if (label == SEQUENCE_BACKWARD || label == SEQUENCE_UPDATE)
		return label;
	return label_of_site(
		operation->site, function->kind == PM_KIND_FORWARD || label == SEQUENCE_FORWARD || module);
}
