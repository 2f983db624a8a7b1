/*
 * Reading fatbins and cubins.
 *
 * The one idea: a reader is a stretch of bytes, and whatever is asked of it lies inside or is nothing.
 *
 *     fatbin   = header (magic, u16 version, u16 header bytes, u64 bytes after it), entry, entry, ...
 *     entry    = u16 kind (2: a cubin), u16 version, u32 header bytes, u64 payload bytes, u32 compressed
 *                bytes, ..., at 28 u32 architecture, at 40 u64 flags, at 56 u64 expanded bytes; the payload
 *     cubin    = ELF; a section .nv.info.KERNEL is a list of attributes: u8 format, u8 number, u16, and if
 * the format is 4 so many bytes: of 0x17 u32 index, u16 ordinal, u16 offset, u32 with the size above 18 other
 * bits; 0x45 is the same with the size alone, for what 14 bits do not hold; a variable is a symbol of the
 * kind "object" as in any ELF file
 */
#include "fatbin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FATBIN_MAGIC 0xba55ed50u
#define ELF_MAGIC 0x464c457fu
#define ZSTD_MAGIC 0xfd2fb528u
#define CUBIN 2
#define MACHINE_CUDA 190
#define FLAG_LZ4 0x2000u
#define EXPANDED_LIMIT ((uint64_t)1 << 30)
#define PARAM_LIMIT 4096
/* ELF: kinds of sections and symbols */
#define SECTION_SYMBOLS 2
#define SECTION_EMPTY 8
#define SYMBOL_OBJECT 1
#define SYMBOL_BYTES 24

struct bytes {
	const unsigned char *start;
	uint64_t count;
};

static uint64_t number(struct bytes from, uint64_t at, unsigned width)
{
	uint64_t value = 0;

	if (at > from.count || from.count - at < width)
		return 0;
	memcpy(&value, from.start + at, width);
	return value;
}

/* A part, cut at the end of the whole. */
static struct bytes part(struct bytes from, uint64_t at, uint64_t count)
{
	if (at > from.count)
		at = from.count;
	if (count > from.count - at)
		count = from.count - at;
	return (struct bytes){from.start + at, count};
}

/* ---- compression ---- */

/* A length of LZ4: 15 goes on in further bytes, up to one that is not 255. */
static uint64_t lz4_length(uint64_t first, const unsigned char **at, const unsigned char *end)
{
	uint64_t length = first;
	unsigned char more = 255;

	if (first != 15)
		return first;
	while (more == 255 && *at < end) {
		more = *(*at)++;
		length += more;
	}
	return length;
}

/* A block of LZ4; -1: it is damaged. */
static int lz4(unsigned char *to, uint64_t room, struct bytes from)
{
	const unsigned char *at = from.start, *end = from.start + from.count;
	uint64_t done = 0;

	while (at < end) {
		const unsigned token = *at++;
		uint64_t length = lz4_length(token >> 4, &at, end), distance;

		if (length > (uint64_t)(end - at) || length > room - done)
			return -1;
		memcpy(to + done, at, length);
		done += length;
		at += length;
		if (end - at < 2)
			break;
		distance = at[0] | (uint64_t)at[1] << 8;
		at += 2;
		length = lz4_length(token & 15, &at, end) + 4;
		if (distance == 0 || distance > done || length > room - done)
			return -1;
		/* byte by byte: a match may overlap what it makes */
		for (; length > 0; length--, done++)
			to[done] = to[done - distance];
	}
	return done == room ? 0 : -1;
}

/* Loaded when it is needed: few programs have such images, and whoever builds this needs no header of it. */
static size_t (*zstd_decompress)(void *to, size_t room, const void *from, size_t count);
static pthread_once_t zstd_once = PTHREAD_ONCE_INIT;

static void load_zstd(void)
{
	void *library = dlopen("libzstd.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (library != NULL)
		*(void **)(void *)&zstd_decompress = dlsym(library, "ZSTD_decompress");
}

static int zstd(unsigned char *to, uint64_t room, struct bytes from)
{
	pthread_once(&zstd_once, load_zstd);
	return zstd_decompress != NULL && zstd_decompress(to, room, from.start, from.count) == room ? 0 : -1;
}

/* The payload of an entry, expanded into *memory if need be, which the caller frees. */
static struct bytes expand(struct bytes entry, struct bytes payload, void **memory)
{
	const uint64_t compressed = number(entry, 16, 4), room = number(entry, 56, 8);
	struct bytes packed = part(payload, 0, compressed != 0 ? compressed : payload.count);
	const int is_zstd = number(payload, 0, 4) == ZSTD_MAGIC;

	*memory = NULL;
	if (!is_zstd && (number(entry, 40, 8) & FLAG_LZ4) == 0)
		return payload;
	if (room == 0 || room > EXPANDED_LIMIT || (*memory = malloc(room)) == NULL)
		return (struct bytes){NULL, 0};
	if ((is_zstd ? zstd(*memory, room, packed) : lz4(*memory, room, packed)) != 0)
		return (struct bytes){NULL, 0};
	return (struct bytes){*memory, room};
}

/* ---- cubins ---- */

/* Fills in parameters by ordinal; how many there are, or -1 if one is missing. */
static int read_params(struct bytes info, struct sg_param params[PARAM_LIMIT])
{
	uint64_t at = 0;
	int count = 0;

	memset(params, 0, PARAM_LIMIT * sizeof(*params));
	while (info.count - at >= 4) {
		const uint64_t format = number(info, at, 1), attribute = number(info, at + 1, 1);
		const struct bytes value = part(info, at + 4, format == 4 ? number(info, at + 2, 2) : 0);
		const uint64_t ordinal = number(value, 4, 2), last = number(value, 8, 4);

		at += 4 + value.count;
		if (format != 4 || (attribute != 0x17 && attribute != 0x45) || value.count < 12)
			continue;
		if (ordinal >= PARAM_LIMIT || (attribute == 0x45 && last > UINT16_MAX))
			return -1;
		params[ordinal].offset = (uint16_t)number(value, 6, 2);
		params[ordinal].size_bytes = (uint16_t)(attribute == 0x17 ? last >> 18 : last);
		if ((int)ordinal >= count)
			count = (int)ordinal + 1;
	}
	for (int i = 0; i < count; i++)
		if (params[i].size_bytes == 0)
			return -1;
	return count;
}

/* The text at an offset of a table, or "" if it has no end there. */
static const char *text_at(struct bytes table, uint64_t at)
{
	const struct bytes rest = part(table, at, table.count);

	return rest.count > 0 && memchr(rest.start, 0, rest.count) != NULL ? (const char *)rest.start : "";
}

static struct bytes section(struct bytes cubin, struct bytes headers, uint64_t i, uint64_t width)
{
	const struct bytes header = part(headers, i * width, width);

	return part(cubin, number(header, 24, 8), number(header, 32, 8));
}

/* Who reads an image, and room for the parameters of one kernel. */
struct reader {
	sg_take_kernel *take_kernel;
	sg_take_variable *take_variable;
	void *data;
	struct sg_param *params;
};

/* The variables of a symbol table: `header` is its section's. */
static void read_symbols(
	struct bytes cubin, struct bytes headers, uint64_t width, uint64_t i, const struct reader *reader)
{
	const struct bytes symbols = section(cubin, headers, i, width);
	const struct bytes names = section(cubin, headers, number(headers, i * width + 40, 4), width);

	for (uint64_t at = 0; symbols.count - at >= SYMBOL_BYTES; at += SYMBOL_BYTES) {
		const uint64_t place = number(symbols, at + 6, 2), size_bytes = number(symbols, at + 16, 8);
		const int is_empty = number(headers, place * width + 4, 4) == SECTION_EMPTY;
		const char *name = text_at(names, number(symbols, at, 4));
		struct bytes content;

		/* 0 is no section, and the last 256 numbers are none either */
		if ((number(symbols, at + 4, 1) & 15) != SYMBOL_OBJECT || place == 0 || place >= 0xff00 ||
			size_bytes == 0 || size_bytes > EXPANDED_LIMIT || *name == 0)
			continue;
		content = part(section(cubin, headers, place, width), number(symbols, at + 8, 8), size_bytes);
		if (is_empty || content.count == size_bytes)
			reader->take_variable(
				reader->data, name, is_empty ? NULL : content.start, size_bytes);
	}
}

static void read_cubin(struct bytes cubin, const struct reader *reader)
{
	static const char prefix[] = ".nv.info.";
	const uint64_t width = number(cubin, 58, 2);
	const struct bytes headers = part(cubin, number(cubin, 40, 8), cubin.count);
	uint64_t count = number(cubin, 60, 2), names = number(cubin, 62, 2);
	struct bytes table;

	if (number(cubin, 0, 4) != ELF_MAGIC || number(cubin, 18, 2) != MACHINE_CUDA || width < 64)
		return;
	/* numbers that are too large for their place stand in the first section's header */
	if (count == 0)
		count = number(headers, 32, 8);
	if (names == UINT16_MAX)
		names = number(headers, 40, 4);
	if (count > headers.count / width)
		count = headers.count / width;
	if (names >= count)
		return;
	table = section(cubin, headers, names, width);
	for (uint64_t i = 0; i < count; i++) {
		const char *name = text_at(table, number(headers, i * width, 4));
		int param_count;

		if (number(headers, i * width + 4, 4) == SECTION_SYMBOLS)
			read_symbols(cubin, headers, width, i, reader);
		if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		param_count = read_params(section(cubin, headers, i, width), reader->params);
		if (param_count >= 0)
			reader->take_kernel(
				reader->data, name + sizeof(prefix) - 1, reader->params, (size_t)param_count);
	}
}

/* ---- fatbins ---- */

struct entry {
	struct bytes header, payload;
	unsigned architecture;
};

/* Takes the entry at *at and steps to the next; 0: there is none. */
static int next_entry(struct bytes entries, uint64_t *at, struct entry *entry)
{
	const struct bytes rest = part(entries, *at, entries.count);
	const uint64_t header_bytes = number(rest, 4, 4), payload_bytes = number(rest, 8, 8);

	if (header_bytes < 32 || header_bytes > rest.count || payload_bytes > rest.count - header_bytes)
		return 0;
	entry->header = part(rest, 0, header_bytes);
	entry->payload = part(rest, header_bytes, payload_bytes);
	entry->architecture = (unsigned)number(entry->header, 28, 4);
	*at += header_bytes + payload_bytes;
	return 1;
}

/* The architecture among the entries that is best for a device: as sg_image_kernels says; 0: no cubins. */
static unsigned best_architecture(struct bytes entries, unsigned wanted)
{
	unsigned below = 0, above = 0;
	struct entry entry;
	uint64_t at = 0;

	while (next_entry(entries, &at, &entry)) {
		if (number(entry.header, 0, 2) != CUBIN || entry.architecture == 0)
			continue;
		if (entry.architecture <= wanted && entry.architecture > below)
			below = entry.architecture;
		if (entry.architecture > wanted && (above == 0 || entry.architecture < above))
			above = entry.architecture;
	}
	return below != 0 ? below : above;
}

static void read_fatbin(struct bytes image, unsigned wanted, const struct reader *reader)
{
	const uint64_t header_bytes = number(image, 6, 2);
	const struct bytes entries = part(image, header_bytes, number(image, 8, 8));
	const unsigned architecture = best_architecture(entries, wanted);
	struct entry entry;
	uint64_t at = 0;

	while (header_bytes >= 16 && next_entry(entries, &at, &entry)) {
		void *memory;

		if (number(entry.header, 0, 2) != CUBIN || entry.architecture != architecture)
			continue;
		read_cubin(expand(entry.header, entry.payload, &memory), reader);
		free(memory);
	}
}

/* Byte by byte, as far as they agree: what is no image may end after the first. */
static int begins_with(const unsigned char *image, uint32_t magic)
{
	for (int i = 0; i < 4; i++)
		if (image[i] != (unsigned char)(magic >> 8 * i))
			return 0;
	return 1;
}

size_t sg_image_bytes(const void *image)
{
	const struct bytes head = {image, 64};
	uint64_t end;

	if (begins_with(image, FATBIN_MAGIC))
		return number(head, 8, 8) < SIZE_MAX / 2 ? number(head, 6, 2) + number(head, 8, 8) : 0;
	if (!begins_with(image, ELF_MAGIC) || number(head, 18, 2) != MACHINE_CUDA)
		return 0;
	/* the program headers lie after the section headers, which lie after all else */
	end = number(head, 40, 8) + number(head, 58, 2) * number(head, 60, 2);
	if (number(head, 32, 8) >= end)
		end = number(head, 32, 8) + number(head, 54, 2) * number(head, 56, 2);
	return end < SIZE_MAX / 2 ? end : 0;
}

void sg_image_read(const void *image, size_t image_bytes, unsigned architecture, sg_take_kernel *take_kernel,
	sg_take_variable *take_variable, void *data)
{
	const struct bytes all = {image, image_bytes};
	const struct reader reader = {
		take_kernel, take_variable, data, malloc(PARAM_LIMIT * sizeof(*reader.params))};

	if (reader.params != NULL && number(all, 0, 4) == FATBIN_MAGIC)
		read_fatbin(all, architecture, &reader);
	else if (reader.params != NULL)
		read_cubin(all, &reader);
	free(reader.params);
}
