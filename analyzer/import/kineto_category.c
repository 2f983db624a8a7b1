/*
 * What kind an event of a Chrome trace is of, and whether anybody wants it. Kineto's categories were spelt
 * differently over the years; all spellings are in one table.
 */
#include "kineto.h"

#include <string.h>

enum kineto_category kineto_category_of(const struct json_text *text)
{
	static const struct {
		const char *name;
		unsigned length;
		enum kineto_category category;
	} known[] = {
#define NAME(name, category) {name, sizeof(name) - 1, category}
		NAME("cpu_op", KINETO_OPERATOR),
		NAME("Operator", KINETO_OPERATOR),
		NAME("operator", KINETO_OPERATOR),
		NAME("kernel", KINETO_KERNEL),
		NAME("Kernel", KINETO_KERNEL),
		NAME("concurrent_kernel", KINETO_KERNEL),
		NAME("mtia_ccp_events", KINETO_KERNEL),
		NAME("gpu_memcpy", KINETO_COPY),
		NAME("Memcpy", KINETO_COPY),
		NAME("memcpy", KINETO_COPY),
		NAME("gpu_memset", KINETO_SET),
		NAME("Memset", KINETO_SET),
		NAME("memset", KINETO_SET),
		NAME("cuda_runtime", KINETO_RUNTIME),
		NAME("cuda_driver", KINETO_RUNTIME),
		NAME("Runtime", KINETO_RUNTIME),
		NAME("runtime", KINETO_RUNTIME),
		NAME("hip_runtime", KINETO_RUNTIME),
		NAME("hip_driver", KINETO_RUNTIME),
		NAME("user_annotation", KINETO_ANNOTATION),
		NAME("gpu_user_annotation", KINETO_DEVICE_ANNOTATION),
		NAME("python_function", KINETO_PYTHON),
		NAME("PythonFunction", KINETO_PYTHON),
		NAME("ac2g", KINETO_NOTHING),
		NAME("async", KINETO_NOTHING),
		NAME("async_cpu_to_gpu", KINETO_NOTHING),
		NAME("async_gpu", KINETO_NOTHING),
		NAME("fwdbwd", KINETO_NOTHING),
		NAME("Trace", KINETO_NOTHING),
		NAME("overhead", KINETO_NOTHING),
		NAME("cuda_sync", KINETO_NOTHING),
		NAME("cpu_instant_event", KINETO_NOTHING),
		NAME("cuda_profiler_range", KINETO_NOTHING),
		NAME("glow_runtime", KINETO_NOTHING),
#undef NAME
	};
	static const char *const runtimes[] = {"_runtime", "_driver"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (text->length == known[i].length && memcmp(text->begin, known[i].name, text->length) == 0)
			return known[i].category;
	/* xpu_runtime, mtia_runtime, privateuse1_runtime */
	for (size_t i = 0; i < 2; i++) {
		size_t length = strlen(runtimes[i]);

		if (text->length > length &&
			memcmp(text->begin + text->length - length, runtimes[i], length) == 0)
			return KINETO_RUNTIME;
	}
	return KINETO_UNKNOWN;
}

bool kineto_is_step(const struct json_text *name)
{
	return name->length >= 12 && memcmp(name->begin, "ProfilerStep", 12) == 0;
}

bool kineto_is_module(const struct json_text *name)
{
	return name->length > 10 && memcmp(name->begin, "nn.Module:", 10) == 0;
}

bool kineto_wants(const struct kineto_reader *reader, const struct kineto_event *event)
{
	unsigned wanted = reader->wanted;
	enum kineto_category category;

	if (event->phase && !strchr("XBEbeM", event->phase))
		return false;
	if (!event->phase || !event->category.begin || !event->name.begin || event->phase == 'M')
		return true;
	category = kineto_category_of(&event->category);
	if (!reader->has_first && event->phase == 'X' && category != KINETO_NOTHING)
		return true;
	switch (category) {
	case KINETO_NOTHING:
		return false;
	case KINETO_OPERATOR:
		return (wanted & IMPORTED_WANT_OPERATORS) || kineto_is_step(&event->name);
	case KINETO_ANNOTATION:
		return (wanted & IMPORTED_WANT_LABELS) || kineto_is_step(&event->name);
	case KINETO_DEVICE_ANNOTATION:
		return wanted & IMPORTED_WANT_LABELS;
	case KINETO_PYTHON:
		return (wanted & IMPORTED_WANT_PYTHON) ||
		       ((wanted & IMPORTED_WANT_MODULES) && kineto_is_module(&event->name));
	default:
		return true;
	}
}
