/* A libFuzzer target: any bytes through reader, analysis and reports. Built with clang and -DPM_FUZZ=ON. */
#include "hostile.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hostile_run(data, size);
	return 0;
}
