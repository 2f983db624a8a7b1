/*
 * The driver's functions by name and version: cuGetProcAddress.
 *
 * The one idea: the name asked for is a base name, and the version of CUDA a program was built for says which
 * of the functions behind it has the parameters that the program will pass: the newest that is not newer.
 */
#include "cuda_private.h"

#include <string.h>

#define VERSION 13000
/* Since when there are forms for per-thread default streams. */
#define PER_THREAD_VERSION 7000

typedef void any_function(void);

struct entry {
	const char *name;
	int version;
	any_function *function;
	any_function *per_thread; /* NULL: it has no such form */
};

/* Forms for per-thread default streams are defined in ptsz.c, and declared as the function itself is. */
#define ENTRY(base, version, symbol)
#define STREAM(base, version, symbol) __typeof__(symbol) symbol##_ptsz;
#define DEFAULT(base, version, symbol) __typeof__(symbol) symbol##_ptds;
#include "entry.inc"
#undef ENTRY
#undef STREAM
#undef DEFAULT

static const struct entry entries[] = {
#define ENTRY(base, version, symbol) {#base, version, (any_function *)symbol, NULL},
#define STREAM(base, version, symbol) {#base, version, (any_function *)symbol, (any_function *)symbol##_ptsz},
#define DEFAULT(base, version, symbol) \
	{#base, version, (any_function *)symbol, (any_function *)symbol##_ptds},
#include "entry.inc"
};

void *sg_driver_find(const char *name, int version, int per_thread, int *status)
{
	const struct entry *found = NULL;
	/* POSIX has functions found by name as void pointers; C has no cast for that. */
	union {
		any_function *function;
		void *object;
	} answer = {NULL};

	*status = SG_DRIVER_UNKNOWN;
	/* The versions of a name stand in order. */
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (strcmp(entries[i].name, name) != 0)
			continue;
		*status = found != NULL ? SG_DRIVER_FOUND : SG_DRIVER_TOO_OLD;
		if (entries[i].version > version)
			continue;
		found = &entries[i];
		*status = SG_DRIVER_FOUND;
	}
	if (found == NULL)
		return NULL;
	answer.function = found->function;
	if (per_thread && found->per_thread != NULL && version >= PER_THREAD_VERSION)
		answer.function = found->per_thread;
	return answer.object;
}

static CUresult find(const char *name, void **function, int version, cuuint64_t flags, int *status)
{
	if (name == NULL || function == NULL || flags > SG_DRIVER_PER_THREAD || version > VERSION)
		return CUDA_ERROR_INVALID_VALUE;
	*function = sg_driver_find(name, version, flags == SG_DRIVER_PER_THREAD, status);
	return CUDA_SUCCESS;
}

/* The first version has only its result to say that there is no such function. */
CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	CUresult result;
	int status;

	SG_DRIVER_AS(CUDA_ERROR_NOT_FOUND, SG_NEED_NOTHING);
	result = find(symbol, pfn, cudaVersion, flags, &status);
	if (result == CUDA_SUCCESS && *pfn == NULL)
		return CUDA_ERROR_NOT_FOUND;
	return result;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
	CUdriverProcAddressQueryResult *symbolStatus)
{
	CUresult result;
	int status;

	SG_DRIVER_AS(CUDA_ERROR_NOT_FOUND, SG_NEED_NOTHING);
	result = find(symbol, pfn, cudaVersion, flags, &status);
	if (result == CUDA_SUCCESS && symbolStatus != NULL)
		*symbolStatus = (CUdriverProcAddressQueryResult)status;
	return result;
}
