/* Fuzz target: SQLite exports of Nsight Systems. Bytes that are no database are made the pages after the
 * head of one, so that few inputs end at the first look. */
#include "import/imported.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t head[] = "SQLite format 3\0\2\0\1\1\0\100\40\40";
	uint8_t *bytes = malloc(size + sizeof(head));
	struct imported imported;

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	if (size > sizeof(head))
		memcpy(bytes, head, 16);
	imported_read(&imported, fuzz_file(bytes, size), ~0u);
	imported_free(&imported);
	free(bytes);
	return 0;
}
