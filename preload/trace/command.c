/*
 * The command of the process. Traces are passed on, and command lines have secrets in them: so arguments are
 * left out unless somebody asks for them. Then a value is left out if its name is like that of a secret;
 * that hides some that are none (--tokenizer), which is the harmless mistake.
 */
#include "command.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest.h"
#include "guest/settings_hook.h"
#include "intern.h"

#define COMMAND_BYTES 4096u
#define MASK "***"

/* The arguments one after the other, each with its end, and the note that is made of them. */
static char arguments[COMMAND_BYTES], note[COMMAND_BYTES];
static size_t note_bytes;

static long read_arguments(void *unused)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	long got = fd < 0 ? -1 : syscall(SYS_read, fd, arguments, sizeof arguments - 1);

	(void)unused;
	if (fd >= 0)
		syscall(SYS_close, fd);
	return got;
}

static void command_add(const char *text, size_t text_bytes)
{
	const size_t room = sizeof note - 1 - note_bytes;

	text_bytes = text_bytes < room ? text_bytes : room;
	memcpy(note + note_bytes, text, text_bytes);
	note_bytes += text_bytes;
	note[note_bytes] = 0;
}

static void add_word(const char *text)
{
	command_add(" ", 1);
	command_add(text, strlen(text));
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- without arguments ---- */

/* What Python runs, after its own options: a script, -m with a module, or -c, whose text is an argument like
 * others. */
static void add_script(const char *at, const char *end)
{
	while (at < end) {
		const char *option = at, *letter, *value;

		at += strlen(at) + 1;
		if (option[0] != '-' || !option[1]) {
			if (*option)
				add_word(base_of(option));
			return;
		}
		if (option[1] == '-') {
			if (strcmp(option, "--check-hash-based-pycs") == 0 && at < end)
				at += strlen(at) + 1;
			continue;
		}
		letter = option +
			 strcspn(option, "cmWX"); /* those with a value, joined or the next argument */
		value = *letter && letter[1] ? letter + 1 : at;
		if (*letter == 'c' || *letter == 'm') {
			add_word(*letter == 'c' ? "-c" : "-m");
			if (*letter == 'm' && value < end)
				add_word(value);
			return;
		}
		if (*letter && value == at && at < end)
			at += strlen(at) + 1;
	}
}

/* ---- with arguments ---- */

static bool is_secret(const char *name, size_t name_bytes)
{
	static const char *const words[] = {
		"key", "token", "secret", "pass", "pwd", "credential", "auth", "bearer", "cookie", "sig="};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		const size_t n = strlen(words[i]);

		for (size_t at = 0; at + n <= name_bytes; at++)
			if (strncasecmp(name + at, words[i], n) == 0)
				return true;
	}
	return false;
}

/* How much of an argument comes before a value whose name is a secret's: an option's, an address's, a JSON
 * object's. */
static size_t shown_bytes(const char *argument)
{
	for (size_t n = 0; argument[n]; n++)
		if (strchr("=: \t\n", argument[n]) && is_secret(argument, n + 1))
			return n + 1;
	return strlen(argument);
}

/* The password of scheme://user:password@host; NULL: there is none. */
static const char *find_password(const char *argument, size_t *password_bytes)
{
	const char *user = strstr(argument, "://"), *colon, *at;

	if (!user)
		return NULL;
	user += 3;
	*password_bytes = strcspn(user, "/");
	at = memrchr(user, '@', *password_bytes);
	colon = at ? memchr(user, ':', (size_t)(at - user)) : NULL;
	if (!colon)
		return NULL;
	*password_bytes = (size_t)(at - colon - 1);
	return colon + 1;
}

static void add_argument(const char *argument)
{
	const size_t shown = shown_bytes(argument), whole = strlen(argument);
	size_t password_bytes;
	const char *password = find_password(argument, &password_bytes);

	command_add(" ", 1);
	if (password && (size_t)(password - argument) < shown) {
		const size_t before = (size_t)(password - argument);

		command_add(argument, before);
		command_add(MASK, strlen(MASK));
		if (before + password_bytes < shown)
			command_add(password + password_bytes, shown - before - password_bytes);
	} else {
		command_add(argument, shown);
	}
	if (shown < whole)
		command_add(MASK, strlen(MASK));
}

static void add_arguments(const char *at, const char *end)
{
	bool is_named = false, is_value = false; /* by the option before, which has no value of its own */

	for (; at < end; at += strlen(at) + 1) {
		const bool is_option = at[0] == '-' && at[1];

		/* an option may take several, and the first may begin with a dash */
		is_value = is_named || (is_value && !is_option);
		if (is_value)
			add_word(MASK);
		else
			add_argument(at);
		is_named = is_option && is_secret(at, strlen(at)) && !at[shown_bytes(at)];
	}
}

void pmh_command_note(const char *program)
{
	const bool is_python = strncmp(program, "python", 6) == 0 || strncmp(program, "pypy", 4) == 0;
	const long got = pmh_run_in_clone_task_or_here(read_arguments, NULL);
	const char *end, *rest;

	note_bytes = 0;
	command_add("command:", strlen("command:"));
	if (got <= 0) {
		add_word(program);
		pmh_note(note);
		return;
	}
	arguments[got] = 0;
	end = arguments + got;
	rest = arguments + strlen(arguments) + 1;
	if (strcmp(pmh_settings.arguments, "on") == 0) {
		add_argument(arguments);
		add_arguments(rest, end);
	} else {
		add_word(program);
		if (is_python)
			add_script(rest, end);
	}
	pmh_note(note);
}
