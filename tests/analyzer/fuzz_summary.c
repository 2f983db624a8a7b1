/* Fuzz target: summaries of ranks. Check sums and packing would end nearly all inputs, so the bytes are taken
 * as they are, and as what is packed in a summary that is whole. */
#include "fuzz.h"
#include "analyses/summary/summary.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void read_bytes(const void *bytes, size_t size)
{
	struct summary_names names = {0};
	struct summary_list list = {0};
	const char *error;

	summary_read(&list, &names, "fuzz", bytes, size, &error);
	summary_list_free(&list);
	summary_names_free(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uLongf stored = compressBound(size);
	unsigned char *bytes = malloc(SUMMARY_HEAD_BYTES + stored);
	uint32_t head[6] = {htole32(SUMMARY_BYTE_ORDER), htole32(SUMMARY_VERSION)};

	read_bytes(data, size);
	if (bytes && compress2(bytes + SUMMARY_HEAD_BYTES, &stored, data, size, 0) == Z_OK) {
		head[2] = htole32((uint32_t)stored);
		head[3] = htole32((uint32_t)size);
		head[4] = htole32((uint32_t)crc32(0, bytes + SUMMARY_HEAD_BYTES, (uInt)stored));
		memcpy(bytes, SUMMARY_MAGIC, 8);
		memcpy(bytes + 8, head, sizeof(head));
		read_bytes(bytes, SUMMARY_HEAD_BYTES + stored);
	}
	free(bytes);
	return 0;
}
