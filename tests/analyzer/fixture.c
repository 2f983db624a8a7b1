/* A training step in text: see fixture.h. */
#include "fixture.h"
#include "trace_builder.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 40
#define LINES 200
#define NAMES 200
#define SIZES 10
#define ROOM 0x1000000u /* bytes from one name's block to the next */

static const struct what {
	const char *word, *function;
	const char *values; /* a letter for each argument: Address, Bytes, Text; a digit is a value that is
			       always the same */
} whats[] = {
	{"up", "cudart COPY cudaMemcpyAsync writes:dst bytes:bytes direction:dir", "AB1"},
	{"table", "cudart COPY cudaMemcpyAsync writes:dst bytes:bytes direction:dir", "AB1"},
	{"down", "cudart COPY cudaMemcpyAsync reads:src bytes:bytes direction:dir", "AB2"},
	{"move", "cudart COPY cudaMemcpyAsync reads:src writes:dst bytes:bytes direction:dir", "AAB3"},
	{"set", "cudart SET cudaMemsetAsync writes:dst bytes:bytes", "AB"},
	{"kernel", "cudart LAUNCH cudaLaunchKernel string:kernel int:grid_x", "T8"},
	{"conv", "cudnn FORWARD cudnnConvolutionForward reads:x_ptr weight:w_ptr writes:y_ptr", "AAA"},
	{"dgrad", "cudnn BACKWARD cudnnConvolutionBackwardData weight:w_ptr reads:dy_ptr writes:dx_ptr",
		"AAA"},
	{"wgrad", "cudnn BACKWARD cudnnConvolutionBackwardFilter reads:x_ptr reads:dy_ptr grad:dw_ptr",
		"AAA"},
	{"rnn", "cudnn FORWARD cudnnRNNForward reads:x_ptr bytes:w_bytes weight:w_ptr writes:y_ptr", "ABAA"},
	{"rnn_wgrad",
		"cudnn BACKWARD cudnnRNNBackwardWeights_v8 reads:x_ptr reads:y_ptr bytes:w_bytes grad:dw_ptr",
		"AABA"},
	{"pool", "cudnn FORWARD cudnnPoolingForward reads:x_ptr writes:y_ptr", "AA"},
	{"unpool", "cudnn BACKWARD cudnnPoolingBackward reads:y_ptr reads:dy_ptr reads:x_ptr writes:dx_ptr",
		"AAAA"},
	{"act", "cudnn FORWARD cudnnActivationForward reads:x_ptr writes:y_ptr", "AA"},
	{"unact", "cudnn BACKWARD cudnnActivationBackward reads:y_ptr reads:dy_ptr reads:x_ptr writes:dx_ptr",
		"AAAA"},
	{"drop", "cudnn FORWARD cudnnDropoutForward reads:x_ptr writes:y_ptr", "AA"},
	{"undrop", "cudnn BACKWARD cudnnDropoutBackward reads:dy_ptr writes:dx_ptr", "AA"},
	{"axpy", "cublas COMPUTE cublasSaxpy_v2 int:n reads:x_ptr writes:y_ptr", "8AA"},
	{"times", "cublas COMPUTE cublasSgemm_v2 int:m int:n int:k reads:a_ptr reads:b_ptr writes:c_ptr",
		"888AAA"},
	{"reduce", "nccl COMM ncclAllReduce reads:send writes:recv bytes:bytes", "AAB"},
	{"gather", "nccl COMM ncclAllGather reads:send writes:recv bytes:bytes", "AAB"},
	{"scatter", "nccl COMM ncclReduceScatter reads:send writes:recv bytes:bytes", "AAB"},
	{"send", "nccl COMM ncclSend reads:send bytes:bytes int:peer", "AB1"},
	{"receive", "nccl COMM ncclRecv writes:recv bytes:bytes int:peer", "AB1"},
	{"enter", NULL, ""}, /* a range of the framework's */
	{"leave", NULL, ""},
	{"read", "libc READ read string:file", "T"},
};
#define WHATS (sizeof(whats) / sizeof(*whats))

struct line {
	const char *words[WORDS];
	int count;
	const struct what *what;
	const char *module, *function, *expected;
	bool late;
	uint32_t thread, operation;
	uint8_t packed[WORDS];
	uint8_t packed_count;
};

struct fixture {
	struct builder builder;
	struct line lines[LINES];
	int count, step; /* the first line of the step */
	int range_count; /* of the step's lines: those that are no calls */
	char *names[NAMES];
	int name_count;
	char *sizes[SIZES]; /* "LAYER COUNT" */
	int size_count;
	uint64_t touched[NAMES]; /* addresses of launches, in order of their numbers */
	int touched_count;
	uint32_t functions[WHATS], queue;
	uint64_t now_ns;
	struct iteration_rule rule;
};

static uint64_t address_of(struct fixture *fixture, const char *text)
{
	const size_t length = strcspn(text, "+");
	int n = 0;

	while (n < fixture->name_count &&
		(strlen(fixture->names[n]) != length || strncmp(fixture->names[n], text, length) != 0))
		n++;
	if (n == NAMES)
		errx(2, "more than %d names", NAMES);
	if (n == fixture->name_count)
		fixture->names[fixture->name_count++] = strndup(text, length);
	return 0x7f0000000000 + (uint64_t)n * ROOM + (text[length] ? strtoul(text + length + 1, NULL, 0) : 0);
}

static int number_of(struct fixture *fixture, uint64_t address)
{
	int n = 0;

	while (n < fixture->touched_count && fixture->touched[n] != address)
		n++;
	if (n == fixture->touched_count) {
		fixture->touched[fixture->touched_count++] = address;
		builder_addresses(&fixture->builder, &address, 1);
	}
	return n + 1;
}

static void pack(struct line *line, uint32_t value)
{
	for (; value > 127; value >>= 7)
		line->packed[line->packed_count++] = (uint8_t)(value | 128);
	line->packed[line->packed_count++] = (uint8_t)value;
}

/* The addresses of a launch as pm_touch has them: differences of their numbers, zigzag; words that are none
 * are gaps. */
static void pack_touches(struct fixture *fixture, struct line *line, int first)
{
	int before = 0;
	uint32_t gap = 0;

	for (int i = first; i < line->count; i++) {
		int number, step;

		if (strcmp(line->words[i], "_") == 0) {
			gap++;
			continue;
		}
		number = number_of(fixture, address_of(fixture, line->words[i]));
		step = number - before;
		if (gap)
			pack(line, gap << 2 | 2);
		gap = 0;
		pack(line, (uint32_t)(step < 0 ? -2 * step - 1 : 2 * step) << 2);
		before = number;
	}
}

static void add_operation(struct fixture *fixture, struct line *line)
{
	uint64_t values[8];
	char site[100];
	uint32_t at = 0;
	int word = 1;

	for (size_t i = 0; line->what->values[i]; i++) {
		const char kind = line->what->values[i];
		const char *text = kind >= 'A' && word < line->count ? line->words[word] : NULL;

		word += text != NULL;
		if (kind < 'A')
			values[i] = (uint64_t)(kind - '0');
		else if (kind == 'A')
			values[i] = address_of(fixture, text ? text : "nowhere");
		else if (kind == 'T')
			values[i] = builder_string(&fixture->builder, text);
		else
			values[i] = text ? strtoul(text, NULL, 0) : 4096;
	}
	if (line->function) {
		snprintf(site, sizeof(site), "%s (train.py:3)", line->function);
		at = builder_string(&fixture->builder, site);
	}
	line->operation =
		builder_operation(&fixture->builder, fixture->functions[line->what - whats], at, values);
	if (line->module)
		builder_module(&fixture->builder, line->operation, line->module);
	if (line->thread == 1)
		builder_python(
			&fixture->builder, line->operation, 0, "forward (net.py:1)", "<module> (train.py:9)");
	else
		builder_python(&fixture->builder, line->operation, PM_PYTHON_NONE, NULL, NULL);
}

/* Lines of the same words are one operation, and of launches those of one kernel. */
static bool is_same(const struct line *a, const struct line *b)
{
	const int compared = strcmp(a->words[0], "kernel") == 0 ? 2 : a->count;

	if (a->what != b->what || a->thread != b->thread || a->module != b->module ||
		(compared != 2 && a->count != b->count))
		return false;
	for (int i = 0; i < compared; i++)
		if (strcmp(a->words[i], b->words[i]) != 0)
			return false;
	return true;
}

static void parse_line(struct fixture *fixture, struct line *line, char *text)
{
	char *expected = strchr(text, '='), *word, *rest = NULL;

	*line = (struct line){.thread = 1};
	if (expected) {
		*expected++ = 0;
		expected += strspn(expected, " ");
		expected[strcspn(expected, "\n")] = 0;
	}
	line->expected = expected;
	for (word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (*word == '@')
			line->thread = (uint32_t)atoi(word + 1);
		else if (*word == '~')
			line->late = true;
		else if (*word == '%')
			line->module = word + 1;
		else if (*word == '^')
			line->function = word + 1;
		else if (line->count < WORDS)
			line->words[line->count++] = word;
	}
	for (size_t i = 0; i < WHATS; i++)
		if (line->count && strcmp(line->words[0], whats[i].word) == 0)
			line->what = &whats[i];
	if (!line->what)
		errx(2, "no call: %s", line->count ? line->words[0] : "an empty line");
	if (!line->what->function) {
		if (strcmp(line->words[0], "enter") == 0 && line->count > 1)
			line->operation =
				line->count > 2
					? builder_nvtx(&fixture->builder, line->words[2], line->words[1], 0)
					: builder_range(&fixture->builder, PM_RANGE_USER, line->words[1],
						  NULL, "train (train.py:9)");
		fixture->range_count++;
		return;
	}
	for (const struct line *other = fixture->lines; other < line && !line->operation; other++)
		if (is_same(line, other))
			line->operation = other->operation;
	if (!line->operation)
		add_operation(fixture, line);
	if (strcmp(line->words[0], "kernel") == 0)
		pack_touches(fixture, line, 2);
	if (strcmp(line->words[0], "table") == 0)
		pack_touches(fixture, line, 3);
}

/* "ADDRESS MODULE" */
static void set_module(struct fixture *fixture, char *text)
{
	char *module = strchr(text, ' ');

	if (!module)
		errx(2, "no module of %s", text);
	*module++ = 0;
	builder_address_module(
		&fixture->builder, (uint32_t)number_of(fixture, address_of(fixture, text)), module);
}

static void set_rule(struct fixture *fixture, const char *what, const char *value)
{
	char error[ITERATION_RULE_ERROR];

	if (!iteration_rule_set(&fixture->rule, what, value, error))
		errx(2, "%s", error);
}

static void parse(struct fixture *fixture, char *text)
{
	char *line, *rest = NULL;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, " \t");
		if (strcmp(line, "step") == 0)
			fixture->step = fixture->count;
		else if (strncmp(line, "module ", 7) == 0)
			set_module(fixture, line + 7);
		else if (strncmp(line, "size ", 5) == 0 && fixture->size_count < SIZES)
			fixture->sizes[fixture->size_count++] = line + 5;
		else if (strncmp(line, "at ", 3) == 0)
			set_rule(fixture, "at", line + 3);
		else if (strncmp(line, "every ", 6) == 0)
			set_rule(fixture, "every", line + 6);
		else if (*line && fixture->count < LINES)
			parse_line(fixture, &fixture->lines[fixture->count++], line);
	}
}

static void make_call(struct fixture *fixture, const struct line *line)
{
	struct builder_record record = {.begin = fixture->now_ns,
		.end = fixture->now_ns + 10,
		.op = line->operation,
		.queue = (uint16_t)fixture->queue,
		.kind = PM_RECORD_CALL,
		.correlation = ++fixture->builder.correlation,
		.packed_count = line->packed_count};

	memcpy(record.packed, line->packed, sizeof(record.packed));
	if (line->packed_count)
		record.flags = PM_FLAG_TOUCHES;
	builder_record(&fixture->builder, line->thread, &record);
	record = (struct builder_record){.begin = fixture->now_ns + 20,
		.end = fixture->now_ns + 80,
		.op = line->operation,
		.queue = (uint16_t)fixture->queue,
		.kind = PM_RECORD_DEVICE,
		.correlation = fixture->builder.correlation};
	builder_record(&fixture->builder, line->thread, &record);
	fixture->now_ns += 100;
}

static void make(struct fixture *fixture, const struct line *line)
{
	if (line->what->function) {
		make_call(fixture, line);
		return;
	}
	builder_in_range(
		&fixture->builder, line->thread, fixture->now_ns, line->operation, PM_RANGE_NO_SEQUENCE, 0);
	fixture->now_ns += 10;
}

static void make_late(struct fixture *fixture)
{
	for (int i = fixture->step; i < fixture->count; i++)
		if (fixture->lines[i].late)
			make(fixture, &fixture->lines[i]);
}

static void make_calls(struct fixture *fixture)
{
	for (int i = 0; i < fixture->step; i++)
		make(fixture, &fixture->lines[i]);
	for (int n = 0; n < FIXTURE_STEPS; n++)
		for (int i = fixture->step; i < fixture->count; i++) {
			if (n == FIXTURE_LATE && i == fixture->count - 1)
				make_late(fixture);
			if (n != FIXTURE_LATE || !fixture->lines[i].late)
				make(fixture, &fixture->lines[i]);
		}
}

static char letter_of(enum phase phase)
{
	switch (phase) {
	case PHASE_FORWARD:
		return 'f';
	case PHASE_BACKWARD:
		return 'b';
	case PHASE_COMMUNICATION:
		return 'c';
	case PHASE_UPDATE:
		return 'u';
	case PHASE_H2D:
		return 'h';
	case PHASE_MD:
		return 'm';
	case PHASE_IO:
		return 'i';
	default:
		return '-';
	}
}

/* Layers that the text names, each once. */
static size_t count_layers(const struct fixture *fixture)
{
	size_t count = 0;

	for (int i = fixture->step; i < fixture->count; i++) {
		const char *layer =
			fixture->lines[i].expected ? strchr(fixture->lines[i].expected, ' ') : NULL;
		int before = fixture->step;

		while (layer && before < i) {
			const char *other = fixture->lines[before].expected
						    ? strchr(fixture->lines[before].expected, ' ')
						    : NULL;

			if (other && strcmp(other, layer) == 0)
				break;
			before++;
		}
		count += layer && before == i;
	}
	return count;
}

/* Prints phases in which the iteration whose calls come in another order has not as much time as the one
 * before. */
static int compare_late(const char *name, const struct fixture *fixture, const struct phase_list *phases)
{
	const struct phase_times *times = &phases->times[FIXTURE_LATE];
	bool late = false;
	int wrong = 0;

	for (int i = fixture->step; i < fixture->count; i++)
		late |= fixture->lines[i].late;
	for (int phase = 0; phase < PHASE_IDLE_LAUNCH && late; phase++)
		if (times->busy_ns[phase] != times[-1].busy_ns[phase])
			printf("%s: late calls: %lld ns of phase %d, not %lld\n", name,
				(long long)times->busy_ns[phase], phase, (long long)times[-1].busy_ns[phase]),
				wrong++;
	return wrong;
}

/* Prints layers that have not as many parameters as the text says. */
static int compare_sizes(const char *name, const struct fixture *fixture, const struct layer_list *layers)
{
	int wrong = 0;

	for (int i = 0; i < fixture->size_count; i++) {
		char found[100] = "";

		for (size_t l = 0; l < layers->count; l++) {
			const struct layer *layer = &layers->items[l];
			const size_t length = strlen(layer_title(layer));

			if (strncmp(fixture->sizes[i], layer_title(layer), length) != 0 ||
				fixture->sizes[i][length] != ' ')
				continue;
			snprintf(found, sizeof(found), "%s %s", layer_title(layer),
				layer->partly_sized ? "-" : "");
			if (!layer->partly_sized)
				snprintf(found + strlen(found), sizeof(found) - strlen(found), "%" PRIu64,
					layer->parameter_count);
		}
		if (strcmp(found, fixture->sizes[i]) == 0)
			continue;
		wrong++;
		printf("%s: parameters of layer '%s', not '%s'\n", name, found, fixture->sizes[i]);
	}
	return wrong;
}

/* Prints the step as it was found where it is not as the text says. */
static int compare(const char *name, const struct fixture *fixture, const struct analysis *analysis)
{
	const size_t wanted = (size_t)(fixture->count - fixture->step - fixture->range_count);
	char found[100];
	const struct line *line = &fixture->lines[fixture->step];
	int wrong = 0;
	struct why why;

	why_find(analysis, &analysis->workers[0], &why);
	if (why.row_count != wanted)
		printf("%s: %zu calls in an iteration, not %zu\n", name, why.row_count, wanted), wrong++;
	for (size_t i = 0; i < why.row_count && i < wanted; i++, line++) {
		while (!line->what->function)
			line++;

		snprintf(found, sizeof(found), "%c%s%s", letter_of(why.rows[i].phase),
			*why.rows[i].layer ? " " : "", why.rows[i].layer);
		if (line->expected && strcmp(found, line->expected) == 0)
			continue;
		wrong++;
		printf("%s: %s %s: found '%s' by %s and %s, not '%s'\n", name, line->words[0],
			line->count > 1 ? line->words[1] : "", found,
			layer_why_keys[why.rows[i].reason.phase], layer_why_keys[why.rows[i].reason.layer],
			line->expected ? line->expected : "");
	}
	if (analysis->workers[0].layers.count != count_layers(fixture))
		printf("%s: %zu layers, not %zu\n", name, analysis->workers[0].layers.count,
			count_layers(fixture)),
			wrong++;
	why_free(&why);
	return wrong + compare_sizes(name, fixture, &analysis->workers[0].layers) +
	       compare_late(name, fixture, &analysis->workers[0].phases);
}

int fixture_check(const char *name, const char *text)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *copy = strdup(text);
	struct timeline timeline;
	struct analysis analysis;
	int wrong;

	if (!fixture || !copy)
		err(1, "%s", name);
	fixture->now_ns = 10000;
	builder_init(&fixture->builder);
	fixture->builder.header.version = PM_VERSION_WHOLE;
	fixture->queue = builder_queue(&fixture->builder, 0, 1);
	for (size_t i = 0; i < WHATS; i++)
		fixture->functions[i] =
			whats[i].function ? builder_function(&fixture->builder, whats[i].function) : 0;
	parse(fixture, copy);
	make_calls(fixture);
	builder_timeline(&fixture->builder, &timeline);
	analysis_init_as(&analysis, &timeline, &(struct iteration_options){.skip = 1, .rule = &fixture->rule});
	wrong = analysis.worker_count == 1 ? compare(name, fixture, &analysis) : 1;
	analysis_free(&analysis);
	iteration_rule_free(&fixture->rule);
	for (int i = 0; i < fixture->name_count; i++)
		free(fixture->names[i]);
	free(fixture);
	free(copy);
	return wrong;
}
