/* The words of a hang: operations, ranks, states. */
#include "analyses/kernels.h"
#include "base/table.h"
#include "hang_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *hang_class_key(enum hang_class class)
{
	static const char *const keys[] = {
#define HANG_ITEM(name, key) key,
		HANG_CLASSES(HANG_ITEM)
#undef HANG_ITEM
	};

	return keys[class];
}

const char *hang_strength_word(enum hang_strength strength)
{
	static const char *const words[] = {"certain", "likely", "open"};

	return words[strength];
}

const char *hang_process_word(enum hang_process process)
{
	static const char *const words[] = {"no end", "runs", "stopped", "held", "gone", "ended"};

	return words[process];
}

/* Of a launch; NULL: it is none, or the name is not known. */
static const char *kernel_of(
	struct arena *arena, const struct trace *trace, const struct trace_operation *operation)
{
	const struct trace_function *function = &trace->functions[operation->function];
	const char *name = NULL;

	for (uint32_t i = 0; i < operation->value_count && function->kind == PM_KIND_LAUNCH && !name; i++)
		if (function->labels[i].type == PM_VALUE_STRING &&
			strcmp(function->labels[i].name, "kernel") == 0 && operation->values[i] <= UINT32_MAX)
			name = trace_string(trace, (uint32_t)operation->values[i]);
	return name && *name ? print_clean(arena, kernel_title(arena, name)) : NULL;
}

const char *hang_operation(struct arena *arena, const struct trace *trace, uint32_t op)
{
	const struct trace_operation *operation = &trace->operations[op];
	const struct trace_function *function = &trace->functions[operation->function];
	const char *text = arena_format(arena, "%s", print_clean(arena, function->name));
	const char *kernel = kernel_of(arena, trace, operation);

	if (kernel)
		return arena_format(arena, "%s of %s", text, kernel);
	for (uint32_t i = 0; i < operation->value_count; i++) {
		const struct trace_label *label = &function->labels[i];
		const int64_t value = (int64_t)operation->values[i];

		if (label->type == PM_VALUE_INT)
			text = arena_format(arena, "%s %s=%" PRId64, text, label->name, value);
		else if (label->type == PM_VALUE_TYPE)
			text = arena_format(
				arena, "%s %s=%s", text, label->name, trace_type_name(operation->values[i]));
	}
	return text;
}

/* A frame of Python's, "main (train.py:12)", at the start of the text. */
static bool is_python_frame(const char *text)
{
	const char *end = strstr(text, " < "), *file = strstr(text, ".py:");

	return file && (!end || file < end);
}

#define FRAMES_SHOWN 2 /* of libraries alone */

/* Of frames of libraries and Python's those of Python's, which say where in the program it is. */
static const char *program_site(struct arena *arena, const char *site)
{
	const char *end = NULL;
	unsigned count = 0;

	for (const char *frame = site; frame;
		frame = strstr(frame, " < "), frame = frame ? frame + 3 : NULL) {
		if (is_python_frame(frame))
			return frame;
		if (count++ == FRAMES_SHOWN)
			end = frame - strlen(" < ");
	}
	return end ? arena_format(arena, "%.*s < ...", (int)(end - site), site) : site;
}

const char *hang_site(struct arena *arena, const struct trace *trace, uint32_t op)
{
	const char *module = trace_string(trace, trace->operations[op].module);
	const char *site = program_site(arena, trace_string(trace, trace->operations[op].site));

	if (module && site)
		return arena_format(arena, "%s, %s", print_clean(arena, module), print_clean(arena, site));
	return module || site ? print_clean(arena, module ? module : site) : "";
}

/* Is the rank after this one in the list its successor by number? */
static bool is_next(const struct hang *hang, size_t left, size_t right)
{
	return right == left + 1 && hang->ranks[left]->trace.header.rank >= 0 &&
	       hang->ranks[right]->trace.header.rank == hang->ranks[left]->trace.header.rank + 1;
}

const char *hang_ranks(struct arena *arena, const struct hang *hang, const size_t *ranks, size_t count)
{
	const char *text = count == 1 ? "rank " : "ranks ";

	for (size_t i = 0, end; i < count; i = end) {
		end = i + 1;
		while (end < count && is_next(hang, ranks[end - 1], ranks[end]))
			end++;
		if (end - i == 2) /* "1 and 2", not "1-2" */
			end--;
		text = arena_format(arena, "%s%s%s", text,
			i == 0         ? ""
			: end == count ? " and "
				       : ", ",
			hang->ranks[ranks[i]]->name);
		if (end - i > 2)
			text = arena_format(arena, "%s-%s", text, hang->ranks[ranks[end - 1]]->name);
	}
	return text;
}
