/*
 * What the runtime of CUDA 12 has with other parameters than that of CUDA 13: the properties of a device in
 * its layout, and the state of a capture without the edges' data.
 */
#include "core/sg.h"

#include <stddef.h>
#include <string.h>

#define VERSION 12080

/* struct cudaDeviceProp of CUDA 12 has so many bytes, and these members there. */
#define PROPERTY_BYTES 1032

enum { INT, SIZE };

/* Members that are attributes of the device, too, by the attribute's number. */
static const struct {
	unsigned short offset;
	unsigned char kind, attribute;
} members[] = {{296, SIZE, 8}, {304, INT, 12}, {308, INT, 10}, {312, SIZE, 11}, {320, INT, 1}, {324, INT, 2},
	{328, INT, 3}, {332, INT, 4}, {336, INT, 5}, {340, INT, 6}, {344, INT, 7}, {348, INT, 13},
	{352, SIZE, 9}, {360, INT, 75}, {364, INT, 76}, {368, SIZE, 14}, {376, SIZE, 51}, {388, INT, 16},
	{400, INT, 19}, {576, INT, 31}, {584, INT, 33}, {604, INT, 41}, {600, INT, 40}, {608, INT, 36},
	{612, INT, 37}, {616, INT, 38}, {624, INT, 39}, {628, INT, 78}, {640, SIZE, 81}, {648, INT, 82},
	{652, INT, 83}, {676, INT, 89}, {688, INT, 95}, {696, SIZE, 97}, {712, INT, 106}, {720, SIZE, 111},
	{744, INT, 115}};

enum { NAME_BYTES = 256, UUID_AT = 256, TOTAL_MEMORY_AT = 288 };

cudaError_t cudaGetDeviceProperties_v2(void *properties, int device);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *node_count);
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags);

cudaError_t cudaGetDeviceProperties_v2(void *properties, int device)
{
	struct cudaDeviceProp known;
	char *to = properties;
	cudaError_t error;

	if (properties == NULL)
		return cudaErrorInvalidValue;
	error = (cudaGetDeviceProperties)(&known, device);
	if (error != cudaSuccess)
		return error;
	memset(to, 0, PROPERTY_BYTES);
	memcpy(to, known.name, NAME_BYTES);
	memcpy(to + UUID_AT, known.uuid.bytes, sizeof(known.uuid.bytes));
	memcpy(to + TOTAL_MEMORY_AT, &known.totalGlobalMem, sizeof(known.totalGlobalMem));
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		int value = 0;
		size_t size;

		cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)members[i].attribute, device);
		size = (size_t)value;
		if (members[i].kind == SIZE)
			memcpy(to + members[i].offset, &size, sizeof(size));
		else
			memcpy(to + members[i].offset, &value, sizeof(value));
	}
	return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *node_count)
{
	return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, NULL, node_count);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags)
{
	(void)graph, (void)path, (void)flags;
	return cudaErrorNotSupported;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (version == NULL)
		return cudaErrorInvalidValue;
	*version = VERSION;
	return cudaSuccess;
}
