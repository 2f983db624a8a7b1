/*
 * Loading OpenBLAS.
 *
 * The one idea: it takes a good part of a small program's start (relocations, a pool of threads), so it is
 * loaded with the first handle, and not at all while nothing is computed.
 */
#include "openblas.h"

#include <pthread.h>
#include <stdlib.h>
#include "core/sg.h"

struct sg_openblas sg_blas;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int status;

/* Its own threads would compete with the other streams'. A user's own choice is left alone. */
static void set_threads(void)
{
	if (getenv("OPENBLAS_NUM_THREADS") == NULL && getenv("GOTO_NUM_THREADS") == NULL &&
		getenv("OMP_NUM_THREADS") == NULL)
		sg_blas.openblas_set_num_threads(sg_threads());
}

static void load(void)
{
	void *library = sg_library_open("libopenblas.so.0", SG_OPENBLAS_PATH);

	status = -1;
	if (library == NULL)
		return;
#define FIND(name) \
	do { \
		if (sg_library_find(library, #name, &sg_blas.name) != 0) \
			return; \
	} while (0)
	SG_OPENBLAS_CALLS(FIND);
#undef FIND
	set_threads();
	status = 0;
}

int sg_openblas_open(void)
{
	if (!sg_numerics())
		return 0;
	pthread_once(&once, load);
	return status;
}
