/*
 * Sends and receives: one ring of bytes for each ordered pair of ranks, and one closure that moves all sends
 * and receives of a group forward together.
 *
 * The one idea: nobody waits for a particular message. The closure goes round all its unfinished transfers,
 * and only when none can move does it sleep on its rank's bell, which the other side of any of its channels
 * rings after moving something.
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
	return t->announced && t->done == t->bytes;
}

/* Bytes that can move through the channel now. */
static size_t movable(const struct transfer *t)
{
	uint64_t full = atomic_load(&t->channel->written) - atomic_load(&t->channel->read);

	return t->sending ? NCCL_CHANNEL_BYTES - (size_t)full : (size_t)full;
}

/* Moves what can move; 1 if anything did, -1 if the message is not as long as the receiver says. */
static int step(struct transfer *t)
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
	if (moved)
		ring_bell(t->other);
	return moved;
}

static void sleep_until_bell(struct nccl_segment *segment, struct nccl_rank *self, uint32_t bell)
{
	static const struct timespec patience = {1, 0};
	uint64_t begin_ns = sg_now_ns();
	unsigned turn = 0;

	while (!sg_spin_over(begin_ns, &turn)) {
		if (atomic_load_explicit(&self->bell, memory_order_acquire) != bell)
			return;
	}
	atomic_store(&self->sleeping, 1);
	if (atomic_load(&self->bell) == bell) {
		begin_ns = sg_now_ns();
		sg_futex_wait(&self->bell, bell, &patience, 1);
		if (sg_now_ns() - begin_ns > 900000000u && atomic_load(&self->bell) == bell)
			nccl_segment_look_for_dead(segment);
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
				return ncclInvalidUsage;
			moved |= result;
		}
		if (atomic_load(&segment->header->failed) != ncclSuccess)
			return (ncclResult_t)atomic_load(&segment->header->failed);
		if (left > 0 && !moved)
			sleep_until_bell(segment, self, bell);
	}
	return ncclSuccess;
}

ncclResult_t nccl_run_p2p(struct ncclComm *comm, struct nccl_task *tasks, size_t count)
{
	struct nccl_segment *segment = &comm->segment;
	struct transfer *transfers = calloc(count, sizeof(*transfers));
	ncclResult_t result = ncclSuccess;

	if (transfers == NULL)
		return ncclSystemError;
	for (size_t i = 0; i < count && result == ncclSuccess; i++) {
		struct transfer *t = &transfers[i];
		int from = tasks[i].kind == NCCL_SEND ? comm->rank : tasks[i].peer;
		int to = tasks[i].kind == NCCL_SEND ? tasks[i].peer : comm->rank;
		size_t index = (size_t)from * (size_t)comm->rank_count + (size_t)to;
		union {
			const void *in;
			char *out;
		} buffer;

		t->sending = tasks[i].kind == NCCL_SEND;
		if (t->sending)
			result = nccl_segment_reserve_channel(segment, from, to);
		t->channel = &segment->channels[index];
		t->data = segment->channel_data + index * NCCL_CHANNEL_BYTES;
		t->other = &segment->ranks[tasks[i].peer];
		buffer.in = tasks[i].send;
		t->buffer = t->sending ? buffer.out : tasks[i].recv;
		t->bytes = tasks[i].count * nccl_type_bytes(tasks[i].type);
		for (size_t k = i; k-- > 0 && t->before == NULL;) {
			if (transfers[k].channel == t->channel && transfers[k].sending == t->sending)
				t->before = &transfers[k];
		}
	}
	if (result == ncclSuccess)
		result = run_transfers(comm, transfers, count);
	free(transfers);
	return result;
}
