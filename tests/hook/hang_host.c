/*
 * One rank of a job that comes to a stop, for what pmanalyze hang says of it:
 *
 *     hang_host FAULT VICTIM STEP [STEPS]
 *     hang_host launch RANKS FAULT VICTIM STEP
 *
 * trains in RANK's place of WORLD_SIZE, without computing: each step sets memory, reduces and broadcasts
 * among all, reduces on a second communicator, sends around a ring and exchanges among all; every tenth one
 * is followed by an evaluation with a barrier. In step STEP the rank VICTIM does what FAULT says; the others
 * know nothing of it. With what healthy programs do (below) it makes no call for MOMENT_S seconds, and then
 * goes on. With the fault "ahead" the others work on for ever, while VICTIM enters the next collective and is
 * killed, and with "apart" none communicates. HANG_ID is a file for NCCL's id. With "launch" it is a launcher
 * of such ranks: when one ends it ends the others a second later, and fails.
 */
#include <cuda_runtime_api.h>
#include <err.h>
#include <nccl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS 60
#define LARGE 1024
#define SMALL 64
#define MOMENT_S 2.2

struct job {
	int rank, world, step;
	const char *fault; /* of this step and rank, or "" */
	bool behind;       /* in this step, of one who is ahead */
	cudaStream_t stream;
	ncclComm_t all, second;
	float *send, *receive;
};

static void check_cuda(cudaError_t result, const char *what)
{
	if (result != cudaSuccess)
		errx(1, "%s: %s", what, cudaGetErrorString(result));
}

static void check_nccl(ncclResult_t result, const char *what)
{
	if (result != ncclSuccess)
		errx(1, "%s: %s", what, ncclGetErrorString(result));
}
#define CUDA(call) check_cuda(call, #call)
#define NCCL(call) check_nccl(call, #call)

static bool is(const struct job *job, const char *fault)
{
	return strcmp(job->fault, fault) == 0;
}

static ncclUniqueId meet(int rank)
{
	const char *path = getenv("HANG_ID");
	char made[4096];
	ncclUniqueId id;
	FILE *file;

	if (!path)
		errx(2, "HANG_ID is not set");
	if (rank == 0) {
		NCCL(ncclGetUniqueId(&id));
		snprintf(made, sizeof(made), "%s.made", path);
		file = fopen(made, "we");
		if (!file || fwrite(&id, sizeof(id), 1, file) != 1 || fclose(file) || rename(made, path))
			err(1, "%s", path);
		return id;
	}
	while (!(file = fopen(path, "re")))
		usleep(1000);
	if (fread(&id, sizeof(id), 1, file) != 1)
		errx(1, "%s: no id", path);
	fclose(file);
	return id;
}

static void never_ends(void *unused)
{
	(void)unused;
	for (;;)
		pause();
}

static void lock_twice(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_for_a_moment(void)
{
	const double end = seconds() + MOMENT_S;
	static char block[100000];
	FILE *file = tmpfile();

	while (file && seconds() < end) {
		if (fwrite(block, sizeof(block), 1, file) != 1 || fflush(file) != 0)
			err(1, "a temporary file");
		usleep(50000);
	}
	if (file)
		fclose(file);
}

static void compute_for_a_moment(void)
{
	const double end = seconds() + MOMENT_S;

	while (seconds() < end)
		;
}

/* A debugger that was asked for nothing but to attach. */
static void be_held(void)
{
	const pid_t host = getpid(), debugger = fork();

	if (debugger == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		usleep(100000);
		if (ptrace(PTRACE_ATTACH, host, NULL, NULL) < 0)
			err(1, "ptrace");
		never_ends(NULL);
	}
	prctl(PR_SET_PTRACER, debugger);
	pause();
}

/* ---- what healthy programs do ---- */

static void nap(double s)
{
	usleep((useconds_t)(s * 1e6));
}

/* A process below does it, and is waited for: a compiler, a download, a data loader. */
static void wait_for_child(void (*work)(void))
{
	const pid_t child = fork();

	if (child == 0) {
		work();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* Small files on a slow file system: little is read and less computed. */
static void import_slowly(void)
{
	const double end = seconds() + MOMENT_S;
	char line[256];

	while (seconds() < end) {
		FILE *file = fopen("/proc/self/status", "re");

		if (file && !fgets(line, sizeof(line), file))
			err(1, "/proc/self/status");
		if (file)
			fclose(file);
		nap(0.05);
	}
}

/* A debugger's prompt, until the user types on. */
static void wait_at_prompt(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) < 0)
		err(1, "pipe");
	if (fork() == 0) {
		nap(MOMENT_S);
		_exit(write(ends[1], "c", 1) != 1);
	}
	if (read(ends[0], &byte, 1) != 1)
		err(1, "prompt");
	wait(NULL);
}

/* Another process acts on this one from outside for a moment: stops it, or attaches to it as a debugger does.
 */
static void be_paused(bool by_debugger)
{
	const pid_t host = getpid(), other = fork();

	if (other == 0) {
		usleep(20000);
		if (by_debugger ? ptrace(PTRACE_ATTACH, host, NULL, NULL) : kill(host, SIGSTOP))
			err(1, "pausing");
		if (by_debugger)
			waitpid(host, NULL, 0);
		nap(MOMENT_S);
		_exit((by_debugger ? ptrace(PTRACE_DETACH, host, NULL, NULL) : kill(host, SIGCONT)) != 0);
	}
	prctl(PR_SET_PTRACER, other);
	nap(0.1);
	waitpid(other, NULL, 0);
}

/* Work on the device alone: an evaluation, a search for the quickest kernel. */
static void work_alone(const struct job *job)
{
	const double end = seconds() + MOMENT_S;

	while (seconds() < end) {
		CUDA(cudaMemsetAsync(job->send, 0, LARGE * sizeof(float), job->stream));
		CUDA(cudaStreamSynchronize(job->stream));
		nap(0.01);
	}
}

static bool does_what_is_healthy(const struct job *job)
{
	if (is(job, "checkpoint"))
		write_for_a_moment();
	else if (is(job, "compile") || is(job, "index"))
		compute_for_a_moment();
	else if (is(job, "child"))
		wait_for_child(compute_for_a_moment);
	else if (is(job, "download"))
		wait_for_child(write_for_a_moment);
	else if (is(job, "import"))
		import_slowly();
	else if (is(job, "prompt"))
		wait_at_prompt();
	else if (is(job, "debugger"))
		be_paused(true);
	else if (is(job, "suspended"))
		be_paused(false);
	else if (is(job, "evaluation"))
		work_alone(job);
	else if (is(job, "quiet"))
		nap(MOMENT_S);
	else if (is(job, "slow"))
		nap(0.3);
	else
		return false;
	return true;
}

/* What happens between the calls of a step. */
static void between(const struct job *job)
{
	if (is(job, "killed"))
		raise(SIGKILL);
	if (is(job, "stopped"))
		raise(SIGSTOP);
	if (is(job, "exit"))
		exit(1);
	if (is(job, "input"))
		pause();
	if (is(job, "lock"))
		lock_twice();
	if (is(job, "kernel"))
		CUDA(cudaLaunchHostFunc(job->stream, never_ends, NULL));
	if (is(job, "held"))
		be_held();
	if (does_what_is_healthy(job))
		return;
	while (job->behind) {
		CUDA(cudaMemsetAsync(job->send, 0, LARGE * sizeof(float), job->stream));
		usleep(1000);
	}
}

static void reduce_all(const struct job *job)
{
	const size_t count = is(job, "size") ? LARGE / 2 : LARGE;
	const ncclDataType_t type = is(job, "type") ? ncclInt32 : ncclFloat32;

	NCCL(ncclAllReduce(job->send, job->receive, count, type, ncclSum, job->all, job->stream));
	if (is(job, "more"))
		NCCL(ncclAllReduce(job->send, job->receive, count, type, ncclSum, job->all, job->stream));
}

static void broadcast(const struct job *job)
{
	NCCL(ncclBroadcast(job->send, job->receive, LARGE, ncclFloat32, is(job, "root") ? job->world - 1 : 0,
		job->all, job->stream));
}

static void reduce_second(const struct job *job)
{
	NCCL(ncclAllReduce(job->send, job->receive, SMALL, ncclFloat32, ncclMax, job->second, job->stream));
}

static void send_around(const struct job *job)
{
	NCCL(ncclGroupStart());
	NCCL(ncclSend(job->send, SMALL, ncclFloat32, (job->rank + 1) % job->world, job->all, job->stream));
	if (!is(job, "receive"))
		NCCL(ncclRecv(job->receive, SMALL, ncclFloat32, (job->rank + job->world - 1) % job->world,
			job->all, job->stream));
	NCCL(ncclGroupEnd());
}

/* All to all, as NCCL has it: sends and receives in one group. The victim leaves out one of a pair. */
static void exchange(const struct job *job)
{
	const int other = (job->rank + 1) % job->world;

	NCCL(ncclGroupStart());
	for (int peer = 0; peer < job->world; peer++) {
		if (!(peer == other && is(job, "unsent")))
			NCCL(ncclSend(job->send, SMALL, ncclFloat32, peer, job->all, job->stream));
		if (!(peer == other && is(job, "unreceived")))
			NCCL(ncclRecv(job->receive, SMALL, ncclFloat32, peer, job->all, job->stream));
	}
	NCCL(ncclGroupEnd());
}

static void evaluate(const struct job *job)
{
	for (int i = 0; i < 2; i++)
		NCCL(ncclAllReduce(job->send, job->receive, 2, ncclFloat64, ncclSum, job->all, job->stream));
	if (!is(job, "barrier"))
		NCCL(ncclAllReduce(job->send, job->receive, 1, ncclUint8, ncclSum, job->all, job->stream));
	CUDA(cudaStreamSynchronize(job->stream));
}

static void step(const struct job *job)
{
	usleep((useconds_t)(rand() % 1000));
	CUDA(cudaMemsetAsync(job->send, 0, LARGE * sizeof(float), job->stream));
	between(job);
	CUDA(cudaMemsetAsync(job->receive, 0, LARGE * sizeof(float), job->stream));
	if (job->step % 3 == 0) /* what a program does now and then */
		CUDA(cudaMemsetAsync(job->receive, 0, sizeof(float), job->stream));
	if (is(job, "order")) {
		reduce_second(job);
		CUDA(cudaStreamSynchronize(job->stream));
	}
	if (is(job, "swapped"))
		broadcast(job);
	reduce_all(job);
	if (is(job, "ahead"))
		raise(SIGKILL);
	if (!is(job, "swapped"))
		broadcast(job);
	CUDA(cudaStreamSynchronize(job->stream));
	if (!is(job, "order"))
		reduce_second(job);
	send_around(job);
	exchange(job);
	CUDA(cudaStreamSynchronize(job->stream));
	if (job->step % 10 == 0)
		evaluate(job);
}

/* Without communication, and for ever: nobody waits for the victim, which is stopped. */
static void work_apart(struct job *job, int victim, int when)
{
	for (job->step = 1;; job->step++) {
		usleep(2000);
		CUDA(cudaMemset(job->send, 0, LARGE * sizeof(float)));
		if (job->rank == victim && job->step == when)
			raise(SIGSTOP);
	}
}

static pid_t start_rank(int rank, char **argv)
{
	char number[16];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	snprintf(number, sizeof(number), "%d", rank);
	setenv("RANK", number, 1);
	execv("/proc/self/exe", argv);
	_exit(127);
}

static int launch(int ranks, char **argv)
{
	pid_t pids[64], first;
	char number[16];

	if (ranks < 1 || ranks > 64)
		errx(2, "launch: 1 to 64 ranks");
	snprintf(number, sizeof(number), "%d", ranks);
	setenv("WORLD_SIZE", number, 1);
	for (int i = 0; i < ranks; i++)
		pids[i] = start_rank(i, argv);
	first = wait(NULL);
	sleep(1);
	for (int i = 0; i < ranks; i++)
		if (pids[i] != first && pids[i] > 0)
			kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 1;
}

/* What all ranks do in that step; other faults are the victim's alone. */
static bool is_for_all(const char *fault)
{
	return strcmp(fault, "index") == 0 || strcmp(fault, "suspended") == 0 || strcmp(fault, "quiet") == 0;
}

/* In each step, and always another rank: batches of different length, the collector of a language. */
static const char *now_and_then(const char *fault, int rank, int step)
{
	if (strcmp(fault, "uneven") == 0 && rand() % 3 == 0)
		usleep((useconds_t)(rand() % 60000));
	if (strcmp(fault, "collector") == 0 && step % 7 == rank % 7)
		usleep(150000);
	return "";
}

int main(int argc, char **argv)
{
	const char *rank = getenv("RANK"), *world = getenv("WORLD_SIZE");
	struct job job = {.fault = ""};
	int victim, when, steps;
	ncclUniqueId id;

	if (argc > 5 && strcmp(argv[1], "launch") == 0)
		return launch(atoi(argv[2]), argv + 2); /* the number stands for the program's name */
	if (argc < 4 || !rank || !world)
		errx(2, "usage: RANK=R WORLD_SIZE=N HANG_ID=FILE hang_host FAULT VICTIM STEP [STEPS]");
	job.rank = atoi(rank);
	job.world = atoi(world);
	victim = atoi(argv[2]);
	when = atoi(argv[3]);
	steps = argc > 4 ? atoi(argv[4]) : STEPS;
	srand((unsigned)(job.rank * 1000 + when));
	CUDA(cudaSetDevice(job.rank % 8));
	CUDA(cudaStreamCreate(&job.stream));
	CUDA(cudaMalloc((void **)&job.send, LARGE * sizeof(float)));
	CUDA(cudaMalloc((void **)&job.receive, LARGE * sizeof(float)));
	if (strcmp(argv[1], "apart") == 0)
		work_apart(&job, victim, when);
	if (strcmp(argv[1], "load") == 0 && job.rank == victim)
		import_slowly(); /* before the first communicator */
	id = meet(job.rank);
	NCCL(ncclCommInitRank(&job.all, job.world, id, job.rank));
	NCCL(ncclCommSplit(job.all, 0, job.rank, &job.second, NULL));
	if (strcmp(argv[1], "warm_up") == 0 && job.rank == victim)
		compute_for_a_moment();
	for (job.step = 1; job.step <= steps; job.step++) {
		job.fault = job.step == when && (job.rank == victim || is_for_all(argv[1]))
				    ? argv[1]
				    : now_and_then(argv[1], job.rank, job.step);
		job.behind = job.rank != victim && job.step == when && strcmp(argv[1], "ahead") == 0;
		if (!is(&job, "skip")) /* "the loss is not finite: this batch is left out" */
			step(&job);
	}
	return 0;
}
