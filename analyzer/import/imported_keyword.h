/* Inside imported_*.c: what single names in a trace say: labels, operators, kernels (imported_keyword.c). */
#ifndef IMPORT_IMPORTED_KEYWORD_H
#define IMPORT_IMPORTED_KEYWORD_H

#include "imported.h"

#define IMPORTED_KEYWORD_BACKWARD 1u /* an operator of the backward pass */
#define IMPORTED_KEYWORD_UPDATE 2u   /* an operator that nothing but an optimizer uses */
#define IMPORTED_KEYWORD_INPLACE 4u  /* one that an optimizer uses among others */
#define IMPORTED_KEYWORD_LOADER 8u   /* fetching input */
#define IMPORTED_KEYWORD_STEP 16u    /* an iteration begins */
#define IMPORTED_KEYWORD_SUM 32u     /* an operator that adds two tensors, perhaps two branches */
#define IMPORTED_KEYWORD_COPY 64u    /* an operator that only copies or converts */
#define IMPORTED_KEYWORD_PLAIN 128u  /* of an operator, not of the program's own stretch */
#define IMPORTED_KEYWORD_ZERO 256u   /* an operator that fills with zeros: gradients, where it stands alone */
#define IMPORTED_KEYWORD_ADDS_UP 512u /* adds the gradient of the operator before it to a parameter's */

/* What a name of a span says. */
struct imported_keyword {
	uint8_t label; /* enum phase + 1 of what lies in it; 0: says nothing */
	uint16_t flags;
	const char *kind; /* of the layer that such an operator is: "conv", "fc", or NULL */
};

struct imported_keyword imported_keyword_of(const char *name);

/* The phase (enum phase + 1) that a label names; 0: none, or several. */
uint8_t imported_keyword_label(const char *label);

/* The phase (enum phase + 1) of a kernel or copy by its name alone; 0: it does not tell. */
uint8_t imported_keyword_kernel(const char *name);

/* Are the shapes of such an operator of use? Those of others would only fill the memory. */
bool imported_keyword_shaped(const char *name);
/* Is it one product of matrices, or a batch of them, with the factors as its last two inputs of two or three
 * dimensions? */
bool imported_keyword_product(const char *name);
/* A convolution by cuDNN, with input and filter as its first inputs; backward before them the result's
 * gradient. */
#define IMPORTED_CONVOLUTION "aten::cudnn_convolution"
#define IMPORTED_CONVOLUTION_BACKWARD "aten::convolution_backward"

/*
 * PyTorch writes its operators as ranges of NVTX too: "aten::conv2d, seq = 12, op_id = 345, sizes = [[...]]",
 * with the numbers that forward and backward share. A span that is such a range becomes an operator.
 */
void imported_keyword_range(struct imported *imported, uint32_t span);

#endif
