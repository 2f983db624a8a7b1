/* The bytes of a JSON file, plain or gzip, into the window: see json.h. */
#include "json.h"
#include "limit.h"
#include "memory.h"
#include "regular_file.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Large enough that items cut by its end are rare, small enough to stay in the processor's cache. */
#define WINDOW_BYTES ((size_t)256 << 10)
#define PACKED_BYTES ((size_t)64 << 10)
/* Unpacked bytes that are nobody's harm, whatever they were packed to. */
#define RATIO_FREE_BYTES ((uint64_t)64 << 20)

struct json_source {
	int file;
	bool packed;
	bool between; /* members of a gzip file */
	z_stream stream;
	uint64_t packed_bytes, unpacked_bytes;
	unsigned char bytes[PACKED_BYTES];
};

static ssize_t patient_read(int file, void *room, size_t bytes)
{
	ssize_t got;

	do
		got = read(file, room, bytes);
	while (got < 0 && errno == EINTR);
	return got;
}

/* The next packed bytes; false at the end of the file. */
static bool feed(struct json *json)
{
	struct json_source *source = json->source;
	ssize_t got;

	if (source->stream.avail_in > 0)
		return true;
	got = patient_read(source->file, source->bytes, sizeof(source->bytes));
	if (got < 0)
		json->break_off = strerror(errno);
	if (got <= 0)
		return false;
	source->packed_bytes += (uint64_t)got;
	source->stream.next_in = source->bytes;
	source->stream.avail_in = (uInt)got;
	return true;
}

/* Unpacks until the room is full or nothing follows; answers the bytes made. */
static size_t unpack(struct json *json, char *room, size_t bytes)
{
	struct json_source *source = json->source;
	int status;

	source->stream.next_out = (Bytef *)room;
	source->stream.avail_out = (uInt)bytes;
	while (source->stream.avail_out > 0) {
		if (!feed(json)) {
			if (!source->between && !json->break_off)
				json->break_off = "truncated gzip data";
			json->exhausted = true;
			break;
		}
		/* A file may be several packed ones, one after the other; what follows otherwise is
		 * padding. */
		if (source->between) {
			if (source->stream.next_in[0] != 0x1f) {
				json->exhausted = true;
				break;
			}
			inflateReset(&source->stream);
			source->between = false;
		}
		status = inflate(&source->stream, Z_NO_FLUSH);
		if (status == Z_STREAM_END) {
			source->between = true;
		} else if (status != Z_OK) {
			json->break_off = "corrupt gzip data";
			json->exhausted = true;
			break;
		}
	}
	source->unpacked_bytes += bytes - source->stream.avail_out;
	return bytes - source->stream.avail_out;
}

/* Ends the reading where a limit is met. */
static bool limited(struct json *json)
{
	const struct json_source *source = json->source;

	json->limit = pm_limit_at(json->passed_bytes);
	if (!json->limit && source->packed && source->unpacked_bytes > RATIO_FREE_BYTES &&
		(double)source->unpacked_bytes >
			pm_limit_value(PM_LIMIT_RATIO) * (double)source->packed_bytes)
		json->limit = pm_limit_met(PM_LIMIT_RATIO);
	if (json->limit) {
		json->break_off = "a limit is exceeded";
		json->exhausted = true;
	}
	return json->limit != NULL;
}

static size_t read_plain(struct json *json, char *room, size_t bytes)
{
	ssize_t got = patient_read(json->source->file, room, bytes);

	if (got < 0)
		json->break_off = strerror(errno);
	if (got <= 0) {
		json->exhausted = true;
		return 0;
	}
	return (size_t)got;
}

bool json_more(struct json *json)
{
	size_t kept = (size_t)(json->end - json->next), got;

	if (json->exhausted)
		return false;
	if (kept >= JSON_ITEM_BYTES || limited(json))
		return false;
	json->passed_bytes += (uint64_t)(json->next - json->window);
	memmove(json->window, json->next, kept);
	if (kept > json->room_bytes / 2) {
		json->room_bytes *= 2;
		json->window = realloc(json->window, json->room_bytes + JSON_PADDING);
		if (!json->window)
			errx(1, "out of memory: %zu bytes", json->room_bytes);
	}
	if (json->source->packed)
		got = unpack(json, json->window + kept, json->room_bytes - kept);
	else
		got = read_plain(json, json->window + kept, json->room_bytes - kept);
	json->next = json->window;
	json->end = json->window + kept + got;
	memset(json->window + kept + got, 0, JSON_PADDING);
	return got > 0;
}

int json_open(struct json *json, const char *path)
{
	struct json_source *source = mem_alloc(1, sizeof(*source));
	unsigned char magic[2];

	memset(json, 0, sizeof(*json));
	json->path = path;
	json->source = source;
	source->file = regular_file_open(path);
	if (source->file < 0) {
		int status = source->file;

		free(source);
		return status;
	}
	posix_fadvise(source->file, 0, 0, POSIX_FADV_SEQUENTIAL);
	source->packed = pread(source->file, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
	/* 15 bits of window, and a gzip header */
	if (source->packed && inflateInit2(&source->stream, 15 + 16) != Z_OK)
		errx(1, "out of memory: unpacking %s", path);
	json->room_bytes = WINDOW_BYTES;
	json->window = mem_alloc(1, json->room_bytes + JSON_PADDING);
	json->next = json->end = json->window;
	json_more(json);
	return 0;
}

void json_close(struct json *json)
{
	if (!json->source)
		return;
	if (json->source->packed)
		inflateEnd(&json->source->stream);
	close(json->source->file);
	free(json->source);
	free(json->window);
	memset(json, 0, sizeof(*json));
}

uint64_t json_offset(const struct json *json, const char *place)
{
	return json->passed_bytes + (uint64_t)(place - json->window);
}

void *json_all(struct json *json, size_t *bytes)
{
	size_t room = 0;
	char *image = NULL;

	*bytes = 0;
	do {
		size_t more = (size_t)(json->end - json->next);

		if (*bytes + more > room)
			mem_reserve((void **)&image, *bytes, &room, 1, *bytes + 2 * more);
		if (more > 0)
			memcpy(image + *bytes, json->next, more);
		*bytes += more;
		json->next = json->end;
	} while (json_more(json));
	return image;
}
