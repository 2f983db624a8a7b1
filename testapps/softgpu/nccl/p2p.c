/*
 * Sends and receives: one ring of bytes for each ordered pair of ranks, and one closure that moves all sends
 * and receives of a group forward together.
 *
 * The one idea: nobody waits for a particular message. The closure goes round all its unfinished transfers,
 * and only when none can move does it sleep on its rank's bell, which the other side of any of its channels
 * rings after moving something.
 *
 * Under the model clock both ends of a transfer tell each other when they could begin, and each computes the
 * same end: the later of the two + latency + bytes / bandwidth. That is a rendezvous for messages of any
 * size, as NCCL's documentation has it: a send that is not in one group with what its receiver must do first
 * waits for ever. What a rank sends shares its port out, what it receives its port in: a transfer could begin
 * when the rank is ready and the port has been through the earlier transfers of the group. It is this rank's
 * own work that counts there and not when the others come, because a late peer holds up nobody else's
 * transfer (and because to wait for those times could become a cycle). Without numerics only small messages
 * move; of larger ones no byte is touched, and what is received is forgotten (core/known.c).
 */
#include <stdlib.h>
#include <string.h>

#include "nccl_private.h"

struct transfer {
	struct nccl_channel *channel;
	char *data; /* of the channel */
	struct nccl_rank *other;
	int sending;
	char *buffer;
	size_t bytes, done;
	int announced;           /* the message's length has been written or read */
	struct transfer *before; /* the earlier transfer through the same channel, which goes first */

	/* Model clock. */
	struct nccl_side *mine, *theirs;
	double latency_ns, duration_ns;
	uint64_t ready_ns, end_ns;
	uint64_t ordinal; /* of this message in its channel, once announced */
	int is_sent, met; /* this end's announcement; the other end's has come */
};

static void ring_bell(struct nccl_rank *rank)
{
	atomic_fetch_add(&rank->bell, 1);
	if (atomic_load(&rank->sleeping) != 0)
		sg_futex_wake(&rank->bell, 1);
}

static void put(struct transfer *t, const void *from, size_t bytes)
{
	uint64_t at = atomic_load_explicit(&t->channel->written, memory_order_relaxed);
	size_t offset = at % NCCL_CHANNEL_BYTES;
	size_t straight = bytes < NCCL_CHANNEL_BYTES - offset ? bytes : NCCL_CHANNEL_BYTES - offset;

	memcpy(t->data + offset, from, straight);
	memcpy(t->data, (const char *)from + straight, bytes - straight);
	atomic_store(&t->channel->written, at + bytes);
}

static void get(struct transfer *t, void *to, size_t bytes)
{
	uint64_t at = atomic_load_explicit(&t->channel->read, memory_order_relaxed);
	size_t offset = at % NCCL_CHANNEL_BYTES;
	size_t straight = bytes < NCCL_CHANNEL_BYTES - offset ? bytes : NCCL_CHANNEL_BYTES - offset;

	memcpy(to, t->data + offset, straight);
	memcpy((char *)to + straight, t->data, bytes - straight);
	atomic_store(&t->channel->read, at + bytes);
}

static int finished(const struct transfer *t)
{
	return t->met && t->announced && t->done == t->bytes;
}

/* Bytes that can move through the channel now. */
static size_t movable(const struct transfer *t)
{
	uint64_t full = atomic_load(&t->channel->written) - atomic_load(&t->channel->read);

	return t->sending ? NCCL_CHANNEL_BYTES - (size_t)full : (size_t)full;
}

/*
 * Announces to the other end when this one could begin, and looks for its announcement; 1 if anything
 * happened, -1 if they differ about the length. Two places are enough: the other end announces the next
 * message but one only when it has read the next, so it has read this one.
 */
static int meet(struct transfer *t)
{
	struct nccl_announcement *sent;
	int is_new = !t->is_sent;

	if (!t->is_sent) {
		t->ordinal = atomic_load_explicit(&t->mine->count, memory_order_relaxed);
		sent = &t->mine->last[t->ordinal & 1];
		sent->ready_ns = t->ready_ns;
		sent->bytes = t->bytes;
		t->is_sent = 1;
		atomic_store(&t->mine->count, t->ordinal + 1);
	}
	if (atomic_load(&t->theirs->count) <= t->ordinal)
		return is_new;
	sent = &t->theirs->last[t->ordinal & 1];
	if (sent->bytes != t->bytes)
		return -1;
	t->end_ns = (t->ready_ns > sent->ready_ns ? t->ready_ns : sent->ready_ns) +
		    sg_whole_ns(t->latency_ns + t->duration_ns);
	t->met = 1;
	return 1;
}

/* Moves what can move of the message; 1 if anything did, -1 if it is not as long as the receiver says. */
static int move(struct transfer *t)
{
	size_t room = movable(t), bytes;
	int moved = 0;

	if (!t->announced) {
		uint64_t length = t->bytes;

		if (room < sizeof(length))
			return 0;
		if (t->sending)
			put(t, &length, sizeof(length));
		else
			get(t, &length, sizeof(length));
		if (length != t->bytes)
			return -1;
		t->announced = 1;
		moved = 1;
		room -= sizeof(length);
	}
	bytes = t->bytes - t->done < room ? t->bytes - t->done : room;
	if (bytes > 0) {
		if (t->sending)
			put(t, t->buffer + t->done, bytes);
		else
			get(t, t->buffer + t->done, bytes);
		t->done += bytes;
		moved = 1;
	}
	return moved;
}

/* As far as it goes now; 1 if anything happened, -1 if the two ends differ about the length. */
static int step(struct transfer *t)
{
	int happened = t->met ? 0 : meet(t), moved = 0;

	if (happened >= 0 && (!t->announced || t->done < t->bytes))
		moved = move(t);
	if (happened > 0 || moved > 0)
		ring_bell(t->other);
	return happened < 0 || moved < 0 ? -1 : happened | moved;
}

/* Those whose messages are waited for. */
static void look_for_peers(struct nccl_segment *segment, const struct transfer *transfers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!finished(&transfers[i]))
			nccl_segment_look_for_peer(segment, transfers[i].other);
}

static void sleep_until_bell(struct nccl_segment *segment, struct nccl_rank *self, uint32_t bell,
	const struct transfer *transfers, size_t count)
{
	static const struct timespec patience = {1, 0};
	uint64_t begin_ns = sg_now_ns();
	unsigned turn = 0;

	while (!sg_modelled() && !sg_spin_over(begin_ns, &turn)) {
		if (atomic_load_explicit(&self->bell, memory_order_acquire) != bell)
			return;
	}
	atomic_store(&self->sleeping, 1);
	if (atomic_load(&self->bell) == bell) {
		begin_ns = sg_now_ns();
		sg_futex_wait(&self->bell, bell, &patience, 1);
		if (sg_now_ns() - begin_ns > 900000000u && atomic_load(&self->bell) == bell)
			look_for_peers(segment, transfers, count);
	}
	atomic_store(&self->sleeping, 0);
}

static ncclResult_t run_transfers(struct ncclComm *comm, struct transfer *transfers, size_t count)
{
	struct nccl_segment *segment = &comm->segment;
	struct nccl_rank *self = &segment->ranks[comm->rank];
	size_t left = count;

	while (left > 0) {
		uint32_t bell = atomic_load(&self->bell);
		int moved = 0;

		left = 0;
		for (size_t i = 0; i < count; i++) {
			struct transfer *t = &transfers[i];
			int result;

			if (finished(t))
				continue;
			left++;
			if (t->before != NULL && !finished(t->before))
				continue;
			result = step(t);
			if (result < 0)
				return nccl_segment_refuse(segment);
			moved |= result;
		}
		if (atomic_load(&segment->header->failed) != ncclSuccess)
			return (ncclResult_t)atomic_load(&segment->header->failed);
		if (left > 0 && !moved)
			sleep_until_bell(segment, self, bell, transfers, count);
	}
	return ncclSuccess;
}

/* Fills in a transfer; its channel's memory is really there afterwards, if bytes move. */
static ncclResult_t prepare(struct ncclComm *comm, const struct nccl_task *task, struct transfer *t)
{
	struct nccl_segment *segment = &comm->segment;
	int from = task->kind == NCCL_SEND ? comm->rank : task->peer;
	int to = task->kind == NCCL_SEND ? task->peer : comm->rank;
	size_t index = (size_t)from * (size_t)comm->rank_count + (size_t)to;
	union {
		const void *in;
		char *out;
	} buffer = {task->send};

	t->sending = task->kind == NCCL_SEND;
	t->channel = &segment->channels[index];
	t->data = segment->channel_data + index * NCCL_CHANNEL_BYTES;
	t->other = &segment->ranks[task->peer];
	t->buffer = t->sending ? buffer.out : task->recv;
	t->bytes = task->count * nccl_type_bytes(task->type);
	t->mine = t->sending ? &t->channel->sender : &t->channel->receiver;
	t->theirs = t->sending ? &t->channel->receiver : &t->channel->sender;
	t->met = !sg_modelled();
	if (!nccl_moves(task)) {
		t->announced = 1;
		t->done = t->bytes;
	}
	return t->sending && nccl_moves(task) ? nccl_segment_reserve_channel(segment, from, to) : ncclSuccess;
}

/* When this rank's part of each transfer could begin, and how long it takes. */
static ncclResult_t give_times(
	struct ncclComm *comm, const struct nccl_task *tasks, struct transfer *transfers, size_t count)
{
	uint64_t begin_ns = sg_work_begin();
	double busy_ns[2] = {0, 0}; /* the port in, the port out */
	const struct nccl_model *model = nccl_model_of(comm);

	if (model == NULL)
		return ncclSystemError;
	for (size_t i = 0; i < count; i++) {
		struct transfer *t = &transfers[i];
		struct sg_link link;

		t->ready_ns = begin_ns;
		if (tasks[i].peer == comm->rank) {
			t->duration_ns = (double)nccl_model_copy(comm->device, t->bytes);
			continue;
		}
		link = t->sending ? nccl_model_link(model, comm->rank, tasks[i].peer)
				  : nccl_model_link(model, tasks[i].peer, comm->rank);
		t->ready_ns += sg_whole_ns(busy_ns[t->sending]);
		t->latency_ns = link.latency_ns;
		t->duration_ns = (double)t->bytes / link.bytes_per_ns;
		busy_ns[t->sending] += t->duration_ns;
	}
	return ncclSuccess;
}

ncclResult_t nccl_run_p2p(struct ncclComm *comm, struct nccl_task *tasks, size_t count)
{
	struct transfer *transfers = calloc(count, sizeof(*transfers));
	ncclResult_t result = ncclSuccess;
	uint64_t end_ns = 0;

	if (transfers == NULL)
		return ncclSystemError;
	for (size_t i = 0; i < count && result == ncclSuccess; i++) {
		struct transfer *t = &transfers[i];

		result = prepare(comm, &tasks[i], t);
		for (size_t k = i; k-- > 0 && t->before == NULL;) {
			if (transfers[k].channel == t->channel && transfers[k].sending == t->sending)
				t->before = &transfers[k];
		}
	}
	if (result == ncclSuccess && sg_modelled())
		result = give_times(comm, tasks, transfers, count);
	if (result == ncclSuccess)
		result = run_transfers(comm, transfers, count);
	for (size_t i = 0; i < count; i++)
		end_ns = transfers[i].end_ns > end_ns ? transfers[i].end_ns : end_ns;
	if (result == ncclSuccess && sg_modelled())
		sg_work_end(end_ns);
	for (size_t i = 0; i < count && result == ncclSuccess; i++) {
		if (tasks[i].kind == NCCL_RECV && nccl_moves(&tasks[i]))
			sg_memory_written(transfers[i].buffer, transfers[i].bytes);
		else if (tasks[i].kind == NCCL_RECV)
			sg_memory_forget_range(transfers[i].buffer, transfers[i].bytes);
	}
	free(transfers);
	return result;
}
