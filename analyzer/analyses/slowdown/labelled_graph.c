/* What the operations of a labelled job wait for: see labelled_graph.h. */
#include "labelled_build.h"
#include "base/limit.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

/* Lists of the step's operations by worker and type; they are in order of worker and time. */
static void make_lists(struct labelled_builder *builder)
{
	uint32_t *next = builder->items + builder->first;

	memset(builder->lists, 0, builder->job->worker_count * sizeof(*builder->lists));
	for (size_t i = builder->first; i < builder->behind;) {
		uint32_t worker = labelled_builder_at(builder, (uint32_t)i)->worker;
		struct labelled_lists *lists = &builder->lists[worker];
		size_t end = i;

		while (end < builder->behind && labelled_builder_at(builder, (uint32_t)end)->worker == worker)
			end++;
		for (unsigned type = 0; type < LABELLED_TYPES; type++) {
			lists->items[type] = next;
			for (size_t j = i; j < end; j++)
				if (labelled_builder_at(builder, (uint32_t)j)->type == type) {
					builder->place[j] = lists->count[type];
					next[lists->count[type]++] = (uint32_t)j;
				}
			next += lists->count[type];
		}
		i = end;
	}
}

/* The operation of the same list before this one. */
static uint32_t before(
	const struct labelled_builder *builder, const struct labelled_lists *lists, uint32_t operation)
{
	uint32_t place = builder->place[operation];

	return place ? lists->items[labelled_builder_at(builder, operation)->type][place - 1] : LABELLED_NONE;
}

static void link_messages(struct labelled_builder *builder, uint32_t worker)
{
	const struct labelled_lists *lists = &builder->lists[worker];

	for (unsigned type = LABELLED_FORWARD_SEND; type <= LABELLED_BACKWARD_RECV; type++) {
		uint32_t count = lists->count[type];
		uint32_t *computing = mem_alloc(count + 1, sizeof(*computing));
		bool *nowhere = mem_alloc(count + 1, sizeof(*nowhere));

		labelled_match(builder->job, lists, type, computing, nowhere);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t message = lists->items[type][i], other = computing[i];

			builder->computing[message] = other;
			builder->nowhere[message] = nowhere[i];
			labelled_builder_wait(
				builder, message, i ? lists->items[type][i - 1] : LABELLED_NONE);
			if (other == LABELLED_NONE)
				continue;
			if (type == LABELLED_FORWARD_SEND || type == LABELLED_BACKWARD_SEND) {
				labelled_builder_wait(builder, message, other);
			} else {
				labelled_builder_wait(builder, other, message);
				labelled_builder_wait(builder, message, before(builder, lists, other));
			}
		}
		free(computing);
		free(nowhere);
	}
}

/* One queue of computing; the first receive of the way back is called for before the last forward computing
 * that precedes it. */
static uint32_t link_computing(struct labelled_builder *builder, uint32_t worker, size_t first, size_t end)
{
	const struct labelled_lists *lists = &builder->lists[worker];
	uint32_t last = LABELLED_NONE, second = LABELLED_NONE;
	const char *met;
	bool back = false;

	for (size_t i = first; i < end; i++) {
		const struct labelled_operation *operation = labelled_builder_at(builder, (uint32_t)i);

		if (i % 64 == 0 && (met = pm_limit_at(i)))
			errx(1, "%s", met);
		if (!labelled_is_compute(operation->type) && operation->type != LABELLED_COLLECTION)
			continue;
		if (operation->type == LABELLED_BACKWARD && !back) {
			back = true;
			if (lists->count[LABELLED_BACKWARD_RECV])
				labelled_builder_wait(
					builder, lists->items[LABELLED_BACKWARD_RECV][0], second);
		}
		labelled_builder_wait(builder, (uint32_t)i, last);
		second = last;
		last = (uint32_t)i;
		if (labelled_is_compute(operation->type) &&
			lists->count[operation->type == LABELLED_FORWARD ? LABELLED_FORWARD_RECV
									 : LABELLED_BACKWARD_RECV] == 0)
			labelled_builder_wait(builder, (uint32_t)i,
				labelled_source(
					builder->job, builder->lists, builder->worker_at, (uint32_t)i));
	}
	return last;
}

static uint32_t first_forward(const struct labelled_builder *builder, const struct labelled_lists *lists,
	const struct labelled_operation *gather)
{
	for (uint32_t i = 0; i < lists->count[LABELLED_FORWARD]; i++) {
		uint32_t forward = lists->items[LABELLED_FORWARD][i];
		const struct labelled_operation *operation = labelled_builder_at(builder, forward);

		if ((gather->chunk < 0 || operation->chunk < 0 || operation->chunk == gather->chunk) &&
			operation->end_ns > gather->end_ns)
			return forward;
	}
	return LABELLED_NONE;
}

/* The last backward computing that had ended when the reduction began, of its part of the model if one is. */
static uint32_t reduced(const struct labelled_builder *builder, const struct labelled_lists *lists,
	const struct labelled_operation *reduction)
{
	uint32_t found = LABELLED_NONE;

	for (uint32_t i = 0; i < lists->count[LABELLED_BACKWARD]; i++) {
		uint32_t backward = lists->items[LABELLED_BACKWARD][i];

		if (labelled_builder_at(builder, backward)->end_ns <= reduction->begin_ns)
			found = backward;
	}
	return found;
}

/* What the data ranks exchange, and what follows the computing. */
static void link_rest(
	struct labelled_builder *builder, uint32_t worker, size_t first, size_t end, uint32_t computed)
{
	const struct labelled_lists *lists = &builder->lists[worker];
	uint32_t queue = LABELLED_NONE, tail = computed, early = LABELLED_NONE;

	for (size_t i = first; i < end; i++) {
		const struct labelled_operation *operation = labelled_builder_at(builder, (uint32_t)i);
		unsigned type = operation->type;
		bool exchange = type == LABELLED_GATHER || type == LABELLED_REDUCE;
		bool late = computed == LABELLED_NONE ||
			    operation->begin_ns >= labelled_builder_at(builder, computed)->begin_ns;

		if (type < LABELLED_GATHER)
			continue;
		if (exchange) {
			labelled_builder_wait(builder, (uint32_t)i, queue);
			queue = (uint32_t)i;
		}
		if (type == LABELLED_GATHER && !late) {
			labelled_builder_wait(builder, first_forward(builder, lists, operation), (uint32_t)i);
		} else if (exchange && computed != LABELLED_NONE &&
			   operation->begin_ns < labelled_builder_at(builder, computed)->end_ns) {
			labelled_builder_wait(builder, (uint32_t)i, reduced(builder, lists, operation));
			early = (uint32_t)i;
		} else {
			labelled_builder_wait(builder, (uint32_t)i, tail);
			labelled_builder_wait(builder, (uint32_t)i, early);
			tail = (uint32_t)i;
		}
	}
}

/* Those who meet: data move once the last has begun. */
static void meet(struct labelled_builder *builder, const uint32_t *members, size_t count)
{
	int64_t last_ns = INT64_MIN;
	uint32_t node = builder->node_count;

	if (count < 2)
		return;
	builder->node_count++;
	*MEM_PUSH(builder->rendezvous_step, builder->rendezvous_count, builder->rendezvous_room) =
		builder->step;
	for (size_t i = 0; i < count; i++)
		if (labelled_builder_at(builder, members[i])->begin_ns > last_ns)
			last_ns = labelled_builder_at(builder, members[i])->begin_ns;
	for (size_t i = 0; i < count; i++) {
		int64_t work_ns = labelled_builder_at(builder, members[i])->end_ns - last_ns;

		/* What the member waits for, the rendezvous waits for: settled when all arcs are known. */
		builder->graph->task[members[i]] = node;
		builder->graph->work_ns[members[i]] = work_ns > 0 ? work_ns : 0;
	}
}

static size_t real_messages(
	const struct labelled_builder *builder, uint32_t worker, unsigned type, uint32_t *list)
{
	const struct labelled_lists *lists = &builder->lists[worker];
	size_t count = 0;

	for (uint32_t i = 0; i < lists->count[type]; i++)
		if (!builder->nowhere[lists->items[type][i]])
			list[count++] = lists->items[type][i];
	return count;
}

/* A receive whose send is not labelled waits for what the sender computed. */
static void link_lone(struct labelled_builder *builder, uint32_t receive)
{
	const struct labelled_operation *operation = labelled_builder_at(builder, receive);
	uint32_t source = LABELLED_NONE;

	if (builder->computing[receive] != LABELLED_NONE)
		source = labelled_source(
			builder->job, builder->lists, builder->worker_at, builder->computing[receive]);
	if (source == LABELLED_NONE)
		return;
	labelled_builder_wait(builder, receive, source);
	if (labelled_builder_at(builder, source)->end_ns > operation->begin_ns) {
		int64_t work_ns = operation->end_ns - labelled_builder_at(builder, source)->end_ns;

		builder->graph->work_ns[receive] = work_ns > 0 ? work_ns : 0;
	}
}

static void meet_messages(struct labelled_builder *builder, uint32_t worker, unsigned send)
{
	const struct labelled *job = builder->job;
	unsigned receive = send + 1;
	int32_t stage = labelled_peer_stage(job, send, job->workers[worker].stage);
	uint32_t peer = builder->worker_at[stage * job->lane_count + job->workers[worker].lane];
	size_t room = builder->lists[worker].count[send] + 1, sends, receives = 0;
	uint32_t *from, *to;

	if (peer == LABELLED_NONE)
		return;
	room += builder->lists[peer].count[receive];
	from = mem_alloc(room, sizeof(*from));
	to = mem_alloc(room, sizeof(*to));
	sends = real_messages(builder, worker, send, from);
	receives = real_messages(builder, peer, receive, to);
	for (size_t i = 0; i < sends && i < receives; i++) {
		meet(builder, (const uint32_t[]){from[i], to[i]}, 2);
		builder->graph->peer[from[i]] = to[i];
		builder->graph->peer[to[i]] = from[i];
	}
	for (size_t i = sends; i < receives; i++)
		link_lone(builder, to[i]);
	if (sends > 0 && receives > 0)
		builder->graph->unmatched += sends > receives ? sends - receives : receives - sends;
	free(from);
	free(to);
}

/* Workers that meet in operations of a type have one key. -1: it meets nobody. */
static int64_t meeting_key(const struct labelled *job, const struct labelled_worker *worker, unsigned type)
{
	if (type == LABELLED_CLIP)
		return 0;
	if (type == LABELLED_EMBEDDING)
		return worker->stage == 0 || worker->stage == job->stage_count - 1 ? worker->lane : -1;
	return (int64_t)worker->stage * job->tensor_count + worker->tensor;
}

struct member {
	int64_t key;
	uint32_t worker;
};

static int compare_members(const void *a, const void *b)
{
	const struct member *one = a, *other = b;

	if (one->key != other->key)
		return one->key < other->key ? -1 : 1;
	return one->worker < other->worker ? -1 : one->worker > other->worker;
}

/* The first operations of all members meet, the second ones, and so on; who has no more drops out. */
static void meet_group(struct labelled_builder *builder, struct member *group, size_t count, unsigned type)
{
	uint32_t *members = mem_alloc(count, sizeof(*members));

	for (uint32_t ordinal = 0; count; ordinal++) {
		size_t left = 0;

		for (size_t i = 0; i < count; i++)
			if (builder->lists[group[i].worker].count[type] > ordinal) {
				members[left] = builder->lists[group[i].worker].items[type][ordinal];
				group[left++] = group[i];
			}
		count = left;
		meet(builder, members, count);
	}
	free(members);
}

static void meet_collectives(struct labelled_builder *builder, unsigned type)
{
	const struct labelled *job = builder->job;
	struct member *members = mem_alloc(job->worker_count, sizeof(*members));
	size_t count = 0;

	for (uint32_t i = 0; i < job->worker_count; i++) {
		int64_t key = meeting_key(job, &job->workers[i], type);

		if (key >= 0)
			members[count++] = (struct member){key, i};
	}
	qsort(members, count, sizeof(*members), compare_members);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && members[end].key == members[first].key;)
			end++;
		meet_group(builder, members + first, end - first, type);
	}
	free(members);
}

static void link_step(struct labelled_builder *builder)
{
	make_lists(builder);
	for (uint32_t worker = 0; worker < builder->job->worker_count; worker++)
		link_messages(builder, worker);
	for (size_t i = builder->first, end; i < builder->behind; i = end) {
		uint32_t worker = labelled_builder_at(builder, (uint32_t)i)->worker, computed;

		for (end = i; end < builder->behind &&
			      labelled_builder_at(builder, (uint32_t)end)->worker == worker;)
			end++;
		computed = link_computing(builder, worker, i, end);
		link_rest(builder, worker, i, end, computed);
	}
	for (uint32_t worker = 0; worker < builder->job->worker_count; worker++) {
		meet_messages(builder, worker, LABELLED_FORWARD_SEND);
		meet_messages(builder, worker, LABELLED_BACKWARD_SEND);
	}
	for (unsigned type = LABELLED_GATHER; type <= LABELLED_CLIP; type++)
		if (type != LABELLED_NORM)
			meet_collectives(builder, type);
}

void labelled_graph_make(struct labelled_graph *graph, const struct labelled *job)
{
	size_t count = job->operation_count;
	struct labelled_builder builder = {.job = job, .graph = graph, .node_count = (uint32_t)count};
	int64_t *step_begin_ns = mem_alloc(job->step_count + 1, sizeof(*step_begin_ns));

	memset(graph, 0, sizeof(*graph));
	graph->task = mem_alloc(count + 1, sizeof(*graph->task));
	graph->peer = mem_alloc(count + 1, sizeof(*graph->peer));
	graph->work_ns = mem_alloc(count + 1, sizeof(*graph->work_ns));
	memset(graph->task, 0xff, count * sizeof(*graph->task));
	memset(graph->peer, 0xff, count * sizeof(*graph->peer));
	builder.items = mem_alloc(count + 1, sizeof(*builder.items));
	builder.place = mem_alloc(count + 1, sizeof(*builder.place));
	builder.computing = mem_alloc(count + 1, sizeof(*builder.computing));
	builder.nowhere = mem_alloc(count + 1, sizeof(*builder.nowhere));
	builder.lists = mem_alloc(job->worker_count, sizeof(*builder.lists));
	builder.worker_at =
		mem_alloc((size_t)job->stage_count * (size_t)job->lane_count, sizeof(*builder.worker_at));
	memset(builder.worker_at, 0xff,
		(size_t)job->stage_count * (size_t)job->lane_count * sizeof(*builder.worker_at));
	for (uint32_t i = 0; i < job->worker_count; i++)
		builder.worker_at[job->workers[i].stage * job->lane_count + job->workers[i].lane] = i;
	for (size_t i = 0; i < count; i++)
		graph->work_ns[i] = job->operations[i].end_ns - job->operations[i].begin_ns;
	for (size_t i = 0; i < count; i = builder.behind) {
		builder.step = job->operations[i].step;
		builder.first = i;
		step_begin_ns[builder.step] = job->operations[i].begin_ns;
		for (builder.behind = i;
			builder.behind < count && job->operations[builder.behind].step == builder.step;
			builder.behind++)
			if (job->operations[builder.behind].begin_ns < step_begin_ns[builder.step])
				step_begin_ns[builder.step] = job->operations[builder.behind].begin_ns;
		link_step(&builder);
	}
	labelled_builder_order(&builder, step_begin_ns);
	free(builder.arcs);
	free(builder.rendezvous_step);
	free(builder.worker_at);
	free(builder.lists);
	free(builder.items);
	free(builder.place);
	free(builder.computing);
	free(builder.nowhere);
	free(step_begin_ns);
}

void labelled_graph_free(struct labelled_graph *graph)
{
	replay_free(&graph->replay);
	free(graph->task);
	free(graph->operation);
	free(graph->step);
	free(graph->work_ns);
	free(graph->peer);
	memset(graph, 0, sizeof(*graph));
}
