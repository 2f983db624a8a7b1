/* Inside foreign_*.c: what single names in a trace say: labels, operators, kernels (foreign_word.c). */
#ifndef IMPORT_IMPORTED_WORD_H
#define IMPORT_IMPORTED_WORD_H

#include "imported.h"

#define FOREIGN_WORD_BACKWARD 1u /* an operator of the backward pass */
#define FOREIGN_WORD_UPDATE 2u   /* an operator that nothing but an optimizer uses */
#define FOREIGN_WORD_INPLACE 4u  /* one that an optimizer uses among others */
#define FOREIGN_WORD_LOADER 8u   /* fetching input */
#define FOREIGN_WORD_STEP 16u    /* an iteration begins */
#define FOREIGN_WORD_SUM 32u     /* an operator that adds two tensors, perhaps two branches */
#define FOREIGN_WORD_COPY 64u    /* an operator that only copies or converts */
#define FOREIGN_WORD_PLAIN 128u  /* of an operator, not of the program's own stretch */
#define FOREIGN_WORD_ZERO 256u   /* an operator that fills with zeros: gradients, where it stands alone */
#define FOREIGN_WORD_ADDS_UP \
	512u /* adds a gradient that the operator before it has made to a parameter's \
	      */

/* What a name of a span says. */
struct foreign_word {
	uint8_t label; /* enum phase + 1 of what lies in it; 0: says nothing */
	uint16_t flags;
	const char *kind; /* of the layer that such an operator is: "conv", "fc", or NULL */
};

struct foreign_word foreign_word_of(const char *name);

/* The phase (enum phase + 1) that a label names; 0: none, or several. */
uint8_t foreign_word_label(const char *label);

/* The phase (enum phase + 1) of a kernel or copy by its name alone; 0: it does not tell. */
uint8_t foreign_word_kernel(const char *name);

/* The layer that an operator of this name is, as layer.h's names begin ("conv", "norm"), or NULL. */
const char *foreign_word_layer(const char *name);

/* Are the shapes of such an operator of use? Those of others would only fill the memory. */
bool foreign_word_shaped(const char *name);

/*
 * PyTorch writes its operators as ranges of NVTX too: "aten::conv2d, seq = 12, op_id = 345, sizes = [[...]]",
 * with the numbers that forward and backward share. A span that is such a range becomes an operator.
 */
void foreign_word_range(struct foreign *foreign, uint32_t span);

#endif
