/* Fuzz target: logs of NCCL Inspector, and the communication that they have. */
#include "analyses/comm_inspector.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inspector_log log = {0};
	struct comm comm;

	inspector_read(&log, fuzz_file(data, size));
	comm_inspector_find(&log, 1, &comm);
	comm_free(&comm);
	inspector_free(&log);
	return 0;
}
