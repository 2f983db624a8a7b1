/* Fuzz target: descriptions and space files, with the rules that a space's first trial is checked against. */
#include "data/space_file.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);
	struct description description;
	struct space_file space;

	space_file_read(&space, path);
	space_file_free(&space);
	description_init(&description);
	description_read(&description, path);
	description_free(&description);
	return 0;
}
