/*
 * The memory of an interpreter, block by block, as a look at it fetches them. A look has a number of reads
 * after which it fails, so that no loop in the memory can hold it.
 */
#include "python.h"

#include <string.h>

#define READS 100000
#define FETCHES 4096
#define LOWEST 4096 /* no object lies below */

void pmh_python_look(struct pmh_python_look *look, const struct pmh_python *python)
{
	/* the blocks' bytes are left as they are: most looks use few of them */
	memset(look, 0, offsetof(struct pmh_python_look, blocks));
	look->python = python;
	pmh_python_reader_reset(look);
}

void pmh_python_look_again(struct pmh_python_look *look, const struct pmh_python *python)
{
	if (look->python != python) {
		pmh_python_look(look, python);
		return;
	}
	memset(look->block_address, 0, sizeof look->block_address);
	look->number++;
	look->is_own = look->is_loaded = false;
	pmh_python_reader_reset(look);
}

void pmh_python_reader_reset(struct pmh_python_look *look)
{
	look->failed = false;
	look->reads_left = READS;
	look->fetches_left = FETCHES;
}

/* Objects of a kind lie at like distances, so the low bits of their addresses would say little. */
static unsigned place_of(uint64_t address)
{
	return (unsigned)((address / PMH_PYTHON_BLOCK * 0x9e3779b97f4a7c15u) >> (64 - PMH_PYTHON_BLOCKS_LOG));
}

/* A block is at one of two places, NULL: nowhere yet. */
static const unsigned char *kept_block(const struct pmh_python_look *look, uint64_t address)
{
	const unsigned place = place_of(address);

	if (look->block_address[place] == address)
		return look->blocks[place];
	return look->block_address[place ^ 1] == address ? look->blocks[place ^ 1] : NULL;
}

static const unsigned char *fetch_block(struct pmh_python_look *look, uint64_t address)
{
	const unsigned place = place_of(address) ^ (look->fetches_left & 1);
	const struct pmh_python *python = look->python;

	look->block_address[place] = 0;
	if (look->fetches_left == 0)
		return NULL;
	look->fetches_left--;
	if (!python->fetch(address, look->blocks[place], PMH_PYTHON_BLOCK, python->data))
		return NULL;
	look->block_address[place] = address;
	return look->blocks[place];
}

/* One page that a string or a table of lines lies in may be followed by none: no byte is loaded that was not
 * asked for. */
static void load(uint64_t from, void *to, size_t byte_count)
{
	if (byte_count == 8)
		memcpy(to, &(uint64_t){*(const volatile uint64_t *)(uintptr_t)from}, 8);
	else
		for (size_t i = 0; i < byte_count; i++)
			((unsigned char *)to)[i] = ((const volatile unsigned char *)(uintptr_t)from)[i];
}

/* Reads across blocks, and what is not read yet. */
bool pmh_python_bytes(struct pmh_python_look *look, uint64_t from, void *to, size_t byte_count)
{
	memset(to, 0, byte_count);
	if (from < LOWEST || look->failed)
		return false;
	if (look->reads_left == 0) {
		look->failed = true;
		return false;
	}
	look->reads_left--;
	if (look->is_loaded) {
		load(from, to, byte_count);
		return true;
	}
	for (size_t done = 0; done < byte_count;) {
		const uint64_t at = from + done, offset = at % PMH_PYTHON_BLOCK, address = at - offset;
		const unsigned char *block = kept_block(look, address);
		size_t part = PMH_PYTHON_BLOCK - offset;

		/* the address may have passed the end of all memory */
		if (!block)
			block = at < LOWEST ? NULL : fetch_block(look, address);
		if (!block) {
			look->failed = true;
			memset(to, 0, byte_count);
			return false;
		}
		if (part > byte_count - done)
			part = byte_count - done;
		memcpy((unsigned char *)to + done, block + offset, part);
		done += part;
	}
	return true;
}

uint64_t pmh_python_word(struct pmh_python_look *look, uint64_t from)
{
	const uint64_t offset = from % PMH_PYTHON_BLOCK;
	const unsigned char *block =
		from < LOWEST || look->is_loaded ? NULL : kept_block(look, from - offset);
	uint64_t word;

	/* nearly all reads */
	if (block && offset <= PMH_PYTHON_BLOCK - sizeof word && look->reads_left > 0 && !look->failed) {
		look->reads_left--;
		memcpy(&word, block + offset, sizeof word);
	} else {
		pmh_python_bytes(look, from, &word, sizeof word);
	}
	return word;
}

uint32_t pmh_python_half(struct pmh_python_look *look, uint64_t from)
{
	uint32_t half;

	pmh_python_bytes(look, from, &half, sizeof half);
	return half;
}

uint8_t pmh_python_byte(struct pmh_python_look *look, uint64_t from)
{
	uint8_t byte;

	pmh_python_bytes(look, from, &byte, sizeof byte);
	return byte;
}

uint64_t pmh_python_type(struct pmh_python_look *look, uint64_t object)
{
	return object < LOWEST ? 0 : pmh_python_word(look, object + 8);
}
