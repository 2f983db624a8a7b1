/*
 * multi_tensor_apply: the optimizers' kernels over lists of tensors. The first argument is the metadata:
 * addresses of each list's tensors, their numbers of elements, and for each block its tensor and its chunk.
 */
#include "rule.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 65536

/* By the number of lists: room for tensors, and for blocks. */
static const unsigned most_tensors[] = {770, 448, 336, 252, 210};
#define MOST_BLOCKS 2240

/* Before the blocks the metadata of a fused optimizer have the addresses of the steps too, those of a list of
 * scalars these. */
enum { PLAIN, FUSED, SCALARS };
#define MOST_TENSORS_SCALARS 672 /* of one list */

static unsigned room_of(const struct sg_known *known)
{
	return known->op == SCALARS && known->pointers == 1 ? MOST_TENSORS_SCALARS
							    : most_tensors[known->pointers - 1];
}

int sg_lists_find(struct sg_known *known, const char *name)
{
	static const char metadata[] = "TensorListMetadataILi",
			  fused[] = "FusedOptimizerTensorListMetadataILi",
			  scalars[] = "TensorListScalarListMetadataI";
	const char *at = strstr(name, metadata), *list = strstr(name, scalars);

	if (at == NULL && list != NULL) {
		list += strlen(scalars);
		known->scalar = sg_type_read(&list, SG_NO_TYPE);
		if (sg_type_size(known->scalar) == 0 || strncmp(list, "Li", 2) != 0)
			return 0;
		at = list - strlen(metadata) + 2;
	}
	if (at == NULL)
		return 0;
	known->op = list != NULL ? SCALARS : strstr(name, fused) != NULL ? FUSED : PLAIN;
	known->pointers = (unsigned)strtoul(at + strlen(metadata), NULL, 10);
	if (known->pointers < 1 || known->pointers > 5)
		return 0;
	known->in = sg_type_after(at, "FunctorI");
	if (sg_type_size(known->in) == 0)
		known->in = SG_FLOAT;
	known->arg_bytes[0] = sizeof(char *) * known->pointers * room_of(known);
	return 1;
}

double sg_lists_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	unsigned room = room_of(known);
	const char *at = (const char *)args[0] + sizeof(char *) * known->pointers * room;
	const int64_t *counts = (const int64_t *)(const void *)at;
	const char *behind = (const char *)(counts + (known->op == FUSED ? 2 * room : room)) +
			     (known->op == SCALARS ? room * sg_type_size(known->scalar) : 0);
	const uint16_t *tensors = (const uint16_t *)(const void *)behind;
	const int32_t *chunks = (const int32_t *)(const void *)(tensors + MOST_BLOCKS);
	double elements = 0;

	if (grid.x > MOST_BLOCKS)
		return -1;
	for (unsigned i = 0; i < grid.x; i++) {
		int64_t left;

		if (tensors[i] >= room)
			return -1;
		left = counts[tensors[i]] - (int64_t)chunks[i] * CHUNK;
		if (left < 0)
			return -1;
		elements += (double)(left < CHUNK ? left : CHUNK);
	}
	/* A fused optimizer writes all but the gradients; else the first list is written too where there is
	 * none for results alone. */
	return elements * (double)sg_type_size(known->in) *
	       (known->op == FUSED ? 2 * known->pointers - 1 : known->pointers + (known->pointers < 3));
}
