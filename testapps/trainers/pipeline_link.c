/* Communicators, streams and events between stages: see pipeline_link.h. */
#include "pipeline_link.h"

#include "check.h"

static void open_link(struct pipeline_link *link, ncclComm_t comm, int places)
{
	link->comm = comm;
	link->places = places;
	link->done = xcalloc((size_t)places, sizeof(*link->done));
	CHECK(cudaStreamCreateWithFlags(&link->stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&link->before, cudaEventDisableTiming));
	for (int i = 0; i < places; i++)
		CHECK(cudaEventCreateWithFlags(&link->done[i], cudaEventDisableTiming));
}

static void close_link(struct pipeline_link *link)
{
	if (!link->places)
		return;
	CHECK(cudaStreamSynchronize(link->stream));
	for (int i = 0; i < link->places; i++)
		CHECK(cudaEventDestroy(link->done[i]));
	CHECK(cudaEventDestroy(link->before));
	CHECK(cudaStreamDestroy(link->stream));
	free(link->done);
}

/* comm[2 * direction + parity of the pair's first stage]: direction 0 forward, 1 backward. */
void pipeline_links_open(
	struct pipeline_links *links, struct dist *dist, const struct strategy *plan, int stage, int places)
{
	int before = (stage + 1) % 2, after = stage % 2;

	*links = (struct pipeline_links){0};
	for (int i = 0; i < PIPELINE_MAX_COMMS; i++)
		if (plan->stage_count > 1 + i % 2)
			CHECK(ncclCommSplit(dist->comm[0], 0, dist->rank, &links->comm[i], NULL));
	if (stage > 0) {
		open_link(&links->forward_in, links->comm[before], 1);
		open_link(&links->backward_out, links->comm[2 + before], 1);
	}
	if (stage < plan->stage_count - 1) {
		open_link(&links->forward_out, links->comm[after], places);
		open_link(&links->backward_in, links->comm[2 + after], 1);
	}
}

void pipeline_links_close(struct pipeline_links *links)
{
	close_link(&links->forward_in);
	close_link(&links->forward_out);
	close_link(&links->backward_in);
	close_link(&links->backward_out);
	for (int i = 0; i < PIPELINE_MAX_COMMS; i++)
		if (links->comm[i])
			CHECK(ncclCommDestroy(links->comm[i]));
}

void pipeline_links_wait(struct pipeline_links *links)
{
	struct pipeline_link *all[] = {
		&links->forward_in, &links->forward_out, &links->backward_in, &links->backward_out};

	for (int i = 0; i < 4; i++)
		if (all[i]->places)
			CHECK(cudaStreamSynchronize(all[i]->stream));
}

void pipeline_send(
	struct pipeline_link *link, int rank, const float *values, size_t count, int place, cudaStream_t from)
{
	CHECK(cudaEventRecord(link->before, from));
	CHECK(cudaStreamWaitEvent(link->stream, link->before, 0));
	CHECK(ncclSend(values, count, ncclFloat32, rank, link->comm, link->stream));
	CHECK(cudaEventRecord(link->done[place % link->places], link->stream));
}

void pipeline_receive(struct pipeline_link *link, int rank, float *values, size_t count, cudaEvent_t is_free)
{
	CHECK(cudaStreamWaitEvent(link->stream, is_free, 0));
	CHECK(ncclRecv(values, count, ncclFloat32, rank, link->comm, link->stream));
	CHECK(cudaEventRecord(link->done[0], link->stream));
}

void pipeline_wait_received(struct pipeline_link *link, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, link->done[0], 0));
}

void pipeline_wait_sent(struct pipeline_link *link, int place, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, link->done[place % link->places], 0));
}
