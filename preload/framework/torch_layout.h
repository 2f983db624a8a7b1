/*
 * Where in PyTorch's RecordFunction the words lie that are read of it, by version.
 */
#ifndef TORCH_LAYOUT_H
#define TORCH_LAYOUT_H

#include <stdbool.h>

struct pmh_torch_layout {
	unsigned major, minor; /* 0, 0: the version is not known */
	bool is_known; /* else it is that of the newest known version, to be believed once it was found to be
			  right */
	unsigned sequence, scope, thread;
	unsigned forward_thread; /* 0: not known */
};

/* Of the library with that handle of dlopen's. Inside pmh_run_on_own_stack: it opens a file. */
void pmh_torch_layout(void *library, struct pmh_torch_layout *layout);

#endif
