/* Checks libslowinput.so: a rank's reads of data take longer, all other reads and ranks do not. */
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test_common.h"

#define DELAY_MS 30.0

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Each call on a file of its own; returns how many of the four took the delay. */
static int slow_calls(const char *path)
{
	char to[4];
	struct iovec part = {to, 4};
	int file = open(path, O_RDONLY), slow = 0;
	FILE *stream = fopen(path, "r");
	double begin = now_ms();

	CHECK(file >= 0 && stream != NULL);
	CHECK(read(file, to, 4) == 4);
	slow += now_ms() - begin >= DELAY_MS;
	begin = now_ms();
	(void)!pread(file, to, 4, 0);
	slow += now_ms() - begin >= DELAY_MS;
	begin = now_ms();
	CHECK(readv(file, &part, 1) >= 0);
	slow += now_ms() - begin >= DELAY_MS;
	begin = now_ms();
	CHECK(fread(to, 1, 4, stream) == 4);
	slow += now_ms() - begin >= DELAY_MS;
	close(file);
	fclose(stream);
	return slow;
}

static int count_slow(const char *path)
{
	int wanted = getenv("WANTED") != NULL ? atoi(getenv("WANTED")) : 0, ends[2];

	CHECK(slow_calls(path) == wanted);
	/* No data: the system's own files, code, a pipe. */
	CHECK(slow_calls("/proc/self/stat") == 0);
	CHECK(slow_calls(getenv("LD_PRELOAD")) == 0);
	CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
	{
		double begin = now_ms();
		char to;

		CHECK(read(ends[0], &to, 1) == 1 && now_ms() - begin < DELAY_MS);
	}
	return 0;
}

static void run(const char *path, const char *rules, const char *rank, const char *wanted)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		setenv("LD_PRELOAD", SLOW_INPUT, 1);
		setenv("SOFTGPU_DISTURB", rules, 1);
		setenv("RANK", rank, 1);
		setenv("WANTED", wanted, 1);
		execl("/proc/self/exe", "test_slow_input", path, (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child);
	EXPECT(status, 0);
}

int main(int argc, char **argv)
{
	const char *folder = getenv("TMPDIR");
	char path[512];
	int file;

	if (argc > 1)
		return count_slow(argv[1]);
	snprintf(path, sizeof(path), "%s/slow_input.XXXXXX", folder != NULL ? folder : "/tmp");
	file = mkstemp(path);
	CHECK(file >= 0 && write(file, "12345678", 8) == 8 && close(file) == 0);
	run(path, "rank=1 input=20ms; input=10ms; rank=2 slow=2 input=9s", "1", "4");
	run(path, "rank=1 input=30ms", "0", "0");
	run(path, "slow=2", "0", "0");
	unlink(path);
	return 0;
}
