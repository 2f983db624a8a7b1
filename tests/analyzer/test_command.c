/* A run of an interpreter is called by its script, whatever options stand before it; and the versions that a trace names. */
#include "check.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <string.h>

static const struct {
	const char *program, *note, *expected;
} cases[] = {
	{"python3.11", "command: python3.11 train.py", "train.py"},
	{"python3.11", "command: python3 /home/me/train.py --epochs 3", "train.py"},
	{"python3", "command: python3 -u -X dev -W ignore tools/fit.py", "fit.py"},
	{"python3", "command: python3 -Xdev fit.py", "fit.py"},
	{"python3", "command: python3 -m torch.distributed.run train.py", "torch.distributed.run"},
	{"pypy3", "command: pypy3 fit.py", "fit.py"},
	{"python3", "command: python3 -c", "python3"},
	{"python3", "command: python3", "python3"},
	{"python3", "command: python3 -", "python3"},
	{"python3", "another: python3 train.py", "python3"},
	{"train_cnn", "command: train_cnn data.bin", "train_cnn"},
};

static void check_program(const char *program, const char *note, const char *expected)
{
	struct builder builder;
	struct timeline timeline;

	builder_init(&builder);
	memset(builder.header.program, 0, sizeof(builder.header.program));
	memcpy(builder.header.program, program, strlen(program));
	builder_note(&builder, note);
	builder_timeline(&builder, &timeline);
	CHECK(strcmp(timeline.processes[0].program, expected) == 0, "%s of '%s': %s, expected %s", program, note,
		timeline.processes[0].program, expected);
	timeline_free(&timeline);
}

static void check_versions(void)
{
	struct builder builder;
	struct timeline timeline;

	builder_init(&builder);
	builder_note(&builder, "python: 3.12, module names are recorded");
	builder_note(&builder, "pytorch: 2.15, operators are recorded");
	builder_note(&builder, "device: CUPTI version 130001, clock offset known within 36 ns");
	builder_timeline(&builder, &timeline);
	CHECK(strcmp(timeline.processes[0].versions, "Python 3.12, PyTorch 2.15, CUPTI 13.0.1") == 0, "versions: %s",
		timeline.processes[0].versions);
	timeline_free(&timeline);
	builder_init(&builder);
	builder_timeline(&builder, &timeline);
	CHECK(strcmp(timeline.processes[0].versions, "") == 0 && !timeline.processes[0].command, "versions of none: %s",
		timeline.processes[0].versions);
	timeline_free(&timeline);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_program(cases[i].program, cases[i].note, cases[i].expected);
	check_versions();
	return check_end();
}
