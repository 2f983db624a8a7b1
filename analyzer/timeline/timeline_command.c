/*
 * What a process runs and with which versions, from notes such as "command: python3.11 train.py": people know
 * a run by its script, not by the interpreter.
 */
#include "timeline_join.h"

#include <stdlib.h>
#include <string.h>

static const char note_word[] = "command: ";

/* A blank ends a word; the command line has no other sign of where an argument ends. */
static size_t word_bytes(const char *text)
{
	return strcspn(text, " ");
}

static const char *next_word(const char *text)
{
	text += word_bytes(text);
	return text + strspn(text, " ");
}

static const char *base_of(struct arena *arena, const char *word)
{
	const size_t bytes = word_bytes(word);
	const char *slash = memrchr(word, '/', bytes);

	return slash ? arena_text(arena, slash + 1, bytes - (size_t)(slash + 1 - word))
		     : arena_text(arena, word, bytes);
}

static bool is_interpreter(const char *program)
{
	return strncmp(program, "python", 6) == 0 || strncmp(program, "pypy", 4) == 0;
}

/* "-X" and "-W" have their value in the next word, -m a module; text after -c has no name. NULL: no script.
 */
static const char *script_of(struct arena *arena, const char *command)
{
	const char *word = next_word(command);

	for (; *word == '-' && word_bytes(word) > 1; word = next_word(word)) {
		const bool alone = word_bytes(word) == 2;

		if (alone && word[1] == 'c')
			return NULL;
		if (alone && strchr("mWX", word[1])) {
			const bool module = word[1] == 'm';

			word = next_word(word);
			if (module)
				break;
		}
	}
	return word_bytes(word) && *word != '-' ? base_of(arena, word) : NULL;
}

/* "Python 3.12, PyTorch 2.11, CUPTI 13.0.1", from "python: 3.12, ..." and the like; what is no version is
 * left out. */
static const char *versions_of(struct arena *arena, const struct trace *trace)
{
	static const struct {
		const char *note, *name;
	} programs[] = {{"python: ", "Python"}, {"pytorch: ", "PyTorch"}};
	static const char cupti[] = "device: CUPTI version ";
	const char *versions = "";

	for (size_t i = 0; i < trace->note_count; i++) {
		const char *note = trace->notes[i], *comma = *versions ? ", " : "";

		for (size_t p = 0; p < sizeof(programs) / sizeof(*programs); p++) {
			const size_t bytes = strlen(programs[p].note);

			if (strncmp(note, programs[p].note, bytes) == 0 && strspn(note + bytes, "0123456789"))
				versions = arena_format(arena, "%s%s%s %.*s", versions, comma,
					programs[p].name, (int)strcspn(note + bytes, ", "), note + bytes);
		}
		if (strncmp(note, cupti, strlen(cupti)) == 0) {
			const long number = strtol(note + strlen(cupti), NULL, 10);

			versions = arena_format(arena, "%s%sCUPTI %ld.%ld.%ld", versions, comma,
				number / 10000, number / 100 % 100, number % 100);
		}
	}
	return versions;
}

void timeline_add_command(
	struct timeline *timeline, const struct trace *trace, struct timeline_process *process)
{
	const char *script = NULL;

	process->versions = versions_of(&timeline->arena, trace);
	for (size_t i = 0; i < trace->note_count && !process->command; i++)
		if (strncmp(trace->notes[i], note_word, strlen(note_word)) == 0)
			process->command = arena_text(&timeline->arena, trace->notes[i] + strlen(note_word),
				strlen(trace->notes[i]) - strlen(note_word));
	if (process->command && is_interpreter(process->program))
		script = script_of(&timeline->arena, process->command);
	if (script)
		process->program = script;
}
