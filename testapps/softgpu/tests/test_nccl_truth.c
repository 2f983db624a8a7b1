/*
 * Checks the stand-in NCCL with softgpu's own model clock, by its truth log: collectives that overlap with
 * computing end at the same nanosecond on all ranks, the modelled time after the last was ready; messages
 * too; no host goes on before that; what a group holds has the names of its calls; and with numerics the sums
 * are right as well.
 *
 * The program runs itself with the clock's settings, once without numerics and once with.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/sg.h"
#include "test_common.h"
#include "test_nccl.h"

#define RANKS 4
#define LAYERS 8
#define BYTES (4 << 20)
#define LINES 20000

struct line {
	char op[64];
	uint64_t begin_ns, ready_ns, end_ns;
};
static struct line lines[RANKS][LINES];
static int line_count[RANKS];

static void nothing(void *arg)
{
	(void)arg;
}

/* When the hosts went on, and the links' numbers, where the parent sees them. */
struct seen {
	uint64_t host_ns[RANKS];
	struct sg_link link;
};
static struct seen *seen;

static void train(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t compute, communicate;
	char text[16], *gradients;
	cudaEvent_t event;
	ncclComm_t comm;

	(void)shared;
	snprintf(text, sizeof(text), "%d", rank);
	setenv("RANK", text, 1);
	OK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&communicate, cudaStreamNonBlocking));
	OK(cudaEventCreate(&event));
	OK(cudaMalloc((void **)&gradients, LAYERS * BYTES));
	OK(ncclCommInitRank(&comm, n, id, rank));
	for (int layer = 0; layer < LAYERS; layer++) {
		/* 1 to 4 ms: each rank is last now and then */
		struct sg_cost cost = SG_COST(
			SG_COST_VECTOR, SG_COST_F32, 0, 1e9 * (1 + (rank + layer * layer) % 4));

		OK(sg_submit_cost(compute, &cost, nothing, NULL, 0));
		OK(cudaEventRecord(event, compute));
		OK(cudaStreamWaitEvent(communicate, event, 0));
		OK(ncclAllReduce(gradients + layer * BYTES, gradients + layer * BYTES, BYTES / 4, ncclFloat32,
			ncclSum, comm, communicate));
	}
	if (rank == 1) {
		const struct sg_cost cost = SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, 1e9);

		OK(sg_submit_cost(communicate, &cost, nothing, NULL, 0));
		OK(ncclSend(gradients, BYTES, ncclInt8, 2, comm, communicate));
	}
	if (rank == 2)
		OK(ncclRecv(gradients, BYTES, ncclInt8, 1, comm, communicate));
	OK(cudaStreamSynchronize(communicate));
	seen->host_ns[rank] = sg_now_ns();
	seen->link = sg_link_between(0, 1);
	OK(ncclGroupStart());
	OK(ncclAllReduce(gradients, gradients, 1000, ncclFloat32, ncclSum, comm, communicate));
	OK(ncclSend(gradients, BYTES, ncclInt8, (rank + 1) % n, comm, communicate));
	OK(ncclRecv(gradients + BYTES, BYTES, ncclInt8, (rank + n - 1) % n, comm, communicate));
	OK(ncclGroupEnd());
	if (sg_numerics())
		check_collectives(comm, rank, n, communicate, 0);
	OK(ncclCommDestroy(comm));
}

/* The rank's communication, in order; other lines are left out. */
static void read_log(int rank)
{
	char path[300], text[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d.csv", getenv("TEST_FOLDER"), rank);
	file = fopen(path, "r");
	CHECK(file != NULL);
	while (fgets(text, sizeof(text), file) != NULL) {
		struct line *line = &lines[rank][line_count[rank]];
		char *rest = text, *field[13];
		int fields = 0;

		while (fields < 13 && (field[fields] = strsep(&rest, ",")) != NULL)
			fields++;
		CHECK(fields == 13);
		if (strcmp(field[0], "link") != 0)
			continue;
		CHECK(line_count[rank]++ < LINES - 1 && atoi(field[1]) == rank);
		snprintf(line->op, sizeof(line->op), "%s", field[4]);
		line->begin_ns = strtoull(field[8], NULL, 10);
		line->ready_ns = strtoull(field[9], NULL, 10);
		line->end_ns = strtoull(field[10], NULL, 10);
	}
	fclose(file);
	unlink(path);
}

static int near(uint64_t a, double b)
{
	double difference = (double)a - b;

	return difference >= -1 && difference <= 1;
}

static void check_layers(void)
{
	double step_ns = seen->link.latency_ns + BYTES / RANKS / seen->link.bytes_per_ns;

	for (int layer = 0; layer < LAYERS; layer++) {
		uint64_t ready_ns = 0;

		for (int rank = 0; rank < RANKS; rank++) {
			const struct line *line = &lines[rank][layer];

			CHECK(strcmp(line->op, "ncclAllReduce") == 0 && line->begin_ns == line->ready_ns);
			CHECK(line->end_ns == lines[0][layer].end_ns);
			ready_ns = line->ready_ns > ready_ns ? line->ready_ns : ready_ns;
		}
		CHECK(near(lines[0][layer].end_ns - ready_ns, 2 * (RANKS - 1) * step_ns));
	}
}

static void check_message(void)
{
	const struct line *send = &lines[1][LAYERS], *receive = &lines[2][LAYERS];
	uint64_t ready_ns = send->ready_ns > receive->ready_ns ? send->ready_ns : receive->ready_ns;

	CHECK(strcmp(send->op, "ncclSend") == 0 && strcmp(receive->op, "ncclRecv") == 0);
	CHECK(send->end_ns == receive->end_ns);
	CHECK(near(send->end_ns - ready_ns, seen->link.latency_ns + BYTES / seen->link.bytes_per_ns));
}

static void check_group(void)
{
	for (int rank = 0; rank < RANKS; rank++) {
		const struct line *line = &lines[rank][LAYERS + (rank == 1 || rank == 2)];

		CHECK(strcmp(line[0].op, "ncclAllReduce") == 0);
		CHECK(strcmp(line[1].op, "ncclSend+ncclRecv") == 0);
	}
}

/* A message, or both ways of one: not a collective. */
static int is_message(const struct line *line)
{
	return strcmp(line->op, "ncclSend") == 0 || strcmp(line->op, "ncclRecv") == 0 ||
	       strcmp(line->op, "ncclSend+ncclRecv") == 0;
}

static void run(void)
{
	int at[RANKS] = {0}, collectives = 0;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(seen != MAP_FAILED);
	run_ranks(train, RANKS, NULL);
	for (int rank = 0; rank < RANKS; rank++)
		read_log(rank);
	check_layers();
	check_message();
	check_group();
	for (int rank = 0; rank < RANKS; rank++)
		CHECK(seen->host_ns[rank] >= lines[rank][LAYERS - 1 + (rank == 1 || rank == 2)].end_ns);
	for (;;) {
		for (int rank = 0; rank < RANKS; rank++) {
			while (at[rank] < line_count[rank] && is_message(&lines[rank][at[rank]]))
				at[rank]++;
			CHECK((at[rank] < line_count[rank]) == (at[0] < line_count[0]));
		}
		if (at[0] == line_count[0])
			break;
		for (int rank = 0; rank < RANKS; rank++)
			CHECK(lines[rank][at[rank]++].end_ns == lines[0][at[0] - 1].end_ns);
		collectives++;
	}
	CHECK(collectives >= (sg_numerics() ? 500 : LAYERS));
}

int main(int argc, char **argv)
{
	static const char *const numerics[] = {"off", "on"};
	char folder[] = "/tmp/test_nccl_truth.XXXXXX", path[64];
	int failed = 0;

	(void)argv;
	if (argc > 1) {
		run();
		return 0;
	}
	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/%%r.csv", folder);
	for (int i = 0; i < 2; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			setenv("TEST_FOLDER", folder, 1);
			setenv("SOFTGPU_PROFILE", "v100", 1);
			setenv("SOFTGPU_NUMERICS", numerics[i], 1);
			setenv("SOFTGPU_TRUTH", path, 1);
			execl("/proc/self/exe", "test_nccl_truth", "run", (char *)NULL);
			_exit(127);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		failed |= status;
	}
	for (int rank = 0; rank < RANKS; rank++) {
		/* where a check failed before they were read */
		snprintf(path, sizeof(path), "%s/%d.csv", folder, rank);
		unlink(path);
	}
	CHECK(rmdir(folder) == 0);
	return failed != 0;
}
