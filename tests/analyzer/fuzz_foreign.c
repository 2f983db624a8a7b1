/* Fuzz target: traces of other profilers (JSON, gzip or SQLite), through their readers and what is found in
 * them. */
#include "import/arrivals.h"
#include "import/imported_attribute.h"
#include "fuzz.h"
#include "import/window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct window_options options = {.delay_ns = WINDOW_DELAY_NS};
	struct foreign_attribution told = {0};
	struct arrivals_rank ranks[2];
	struct arrivals arrivals;
	struct foreign foreign;
	struct window window;

	if (foreign_read(&foreign, fuzz_file(data, size), ~0u) == 0)
		for (uint32_t i = 0; i < foreign.worker_count && i < 4; i++) {
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
	return 0;
}
