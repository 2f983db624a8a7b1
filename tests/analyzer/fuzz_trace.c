/* Fuzz target: our own traces, through reader, analysis and reports. */
#include "fuzz.h"
#include "hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hostile_run(data, size);
	return 0;
}
