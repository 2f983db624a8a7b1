/*
 * What the runtime of CUDA 12 has with other parameters than that of CUDA 13: the properties of a device and
 * the attributes of a pointer in its layout, the state of a capture without the edges' data, and devices
 * where CUDA 13 has locations.
 */
#include "core/sg.h"

#include <dlfcn.h>
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

/* So many bytes has struct cudaPointerAttributes of CUDA 12; CUDA 13 adds others after them. */
#define POINTER_BYTES 24

cudaError_t cudaGetDeviceProperties_v2(void *properties, int device);
/* the headers have these names with CUDA 13's parameters */
cudaError_t prefetch(const void *address, size_t bytes, int device, cudaStream_t stream) __asm__(
	"cudaMemPrefetchAsync");
cudaError_t advise(const void *address, size_t bytes, enum cudaMemoryAdvise advice, int device) __asm__(
	"cudaMemAdvise");
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *node_count);

/* A device of a call of CUDA 12's: -1 is the host. */
static struct cudaMemLocation location_of(int device)
{
	return (struct cudaMemLocation){
		.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
		.id = device < 0 ? 0 : device};
}

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

/* CUDA 13's function of that name; the linker would take this library's. */
static void *newer(const char *name)
{
	return dlsym(dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD), name);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
	static cudaError_t (*_Atomic known)(struct cudaPointerAttributes *, const void *);
	cudaError_t (*get)(struct cudaPointerAttributes *, const void *) = known;
	struct cudaPointerAttributes all;
	cudaError_t error;

	if (get == NULL) {
		*(void **)&get = newer("cudaPointerGetAttributes");
		known = get;
	}
	if (get == NULL || attributes == NULL)
		return cudaErrorInvalidValue;
	error = get(&all, address);
	if (error == cudaSuccess)
		memcpy(attributes, &all, POINTER_BYTES);
	return error;
}

cudaError_t prefetch(const void *address, size_t bytes, int device, cudaStream_t stream)
{
	cudaError_t (*to_location)(const void *, size_t, struct cudaMemLocation, unsigned, cudaStream_t);

	*(void **)&to_location = newer("cudaMemPrefetchAsync");
	return to_location != NULL ? to_location(address, bytes, location_of(device), 0, stream)
				   : cudaErrorNotSupported;
}

cudaError_t advise(const void *address, size_t bytes, enum cudaMemoryAdvise advice, int device)
{
	cudaError_t (*of_location)(const void *, size_t, enum cudaMemoryAdvise, struct cudaMemLocation);

	*(void **)&of_location = newer("cudaMemAdvise");
	return of_location != NULL ? of_location(address, bytes, advice, location_of(device))
				   : cudaErrorNotSupported;
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *node_count)
{
	return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, NULL, node_count);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (version == NULL)
		return cudaErrorInvalidValue;
	*version = VERSION;
	return cudaSuccess;
}
