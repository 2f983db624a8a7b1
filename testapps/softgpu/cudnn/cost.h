/*
 * What cuDNN's work costs, for the model clock: see struct sg_cost in core/sg.h.
 *
 * The one idea: a cost is worked out on the caller's thread from shapes alone, before anything is submitted,
 * and all formulas are here. Bytes are those of each operand once, an output that is also read (beta not 0)
 * twice; flops are what the mathematics asks for, whatever the algorithm. All functions may be called from
 * any thread and cannot fail.
 */
#ifndef CUDNN_COST_H
#define CUDNN_COST_H

#include "convolution_plan.h"
#include "cudnn_private.h"

#pragma GCC visibility push(hidden)

struct sg_norm_job;
struct sg_program;
struct sg_rnn_job;

/* Additions and multiplications per element of what a call walks over. */
#define SG_FLOPS_MOVE 0          /* copies, sets */
#define SG_FLOPS_ONE 1           /* element by element, and reductions */
#define SG_FLOPS_MOMENTS 3       /* a sum and a sum of products */
#define SG_FLOPS_NORM_APPLY 2    /* times a factor, plus a shift */
#define SG_FLOPS_NORM_FORWARD 5  /* both */
#define SG_FLOPS_NORM_BACKWARD 7 /* sums of dy and dy * x; dx = f * dy + g * x + h */
#define SG_FLOPS_SOFTMAX 5       /* largest, difference, exponential, sum, quotient */
#define SG_FLOPS_SOFTMAX_BACKWARD 4
/* Over a window of n channels: square, sum, factor and k, power, product; backward as much again. */
#define SG_FLOPS_LRN(n) ((double)(n) + 4)
#define SG_FLOPS_LRN_BACKWARD(n) (2 * SG_FLOPS_LRN(n))

/*
 * What matrix-like work on tensors of a type is done in. As the vendor's default is, floats go to the matrix
 * unit in TF32 unless the math type forbids it.
 */
enum sg_cost_type sg_cost_matrix_type(cudnnDataType_t tensor, cudnnDataType_t compute, cudnnMathType_t math);

/* Bytes of a tensor's elements; what a stride of 0 repeats counts once. */
double sg_cost_bytes(const struct sg_shape *shape);

/* Work bound by memory on `count` operands, NULL ones not being there. */
struct sg_cost sg_cost_vector(
	cudnnDataType_t type, double flops, int count, const struct sg_shape *const *operands);

/* The same with as many flops for each element of the last operand, which is written, and read when `adds`.
 */
struct sg_cost sg_cost_elements(
	double per_element, bool adds, int count, const struct sg_shape *const *operands);

/* A convolution of any kind, its operands being those of the key, but of type `stored` in memory; `adds`: the
 * output is read too. */
struct sg_cost sg_cost_convolution(
	const struct sg_convolution_key *key, enum sg_cost_type type, cudnnDataType_t stored, bool adds);

/* Flops of pooling to y, or of its gradient from dy. */
double sg_cost_pooling_flops(const struct cudnnPoolingStruct *pooling, const struct sg_shape *y);

/* A product with a batch and the sizes of a and c, and attention over q, k, v (batch, heads, length, width):
 * without the bytes, which are the graph's. The types are those that the tensors have in memory. */
struct sg_cost sg_cost_matmul(const struct sg_shape *a, const struct sg_shape *c, cudnnDataType_t compute);
struct sg_cost sg_cost_attention(
	const struct sg_shape *q, const struct sg_shape *k, const struct sg_shape *v, bool is_backward);

struct sg_cost sg_cost_norm(const struct sg_norm_job *job);
struct sg_cost sg_cost_rnn(const struct sg_rnn_job *job);

/*
 * A fused graph: the flops of its matrix-like steps, or of all where there is none such, and the bytes of
 * those tensors that are in memory: what one step leaves to another is not, unless the caller asked for it.
 */
struct sg_cost sg_cost_program(const struct sg_program *program);

#pragma GCC visibility pop

#endif
