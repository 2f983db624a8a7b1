/*
 * Reading SOFTGPU_DISTURB: see sg_rules.h.
 *
 * The one idea: a rule is a row of `word=value`, and a table says how the value of each word is read and
 * where it goes; anything else is one sentence that names the rule and the word.
 */
#include "sg_rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES ((size_t)64 << 10)

enum value { RANKS, NUMBER, NAME, LINK, FACTOR, PART, TIME, SEED };

static const struct word {
	const char *name;
	enum value value;
	size_t offset;
	int effect; /* it changes something, the others only select */
	const char *expected;
} words[] = {
	{"rank", RANKS, 0, 0, "a rank or ranks with commas between"},
	{"device", NUMBER, offsetof(struct sg_rule, device), 0, "a device's number"},
	{"layer", NAME, offsetof(struct sg_rule, layer), 0, "a name, perhaps with *"},
	{"phase", NAME, offsetof(struct sg_rule, phase), 0, "a name, perhaps with *"},
	{"op", NAME, offsetof(struct sg_rule, op), 0, "the name of a call, perhaps with *"},
	{"link", LINK, 0, 0, "two ranks A-B, either of them perhaps *"},
	{"slow", FACTOR, offsetof(struct sg_rule, slow), 1, "a factor above 0"},
	{"add", TIME, offsetof(struct sg_rule, add_ns), 1, "a time such as 5ms or 20us"},
	{"launch", TIME, offsetof(struct sg_rule, launch_ns), 1, "a time such as 5ms or 20us"},
	{"latency", TIME, offsetof(struct sg_rule, latency_ns), 1, "a time such as 5ms or 20us"},
	{"bandwidth", FACTOR, offsetof(struct sg_rule, bandwidth), 1, "a factor above 0"},
	{"input", TIME, offsetof(struct sg_rule, input_ns), 1, "a time such as 5ms or 20us"},
	{"jitter", PART, offsetof(struct sg_rule, jitter), 1, "a part from 0 to 1"},
	{"seed", SEED, offsetof(struct sg_rule, seed), 0, "a whole number"},
};

int sg_rules_rank(void)
{
	static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = getenv(names[i]);

		if (text != NULL && *text >= '0' && *text <= '9')
			return atoi(text);
	}
	return 0;
}

int sg_rule_has_rank(const struct sg_rule *rule, int rank)
{
	for (int i = 0; i < rule->rank_count; i++) {
		if (rule->ranks[i] == rank)
			return 1;
	}
	return rule->rank_count == 0;
}

static int read_ranks(struct sg_rule *rule, const char *text)
{
	for (;;) {
		char *end;
		long rank = strtol(text, &end, 10);

		if (end == text || rank < 0 || rank > 1000000 || rule->rank_count == SG_RULE_RANKS)
			return -1;
		rule->ranks[rule->rank_count++] = (int)rank;
		if (*end == '\0')
			return 0;
		if (*end != ',')
			return -1;
		text = end + 1;
	}
}

static const char *read_end(const char *text, int *rank)
{
	char *end;
	long value;

	*rank = SG_LINK_ANY;
	if (*text == '*')
		return text + 1;
	value = strtol(text, &end, 10);
	*rank = (int)value;
	return end != text && *text >= '0' && *text <= '9' && value <= 1000000 ? end : NULL;
}

static int read_link(struct sg_rule *rule, const char *text)
{
	text = read_end(text, &rule->link[0]);
	if (text == NULL || *text != '-')
		return -1;
	text = read_end(text + 1, &rule->link[1]);
	return text != NULL && *text == '\0' ? 0 : -1;
}

static int read_time(const char *text, double *time_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;

	*time_ns = strtod(text, &end);
	if (end == text || !(*time_ns >= 0 && *time_ns <= 1e6))
		return -1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name) == 0) {
			*time_ns *= units[i].ns;
			return 0;
		}
	}
	return -1;
}

static int read_value(struct sg_rule *rule, const struct word *word, const char *text)
{
	void *to = (char *)rule + word->offset;
	char *end = NULL;

	switch (word->value) {
	case RANKS:
		return read_ranks(rule, text);
	case LINK:
		return read_link(rule, text);
	case TIME:
		return read_time(text, to);
	case NAME:
		if (*text == '\0' || strlen(text) >= SG_RULE_NAME)
			return -1;
		strcpy(to, text);
		return 0;
	case NUMBER:
		*(int *)to = (int)strtol(text, &end, 10);
		return end != text && *end == '\0' && *(int *)to >= 0 ? 0 : -1;
	case SEED:
		*(unsigned long *)to = strtoul(text, &end, 10);
		return end != text && *end == '\0' ? 0 : -1;
	case FACTOR:
		*(double *)to = strtod(text, &end);
		return end != text && *end == '\0' && *(double *)to > 0 && *(double *)to <= 1e9 ? 0 : -1;
	case PART:
		*(double *)to = strtod(text, &end);
		return end != text && *end == '\0' && *(double *)to >= 0 && *(double *)to <= 1 ? 0 : -1;
	}
	return -1;
}

/* A sentence about a rule; -1. */
__attribute__((format(printf, 4, 5))) static int refuse(
	char *error, size_t error_bytes, int number, const char *format, ...)
{
	int used = snprintf(error, error_bytes, "SOFTGPU_DISTURB: rule %d: ", number);
	va_list list;

	va_start(list, format);
	if (used > 0 && (size_t)used < error_bytes)
		vsnprintf(error + used, error_bytes - (size_t)used, format, list);
	va_end(list);
	return -1;
}

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
	}
	return NULL;
}

/* Reads a rule that has at least one word; the text is taken apart. */
static int read_rule(struct sg_rule *rule, char *text, int number, char *error, size_t error_bytes)
{
	int effects = 0;
	char *rest = NULL;

	*rule = (struct sg_rule){
		.device = -1, .link = {SG_LINK_NONE, SG_LINK_NONE}, .slow = 1, .bandwidth = 1};
	for (char *name = strtok_r(text, " \t\r", &rest); name != NULL;
		name = strtok_r(NULL, " \t\r", &rest)) {
		char *value = strchr(name, '=');
		const struct word *word;

		if (value == NULL)
			return refuse(error, error_bytes, number, "found '%s', expected word=value", name);
		*value++ = '\0';
		word = find_word(name);
		if (word == NULL)
			return refuse(error, error_bytes, number,
				"found '%s=', expected rank, device, layer, phase, op, link, slow, add, launch, "
				"latency, bandwidth, input, jitter or seed",
				name);
		if (read_value(rule, word, value) != 0)
			return refuse(error, error_bytes, number, "found '%s=%s', expected %s", name, value,
				word->expected);
		effects += word->effect;
	}
	if (effects == 0)
		return refuse(error, error_bytes, number,
			"found no effect, expected slow=, add=, launch=, latency=, bandwidth=, input= or jitter=");
	return 0;
}

/* The rules' text, to be freed: that of a file without its comments. NULL: it could not be read. */
static char *whole_text(const char *text)
{
	char *all;
	size_t used;
	FILE *file;

	if (*text != '@')
		return strdup(text);
	file = fopen(text + 1, "re");
	all = file != NULL ? malloc(TEXT_BYTES) : NULL;
	if (all != NULL) {
		used = fread(all, 1, TEXT_BYTES - 1, file);
		all[used] = '\0';
		for (char *at = strchr(all, '#'); at != NULL; at = strchr(at, '#'))
			memset(at, ' ', strcspn(at, "\n"));
	}
	if (file != NULL)
		fclose(file);
	return all;
}

int sg_rules_read(const char *text, struct sg_rule **out, char *error, size_t error_bytes)
{
	char *all = whole_text(text), *rest = NULL;
	struct sg_rule *rules = NULL;
	int count = 0, failed = 0, number = 0;

	*out = NULL;
	if (all == NULL) {
		snprintf(error, error_bytes, "SOFTGPU_DISTURB: %s: %s; expected a file of rules", text + 1,
			strerror(errno));
		return -1;
	}
	for (char *part = strtok_r(all, ";\n", &rest); part != NULL && !failed;
		part = strtok_r(NULL, ";\n", &rest)) {
		struct sg_rule *more;

		if (part[strspn(part, " \t\r")] == '\0')
			continue;
		number++;
		more = realloc(rules, (size_t)(count + 1) * sizeof(*rules));
		if (more == NULL) {
			failed = refuse(error, error_bytes, number, "out of memory");
			break;
		}
		rules = more;
		failed = read_rule(&rules[count], part, number, error, error_bytes);
		count += !failed;
	}
	free(all);
	if (failed) {
		free(rules);
		return -1;
	}
	*out = rules;
	return count;
}
