/*
 * The settings from the environment: what is a value, and one sentence about what is not. Shared by the hook,
 * which goes on with the default, and pmrun, which does not start.
 */
#include "settings.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "PMHOOK_"
#define NAME_BYTES 32 /* of names that are compared; longer ones are like none of ours */

enum kind { FOLDER, WORDS, NUMBER, PERCENT, WINDOW, PERMISSIONS };

static const char *const names[] = {
#define SETTING_NAME(field, name, kind, initial, argument, help) name,
	PMH_SETTINGS(SETTING_NAME)
#undef SETTING_NAME
};
#define NAME_COUNT (sizeof names / sizeof names[0])

/* ---- values ---- */

static bool is_whole_number(const char *text, unsigned long long most)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	return strtoull(text, &end, 10) <= most && !*end && !errno;
}

bool pmh_window_iterations(const char *window, unsigned *first, unsigned *last)
{
	unsigned long long a, b;
	char *end;

	if (*window < '0' || *window > '9')
		return false;
	a = b = strtoull(window, &end, 10);
	if (end[0] == '-' && end[1] >= '0' && end[1] <= '9')
		b = strtoull(end + 1, &end, 10);
	if (*end || a == 0 || b < a)
		return false;
	*first = a < UINT_MAX ? (unsigned)a : UINT_MAX;
	*last = b < UINT_MAX ? (unsigned)b : UINT_MAX;
	return true;
}

int pmh_window_signal(const char *window)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}};

	if (strncmp(window, "signal:", 7) != 0)
		return 0;
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (strcmp(signals[i].name, window + 7) == 0)
			return signals[i].number;
	return 0;
}

/* Octal, and the hook opens its file again and again. */
static bool is_permissions(const char *text)
{
	char *end;
	unsigned long mode;

	if (*text < '0' || *text > '7')
		return false;
	mode = strtoul(text, &end, 8);
	return !*end && mode <= 0777 && (mode & 0600) == 0600;
}

/* The word of a list like on|off that the text is, or NULL. Of a switch other common words are taken too. */
static const char *word_of(const char *words, const char *text, size_t *word_bytes)
{
	if (strcmp(words, "on|off") == 0) {
		if (strcmp(text, "1") == 0 || strcmp(text, "yes") == 0 || strcmp(text, "true") == 0)
			text = "on";
		if (strcmp(text, "0") == 0 || strcmp(text, "no") == 0 || strcmp(text, "false") == 0)
			text = "off";
	}
	for (const char *word = words;; word++) {
		*word_bytes = strcspn(word, "|");
		if (strlen(text) == *word_bytes && memcmp(word, text, *word_bytes) == 0)
			return word;
		word += *word_bytes;
		if (!*word)
			return NULL;
	}
}

/* The value that a text stands for, and its length; NULL: none. */
static const char *value_of(enum kind kind, const char *argument, const char *text, size_t *value_bytes)
{
	unsigned first, last;
	bool good = false;

	*value_bytes = strlen(text);
	switch (kind) {
	case FOLDER:
		good = *value_bytes < PATH_MAX;
		break;
	case WORDS:
		return word_of(argument, text, value_bytes);
	case NUMBER:
		good = *value_bytes < 16 && is_whole_number(text, 1000000000);
		break;
	case PERCENT:
		good = *value_bytes < 16 && is_whole_number(text, 100);
		break;
	case WINDOW:
		good = *value_bytes < 64 &&
		       (strcmp(text, "all") == 0 || strcmp(text, "profiler") == 0 ||
			       pmh_window_signal(text) || pmh_window_iterations(text, &first, &last));
		break;
	case PERMISSIONS:
		good = *value_bytes < 16 && is_permissions(text);
		break;
	}
	return good ? text : NULL;
}

/* ---- sentences ---- */

/* A text of the user's as it may be shown: cut, and without anything that a terminal would obey. */
static void clean(char *shown, size_t shown_bytes, const char *text)
{
	size_t n = 0;

	for (; text[n] && n + 1 < shown_bytes; n++)
		shown[n] = text[n] >= ' ' && text[n] < 127 ? text[n] : '?';
	shown[n] = 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters must be put in, left out, exchanged or swapped to make one name of the other. */
static size_t distance(const char *a, const char *b)
{
	static size_t table[NAME_BYTES][NAME_BYTES];
	const size_t n = strlen(a), m = strlen(b);

	if (n >= NAME_BYTES || m >= NAME_BYTES)
		return NAME_BYTES;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			size_t d = i && j ? table[i - 1][j - 1] + (a[i - 1] != b[j - 1]) : i + j;

			if (i && j)
				d = least(d, least(table[i - 1][j], table[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = least(d, table[i - 2][j - 2] + 1);
			table[i][j] = d;
		}
	return table[n][m];
}

/* The setting whose name is like that of none; NULL: none is. */
static const char *alike(const char *name)
{
	const char *nearest = NULL;
	size_t least_far = 3; /* two slips of the finger */

	for (size_t i = 0; i < NAME_COUNT; i++) {
		size_t far = distance(name, names[i]);

		if (far < least_far) {
			least_far = far;
			nearest = names[i];
		}
	}
	return nearest;
}

static bool is_name(const char *name)
{
	for (size_t i = 0; i < NAME_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void find_unknown(void (*complain)(const char *sentence, void *data), void *data)
{
	static char sentence[256], name[64], shown[64];

	for (char **variable = environ; variable && *variable; variable++) {
		size_t n = strcspn(*variable, "=");
		const char *meant;

		if (strncmp(*variable, PREFIX, strlen(PREFIX)) != 0)
			continue;
		n = least(n, sizeof name - 1);
		memcpy(name, *variable, n);
		name[n] = 0;
		if (is_name(name))
			continue;
		clean(shown, sizeof shown, name);
		meant = alike(name);
		snprintf(sentence, sizeof sentence, "unknown setting %s: %s%s", shown,
			meant ? "did you mean " : "see pmrun --help", meant ? meant : "");
		if (meant)
			strcat(sentence, "?");
		complain(sentence, data);
	}
}

/* What a setting takes, for a sentence. */
static const char *taken(enum kind kind, const char *argument)
{
	switch (kind) {
	case FOLDER:
		return "a folder path";
	case NUMBER:
		return "an integer up to 1000000000";
	case PERCENT:
		return "an integer up to 100";
	case PERMISSIONS:
		return "octal permissions with read and write for the owner, such as 0640";
	default:
		return argument;
	}
}

/* ---- all of them ---- */

void pmh_settings_read(struct pmh_settings *settings, char room[PMH_SETTINGS_BYTES],
	void (*complain)(const char *sentence, void *data), void *data)
{
	static char sentence[256], shown[64];
	const char *text, *value;
	size_t n;

#define READ_SETTING(field, name, kind, initial, argument, help) \
	text = getenv(name); \
	settings->field = initial; \
	value = text && *text ? value_of(kind, argument, text, &n) : NULL; \
	if (value) { \
		settings->field = memcpy(room, value, n); \
		room[n] = 0; \
		room += n + 1; \
	} else if (text && *text && complain) { \
		clean(shown, sizeof shown, text); \
		snprintf(sentence, sizeof sentence, "%s: expected %s, found '%s'", name, \
			taken(kind, argument), shown); \
		complain(sentence, data); \
	}
	PMH_SETTINGS(READ_SETTING)
#undef READ_SETTING
	if (complain)
		find_unknown(complain, data);
}
