/* Made-up programs whose iterations are known: see program.h. */
#include "program.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum role { ROLE_FORWARD, ROLE_BACKWARD, ROLE_UPDATE, ROLE_OTHER, ROLE_INPUT, ROLE_RESULT };

struct event {
	enum role role;
	int number; /* of the kernel, in its role */
	int size;
	int iteration; /* -1: none */
};

struct events {
	struct event *items;
	size_t count, room;
};

static uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* From `least` to `most`. */
static int between(uint64_t *state, int least, int most)
{
	return least + (int)(mix(state) % (uint64_t)(most - least + 1));
}

static bool one_in(uint64_t *state, int n)
{
	return mix(state) % (uint64_t)n == 0;
}

void program_random(struct program *program, uint64_t seed)
{
	uint64_t s = seed * 2654435761u + 17;

	memset(program, 0, sizeof(*program));
	program->names = (enum program_names)between(&s, 0, PROGRAM_NAMES - 1);
	program->iterations = between(&s, 6, 30);
	program->layers = between(&s, 3, 12);
	program->updates = between(&s, 1, 4);
	program->accumulate = one_in(&s, 4) ? between(&s, 2, 4) : 1;
	program->optimizers = one_in(&s, 6) ? 2 : 1;
	program->steps = one_in(&s, 5) ? between(&s, 4, 20) : 1;
	program->evaluate_every = one_in(&s, 3) ? between(&s, 3, 8) : 0;
	program->evaluate_count = between(&s, 1, 6);
	program->log_every = one_in(&s, 2) ? between(&s, 1, 6) : 0;
	program->small_every = one_in(&s, 5) ? between(&s, 4, 9) : 0;
	program->tail = one_in(&s, 4) ? between(&s, 1, 3) : 0;
	program->varies = program->steps > 1 && one_in(&s, 2);
	program->resident = one_in(&s, 8);
	program->tunes = one_in(&s, 5);
	program->prepares = one_in(&s, 2);
	program->gathers = one_in(&s, 3);
	program->host_loss = one_in(&s, 12);
	if (program->host_loss)
		program->names = PROGRAM_PASSES;
}

static void put(struct events *events, enum role role, int number, int size, int iteration)
{
	*MEM_PUSH(events->items, events->count, events->room) = (struct event){role, number, size, iteration};
}

static void go_forward(
	struct events *events, const struct program *program, int base, int steps, int size, int iteration)
{
	for (int t = 0; t < steps; t++)
		for (int l = 0; l < program->layers; l++)
			put(events, ROLE_FORWARD, base + l, size, iteration);
	/* The loss, which an evaluation has too. */
	put(events, ROLE_FORWARD, base + program->layers, size, iteration);
	if (program->host_loss && iteration >= 0) {
		put(events, ROLE_RESULT, 0, size, iteration);
		put(events, ROLE_INPUT, 0, size, iteration);
	}
}

static void go_backward(
	struct events *events, const struct program *program, int base, int steps, int size, int iteration)
{
	put(events, ROLE_BACKWARD, base + program->layers, size, iteration);
	for (int t = 0; t < steps; t++)
		for (int l = program->layers; l-- > 0;) {
			put(events, ROLE_BACKWARD, base + l, size, iteration);
			/* All but the first layer hand a gradient on. */
			if (l)
				put(events, ROLE_BACKWARD, base + 50 + l, size, iteration);
		}
}

/* By another thread, some time in the last so many events. */
static void read_ahead(struct events *events, size_t events_before, int size, int iteration, uint64_t *state)
{
	size_t at = events->count;

	put(events, ROLE_INPUT, 0, size, iteration);
	for (size_t steps = mix(state) % (events_before + 1); steps > 0 && at > 0; steps--, at--) {
		events->items[at] = events->items[at - 1];
		events->items[at - 1] = (struct event){ROLE_INPUT, 0, size, iteration};
	}
}

static void read_input(struct events *events, const struct program *program, int size, int iteration)
{
	for (int i = 0; i < 2 && !program->resident; i++)
		put(events, ROLE_INPUT, 0, size + i, iteration);
}

static void train(struct events *events, const struct program *program, int i, uint64_t *state)
{
	bool small = program->small_every && i % program->small_every == program->small_every - 1;
	int size = small ? 7 : 32;
	int steps = program->varies ? between(state, 2, program->steps) : program->steps;

	for (int o = 0; o < program->optimizers; o++) {
		int base = o * 100;

		for (int a = 0; a < program->accumulate; a++) {
			if (o == 0 && program->host_loss)
				read_ahead(events, (size_t)program->layers * 3, size, i, state);
			else if (o == 0)
				read_input(events, program, size, i);
			for (int t = 0; program->tunes && i == 0 && a == 0 && t < 4; t++)
				for (int l = 0; l < program->layers; l++)
					put(events, ROLE_FORWARD, base + l, size, i);
			go_forward(events, program, base, steps, size, i);
			if (o == 1)
				go_forward(events, program, 0, 1, size, i);
			go_backward(events, program, base, steps, size, i);
		}
		for (int u = 0; u < program->layers * program->updates; u++)
			put(events, ROLE_UPDATE, o * 10 + u % program->updates, 32, i);
	}
	for (int t = 0; t < program->tail; t++)
		put(events, ROLE_OTHER, 20 + t, 32, i);
	if (program->log_every && i % program->log_every == program->log_every - 1)
		put(events, ROLE_RESULT, 0, 4, i);
}

static void evaluate(struct events *events, const struct program *program)
{
	for (int e = 0; e < program->evaluate_count; e++) {
		read_input(events, program, 32, -1);
		go_forward(events, program, 0, program->steps, 32, -1);
		put(events, ROLE_OTHER, 30, 32, -1);
		put(events, ROLE_RESULT, 0, 8, -1);
	}
}

static void list_events(struct events *events, const struct program *program)
{
	uint64_t state = (uint64_t)program->iterations * 77 + (uint64_t)program->layers;

	for (int i = 0; program->prepares && i < 2 * program->layers; i++)
		put(events, ROLE_OTHER, i % 3, 10 + i, -1);
	for (int i = 0; i < program->iterations; i++) {
		train(events, program, i, &state);
		if (program->evaluate_every && i % program->evaluate_every == program->evaluate_every - 1)
			evaluate(events, program);
	}
}

/* ---- As a trace ---- */

struct writer {
	const struct program *program;
	struct builder *builder;
	uint32_t launch, copy, forward, backward, queue;
	uint32_t known[6][200][64]; /* operation + 1, by role, number, size */
};

static uint32_t text_of(struct writer *writer, const char *text)
{
	return text ? builder_string(writer->builder, text) : 0;
}

/* The kernel's name, as much as names tell. */
static void kernel_name(const struct writer *writer, const struct event *event, char name[64])
{
	static const char *const words[] = {"forward", "backward", "adam_update", "fill"};
	enum program_names names = writer->program->names;
	bool told = names == PROGRAM_ALL || (names == PROGRAM_UPDATES && event->role == ROLE_UPDATE);

	if (names == PROGRAM_PYTHON &&
		(event->role == ROLE_UPDATE ||
			(event->role == ROLE_FORWARD && writer->program->gathers && event->number % 3 == 0)))
		snprintf(name, 64, "multi_tensor_apply_kernel_%d_%d", (int)event->role, event->number);
	else if (told)
		snprintf(name, 64, "layer%d_%s", event->number, words[event->role]);
	else
		snprintf(name, 64, "k%d_%d", (int)event->role, event->number);
}

static const char *site_of(const struct writer *writer, const struct event *event)
{
	static const char *const functions[] = {"layer < net_forward < main", "layer < net_backward < main",
		"step < net_update < main", "fill < main"};
	static const char *const frames[] = {
		"launch < Net.forward (net.py:7) < <module> (train.py:9)", "launch", NULL, NULL};

	if (writer->program->names == PROGRAM_SITES)
		return functions[event->role];
	return writer->program->names == PROGRAM_PYTHON
		       ? frames[event->role] ? frames[event->role] : "launch < <module> (train.py:11)"
		       : NULL;
}

static bool is_of_library(const struct writer *writer, enum role role)
{
	return (role == ROLE_BACKWARD && writer->program->names >= PROGRAM_BACKWARD &&
		       writer->program->names != PROGRAM_NOTHING) ||
	       (role == ROLE_FORWARD && writer->program->names == PROGRAM_PASSES);
}

static uint32_t operation_of(struct writer *writer, const struct event *event)
{
	uint32_t *known = &writer->known[event->role][event->number][event->size];
	uint64_t values[4] = {0};
	char name[64];

	if (*known)
		return *known - 1;
	if (event->role == ROLE_INPUT || event->role == ROLE_RESULT) {
		values[0] = event->role == ROLE_INPUT ? 1 : 2;
		values[1] = (uint64_t)event->size * 100;
		*known = 1 + builder_operation(writer->builder, writer->copy, 0, values);
		return *known - 1;
	}
	if (is_of_library(writer, event->role)) {
		values[0] = (uint64_t)event->number;
		values[1] = (uint64_t)event->size;
		*known = 1 + builder_operation(writer->builder,
				     event->role == ROLE_FORWARD ? writer->forward : writer->backward, 0,
				     values);
		return *known - 1;
	}
	kernel_name(writer, event, name);
	values[0] = text_of(writer, name);
	values[1] = (uint64_t)event->size * 4;
	values[2] = 256;
	*known = 1 + builder_operation(writer->builder, writer->launch,
			     text_of(writer, site_of(writer, event)), values);
	if (writer->program->names == PROGRAM_PYTHON && event->role == ROLE_FORWARD)
		builder_module(writer->builder, *known - 1, "net.layer");
	return *known - 1;
}

static void note_truth(
	struct program_truth *truth, const struct events *events, size_t i, int64_t ns, bool inside)
{
	const struct event *event = &events->items[i];
	struct program_span *span;

	if (event->iteration < 0 || event->role == ROLE_INPUT || event->role == ROLE_RESULT)
		return;
	span = &truth->spans[event->iteration];
	if (!inside) {
		span->whole = false;
		return;
	}
	if (!span->first_ns)
		span->first_ns = ns;
	span->last_ns = ns;
}

void program_make(const struct program *program, double from, double to, struct builder *builder,
	struct program_truth *truth)
{
	struct writer *writer = mem_alloc(1, sizeof(*writer));
	struct events events = {0};
	size_t first, end;

	builder_init(builder);
	*writer = (struct writer){.program = program, .builder = builder};
	writer->launch = builder_function(
		builder, "cudart LAUNCH cudaLaunchKernel string:kernel int:grid_x int:block_x");
	writer->copy = builder_function(builder, "cudart COPY cudaMemcpyAsync direction:dir bytes:bytes");
	writer->forward = builder_function(builder, "cudnn FORWARD cudnnPoolingForward int:mode int:n");
	writer->backward = builder_function(builder, "cudnn BACKWARD cudnnPoolingBackward int:mode int:n");
	writer->queue = builder_queue(builder, 0, 0);
	list_events(&events, program);
	truth->count = (size_t)program->iterations;
	truth->spans = mem_alloc(truth->count, sizeof(*truth->spans));
	for (size_t i = 0; i < truth->count; i++)
		truth->spans[i].whole = true;
	first = (size_t)(from * (double)events.count);
	end = (size_t)(to * (double)events.count);
	for (size_t i = 0; i < events.count; i++) {
		uint64_t ns = 1000000 + i * 1000;
		bool inside = i >= first && i < end;
		uint32_t thread =
			program->names == PROGRAM_PYTHON && events.items[i].role == ROLE_BACKWARD ? 2 : 1;

		note_truth(truth, &events, i, (int64_t)ns, inside);
		if (inside)
			builder_call(builder, thread, ns, ns + 500, operation_of(writer, &events.items[i]),
				writer->queue, 0, ns + 600, ns + 1500);
	}
	builder_finish(builder);
	free(events.items);
	free(writer);
}
