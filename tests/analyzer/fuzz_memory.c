/* Fuzz target: PyTorch's memory snapshots, pickles and JSON. */
#include "import/memory_snapshot.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_snapshot snapshot;

	memory_snapshot_read(&snapshot, fuzz_file(data, size));
	memory_snapshot_free(&snapshot);
	return 0;
}
