/* Checks the alignment of sequences: partners are equal and in order, and as many as the edits leave; and to
 * which iterations roles are carried over by it. */
#include "check.h"
#include "reconstruct/align.h"
#include "reconstruct/layer_assign.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <stdint.h>
#include <stdlib.h>

#define LENGTH 6000
#define ROOM (2 * LENGTH)

static uint64_t numbers = 1;

static uint32_t below(uint32_t most)
{
	numbers = numbers * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(numbers >> 33) % most;
}

/* A copy in which about `edits` members are left out or put in; returns its length. */
static size_t edit(const uint64_t *from, size_t count, uint32_t edits, uint32_t classes, uint64_t *to)
{
	size_t length = 0;

	for (size_t i = 0; i < count; i++) {
		const uint32_t draw = below((uint32_t)count);

		if (draw < edits / 2)
			continue;
		if (draw < edits)
			to[length++] = below(classes);
		to[length++] = from[i];
	}
	return length;
}

static void check_one(uint32_t count, uint32_t edits, uint32_t classes)
{
	static uint64_t from[ROOM], to[ROOM];
	static uint32_t places[ROOM];
	size_t partners = 0, length, next = 0;

	for (uint32_t i = 0; i < count; i++)
		from[i] = below(classes);
	length = edit(from, count, edits, classes, to);
	CHECK(align((struct align_keys){from, count}, (struct align_keys){to, length}, ROOM * 2, places),
		"%u members, %u edits, %u classes: not aligned", count, edits, classes);
	for (uint32_t i = 0; i < count; i++) {
		if (places[i] == ALIGN_NONE)
			continue;
		CHECK(places[i] >= next && places[i] < length && to[places[i]] == from[i],
			"%u members, %u edits: %u is at %u", count, edits, i, places[i]);
		next = places[i] + 1;
		partners++;
	}
	/* Twice the edits that were drawn are more than were made. */
	CHECK(partners + 2 * (size_t)edits >= count, "%u members, %u edits, %u classes: %zu partners", count,
		edits, classes, partners);
}

/* So few edits and no more are allowed. */
static void check_limit(void)
{
	static const uint64_t from[] = {1, 2, 3, 4, 5, 6}, to[] = {1, 2, 9, 4, 6, 7};
	uint32_t places[6];

	for (size_t most = 0; most < 8; most++)
		CHECK(align((struct align_keys){from, 6}, (struct align_keys){to, 6}, most, places) ==
				(most >= 4),
			"4 edits, %zu allowed", most);
	CHECK(places[0] == 0 && places[1] == 1 && places[2] == ALIGN_NONE && places[3] == 3 &&
			places[4] == ALIGN_NONE && places[5] == 4,
		"%u %u %u %u %u %u", places[0], places[1], places[2], places[3], places[4], places[5]);
	CHECK(!align((struct align_keys){from, 6}, (struct align_keys){NULL, 0}, 5, places) &&
			align((struct align_keys){NULL, 0}, (struct align_keys){to, 6}, 6, places),
		"of nothing");
}

#define WORKS 20 /* computations of an iteration */

/* An iteration, and another that has so many more: how many of that one's computations have a place. */
static size_t count_placed(uint32_t more)
{
	struct builder builder;
	struct timeline timeline;
	struct worker_model model;
	const uint32_t count = 2 * WORKS + more;
	struct iteration items[] = {{.call_end = WORKS}, {.first_call = WORKS, .call_end = count}};
	const struct iteration_list iterations = {.items = items, .count = 2};
	struct layer_role roles[3 * WORKS] = {{0}}; /* by operation: each call has one of its own */
	struct layer_list list = {.core_count = WORKS, .core_roles = roles, .operation_roles = roles};
	uint32_t launch, queue;
	size_t placed;

	builder_init(&builder);
	launch = builder_function(&builder, "cudart LAUNCH cudaLaunchKernel string:kernel");
	queue = builder_queue(&builder, 0, 1);
	for (uint32_t i = 0; i < count; i++) {
		const bool others = i >= WORKS && i % 2 && i < WORKS + 2 * more;
		const uint64_t kernel[] = {builder_string(&builder, others ? "other" : "own")};
		const uint64_t begin_ns = 10000 + 100 * (uint64_t)i;

		builder_call(&builder, 1, begin_ns, begin_ns + 10,
			builder_operation(&builder, launch, 0, kernel), queue, 0, begin_ns + 20,
			begin_ns + 80);
	}
	builder_timeline(&builder, &timeline);
	worker_init(&model, &timeline);
	layer_place_cores(&model, &model.workers[0], &iterations, &list);
	placed = list.places[1].count;
	arena_free(&list.arena);
	worker_free(&model);
	timeline_free(&timeline);
	return placed;
}

static void check_carried(void)
{
	size_t placed = count_placed(WORKS / 2);

	CHECK(placed == WORKS + WORKS / 2,
		"roles are not carried over to an iteration with half as much more: %zu", placed);
	placed = count_placed(WORKS);
	CHECK(placed == 0, "roles are carried over to one with twice as much: %zu", placed);
}

int main(void)
{
	check_carried();
	static const uint32_t counts[] = {1, 5, 200, LENGTH}, classes[] = {2, 40, 100000};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		for (size_t j = 0; j < sizeof(classes) / sizeof(*classes); j++)
			for (uint32_t part = 1; part <= 64; part *= 4)
				check_one(counts[i], counts[i] / part / 2, classes[j]);
	check_limit();
	return check_end();
}
