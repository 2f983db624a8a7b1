/* Fuzz target: dumps of PyTorch's Flight Recorder, pickles and JSON, and what hang finds in one. */
#include "analyses/hang/hang_flight.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = (char *)(uintptr_t)fuzz_file(data, size);
	struct hang_flight hang;

	hang_flight_find(&hang, &path, 1);
	hang_flight_free(&hang);
	return 0;
}
