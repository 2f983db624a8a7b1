/*
 * What the tests of other profilers' traces share: files made from text, in a folder of their own that goes
 * at the end.
 */
#ifndef IMPORTED_MAKE_H
#define IMPORTED_MAKE_H

#include "check.h"
#include "import/imported.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* A kernel of stream and correlation, and its call, as Kineto writes them. */
#define MAKE_KERNEL(name, ts, dur, stream, correlation) \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name "\", \"pid\": 0, \"tid\": " stream \
	", \"ts\": " ts ", \"dur\": " dur \
	", \"args\": {\"grid\": [8, 1, 1], \"device\": 0, \"stream\": " stream \
	", \"correlation\": " correlation "}}"
#define MAKE_LAUNCH(ts, correlation) \
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, \"tid\": 9, " \
	"\"ts\": " ts ", \"dur\": 5, \"args\": {\"cbid\": 211, \"correlation\": " correlation "}}"

/* A small trace with something of everything. */
__attribute__((unused)) static const char make_whole[] =
	"{\n  \"schemaVersion\": 1,\n \"deviceProperties\": [{\"id\": 0}],\n"
	"  \"distributedInfo\": {\"backend\": \"nccl\", \"pg_config\": [{\"ranks\": [0, 1]}], \"rank\": 3, "
	"\"world_size\": 8},\n  \"traceEvents\": [\n" MAKE_KERNEL("gemm", "100", "10", "7", "1") ",\n" MAKE_KERNEL(
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "105.5", "10.25",
		"0", "2") ",\n" MAKE_LAUNCH("90", "1") ",\n" MAKE_LAUNCH("95",
		"2") ",\n"
		     "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#5\", \"pid\": 9, \"tid\": 9, "
		     "\"ts\": 80, \"dur\": 50, \"args\": {}}, {\"ph\": \"i\", \"name\": \"Record Window End\", \"ts\": 1}\n"
		     "  ],\n  \"INFO\": [\"a }\", {\"b\": \"]\"}],\n  \"baseTimeNanoseconds\": 1000000000000\n}\n";

static char make_folder[64];

static void make_begin(void)
{
	strcpy(make_folder, "/tmp/pm_imported.XXXXXX");
	if (!mkdtemp(make_folder)) {
		perror(make_folder);
		exit(1);
	}
}

static void make_end(void)
{
	if (rmdir(make_folder) != 0)
		CHECK(false, "%s is left behind", make_folder);
}

/* The path of a file in the folder; lives till the next call. */
static const char *make_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", make_folder, name);
	return path;
}

static void make_bytes(const char *path, const void *bytes, size_t count)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

/* Packs the text with gzip; `members` packed files one after the other. Answers the size. */
static inline size_t make_packed(const char *path, const char *text, size_t length, int members)
{
	FILE *file = fopen(path, "wb");
	long size;

	for (int i = 0; i < members; i++) {
		size_t begin = length * (size_t)i / (size_t)members,
		       end = length * (size_t)(i + 1) / (size_t)members;
		unsigned char *packed = malloc(length + 1000);
		z_stream stream = {.next_in = (Bytef *)(uintptr_t)(text + begin),
			.avail_in = (uInt)(end - begin),
			.next_out = packed,
			.avail_out = (uInt)(length + 1000)};

		deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
		deflate(&stream, Z_FINISH);
		fwrite(packed, 1, stream.total_out, file);
		deflateEnd(&stream);
		free(packed);
	}
	size = ftell(file);
	fclose(file);
	return (size_t)size;
}

/* Reads a file that has the bytes; the file is gone afterwards. */
static inline int make_read_bytes(
	struct imported *imported, const char *name, const void *bytes, size_t count, unsigned wanted)
{
	static char path[256];
	int status;

	strcpy(path, make_path(name));
	make_bytes(path, bytes, count);
	status = imported_read(imported, path, wanted);
	unlink(path);
	return status;
}

static inline int make_read(struct imported *imported, const char *text, unsigned wanted)
{
	return make_read_bytes(imported, "trace.json", text, strlen(text), wanted);
}

#endif
