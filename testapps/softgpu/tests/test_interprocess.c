/* Checks memory and events that two processes share: what one writes the other reads, by the compute clock
 * and by the model clock; waiting for the other's work; handles of what is no more. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "test_common.h"

#define BYTES 5000
#define LARGE ((size_t)4 << 20)

struct message {
	cudaIpcMemHandle_t memory, large, gone;
	cudaIpcEventHandle_t event;
};

static void send_all(int fd, const void *from, size_t bytes)
{
	CHECK(write(fd, from, bytes) == (ssize_t)bytes);
}

static void receive_all(int fd, void *to, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t got = read(fd, (char *)to + at, bytes - at);

		CHECK(got > 0 || (got < 0 && errno == EINTR));
		at += got > 0 ? (size_t)got : 0;
	}
}

/* Work of the first process that does not end before the other one has seen that it has not. */
struct late {
	int seen; /* the end of a pipe */
	_Atomic int done;
};

static void late(void *arg)
{
	const struct timespec pause = {0, 60000000};
	struct late *late = arg;
	char seen;

	receive_all(late->seen, &seen, 1);
	nanosleep(&pause, NULL);
	atomic_store(&late->done, 1);
}

/* The other process: opens what the first one made, on standard input, and answers on standard output. */
static int other(int first)
{
	struct message message;
	cudaEvent_t event, mine;
	cudaStream_t stream;
	char *memory, *large, host[BYTES];
	int turn;

	receive_all(0, &message, sizeof(message));
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaIpcOpenEventHandle(&event, message.event));
	OK(cudaIpcOpenMemHandle((void **)&memory, message.memory, cudaIpcMemLazyEnablePeerAccess));
	OK(cudaIpcOpenMemHandle((void **)&large, message.large, cudaIpcMemLazyEnablePeerAccess));
	EXPECT(cudaIpcOpenMemHandle((void **)&memory, message.gone, cudaIpcMemLazyEnablePeerAccess),
		cudaErrorInvalidResourceHandle);
	cudaGetLastError();
	/* what the first process copied after its slow work */
	EXPECT(cudaEventQuery(event), cudaErrorNotReady);
	send_all(1, &first, 1);
	OK(cudaStreamWaitEvent(stream, event, 0));
	OK(cudaMemcpyAsync(host, memory, BYTES, cudaMemcpyDeviceToHost, stream));
	OK(cudaStreamSynchronize(stream));
	OK(cudaEventSynchronize(event));
	OK(cudaEventQuery(event));
	for (int i = 0; i < BYTES; i++)
		CHECK(host[i] == (char)(i % 100));
	OK(cudaMemcpy(host, large + LARGE - 10, 10, cudaMemcpyDeviceToHost));
	CHECK(memcmp(host, "the tail.", 10) == 0);
	/* and back, by the same event */
	memset(host, 77, BYTES);
	OK(cudaMemcpyAsync(memory, host, BYTES, cudaMemcpyHostToDevice, stream));
	OK(cudaEventRecord(event, stream));
	OK(cudaEventCreateWithFlags(&mine, cudaEventDisableTiming | cudaEventInterprocess));
	OK(cudaEventRecord(mine, stream));
	OK(cudaEventSynchronize(mine));
	OK(cudaEventDestroy(mine));
	send_all(1, &first, sizeof(first));
	receive_all(0, &turn, sizeof(turn));
	OK(cudaEventDestroy(event));
	OK(cudaIpcCloseMemHandle(memory));
	EXPECT(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
	OK(cudaIpcCloseMemHandle(large));
	return 0;
}

static pid_t start_other(int *to, int *from)
{
	int ends[2][2];
	pid_t child;

	CHECK(pipe(ends[0]) == 0 && pipe(ends[1]) == 0);
	child = fork();
	if (child == 0) {
		dup2(ends[0][0], 0);
		dup2(ends[1][1], 1);
		for (int i = 0; i < 4; i++)
			close(ends[i / 2][i % 2]);
		execl("/proc/self/exe", "test_interprocess", "other", (char *)NULL);
		_exit(127);
	}
	close(ends[0][0]);
	close(ends[1][1]);
	*to = ends[0][1];
	*from = ends[1][0];
	return child;
}

static void first(void)
{
	int to, from, answer, status, seen[2];
	struct late slow = {0}; /* what orders its end and our look is the other process */
	pid_t child = start_other(&to, &from);
	struct message message;
	char *memory, *large, *gone, host[BYTES];
	cudaStream_t stream;
	cudaEvent_t event, plain;

	CHECK(pipe(seen) == 0);
	slow.seen = seen[0];
	for (int i = 0; i < BYTES; i++)
		host[i] = (char)(i % 100);
	OK(cudaStreamCreate(&stream));
	OK(cudaMalloc((void **)&memory, BYTES));
	OK(cudaMalloc((void **)&large, LARGE));
	OK(cudaMalloc((void **)&gone, BYTES));
	OK(cudaMemcpy(large + LARGE - 10, "the tail.", 10, cudaMemcpyHostToDevice));
	EXPECT(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
	OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
	OK(cudaEventCreate(&plain));
	EXPECT(cudaIpcGetEventHandle(&message.event, plain), cudaErrorInvalidValue);
	OK(cudaIpcGetEventHandle(&message.event, event));
	EXPECT(cudaIpcGetMemHandle(&message.memory, host), cudaErrorInvalidValue);
	OK(cudaIpcGetMemHandle(&message.memory, memory));
	OK(cudaIpcGetMemHandle(&message.memory, memory));
	OK(cudaIpcGetMemHandle(&message.large, large));
	OK(cudaIpcGetMemHandle(&message.gone, gone));
	OK(cudaFree(gone));
	EXPECT(cudaIpcOpenMemHandle((void **)&gone, message.memory, cudaIpcMemLazyEnablePeerAccess),
		cudaErrorInvalidResourceHandle);
	cudaGetLastError();
	/* a handle works for memory that is written later */
	OK(cudaLaunchHostFunc(stream, late, &slow));
	OK(cudaMemcpyAsync(memory, host, BYTES, cudaMemcpyHostToDevice, stream));
	OK(cudaEventRecord(event, stream));
	send_all(to, &message, sizeof(message));
	receive_all(from, &answer, 1);
	send_all(seen[1], &answer, 1);
	receive_all(from, &answer, sizeof(answer));
	CHECK(atomic_load(&slow.done));
	OK(cudaStreamWaitEvent(stream, event, 0));
	OK(cudaMemcpyAsync(host, memory, BYTES, cudaMemcpyDeviceToHost, stream));
	OK(cudaStreamSynchronize(stream));
	for (int i = 0; i < BYTES; i++)
		CHECK(host[i] == 77);
	send_all(to, &answer, sizeof(answer));
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	OK(cudaEventDestroy(event));
	OK(cudaFree(memory));
	OK(cudaFree(large));
	/* what is freed is memory like any */
	OK(cudaMalloc((void **)&memory, BYTES));
	OK(cudaMemset(memory, 1, BYTES));
	OK(cudaFree(memory));
	close(to);
	close(from);
	close(seen[0]);
	close(seen[1]);
}

/* More events than a process usually has descriptors. */
static void many(void)
{
	static cudaEvent_t events[1500];
	cudaIpcEventHandle_t handle;

	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < 1500; i++) {
			OK(cudaEventCreateWithFlags(
				&events[i], cudaEventDisableTiming | cudaEventInterprocess));
			OK(cudaIpcGetEventHandle(&handle, events[i]));
			OK(cudaEventRecord(events[i], NULL));
		}
		OK(cudaDeviceSynchronize());
		for (int i = 0; i < 1500; i++) {
			OK(cudaEventQuery(events[i]));
			OK(cudaEventDestroy(events[i]));
		}
	}
}

/* Who recorded died before it was reached: nobody waits for ever. */
static void orphan(void)
{
	int to, from;
	pid_t child;
	cudaEvent_t event;
	cudaIpcEventHandle_t handle;

	OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
	OK(cudaIpcGetEventHandle(&handle, event));
	child = start_other(&to, &from);
	send_all(to, &handle, sizeof(handle));
	receive_all(from, &handle, 1);
	CHECK(waitpid(child, NULL, 0) == child);
	OK(cudaEventSynchronize(event));
	OK(cudaEventDestroy(event));
	close(to);
	close(from);
}

static void late_for_ever(void *arg)
{
	(void)arg;
	pause();
}

static int die(void)
{
	cudaIpcEventHandle_t handle;
	cudaStream_t stream;
	cudaEvent_t event;

	receive_all(0, &handle, sizeof(handle));
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaIpcOpenEventHandle(&event, handle));
	OK(cudaLaunchHostFunc(stream, late_for_ever, NULL));
	OK(cudaEventRecord(event, stream));
	send_all(1, &handle, 1);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *role = getenv("INTERPROCESS_ROLE");

	(void)argv;
	if (argc > 1)
		return role != NULL ? die() : other(1);
	first();
	many();
	setenv("INTERPROCESS_ROLE", "die", 1);
	orphan();
	return 0;
}
