/*
 * For the tests of costs: what a call submits is caught before it reaches a stream.
 *
 * The one idea: the stand-in libraries find sg_submit_cost, sg_numerics, sg_modelled and sg_cost_ns in the
 * program before they find libsoftgpu's, so the program is the model clock here. Without an argument no
 * closure is run, as when nobody looks at results; with the argument "compute" they are, on the stream.
 */
#ifndef TEST_COST_H
#define TEST_COST_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>

#include "core/sg.h"

static struct sg_cost seen;
static int seen_count;
static bool computes;
static int cost_failures;

#define ARENA_BYTES ((size_t)1 << 24)
static char *arena;
static size_t arena_used;

#pragma GCC visibility push(default)

cudaError_t sg_submit_cost(
	cudaStream_t where, const struct sg_cost *cost, sg_work *fn, const void *arg, size_t size)
{
	seen = *cost;
	seen_count++;
	return computes ? sg_submit(where, fn, arg, size) : cudaSuccess;
}

int sg_numerics(void)
{
	return computes;
}

int sg_modelled(void)
{
	return 1;
}

/* A time that tells the cost from others. */
uint64_t sg_cost_ns(int device, const struct sg_cost *cost)
{
	return (uint64_t)(1000 * (device + 1)) + (uint64_t)(cost->flops + 2 * cost->bytes);
}

#pragma GCC visibility pop

/* Memory for a call's operand; all of it is given back by arena_end(). */
static inline void *memory(size_t bytes)
{
	void *at = arena + arena_used;

	arena_used += (bytes + 255) & ~(size_t)255;
	if (arena_used > ARENA_BYTES)
		abort();
	return at;
}

static inline void arena_clear(void)
{
	if (cudaMemset(arena, 0, ARENA_BYTES) != cudaSuccess)
		abort();
}

static inline void arena_begin(void)
{
	if (cudaMalloc((void **)&arena, ARENA_BYTES) != cudaSuccess)
		abort();
	arena_clear();
}

static inline void arena_end(void)
{
	if (cudaDeviceSynchronize() != cudaSuccess || cudaFree(arena) != cudaSuccess)
		abort();
}

static inline int has_name(struct dl_phdr_info *info, size_t size, void *name)
{
	(void)size;
	return strstr(info->dlpi_name, name) != NULL;
}

/* Libraries that compute are loaded only if something is computed; with the leak checker always
 * (CMakeLists.txt). */
static inline void expect_loaded(const char *name)
{
#ifdef __SANITIZE_ADDRESS__
	int expected = 1;
#else
	int expected = computes;
#endif

	if ((dl_iterate_phdr(has_name, (void *)(uintptr_t)name) != 0) != expected) {
		cost_failures++;
		printf("%s is %s\n", name, expected ? "not loaded" : "loaded");
	}
}

/* Exactly one piece of work was submitted since the last check, and it costs this. */
static inline void expect_cost(const char *file, int line, enum sg_cost_kind kind, enum sg_cost_type type,
	double flops, double bytes)
{
	if (seen_count != 1 || seen.kind != kind || seen.type != type || seen.flops != flops ||
		seen.bytes != bytes) {
		cost_failures++;
		printf("%s:%d: %d submitted, the last of kind %d, type %d, %.17g flops, %.17g bytes; "
		       "expected kind %d, type %d, %.17g flops, %.17g bytes\n",
			file, line, seen_count, (int)seen.kind, (int)seen.type, seen.flops, seen.bytes,
			(int)kind, (int)type, flops, bytes);
	}
	seen_count = 0;
	arena_used = 0;
}
#define EXPECT_COST(kind, type, flops, bytes) \
	expect_cost(__FILE__, __LINE__, SG_COST_##kind, SG_COST_##type, flops, bytes)

#endif
