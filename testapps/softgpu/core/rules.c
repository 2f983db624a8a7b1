/*
 * Reading SOFTGPU_DISTURB: see rules.h.
 *
 * The one idea: a rule is a row of `word=value`, and a table says how the value of each word is read and
 * where it goes; anything else is one sentence that names the rule and the word.
 */
#include "rules.h"
#include "text.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANK 1000000

enum value { RANKS, NUMBER, NAME, LINK, FACTOR, PART, TIME, SEED };

/* What a word selects by, and by what an effect's word can be limited. */
enum { BY_RANK = 1, BY_DEVICE = 2, BY_NAME = 4, BY_LINK = 8 };
#define OF_WORK (BY_RANK | BY_DEVICE | BY_NAME)
#define OF_LINK (BY_RANK | BY_LINK)
#define OF_INPUT BY_RANK

static const struct word {
	const char *name;
	enum value value;
	size_t offset;
	unsigned by; /* it selects, 0: it does not */
	unsigned of; /* it changes something, 0: it does not */
	const char *expected;
} words[] = {
	{"rank", RANKS, 0, BY_RANK, 0, "a rank or up to 512 ranks separated by commas"},
	{"device", NUMBER, offsetof(struct sg_rule, device), BY_DEVICE, 0, "a device number"},
	{"layer", NAME, offsetof(struct sg_rule, layer), BY_NAME, 0, "a name, optionally with *"},
	{"phase", NAME, offsetof(struct sg_rule, phase), BY_NAME, 0, "a name, optionally with *"},
	{"op", NAME, offsetof(struct sg_rule, op), BY_NAME, 0, "the name of a call, optionally with *"},
	{"link", LINK, 0, BY_LINK, 0, "two ranks A-B, either of which may be *"},
	{"slow", FACTOR, offsetof(struct sg_rule, slow), 0, OF_WORK, "a factor above 0, at most 1e9"},
	{"add", TIME, offsetof(struct sg_rule, add_ns), 0, OF_WORK, "a time such as 5ms or 20us"},
	{"launch", TIME, offsetof(struct sg_rule, launch_ns), 0, OF_WORK, "a time such as 5ms or 20us"},
	{"latency", TIME, offsetof(struct sg_rule, latency_ns), 0, OF_LINK, "a time such as 5ms or 20us"},
	{"bandwidth", FACTOR, offsetof(struct sg_rule, bandwidth), 0, OF_LINK,
		"a factor above 0, at most 1e9"},
	{"input", TIME, offsetof(struct sg_rule, input_ns), 0, OF_INPUT, "a time such as 5ms or 20us"},
	{"jitter", PART, offsetof(struct sg_rule, jitter), 0, OF_WORK, "a fraction from 0 to 1"},
	{"seed", SEED, offsetof(struct sg_rule, seed), 0, 0, "an integer"},
};
#define WORD_COUNT (sizeof(words) / sizeof(words[0]))
static_assert(SG_RULE_RANKS == 512, "the sentence about rank= says how many there may be");

/* The first of the variables that has a number; `none` where none has. */
static int number_of(const char *const *names, size_t count, int none)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = getenv(names[i]);

		if (text != NULL && *text >= '0' && *text <= '9') {
			unsigned long number = strtoul(text, NULL, 10);

			return (int)(number < MOST_RANK ? number : MOST_RANK);
		}
	}
	return none;
}

int sg_rules_rank(void)
{
	static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};

	return number_of(names, sizeof(names) / sizeof(names[0]), 0);
}

int sg_rules_world(void)
{
	static const char *const names[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"};

	return number_of(names, sizeof(names) / sizeof(names[0]), 0);
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

		if (end == text || rank < 0 || rank > MOST_RANK || rule->rank_count == SG_RULE_RANKS)
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
	return end != text && *text >= '0' && *text <= '9' && value <= MOST_RANK ? end : NULL;
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

	*time_ns = sg_text_number(text, &end);
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

static int read_whole(const char *text, unsigned long most, unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *value <= most ? 0 : -1;
}

static int read_between(const char *text, double least, double most, double *value)
{
	char *end;

	*value = sg_text_number(text, &end);
	return end != text && *end == '\0' && *value >= least && *value <= most ? 0 : -1;
}

static int read_value(struct sg_rule *rule, const struct word *word, const char *text)
{
	void *to = (char *)rule + word->offset;
	unsigned long whole;

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
		return read_whole(text, INT_MAX, &whole) == 0 ? (*(int *)to = (int)whole, 0) : -1;
	case SEED:
		return read_whole(text, ULONG_MAX, to);
	case FACTOR:
		return read_between(text, DBL_MIN, 1e9, to);
	case PART:
		return read_between(text, 0, 1, to);
	}
	return -1;
}

/* Where a rule is, and what is to be said of it. */
struct reading {
	const char *path; /* NULL: it is in the variable itself */
	int line, number; /* of the rule, from 1 */
	struct sg_rule *rules;
	int count;
	char *error;
	size_t error_bytes;
};

/* A sentence about a rule; -1. */
__attribute__((format(printf, 2, 3))) static int refuse(struct reading *reading, const char *format, ...)
{
	size_t room = reading->error_bytes;
	int used = reading->path != NULL
			   ? snprintf(reading->error, room, "SOFTGPU_DISTURB: %s:%d: ", reading->path,
				     reading->line)
			   : snprintf(reading->error, room, "SOFTGPU_DISTURB: rule %d: ", reading->number);
	va_list list;

	va_start(list, format);
	if (used > 0 && (size_t)used < room)
		vsnprintf(reading->error + used, room - (size_t)used, format, list);
	va_end(list);
	return -1;
}

static size_t find_word(const char *name)
{
	size_t i = 0;

	while (i < WORD_COUNT && strcmp(words[i].name, name) != 0)
		i++;
	return i;
}

/* Those words that select by one of these, or change something. */
static const char *list_words(char *list, size_t room, unsigned by, int effects)
{
	size_t used = 0;

	list[0] = '\0';
	for (size_t i = 0; i < WORD_COUNT && used < room; i++) {
		if ((words[i].by & by) != 0 || (effects && words[i].of != 0))
			used += (size_t)snprintf(
				list + used, room - used, "%s%s=", used > 0 ? ", " : "", words[i].name);
	}
	return list;
}

/* An effect that the rule's selectors cannot limit would be everywhere. */
static int check_selectors(struct reading *reading, const unsigned char *seen)
{
	char list[128];
	int effects = 0;

	for (size_t effect = 0; effect < WORD_COUNT; effect++) {
		if (!seen[effect] || words[effect].of == 0)
			continue;
		effects++;
		for (size_t i = 0; i < WORD_COUNT; i++) {
			if (seen[i] && (words[i].by & ~words[effect].of) != 0)
				return refuse(reading, "found %s= with %s=, expected with it only %s",
					words[effect].name, words[i].name,
					list_words(list, sizeof(list), words[effect].of, 0));
		}
	}
	if (effects == 0)
		return refuse(
			reading, "found no effect, expected one of %s", list_words(list, sizeof(list), 0, 1));
	return 0;
}

/* A mistyped rank would disturb nothing, and silently. The ranks of links are those of communicators, which
 * may have several in a process. */
static int check_ranks(struct reading *reading, const struct sg_rule *rule)
{
	int world = sg_rules_world();

	if (world == 0 || rule->latency_ns > 0 || rule->bandwidth != 1)
		return 0;
	for (int i = 0; i < rule->rank_count; i++) {
		if (rule->ranks[i] >= world)
			return refuse(reading, "found 'rank=%d', but the run's ranks are 0 to %d",
				rule->ranks[i], world - 1);
	}
	return 0;
}

/* Reads a rule that has at least one word; the text is taken apart. */
static int read_rule(struct reading *reading, struct sg_rule *rule, char *text)
{
	unsigned char seen[WORD_COUNT] = {0};
	char list[256], *rest = NULL;

	*rule = (struct sg_rule){
		.device = -1, .link = {SG_LINK_NONE, SG_LINK_NONE}, .slow = 1, .bandwidth = 1};
	for (char *name = strtok_r(text, " \t\r", &rest); name != NULL;
		name = strtok_r(NULL, " \t\r", &rest)) {
		char *value = strchr(name, '=');
		size_t i;

		if (value == NULL)
			return refuse(reading, "found '%s', expected word=value", name);
		*value++ = '\0';
		i = find_word(name);
		if (i == WORD_COUNT)
			return refuse(reading, "found '%s=', expected one of %s, seed=", name,
				list_words(list, sizeof(list), ~0u, 1));
		if (seen[i]++)
			return refuse(reading, "duplicate '%s='", name);
		if (read_value(rule, &words[i], value) != 0)
			return refuse(reading, "found '%s=%s', expected %s", name, value, words[i].expected);
	}
	return check_selectors(reading, seen) != 0 ? -1 : check_ranks(reading, rule);
}

static int add_rule(struct reading *reading, char *text)
{
	struct sg_rule *more;

	if (text[strspn(text, " \t\r")] == '\0')
		return 0;
	reading->number++;
	more = realloc(reading->rules, (size_t)(reading->count + 1) * sizeof(*more));
	if (more == NULL)
		return refuse(reading, "out of memory");
	reading->rules = more;
	return read_rule(reading, &more[reading->count++], text);
}

/* A line of a file, or the variable: rules with semicolons between. */
static int read_line(struct reading *reading, char *line)
{
	char *rest = line;
	int failed = 0;

	reading->line++;
	if (reading->path != NULL)
		line[strcspn(line, "#")] = '\0';
	while (!failed && rest != NULL)
		failed = add_rule(reading, strsep(&rest, ";"));
	return failed;
}

int sg_rules_read(const char *text, struct sg_rule **out, char *error, size_t error_bytes)
{
	struct reading reading = {
		.path = *text == '@' ? text + 1 : NULL, .error = error, .error_bytes = error_bytes};
	int failed = 0, used;
	char *all, *rest;

	*out = NULL;
	used = snprintf(error, error_bytes, "SOFTGPU_DISTURB: ");
	all = reading.path != NULL ? sg_text_read(reading.path, "a text of rules", error + used,
					     error_bytes - (size_t)used)
				   : strdup(text);
	if (all == NULL && reading.path == NULL)
		refuse(&reading, "out of memory");
	if (all == NULL)
		return -1;
	rest = all;
	while (!failed && rest != NULL)
		failed = read_line(&reading, strsep(&rest, "\n"));
	free(all);
	if (failed) {
		free(reading.rules);
		return -1;
	}
	*out = reading.rules;
	return reading.count;
}
