/* The page of figures: see trace_live.h. */
#include "trace_live.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, TRIES = 4 };
_Static_assert(PM_LIVE_OFFSET + sizeof(struct pm_live) <= PAGE_BYTES, "one page has all");

static bool is_ours(const struct pm_header *header)
{
	return memcmp(header->magic, PM_MAGIC, sizeof(header->magic)) == 0 &&
	       header->byte_order == PM_BYTE_ORDER && header->version >= 1 && header->version <= PM_VERSION;
}

static bool parse(struct trace_live *live, const unsigned char *page, size_t bytes)
{
	memset(live, 0, sizeof(*live));
	if (bytes < offsetof(struct pm_header, worker_count))
		return false;
	memcpy(&live->header, page, bytes < sizeof(live->header) ? bytes : sizeof(live->header));
	live->header.host[sizeof(live->header.host) - 1] = '\0';
	live->header.program[sizeof(live->header.program) - 1] = '\0';
	if (!is_ours(&live->header))
		return false;
	if (bytes < PAGE_BYTES || live->header.header_bytes < PAGE_BYTES)
		return true;
	memcpy(&live->figures, page + PM_LIVE_OFFSET, sizeof(live->figures));
	live->known = live->figures.magic == PM_LIVE_MAGIC;
	if (!live->known)
		memset(&live->figures, 0, sizeof(live->figures));
	return true;
}

/* A step that is being written takes some hundred instructions; a process that was killed there leaves it
 * odd. */
bool trace_live_read(const char *path, struct trace_live *live)
{
	const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char page[PAGE_BYTES];
	bool good = file >= 0;
	uint64_t before = 1;

	for (int i = 0; i < TRIES && good; i++) {
		const ssize_t got = pread(file, page, sizeof(page), 0);

		good = got > 0 && parse(live, page, (size_t)got);
		if (good && live->figures.changes == before)
			break;
		before = live->figures.changes % 2 ? 1 : live->figures.changes;
	}
	if (file >= 0)
		close(file);
	return good;
}

int64_t trace_live_real_ns(const struct trace_live *live, uint64_t monotonic_ns)
{
	return (int64_t)(monotonic_ns - live->header.monotonic_ns + live->header.real_ns);
}
