/* A libFuzzer target: any bytes through the readers of other profilers' traces and what is found in them.
 * Built with clang and -DPM_FUZZ=ON. */
#include "arrivals.h"
#include "foreign_attribute.h"
#include "window.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct window_options options = {.delay_ns = WINDOW_DELAY_NS};
	int file = memfd_create("trace", 0);
	struct arrivals_rank ranks[2];
	struct arrivals arrivals;
	struct foreign foreign;
	struct window window;
	struct foreign_attribution told = {0};
	char path[64];

	if (file < 0 || write(file, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (foreign_read(&foreign, path, ~0u) == 0)
		for (uint32_t i = 0; i < foreign.worker_count; i++) {
			foreign_attribute(&foreign, i, &told);
			window_find(&foreign, i, &options, &window);
			window_free(&window);
			arrivals_take(&foreign, i, &ranks[0]);
			arrivals_take(&foreign, i, &ranks[1]);
			arrivals_find(&arrivals, ranks, 2);
			arrivals_free(&arrivals);
			arrivals_rank_free(&ranks[0]);
			arrivals_rank_free(&ranks[1]);
		}
	foreign_attribution_free(&told);
	foreign_free(&foreign);
	close(file);
	return 0;
}
