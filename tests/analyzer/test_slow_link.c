/* Checks from what on a link is slow: of two pairs of ranks that exchange the same, one takes longer. */
#include "analyses/slow_link.h"
#include "check.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

enum { RANKS = 4 };

/* What the second pair does; the first one's all-reduces of 1 MB take 100 us. */
struct other {
	double times, bytes; /* factors of its time and its bytes */
	uint64_t count;      /* all-reduces of each pair */
};

static void make_rank(struct builder *builder, int rank, const struct other *other)
{
	const uint64_t bytes = rank < 2 ? 1000000 : (uint64_t)(other->bytes * 1e6);
	const uint64_t time_ns = rank < 2 ? 100000 : (uint64_t)(other->times * 1e5);
	uint64_t values[2] = {bytes};
	uint32_t queue, operation;

	builder_init(builder);
	builder->header.rank = rank;
	queue = builder_queue(builder, 0, 1);
	values[1] = builder_communicator(builder, rank % 2, 2, 0, 0xa0 + (uint64_t)rank / 2);
	operation = builder_operation(builder,
		builder_function(builder, "nccl COMM ncclAllReduce bytes:bytes communicator:comm"), 0,
		values);
	for (uint64_t i = 1; i <= other->count; i++)
		builder_call(builder, 1, i * 1000000, i * 1000000 + 1000, operation, queue, 0,
			i * 1000000 + 2000, i * 1000000 + 2000 + time_ns);
}

static void read_ranks(struct timeline *timeline, const struct other *other)
{
	timeline_init(timeline);
	for (int rank = 0; rank < RANKS; rank++) {
		struct builder builder;
		struct trace trace;

		make_rank(&builder, rank, other);
		builder_finish(&builder);
		CHECK(trace_parse(&trace, "t", builder.file.data, builder.file.size) == 0, "rank %d", rank);
		timeline_add(timeline, &trace);
		trace_close(&trace);
		builder_free(&builder);
	}
	timeline_settle(timeline);
}

/* How many communicators are slow. */
static size_t slow(struct other other)
{
	struct analysis_worker of_ranks[RANKS] = {{0}};
	struct worker workers[RANKS];
	struct analysis analysis = {.workers = of_ranks, .worker_count = RANKS, .is_whole = true};
	struct slow_links links;
	size_t count;

	read_ranks(&analysis.timeline, &other);
	for (uint32_t w = 0; w < RANKS; w++) {
		workers[w] = (struct worker){.process = w};
		of_ranks[w].worker = &workers[w];
	}
	collective_match(&analysis.timeline, &analysis.collectives);
	slow_links_find(&analysis, 0, &links);
	count = links.count;
	slow_links_free(&links);
	collective_free(&analysis.collectives);
	timeline_free(&analysis.timeline);
	return count;
}

int main(void)
{
	CHECK(slow((struct other){1.2, 1, 10}) == 0, "1.2 times as long");
	CHECK(slow((struct other){1.5, 1, 10}) == 1, "1.5 times as long");
	CHECK(slow((struct other){1.5, 1, 2}) == 0, "of two all-reduces there is no typical time");
	CHECK(slow((struct other){1.5, 1, 4}) == 1, "of four there is");
	CHECK(slow((struct other){1.5, 1.007, 10}) == 1, "of 0.7%% more bytes it is the same exchange");
	CHECK(slow((struct other){1.5, 1.015, 10}) == 0, "of 1.5%% more it is another one");
	return check_end();
}
