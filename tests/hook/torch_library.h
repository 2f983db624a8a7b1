/*
 * What hosts tell torch_library.c to do.
 */
#ifndef TORCH_LIBRARY_H
#define TORCH_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

/* A RecordFunction: what the hook reads of it lies at 88, 96, 200 and 304, as in PyTorch 2.4 and later. */
struct torch_range {
	char before[400];
	const char *name;
	unsigned called;
	bool context; /* a callback has returned one */
};
#define TORCH_OPERATOR 0
#define TORCH_NODE 1
#define TORCH_USER 7

void torch_begin(
	struct torch_range *range, int scope, const char *name, int64_t sequence, uint64_t forward_thread);
void torch_end(struct torch_range *range);
void torch_next(void); /* a node is made: the thread's sequence number rises */
void torch_move(void); /* from now on the words lie elsewhere */
unsigned torch_enabled(int scope);

#endif
