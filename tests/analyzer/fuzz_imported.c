/* Fuzz target: traces of other profilers (JSON, gzip or SQLite), through their readers and what is found in
 * them. */
#include "import/arrivals.h"
#include "import/imported_attribute.h"
#include "fuzz.h"
#include "import/window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct window_options options = {.delay_ns = WINDOW_DELAY_NS};
	struct imported_attribution attributed = {0};
	struct arrivals_rank ranks[2];
	struct arrivals arrivals;
	struct imported imported;
	struct window window;

	if (imported_read(&imported, fuzz_file(data, size), ~0u) == 0)
		for (uint32_t i = 0; i < imported.worker_count && i < 4; i++) {
			imported_attribute(&imported, i, &attributed);
			window_find(&imported, i, &options, &window);
			window_free(&window);
			arrivals_take(&imported, i, &ranks[0]);
			arrivals_take(&imported, i, &ranks[1]);
			arrivals_find(&arrivals, ranks, 2);
			arrivals_free(&arrivals);
			arrivals_rank_free(&ranks[0]);
			arrivals_rank_free(&ranks[1]);
		}
	imported_attribution_free(&attributed);
	imported_free(&imported);
	return 0;
}
