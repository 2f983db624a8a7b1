/*
 * The search for iterations in made-up sequences of calls, a letter each: what updates, repeats or stands in
 * front of an iteration just often, close or early enough, and just not.
 *
 * In a text a letter is a call, and the same letter the same work; u updates, f goes forward, b backward, of
 * the others nothing is known. A number repeats the letter after it, < is a copy from the host in front of a
 * call.
 */
#include "check.h"
#include "reconstruct/analysis.h"
#include "reconstruct/iteration_search.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000 /* calls */

struct letters {
	struct sequence sequence;
	uint32_t classes[MOST], totals[256];
	uint8_t marks[MOST];
	struct sequence_sums sums[MOST + 1];
};

static uint8_t mark_of(char letter)
{
	static const char letters[] = "ufb";
	static const uint8_t marks[] = {SEQUENCE_UPDATE, SEQUENCE_FORWARD, SEQUENCE_BACKWARD};
	const char *at = strchr(letters, letter);

	return at ? marks[at - letters] : 0;
}

static void add(struct letters *letters, char letter, bool input)
{
	const size_t n = letters->sequence.count++;
	const uint8_t mark = mark_of(letter);
	struct sequence_sums *sums = &letters->sums[n + 1];

	letters->classes[n] = (unsigned char)letter;
	letters->totals[(unsigned char)letter]++;
	letters->marks[n] = mark;
	*sums = letters->sums[n];
	sums->inputs += input;
	sums->update += mark == SEQUENCE_UPDATE;
	sums->forward += mark == SEQUENCE_FORWARD;
	sums->backward += mark == SEQUENCE_BACKWARD;
}

static void write_once(struct letters *letters, const char *text)
{
	bool input = false;

	for (char *end; *text; text++) {
		unsigned long times = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 1;

		text = isdigit((unsigned char)*text) ? end : text;
		if (*text == ' ')
			continue;
		if (*text == '<')
			input = true;
		for (; times > 0 && *text != '<'; times--, input = false)
			add(letters, *text, input);
	}
}

/* A text so many times, after what is there; the first one begins the sequence. */
static void write_times(struct letters *letters, const char *text, int times)
{
	letters->sequence.classes = letters->classes;
	letters->sequence.totals = letters->totals;
	letters->sequence.marks = letters->marks;
	letters->sequence.sums = letters->sums;
	letters->sequence.class_count = 256;
	for (int i = 0; i < times; i++)
		write_once(letters, text);
}

/* ---- Updates with work between them of which nothing is known ---- */

static void check_bursts(void)
{
	static const struct {
		const char *what, *text;
		size_t updates;
	} cases[] = {
		{"15 calls between updates may be of the update", "15k u", 1},
		{"30 calls between updates are an iteration's work", "30k u", 6},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct letters letters = {0};
		struct iteration_search search = {.sequence = &letters.sequence};

		write_times(&letters, cases[i].text, 6);
		iteration_search_bursts(&search);
		CHECK(search.updates == cases[i].updates, "%s: %zu updates", cases[i].what, search.updates);
		iteration_search_free(&search);
	}
}

/* ---- What repeats ---- */

static void check_repeats(void)
{
	static const struct {
		const char *what, *before, *pass;
		int passes;
		size_t found;
	} cases[] = {
		{"a loop of a fifth of the calls is none of training", "80z", "ac", 10, 0},
		{"a loop of two fifths is, after a long set-up", "60z", "ac", 20, 20},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct letters letters = {0};
		struct iteration_search search = {.sequence = &letters.sequence};

		write_times(&letters, cases[i].before, 1);
		write_times(&letters, cases[i].pass, cases[i].passes);
		iteration_search_repeats(&search);
		CHECK(search.passes == cases[i].found, "%s: %zu passes", cases[i].what, search.passes);
		iteration_search_free(&search);
	}
}

/* ---- Micro-batches, the last of which has more ---- */

static void check_joined(void)
{
	static const struct {
		const char *what, *piece, *other;
		size_t found;
	} cases[] = {
		{"a call more in 30 is a metric", "<c 28a", "<c 29a", 12},
		{"a call more in 16 is an update", "<c 14a", "<c 15a", 6},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct letters letters = {0};
		struct iteration_search search = {
			.sequence = &letters.sequence, .pieces = calloc(12, sizeof(*search.pieces))};

		for (; search.count < 12; search.count++) {
			search.pieces[search.count].begin = letters.sequence.count;
			write_times(&letters, search.count % 2 ? cases[i].other : cases[i].piece, 1);
			search.pieces[search.count].end = letters.sequence.count;
		}
		iteration_search_join(&search);
		CHECK(search.count == cases[i].found, "%s: %zu iterations", cases[i].what, search.count);
		iteration_search_free(&search);
	}
}

/* ---- Where an iteration begins ---- */

/* Of pieces with one call that always comes, after others whose number differs, the fifth has 25 calls in
 * front: how many of them does it begin after? */
static size_t find_start(const char *irregular)
{
	struct letters letters = {0};
	struct iteration_search search = {
		.sequence = &letters.sequence, .pieces = calloc(10, sizeof(*search.pieces))};
	size_t moved;

	for (; search.count < 10; search.count++) {
		search.pieces[search.count].begin = letters.sequence.count;
		write_times(&letters, "a 24l", search.count == 4);
		write_times(&letters, irregular, 1);
		write_times(&letters, "a 40w", 1);
		write_times(&letters, "k", (int)search.count);
		search.pieces[search.count].end = letters.sequence.count;
	}
	moved = search.pieces[4].begin;
	iteration_search_starts(&search);
	moved = search.pieces[4].begin - moved;
	iteration_search_free(&search);
	return moved;
}

static void check_starts(void)
{
	size_t moved = find_start("5k");

	CHECK(moved == 25, "the sixth call always comes, and tells where an iteration begins: %zu", moved);
	moved = find_start("12k");
	CHECK(moved == 0, "a call in the midst of an iteration tells nothing: %zu", moved);
}

/* ---- Candidates ---- */

static size_t count_inputs(const char *text)
{
	struct letters letters = {0};
	struct sequence_range all = {0, 0};

	write_times(&letters, text, 1);
	all.end = letters.sequence.count;
	return iteration_search_candidates(
		&(struct iteration_search){.sequence = &letters.sequence, .pieces = &all, .count = 1})
		.inputs;
}

static void check_candidates(void)
{
	CHECK(count_inputs("<a 5k <a 5k <a") == 1, "copies six calls apart are not of one batch");
	CHECK(count_inputs("<a 11k <a 11k <a") == 3, "copies a dozen calls apart are of one batch");
}

/* ---- How sure it is ---- */

static void check_confirmed(void)
{
	struct iteration_list list = {.source = ITERATION_BY_PERIOD, .count = 20, .confidence = 1.0 / 11};

	iteration_confirm(&list);
	CHECK(fabs(list.confidence - 0.5) < 0.1,
		"one chance in eleven is not even where a step is found in each: %g", list.confidence);
}

/* ---- What is known of the letters: from calls of two threads ---- */

struct calls {
	struct builder builder;
	uint32_t function, collective, queue;
	uint64_t now_ns;
};

static void begin(struct calls *calls)
{
	builder_init(&calls->builder);
	calls->function = builder_function(&calls->builder, "cudart LAUNCH cudaLaunchKernel string:kernel");
	calls->collective = builder_function(&calls->builder, "nccl COMM ncclAllReduce bytes:bytes");
	calls->queue = builder_queue(&calls->builder, 0, 1);
	calls->now_ns = 10000;
}

static uint32_t kernel(struct calls *calls, const char *name, const char *site)
{
	const uint64_t values[] = {builder_string(&calls->builder, name)};

	return builder_operation(
		&calls->builder, calls->function, builder_string(&calls->builder, site), values);
}

static void call(struct calls *calls, uint32_t thread, uint32_t operation, int times)
{
	for (int i = 0; i < times; i++, calls->now_ns += 100)
		builder_call(&calls->builder, thread, calls->now_ns, calls->now_ns + 10, operation,
			calls->queue, 0, calls->now_ns + 20, calls->now_ns + 80);
}

/* How many calls have the mark. */
static size_t count_marked(struct calls *calls, uint8_t mark)
{
	struct timeline timeline;
	struct worker_model model;
	struct sequence sequence;
	size_t count = 0;

	builder_timeline(&calls->builder, &timeline);
	worker_init(&model, &timeline);
	sequence_init(&sequence, &model, &model.workers[0], false);
	for (size_t i = 0; i < sequence.count; i++)
		count += (sequence.marks[i] & mark) != 0;
	sequence_free(&sequence);
	worker_free(&model);
	timeline_free(&timeline);
	return count;
}

/* A thread that Python does not call in, so often after the one that it does. */
static size_t count_backward(int turns)
{
	struct calls calls;
	uint32_t python, other;

	begin(&calls);
	python = kernel(&calls, "one", "forward (net.py:1)");
	other = kernel(&calls, "two", "");
	builder_python(&calls.builder, python, 0, "forward (net.py:1)", "<module> (train.py:9)");
	builder_python(&calls.builder, other, PM_PYTHON_NONE, NULL, NULL);
	for (int i = 0; i < turns; i++) {
		call(&calls, 1, python, 4);
		call(&calls, 2, other, 2);
	}
	call(&calls, 1, python, 4);
	return count_marked(&calls, SEQUENCE_BACKWARD);
}

/* One kernel, launched by the optimizer so often and elsewhere so often. */
static size_t count_updates(int optimizer, int elsewhere)
{
	struct calls calls;
	uint32_t update, loss, other;

	begin(&calls);
	update = kernel(&calls, "scale", "SGD.step (sgd.py:1)");
	loss = kernel(&calls, "scale", "loss (net.py:1)");
	other = kernel(&calls, "other", "loss (net.py:1)");
	for (int i = 0; i < optimizer + elsewhere; i++) {
		call(&calls, 1, i < optimizer ? update : loss, 1);
		call(&calls, 1, other, 2);
	}
	return count_marked(&calls, SEQUENCE_UPDATE);
}

/* Of collectives alone, so many. */
static bool is_exchange(int count)
{
	struct timeline timeline;
	struct calls calls;
	bool is;

	begin(&calls);
	call(&calls, 1, builder_operation(&calls.builder, calls.collective, 0, (const uint64_t[]){4096}),
		count);
	builder_timeline(&calls.builder, &timeline);
	is = analysis_exchanges_only(&timeline);
	timeline_free(&timeline);
	return is;
}

static void check_calls(void)
{
	CHECK(count_backward(1) == 0, "what a thread does once, as compiling, is backward");
	CHECK(count_backward(3) == 6, "what a thread does in turns is not backward");
	CHECK(count_updates(10, 0) == 10, "a kernel of the optimizer's alone does not update");
	CHECK(count_updates(7, 3) == 0, "a kernel that is often launched elsewhere updates");
	CHECK(!is_exchange(7), "7 collectives are a benchmark");
	CHECK(is_exchange(15), "15 are none");
}

int main(void)
{
	check_calls();
	check_confirmed();
	check_bursts();
	check_repeats();
	check_joined();
	check_starts();
	check_candidates();
	return check_end();
}
