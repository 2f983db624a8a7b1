/* The values of operations, as text. */
#include "dump.h"
#include "base/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const scale_names[] = {"zero", "one", "other", "unknown"};

static const char *descriptor_text(struct arena *arena, const struct trace *trace, uint64_t number)
{
	const struct trace_descriptor *descriptor;
	const char *text;

	if (number >= trace->descriptor_count || !trace->descriptors[number].known)
		return arena_format(arena, "#%" PRIu64, number);
	descriptor = &trace->descriptors[number];
	text = arena_format(arena, "%s(", trace_descriptor_name(descriptor->kind));
	for (unsigned i = 0; i < descriptor->value_count && i < 64; i++) {
		/* The first value of these two is an element type. */
		bool type = i == 0 && (descriptor->kind == PM_DESCRIPTOR_TENSOR ||
					      descriptor->kind == PM_DESCRIPTOR_FILTER);

		text = type ? arena_format(
				      arena, "%s%s", text, trace_type_name((uint64_t)descriptor->values[i]))
			    : arena_format(arena, "%s%s%" PRId64, text, i ? " " : "", descriptor->values[i]);
	}
	return arena_format(arena, "%s)", text);
}

static const char *value_text(
	struct arena *arena, const struct trace *trace, enum pm_value type, uint64_t value)
{
	const char *text;

	switch (type) {
	case PM_VALUE_INT:
		return arena_format(arena, "%" PRId64, (int64_t)value);
	case PM_VALUE_BYTES:
	case PM_VALUE_COMMUNICATOR:
	case PM_VALUE_GRAPH:
		return arena_format(arena, "%" PRIu64, value);
	case PM_VALUE_TYPE:
		return trace_type_name(value);
	case PM_VALUE_DIRECTION:
		return trace_direction_name(value);
	case PM_VALUE_SCALE:
		return value < 4 ? scale_names[value] : "?";
	case PM_VALUE_DESCRIPTOR:
		return descriptor_text(arena, trace, value);
	case PM_VALUE_STRING:
		text = trace_string(trace, value);
		return text ? arena_format(arena, "\"%s\"", print_clean(arena, text)) : "?";
	default:
		return arena_format(arena, "0x%" PRIx64, value);
	}
}

char *dump_values(struct arena *arena, const struct trace *trace, const struct trace_operation *operation)
{
	const struct trace_function *function = &trace->functions[operation->function];
	size_t length = 0, used = 0;
	const char **texts = arena_alloc(arena, operation->value_count, sizeof(*texts));
	char *all;

	for (uint32_t i = 0; i < operation->value_count; i++) {
		texts[i] = arena_format(arena, "%s=%s", function->labels[i].name,
			value_text(arena, trace, function->labels[i].type, operation->values[i]));
		length += strlen(texts[i]) + 1;
	}
	all = arena_alloc(arena, length + 1, 1);
	for (uint32_t i = 0; i < operation->value_count; i++)
		used += (size_t)sprintf(all + used, "%s%s", i ? " " : "", texts[i]);
	return all;
}
