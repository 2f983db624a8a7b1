/* Ranks as processes, for the tests of the stand-in NCCL. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_common.h"
#include "test_nccl.h"

void run_ranks(rank_body *body, int rank_count, const int *wanted)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[TEST_RANKS];
	ncclUniqueId id;

	CHECK(shared != MAP_FAILED && rank_count <= TEST_RANKS);
	OK(ncclGetUniqueId(&id));
	for (int rank = 0; rank < rank_count; rank++) {
		pids[rank] = fork();
		if (pids[rank] == 0) {
			body(rank, rank_count, id, shared);
			exit(0);
		}
		CHECK(pids[rank] > 0);
	}
	for (int rank = 0; rank < rank_count; rank++) {
		int status;

		CHECK(waitpid(pids[rank], &status, 0) == pids[rank]);
		EXPECT(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
			wanted ? wanted[rank] : 0);
	}
	munmap(shared, 4096);
}
