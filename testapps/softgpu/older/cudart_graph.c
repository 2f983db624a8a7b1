/*
 * Graphs of CUDA 12's runtime: functions without the edges' data, which CUDA 13 has under the same names with
 * it, and those with it under names of CUDA 12's own.
 */
#include <dlfcn.h>
#include <stddef.h>

/* The handles are the runtime's, and nothing here looks into what they or the data point to. */
typedef void *handle;

/* CUDA 13's function of that name; the linker would take this library's. */
static void *newer(const char *name)
{
	return dlsym(dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD), name);
}

#define NOT_SUPPORTED 801

/* name without data, name with it, and CUDA 13's, whose parameters are those with it */
#define OLDER(name, without, with, newer_type, call_without, call_with) \
	int name without; \
	int name without \
	{ \
		int(*function) newer_type; \
		*(void **)&function = newer(#name); \
		return function != NULL ? function call_without : NOT_SUPPORTED; \
	} \
	int name##_v2 with; \
	int name##_v2 with \
	{ \
		int(*function) newer_type; \
		*(void **)&function = newer(#name); \
		return function != NULL ? function call_with : NOT_SUPPORTED; \
	}

/* clang-format off */
OLDER(cudaGraphAddNode,
	(handle *node, handle graph, const handle *behind, size_t count, void *params),
	(handle *node, handle graph, const handle *behind, const void *data, size_t count, void *params),
	(handle *, handle, const handle *, const void *, size_t, void *),
	(node, graph, behind, NULL, count, params), (node, graph, behind, data, count, params))
OLDER(cudaGraphGetEdges,
	(handle graph, handle *from, handle *to, size_t *count),
	(handle graph, handle *from, handle *to, void *data, size_t *count),
	(handle, handle *, handle *, void *, size_t *),
	(graph, from, to, NULL, count), (graph, from, to, data, count))
OLDER(cudaGraphNodeGetDependencies,
	(handle node, handle *nodes, size_t *count), (handle node, handle *nodes, void *data, size_t *count),
	(handle, handle *, void *, size_t *), (node, nodes, NULL, count), (node, nodes, data, count))
OLDER(cudaGraphNodeGetDependentNodes,
	(handle node, handle *nodes, size_t *count), (handle node, handle *nodes, void *data, size_t *count),
	(handle, handle *, void *, size_t *), (node, nodes, NULL, count), (node, nodes, data, count))
OLDER(cudaGraphAddDependencies,
	(handle graph, const handle *from, const handle *to, size_t count),
	(handle graph, const handle *from, const handle *to, const void *data, size_t count),
	(handle, const handle *, const handle *, const void *, size_t),
	(graph, from, to, NULL, count), (graph, from, to, data, count))
OLDER(cudaGraphRemoveDependencies,
	(handle graph, const handle *from, const handle *to, size_t count),
	(handle graph, const handle *from, const handle *to, const void *data, size_t count),
	(handle, const handle *, const handle *, const void *, size_t),
	(graph, from, to, NULL, count), (graph, from, to, data, count))
OLDER(cudaStreamUpdateCaptureDependencies,
	(handle stream, handle *nodes, size_t count, unsigned flags),
	(handle stream, handle *nodes, const void *data, size_t count, unsigned flags),
	(handle, handle *, const void *, size_t, unsigned),
	(stream, nodes, NULL, count, flags), (stream, nodes, data, count, flags))
/* clang-format on */
