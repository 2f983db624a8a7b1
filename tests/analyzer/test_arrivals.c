/* Checks who is found to keep whom waiting, on made ranks whose arrivals are known. */
#include "import/arrivals.h"
#include "imported_make.h"

#define RANKS 4
#define MOST 40

struct made {
	int64_t begin_us[RANKS][MOST];
	int64_t clock_us[RANKS];         /* how far the rank's clock is ahead */
	int first[RANKS], behind[RANKS]; /* collectives that the rank's trace has */
	int launch_us;                   /* before the start */
	bool metadata, one_file;
	bool groups; /* of two ranks each; else of all */
};

/* Transfer takes 30 us; ends differ by up to 2 us. A collective every 1000 us; every third is an all-gather.
 */
static void read_rank(struct made *made, int rank, struct arrivals_rank *result)
{
	static char text[MOST * 700];
	static const char *const names[] = {"0", "1", "2", "3"};
	char *place = text, path[32];
	struct imported imported;

	place += sprintf(place, "{\"distributedInfo\": {\"rank\": %d}, \"traceEvents\": [", rank);
	for (int i = made->first[rank]; i < made->behind[rank]; i++) {
		int64_t end_us = 0, begin_us = made->begin_us[rank][i] + made->clock_us[rank];
		const char *name = i % 3 ? "AllReduce" : "AllGather";

		for (int j = 0; j < RANKS; j++)
			if ((!made->groups || j / 2 == rank / 2) && made->begin_us[j][i] + 30 > end_us)
				end_us = made->begin_us[j][i] + 30;
		end_us += made->clock_us[rank] + rank % 3;
		place += sprintf(place,
			"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_%s_RING_%s(x)\", \"ts\": %lld, "
			"\"dur\": %lld, \"args\": {\"stream\": %d, \"correlation\": %d",
			name, rank ? "LL" : "SIMPLE", (long long)begin_us, (long long)(end_us - begin_us),
			20 + rank, i + 1);
		if (made->metadata)
			place += sprintf(place,
				", \"Collective name\": \"%s\", \"Process Group Name\": \"%d\", \"Seq\": %d",
				name, 3, 100 + i);
		place += sprintf(place,
			"}}, {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"l\", \"ts\": %lld, \"dur\": 1, "
			"\"args\": {\"correlation\": %d}},",
			(long long)begin_us - made->launch_us, i + 1);
	}
	sprintf(place, "{}]}");
	snprintf(path, sizeof(path), "rank%d.json", rank);
	CHECK(make_read_bytes(&imported, path, text, strlen(text), 0) == 0 && !imported.trouble, "%s",
		imported.trouble);
	arrivals_take(&imported, 0, result);
	result->path = made->one_file ? "one" : names[rank];
	imported_free(&imported);
}

static void find(struct made *made, struct arrivals *arrivals, struct arrivals_rank *ranks)
{
	for (int i = 0; i < RANKS; i++)
		read_rank(made, i, &ranks[i]);
	arrivals_find(arrivals, ranks, RANKS);
}

static void let_go(struct arrivals *arrivals, struct arrivals_rank *ranks)
{
	arrivals_free(arrivals);
	for (int i = 0; i < RANKS; i++)
		arrivals_rank_free(&ranks[i]);
}

/* Rank 2 comes 200 us late each time but every fifth, when rank 0 does. */
static void make(struct made *made)
{
	memset(made, 0, sizeof(*made));
	for (int rank = 0; rank < RANKS; rank++) {
		made->behind[rank] = MOST;
		for (int i = 0; i < MOST; i++) {
			int late = i % 5 == 4 ? 0 : 2;

			made->begin_us[rank][i] = 1000 * i + 3 * rank + (rank == late ? 200 : 0);
		}
	}
	made->launch_us = 10;
}

/* What the ranks from `first` to `after` should show, from the starts alone. */
static void check_truth(
	const struct made *made, const struct arrivals *arrivals, int first, int behind, const char *what)
{
	int64_t wait_us[RANKS] = {0}, wait_caused_us[RANKS] = {0};
	size_t last[RANKS] = {0};

	for (int i = first; i < behind; i++) {
		int latest = 0;

		for (int rank = 1; rank < RANKS; rank++)
			if (made->begin_us[rank][i] > made->begin_us[latest][i])
				latest = rank;
		last[latest]++;
		for (int rank = 0; rank < RANKS; rank++) {
			int64_t us = made->begin_us[latest][i] - made->begin_us[rank][i];

			wait_us[rank] += us;
			wait_caused_us[latest] += us;
		}
	}
	CHECK(arrivals->collective_count == (size_t)(behind - first), "%s: %zu collectives", what,
		arrivals->collective_count);
	for (int rank = 0; rank < RANKS; rank++) {
		const struct arrivals_rank *found = &arrivals->ranks[rank];

		CHECK(found->wait_ns == wait_us[rank] * 1000, "%s: rank %d waits %lld, expected %lld us",
			what, rank, (long long)found->wait_ns, (long long)wait_us[rank]);
		CHECK(found->wait_caused_ns == wait_caused_us[rank] * 1000,
			"%s: rank %d causes %lld, expected %lld us", what, rank,
			(long long)found->wait_caused_ns, (long long)wait_caused_us[rank]);
		CHECK(found->last_count == last[rank], "%s: rank %d is last %zu times", what, rank,
			found->last_count);
	}
}

static void check_plain(void)
{
	struct made made;
	struct arrivals arrivals;
	struct arrivals_rank ranks[RANKS];

	for (int metadata = 0; metadata < 2; metadata++) {
		make(&made);
		made.metadata = metadata;
		find(&made, &arrivals, ranks);
		check_truth(&made, &arrivals, 0, MOST, metadata ? "with metadata" : "by names");
		CHECK(arrivals_straggler(&arrivals) == 2, "straggler %d", arrivals_straggler(&arrivals));
		CHECK(!arrivals.clocks_corrected && arrivals.refused == 0 && arrivals.residual_ns == 2000,
			"clocks");
		CHECK(arrivals.collectives[0].transfer_ns == 32000, "transfer %lld",
			(long long)arrivals.collectives[0].transfer_ns);
		CHECK(ranks[2].launch_count == ranks[2].last_count, "launched just before");
		let_go(&arrivals, ranks);
	}
	make(&made);
	made.launch_us = 400;
	find(&made, &arrivals, ranks);
	CHECK(ranks[2].launch_count == 0, "launched long before");
	let_go(&arrivals, ranks);
}

/* Clocks that are apart change nothing in the answer but that it says so. */
static void check_clocks(void)
{
	struct made made;
	struct arrivals arrivals;
	struct arrivals_rank ranks[RANKS];

	make(&made);
	made.clock_us[1] = 5000;
	made.clock_us[3] = -70000;
	/* In one file they would have one clock: then just half fits, and nobody is blamed. */
	made.one_file = true;
	find(&made, &arrivals, ranks);
	CHECK(!arrivals.clocks_corrected && arrivals_matched(&arrivals) == 0.5, "one clock: %f fit",
		arrivals_matched(&arrivals));
	CHECK(ranks[1].unmatched == MOST && ranks[3].unmatched == MOST, "those that are apart do not");
	CHECK(arrivals_straggler(&arrivals) == -1, "nobody");
	let_go(&arrivals, ranks);
	made.one_file = false;
	find(&made, &arrivals, ranks);
	CHECK(arrivals.clocks_corrected && arrivals.refused == 0, "corrected");
	CHECK(arrivals.collective_count == MOST, "%zu", arrivals.collective_count);
	/* The ends themselves differ by up to 2 us. */
	CHECK(llabs(ranks[1].clock_ns - ranks[0].clock_ns - 5000000) <= 2000, "rank 1 is ahead by %lld",
		(long long)(ranks[1].clock_ns - ranks[0].clock_ns));
	CHECK(llabs(ranks[3].clock_ns - ranks[0].clock_ns + 70000000) <= 2000, "rank 3 is behind by %lld",
		(long long)(ranks[0].clock_ns - ranks[3].clock_ns));
	CHECK(ranks[2].last_count == MOST / 5 * 4 && ranks[0].last_count == MOST / 5, "who came last");
	CHECK(arrivals_straggler(&arrivals) == 2, "straggler");
	let_go(&arrivals, ranks);
}

/* Traces that begin and end at different collectives. */
static void check_parts(void)
{
	struct made made;
	struct arrivals arrivals;
	struct arrivals_rank ranks[RANKS];

	for (int metadata = 0; metadata < 2; metadata++) {
		make(&made);
		made.metadata = metadata;
		made.first[1] = 6;
		made.first[3] = 3;
		made.behind[2] = 36;
		find(&made, &arrivals, ranks);
		/* At those that only some have, those are compared; from 6 to 36 all are there. */
		CHECK(arrivals.collective_count == MOST && arrivals.refused == 0, "parts: %zu, %zu refused",
			arrivals.collective_count, arrivals.refused);
		for (size_t i = 0; i < arrivals.collective_count; i++) {
			size_t count = 4u - (i < 6) - (i < 3) - (i >= 36);

			CHECK(arrivals.collectives[i].count == count, "collective %zu has %zu ranks", i,
				arrivals.collectives[i].count);
		}
		let_go(&arrivals, ranks);
	}
}

/* Each is last as often as the others: nobody is to blame, however long the waiting. */
static void check_nobody(void)
{
	struct made made;
	struct arrivals arrivals;
	struct arrivals_rank ranks[RANKS];

	make(&made);
	for (int i = 0; i < MOST; i++)
		for (int rank = 0; rank < RANKS; rank++)
			made.begin_us[rank][i] = 1000 * i + 3 * rank + (rank == i % RANKS ? 500 : 0);
	find(&made, &arrivals, ranks);
	check_truth(&made, &arrivals, 0, MOST, "in turn");
	CHECK(arrivals_straggler(&arrivals) == -1, "straggler %d", arrivals_straggler(&arrivals));
	let_go(&arrivals, ranks);
	/* Late once, and very, is no habit. */
	for (int i = 0; i < MOST; i++)
		made.begin_us[3][i] = 1000 * i + (i == 7 ? 900 : 0);
	find(&made, &arrivals, ranks);
	CHECK(arrivals_straggler(&arrivals) == -1, "late once: %d", arrivals_straggler(&arrivals));
	let_go(&arrivals, ranks);
}

/* One wait that is longer than all others is no habit either: who is last is left to chance. */
static void check_once(void)
{
	struct made made;
	struct arrivals arrivals;
	struct arrivals_rank ranks[RANKS];

	make(&made);
	for (int i = 0; i < MOST; i++)
		for (int rank = 0; rank < RANKS; rank++)
			made.begin_us[rank][i] = 1000 * i + (rank == i % RANKS ? 5 : 0);
	made.begin_us[1][8] += 900;
	find(&made, &arrivals, ranks);
	check_truth(&made, &arrivals, 0, MOST, "once");
	CHECK(ranks[1].wait_caused_ns * 2 > arrivals.wait_ns, "it causes most");
	CHECK(arrivals_straggler(&arrivals) == -1, "straggler %d", arrivals_straggler(&arrivals));
	let_go(&arrivals, ranks);
}

/* Parts of the run, and clocks that are apart: that the collectives come irregularly tells which belong
 * together. */
static void check_parts_and_clocks(void)
{
	struct made made;
	struct arrivals arrivals;
	struct arrivals_rank ranks[RANKS];

	make(&made);
	for (int i = 0; i < MOST; i++)
		for (int rank = 0; rank < RANKS; rank++)
			made.begin_us[rank][i] += 137 * (i * i % 11);
	made.first[1] = 6;
	made.clock_us[1] = 20000;
	find(&made, &arrivals, ranks);
	CHECK(arrivals.collective_count == MOST && arrivals.refused == 0, "%zu, %zu refused",
		arrivals.collective_count, arrivals.refused);
	CHECK(llabs(ranks[1].clock_ns - ranks[0].clock_ns - 20000000) <= 2000, "rank 1 is ahead by %lld",
		(long long)(ranks[1].clock_ns - ranks[0].clock_ns));
	let_go(&arrivals, ranks);
}

/* What is not at the same time does not belong together, whatever the order says. */
static void check_apart(void)
{
	struct made made;
	struct arrivals arrivals;
	struct arrivals_rank ranks[RANKS];

	make(&made);
	for (int rank = 0; rank < RANKS; rank++)
		made.behind[rank] = 12;
	find(&made, &arrivals, ranks);
	let_go(&arrivals, ranks);
	for (int i = 0; i < RANKS; i++)
		read_rank(&made, i, &ranks[i]);
	ranks[1].kernels[5].begin_ns += 500000;
	ranks[1].kernels[5].end_ns += 500000;
	arrivals_find(&arrivals, ranks, RANKS);
	CHECK(arrivals.refused == 0 && arrivals.collective_count == 12, "%zu", arrivals.collective_count);
	CHECK(arrivals.collectives[5].count == 3, "the others belong together");
	CHECK(!arrivals.clocks_corrected, "one that does not fit says nothing of clocks");
	CHECK(ranks[1].unmatched == 1 && ranks[0].unmatched == 0, "unmatched");
	let_go(&arrivals, ranks);
}

/* Ranks 0 and 1 are one group, 2 and 3 another, which the trace does not say: by their ends they are kept
 * apart. */
static void check_groups(void)
{
	struct made made;
	struct arrivals arrivals;
	struct arrivals_rank ranks[RANKS];

	make(&made);
	for (int i = 0; i < MOST; i++)
		for (int rank = 0; rank < RANKS; rank++)
			made.begin_us[rank][i] =
				1000 * i + (rank < 2 ? 0 : 150 + 63 * (i % 7)) + (rank & 1 ? 40 : 0);
	made.groups = true;
	find(&made, &arrivals, ranks);
	CHECK(arrivals.collective_count == 2 * MOST && arrivals.refused == 0 && !arrivals.clocks_corrected,
		"%zu collectives", arrivals.collective_count);
	for (size_t i = 0; i < arrivals.collective_count; i++) {
		const struct arrivals_collective *collective = &arrivals.collectives[i];

		CHECK(collective->count == 2 && arrivals.arrivals[collective->first].rank / 2 ==
							arrivals.arrivals[collective->first + 1].rank / 2,
			"collective %zu", i);
		CHECK(collective->wait_ns == 40000, "collective %zu: %lld", i,
			(long long)collective->wait_ns);
	}
	CHECK(ranks[1].last_count == MOST && ranks[3].last_count == MOST && ranks[0].unmatched == 0, "last");
	let_go(&arrivals, ranks);
}

int main(void)
{
	make_begin();
	check_plain();
	check_clocks();
	check_parts();
	check_nobody();
	check_once();
	check_parts_and_clocks();
	check_apart();
	check_groups();
	make_end();
	return check_end();
}
