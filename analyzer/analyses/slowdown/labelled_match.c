/*
 * Which computing a message belongs to: by count, since both are in order. Stages of a pipeline may hold
 * several parts (chunks) of the model, in turns: part c of stage s is number c S + s of all.
 */
#include "labelled_match.h"

static bool is_forward(unsigned type)
{
	return type == LABELLED_FORWARD || type == LABELLED_FORWARD_SEND || type == LABELLED_FORWARD_RECV;
}

static bool is_send(unsigned type)
{
	return type == LABELLED_FORWARD_SEND || type == LABELLED_BACKWARD_SEND;
}

/* Number of the part of the model among all. */
static int32_t part_of(const struct labelled *job, const struct labelled_operation *operation)
{
	int32_t chunk = operation->chunk < 0 ? 0 : operation->chunk;

	return chunk * job->stage_count + job->workers[operation->worker].stage;
}

/* The part that the messages of this computing go to or come from; -1: there is none. */
static int32_t other_part(const struct labelled *job, uint32_t computing, unsigned type)
{
	int32_t part = part_of(job, &job->operations[computing]);

	part += is_forward(type) == is_send(type) ? 1 : -1;
	return part < job->stage_count * job->chunk_count ? part : -1;
}

int32_t labelled_peer_stage(const struct labelled *job, unsigned type, int32_t stage)
{
	int32_t step = is_forward(type) == is_send(type) ? 1 : -1;

	return (stage + step + job->stage_count) % job->stage_count;
}

/* Messages recorded before there was anything to send, or after everything was received. */
static uint32_t drop_idle(const struct labelled *job, const struct labelled_lists *lists, unsigned type,
	unsigned compute, bool *nowhere)
{
	const struct labelled_operation *operations = job->operations;
	uint32_t kept = 0, last = lists->count[compute] - 1;

	for (uint32_t i = 0; i < lists->count[type]; i++) {
		const struct labelled_operation *message = &operations[lists->items[type][i]];

		nowhere[i] = is_send(type)
				     ? message->end_ns < operations[lists->items[compute][0]].end_ns
				     : message->begin_ns > operations[lists->items[compute][last]].begin_ns;
		kept += !nowhere[i];
	}
	return kept;
}

void labelled_match(const struct labelled *job, const struct labelled_lists *lists, unsigned type,
	uint32_t *computing, bool *nowhere)
{
	unsigned compute = is_forward(type) ? LABELLED_FORWARD : LABELLED_BACKWARD;
	const uint32_t *items = lists->items[compute];
	uint32_t count = lists->count[compute], messages = lists->count[type], real = 0, next = 0;
	bool all;

	for (uint32_t i = 0; i < messages; i++) {
		computing[i] = LABELLED_NONE;
		nowhere[i] = false;
	}
	if (count == 0)
		return;
	for (uint32_t i = 0; i < count; i++)
		real += other_part(job, items[i], type) >= 0;
	if (messages > count)
		messages = drop_idle(job, lists, type, compute, nowhere);
	/* One for each computing, or only for those that have a neighbour; one short: the first went
	 * unrecorded. */
	all = messages != real;
	if (all && !is_send(type) && messages + 1 == count)
		next = 1;
	for (uint32_t i = 0; i < lists->count[type]; i++) {
		if (nowhere[i])
			continue;
		while (!all && next < count && other_part(job, items[next], type) < 0)
			next++;
		if (next >= count)
			break;
		computing[i] = items[next];
		nowhere[i] = other_part(job, items[next], type) < 0;
		next++;
	}
}

uint32_t labelled_source(const struct labelled *job, const struct labelled_lists *lists,
	const uint32_t *worker_at, uint32_t operation)
{
	const struct labelled_operation *self = &job->operations[operation];
	unsigned type = self->type,
		 message = type == LABELLED_FORWARD ? LABELLED_FORWARD_RECV : LABELLED_BACKWARD_RECV;
	int32_t part = other_part(job, operation, message), lane = job->workers[self->worker].lane;
	uint32_t worker, ordinal = 0;

	if (part < 0)
		return LABELLED_NONE;
	worker = worker_at[part % job->stage_count * job->lane_count + lane];
	if (worker == LABELLED_NONE)
		return LABELLED_NONE;
	for (uint32_t i = 0; lists[self->worker].items[type][i] != operation; i++)
		ordinal += job->operations[lists[self->worker].items[type][i]].chunk == self->chunk;
	for (uint32_t i = 0; i < lists[worker].count[type]; i++) {
		uint32_t candidate = lists[worker].items[type][i];
		const struct labelled_operation *other = &job->operations[candidate];

		if (part_of(job, other) != part)
			continue;
		if (self->batch >= 0 && other->batch >= 0 ? self->batch == other->batch : ordinal == 0)
			return candidate;
		ordinal -= ordinal > 0;
	}
	return LABELLED_NONE;
}
