/*
 * multi_tensor_apply: the optimizers' kernels over lists of tensors. The first argument is the metadata:
 * addresses of each list's tensors, their numbers of elements, and for each block its tensor and its chunk.
 */
#include "rule.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 65536

/*
 * Room for tensors, by the number of lists, and for blocks: in arguments of 32 KiB, and of 4 KiB as PyTorch
 * had them before, where a block's tensor is one byte and nothing stands after the chunks.
 */
#define LISTS_MOST 5
static const struct layout {
	unsigned tensors[LISTS_MOST], tensors_scalars; /* tensors_scalars: of one list, with scalars */
	unsigned blocks, tensor_bytes, behind_bytes;
} layouts[] = {{{770, 448, 336, 252, 210}, 672, 2240, 2, 4}, {{110, 64, 48, 36, 30}, 96, 320, 1, 4}};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* Before the blocks the metadata of a fused optimizer have the addresses of the steps too, those of a list of
 * scalars these. */
enum { PLAIN, FUSED, SCALARS };

static unsigned room_of(const struct sg_known *known, const struct layout *layout)
{
	return known->op == SCALARS && known->pointers == 1 ? layout->tensors_scalars
							    : layout->tensors[known->pointers - 1];
}

/* Which one is kept in `each`, of which the rule has no use; after it the number of lists that are read, 0:
 * not known. */
static const struct layout *layout_of(const struct sg_known *known)
{
	return &layouts[known->each[0]];
}

/* Where a block's tensor stands in the metadata. */
static size_t blocks_at(const struct sg_known *known, const struct layout *layout)
{
	size_t room = room_of(known, layout);

	return sizeof(char *) * known->pointers * room +
	       sizeof(int64_t) * (known->op == FUSED ? 2 * room : room) +
	       (known->op == SCALARS ? room * sg_type_size(known->scalar) : 0);
}

/* Of a functor that ends with <lists, of them read, the one that is written> the numbers in *at; 0: it does
 * not. */
static int read_lists(const char *at, unsigned *numbers)
{
	const char *from = strstr(at, "FunctorI");

	for (from = from != NULL ? from : ""; *from != '\0' && *from != 'E'; from++)
		for (int i = 0; strncmp(from, "Li", 2) == 0; i++) {
			char *end;

			numbers[i] = (unsigned)strtoul(from + 2, &end, 10);
			if (*end != 'E')
				return 0;
			from = end + 1;
			if (i == 2)
				return 1;
		}
	return 0;
}

int sg_lists_find(struct sg_known *known, const char *name)
{
	static const char metadata[] = "TensorListMetadataILi",
			  fused[] = "FusedOptimizerTensorListMetadataILi",
			  scalars[] = "TensorListScalarListMetadataI";
	const char *at = strstr(name, metadata), *list = strstr(name, scalars);
	unsigned numbers[3];

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
	if (known->pointers < 1 || known->pointers > LISTS_MOST)
		return 0;
	known->in = sg_type_after(at, "FunctorI");
	if (sg_type_size(known->in) == 0)
		known->in = SG_FLOAT;
	known->each[0] = 0;
	known->each[1] = 0;
	if (read_lists(at, numbers) && numbers[0] == known->pointers && numbers[1] <= known->pointers)
		known->each[1] = (unsigned char)numbers[1];
	known->arg_bytes[0] = sizeof(char *) * known->pointers * room_of(known, &layouts[0]);
	return 1;
}

/* By the size of the metadata, as far as that is known. */
int sg_lists_fit(struct sg_known *known, const char *name, const size_t *sizes)
{
	(void)name;
	for (size_t i = 0; sizes[0] != 0 && i < LAYOUTS; i++) {
		const struct layout *layout = &layouts[i];
		size_t least =
			blocks_at(known, layout) + layout->blocks * (layout->tensor_bytes + sizeof(int32_t));

		if (sizes[0] < least || sizes[0] > least + layout->behind_bytes + sizeof(int64_t))
			continue;
		known->each[0] = (unsigned char)i;
		known->arg_bytes[0] = sizeof(char *) * known->pointers * room_of(known, layout);
		return 1;
	}
	return sizes[0] == 0;
}

/* The lists of which a block's tensor is read or written, one that stands there twice (a square's) once. */
static unsigned lists_touched(const struct sg_known *known, void *const *args)
{
	const char *const *addresses = args[0];
	unsigned room = room_of(known, layout_of(known)), count = known->each[1] + 1U;

	/* A fused optimizer writes all but the gradients; else the first list is written too where there is
	 * none for results alone. */
	if (known->op == FUSED)
		return 2 * known->pointers - 1;
	if (known->each[1] == 0)
		return known->pointers + (known->pointers < 3);
	for (unsigned i = 1; i < known->each[1]; i++)
		count -= addresses[(size_t)i * room] == addresses[(size_t)(i - 1) * room];
	return count;
}

/* Elements of all blocks, and of the one that has most; negative: not known. */
static double count_elements(const struct sg_known *known, dim3 grid, void *const *args, double *most)
{
	const struct layout *layout = layout_of(known);
	unsigned room = room_of(known, layout);
	const char *at = (const char *)args[0] + sizeof(char *) * known->pointers * room;
	const int64_t *counts = (const int64_t *)(const void *)at;
	const char *tensors = (const char *)args[0] + blocks_at(known, layout);
	const char *chunks = tensors + (size_t)layout->blocks * layout->tensor_bytes;
	double elements = 0;

	*most = 0;
	if (grid.x > layout->blocks)
		return -1;
	for (unsigned i = 0; i < grid.x; i++) {
		uint16_t tensor = 0;
		int32_t chunk;
		int64_t left;

		memcpy(&tensor, tensors + (size_t)i * layout->tensor_bytes, layout->tensor_bytes);
		memcpy(&chunk, chunks + i * sizeof(chunk), sizeof(chunk));
		if (tensor >= room)
			return -1;
		left = counts[tensor] - (int64_t)chunk * CHUNK;
		if (left < 0)
			return -1;
		left = left < CHUNK ? left : CHUNK;
		elements += (double)left;
		*most = *most > (double)left ? *most : (double)left;
	}
	return elements;
}

double sg_lists_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	double most, elements = count_elements(known, grid, args, &most);

	return elements < 0 ? -1 : elements * (double)sg_type_size(known->in) * lists_touched(known, args);
}

double sg_lists_blocks(const struct sg_known *known, dim3 grid, void *const *args)
{
	double most, elements = count_elements(known, grid, args, &most);

	return most > 0 ? elements / most : 0;
}
