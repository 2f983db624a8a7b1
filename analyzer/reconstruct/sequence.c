/* A worker's work as a sequence of classes: see sequence.h. */
#include "sequence.h"
#include "base/lookup.h"
#include "trace/trace.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

/* What is asked of each call, and the same for all calls of an operation. */
struct what {
	uint64_t key;   /* of its class */
	uint32_t class; /* + 1; 0: not met yet */
	uint8_t marks;
	bool known, member, framed, given;
	bool is_input, is_result; /* a copy from the host, and to it */
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
	size_t length = strlen(text);

	for (uint64_t word; length > 0; text += sizeof(word)) {
		size_t part = length < sizeof(word) ? length : sizeof(word);

		word = 0;
		memcpy(&word, text, part);
		hash = mem_hash(hash, word);
		length -= part;
	}
	return hash;
}

uint64_t sequence_key(const struct timeline *timeline, const struct timeline_operation *operation)
{
	static const char *const kept[] = {"transa", "transb", "trans", "graph", "dir"};
	const char *kernel = sequence_kernel(timeline, operation);
	uint64_t key = mem_hash(MEM_HASH_START, operation->function), value;

	if (kernel && *kernel)
		key = hash_text(key, kernel);
	else if (timeline_value(timeline, operation, "func", &value))
		key = mem_hash(key, value);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (timeline_value(timeline, operation, kept[i], &value))
			key = mem_hash(mem_hash(key, i), value);
	/* Of graphs whose creation was not recorded the number is 0. */
	if (timeline_value(timeline, operation, "graph", &value) && value == 0 &&
		timeline_value(timeline, operation, "exec", &value))
		key = mem_hash(key, value);
	return mem_hash(key, operation->given_phase);
}

uint64_t sequence_shape(const struct timeline *timeline, uint32_t number)
{
	const struct timeline_operation *operation = &timeline->operations[number];
	const struct timeline_function *function = &timeline->functions[operation->function];
	uint64_t shape = mem_hash(MEM_HASH_START, operation->function);

	for (uint32_t i = 0; i < operation->value_count; i++) {
		enum pm_value type = function->labels[i].type;

		if (type == PM_VALUE_DESCRIPTOR) {
			const struct timeline_descriptor *descriptor =
				&timeline->descriptors[operation->values[i]];

			for (uint32_t j = 0; j < descriptor->value_count; j++)
				shape = mem_hash(shape, (uint64_t)descriptor->values[j]);
		} else if ((type == PM_VALUE_INT && strcmp(function->labels[i].name, "algo") != 0) ||
			   type == PM_VALUE_BYTES || type == PM_VALUE_TYPE) {
			shape = mem_hash(shape, operation->values[i]);
		}
	}
	return shape;
}

static struct what what_of(const struct worker_model *model, uint32_t number, bool sized)
{
	const struct timeline *timeline = model->timeline;
	const struct timeline_operation *operation = &timeline->operations[number];
	enum pm_kind kind = timeline->functions[operation->function].kind;
	struct what what = {.known = true};

	what.member = (model->roles[number].flags & WORKER_CORE) || kind == PM_KIND_COMM;
	if (what.member) {
		what.key = sequence_key(timeline, operation);
		if (sized)
			what.key = mem_hash(what.key, sequence_shape(timeline, number));
		what.marks = sequence_label(timeline, operation);
		what.given = operation->given_phase != 0;
		what.framed = operation->python != TRACE_PYTHON_UNKNOWN
				      ? operation->python != TRACE_PYTHON_NONE
				      : operation->site && strstr(operation->site, ".py:");
	}
	if (kind == PM_KIND_COPY) {
		what.is_input = timeline_direction(timeline, operation) == PM_DIRECTION_H2D;
		what.is_result = timeline_direction(timeline, operation) == PM_DIRECTION_D2H;
	}
	return what;
}

struct build {
	struct sequence *sequence;
	struct what *known; /* by operation of the process */
	uint32_t first_operation;
	bool sized;
	struct lookup classes;
	uint64_t *keys; /* by class */
	size_t key_count, key_room;
	struct thread_frames {
		uint32_t members, framed, turns;
	} * threads;
};

static uint32_t class_of(struct build *build, uint64_t key)
{
	uint32_t class;

	for (size_t at = 0; (class = lookup_next(&build->classes, key, &at)) != LOOKUP_NONE;)
		if (build->keys[class] == key)
			return class;
	class = build->sequence->class_count;
	*MEM_PUSH(build->keys, build->key_count, build->key_room) = key;
	build->sequence->class_count++;
	lookup_add(&build->classes, key, class);
	return class;
}

static struct what *what_at(struct build *build, const struct timeline_call *call)
{
	struct what *what = &build->known[call->operation - build->first_operation];

	if (!what->known)
		*what = what_of(build->sequence->model, call->operation, build->sized);
	if (what->member && !what->class)
		what->class = class_of(build, what->key) + 1;
	return what;
}

static void list_members(struct build *build)
{
	struct sequence *sequence = build->sequence;
	const struct timeline *timeline = sequence->model->timeline;
	const struct worker *worker = sequence->worker;
	struct sequence_sums *sums = sequence->sums;
	size_t given = 0;

	for (size_t i = 0; i < worker->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, worker->calls[i]);
		const struct what *what = what_at(build, call);
		size_t n = sequence->count;

		/* Copies are counted in the sum after the member that they stand in front of. */
		sums[n + 1].inputs += what->is_input;
		sums[n + 1].results += what->is_result;
		if (!what->member)
			continue;
		sequence->positions[n] = (uint32_t)i;
		sequence->classes[n] = what->class - 1;
		sequence->marks[n] = what->marks;
		build->threads[call->thread].members++;
		build->threads[call->thread].framed += what->framed;
		sequence->count++;
		given += what->given;
	}
	sequence->given = 2 * given > sequence->count;
	/* Copies after the last member stand in front of none. */
	sums[sequence->count + 1] = (struct sequence_sums){0};
}

static struct thread_frames *thread_of(const struct build *build, size_t member)
{
	const struct sequence *sequence = build->sequence;
	const uint32_t number = sequence->worker->calls[sequence->positions[member]];

	return &build->threads[timeline_call(sequence->model->timeline, number).thread];
}

/* Is the thread in Python's code? Sites are those of an operation's first call, so some operations of another
 * thread have frames of this one. */
static bool is_framed(const struct thread_frames *thread)
{
	return 3 * (uint64_t)thread->framed >= thread->members;
}

/* A thread that never is in Python's code, and takes turns with one that is, runs the backward pass:
 * autograd's. */
static void mark_threads(struct build *build)
{
	struct sequence *sequence = build->sequence;
	const struct timeline_process *process =
		&sequence->model->timeline->processes[sequence->worker->process];
	uint32_t framed = 0, members = 0;

	for (uint32_t i = 0; i < process->thread_count; i++) {
		framed += build->threads[i].framed;
		members += build->threads[i].members;
	}
	if (4 * (uint64_t)framed <= members)
		return;
	for (size_t i = 1; i < sequence->count; i++)
		thread_of(build, i)->turns += is_framed(thread_of(build, i - 1));
	for (size_t i = 0; i < sequence->count; i++)
		if (!is_framed(thread_of(build, i)) && thread_of(build, i)->turns >= SEQUENCE_LEAST_TURNS &&
			!(sequence->marks[i] & SEQUENCE_UPDATE))
			sequence->marks[i] = SEQUENCE_BACKWARD;
}

/*
 * A label is that of the operation's first call, and its kernel may be another's too: an update counts where
 * nearly all of its class are, or where it stands among others.
 */
static void settle_updates(struct sequence *sequence)
{
	uint32_t *updates = mem_alloc(sequence->class_count, sizeof(*updates));
	uint8_t *labels = mem_alloc(sequence->count, sizeof(*labels));

	for (size_t i = 0; i < sequence->count; i++) {
		labels[i] = sequence->marks[i] & SEQUENCE_UPDATE;
		updates[sequence->classes[i]] += labels[i];
	}
	for (size_t i = 0; i < sequence->count; i++) {
		uint32_t class = sequence->classes[i];
		int around = (i >= 1 && labels[i - 1]) + (i >= 2 && labels[i - 2]) +
			     (i + 1 < sequence->count && labels[i + 1]) +
			     (i + 2 < sequence->count && labels[i + 2]);

		if (labels[i] && updates[class] < SEQUENCE_PURE * sequence->totals[class] && around < 3)
			sequence->marks[i] &= (uint8_t)~SEQUENCE_UPDATE;
	}
	free(updates);
	free(labels);
}

/* Where recording went on after a while. */
static void mark_pauses(struct sequence *sequence)
{
	const struct timeline *timeline = sequence->model->timeline;
	const struct worker *worker = sequence->worker;
	const struct timeline_process *process = &timeline->processes[worker->process];
	size_t member = 0;

	for (uint32_t i = 1; i < process->window_count; i++) {
		int64_t begin_ns = timeline->windows[process->first_window + i].begin_ns;
		size_t position = worker_find(timeline, worker->calls, worker->call_count, begin_ns);

		while (member < sequence->count && sequence->positions[member] < position)
			member++;
		sequence->sums[member + 1].pauses += member < sequence->count;
	}
}

static void sum_up(struct sequence *sequence)
{
	for (size_t i = 0; i < sequence->count; i++) {
		const struct sequence_sums *before = &sequence->sums[i];
		struct sequence_sums *sums = &sequence->sums[i + 1];
		uint8_t marks = sequence->marks[i];

		sums->inputs += before->inputs;
		sums->results += before->results;
		sums->pauses += before->pauses;
		sums->forward = before->forward + ((marks & SEQUENCE_FORWARD) != 0);
		sums->backward = before->backward + ((marks & SEQUENCE_BACKWARD) != 0);
		sums->update = before->update + ((marks & SEQUENCE_UPDATE) != 0);
		sequence->closures |= (marks & SEQUENCE_INSIDE) != 0;
	}
}

void sequence_init(
	struct sequence *sequence, const struct worker_model *model, const struct worker *worker, bool sized)
{
	const struct timeline_process *process = &model->timeline->processes[worker->process];
	struct build build = {
		.sequence = sequence, .first_operation = process->first_operation, .sized = sized};

	memset(sequence, 0, sizeof(*sequence));
	sequence->model = model;
	sequence->worker = worker;
	sequence->positions = mem_alloc(worker->call_count, sizeof(*sequence->positions));
	sequence->classes = mem_alloc(worker->call_count, sizeof(*sequence->classes));
	sequence->marks = mem_alloc(worker->call_count, sizeof(*sequence->marks));
	sequence->sums = mem_alloc(worker->call_count + 2, sizeof(*sequence->sums));
	build.known = mem_alloc(process->operation_count, sizeof(*build.known));
	build.threads = mem_alloc(process->thread_count, sizeof(*build.threads));
	list_members(&build);
	sequence->totals = mem_alloc(sequence->class_count, sizeof(*sequence->totals));
	for (size_t i = 0; i < sequence->count; i++)
		sequence->totals[sequence->classes[i]]++;
	mark_threads(&build);
	settle_updates(sequence);
	mark_pauses(sequence);
	sum_up(sequence);
	free(build.known);
	free(build.threads);
	free(build.keys);
	lookup_free(&build.classes);
}

void sequence_free(struct sequence *sequence)
{
	free(sequence->positions);
	free(sequence->classes);
	free(sequence->marks);
	free(sequence->sums);
	free(sequence->totals);
	memset(sequence, 0, sizeof(*sequence));
}
