/*
 * A library for corrupt.py: looks at the running interpreter through memory in which some bytes are wrong,
 * again and again. What it finds is nonsense then; that it ends, and ends well, is the test.
 */
#include "python/python.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Looks `looks` times. Returns how many texts were found, or -1: one did not end. */
__attribute__((visibility("default"))) int look_at_corrupt(unsigned minor, unsigned wrong, unsigned looks);

static uint64_t random_state;
static unsigned wrong_of_256; /* blocks that get something wrong */
static uint64_t last_words[64];

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* A byte or a word is replaced: by anything, by what is elsewhere in the memory, or by a near value. */
static void spoil(unsigned char *block, size_t byte_count)
{
	size_t word_at = next_random() % (byte_count / 8) * 8;
	uint64_t word;

	memcpy(&word, block + word_at, sizeof word);
	last_words[next_random() % 64] = word;
	if (next_random() % 256 >= wrong_of_256)
		return;
	switch (next_random() % 5) {
	case 0:
		block[next_random() % byte_count] = (unsigned char)next_random();
		return;
	case 1:
		word = next_random();
		break;
	case 2:
		word = last_words[next_random() % 64];
		break;
	case 3:
		word += next_random() % 33 - 16;
		break;
	default:
		word = 0;
	}
	memcpy(block + word_at, &word, sizeof word);
}

static bool fetch(uint64_t from, void *to, size_t byte_count, void *data)
{
	struct iovec local = {.iov_base = to, .iov_len = byte_count};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = byte_count};

	(void)data;
	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)byte_count)
		return false;
	spoil(to, byte_count);
	return true;
}

int look_at_corrupt(unsigned minor, unsigned wrong, unsigned looks)
{
	struct pmh_python python = {.at = pmh_python_offsets(minor), .fetch = fetch};
	void *(*state)(void);
	int found = 0;

	*(void **)&state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
#define FIND(name, symbol) python.name##_type = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, #symbol);
	PMH_PYTHON_TYPES(FIND)
	if (!python.at || !state)
		return -1;
	random_state = 88172645463325252u;
	wrong_of_256 = wrong;
	for (unsigned i = 0; i < looks; i++) {
		struct pmh_python_look look;
		char text[512];

		memset(text, 1, sizeof text);
		pmh_python_look(&look, &python);
		if (i % 2)
			found += pmh_python_find_module(
				&look, (uint64_t)(uintptr_t)state(), text, sizeof text);
		else
			found += pmh_python_find_callers(
				&look, (uint64_t)(uintptr_t)state(), text, sizeof text);
		if (!memchr(text, 0, sizeof text))
			return -1;
	}
	return found;
}
