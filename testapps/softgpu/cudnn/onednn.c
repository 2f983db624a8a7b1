/*
 * Loading oneDNN.
 *
 * The one idea: it takes a good part of a small program's start (relocations, static objects), so it is
 * loaded with the first handle, and not at all while nothing is computed.
 */
#include "onednn.h"

#include <pthread.h>
#include "core/sg.h"

#define TEXT_OF(name) TEXT(name)
#define TEXT(name) #name

struct sg_onednn sg_onednn;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int status;

static void load(void)
{
	/* The header's version: structures that are passed differ between them. */
	void *library = sg_library_open("libdnnl.so." TEXT_OF(DNNL_VERSION_MAJOR), SG_ONEDNN_PATH);

	status = -1;
	if (library == NULL)
		return;
#define FIND(name) \
	do { \
		if (sg_library_find(library, #name, &sg_onednn.name) != 0) \
			return; \
	} while (0)
	SG_ONEDNN_CALLS(FIND);
#undef FIND
	status = 0;
}

int sg_onednn_open(void)
{
	if (!sg_numerics())
		return 0;
	pthread_once(&once, load);
	return status;
}
