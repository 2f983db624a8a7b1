/*
 * Recurrent networks: what is between the calls (rnn.c) and the computation (rnn_cell.c).
 *
 * The one idea: whatever the caller's layout, sequences are brought to time x batch x values with zeros
 * after the end of the shorter ones, and all that the gradients need of the forward pass is kept in that
 * form in one block of floats, the reserve space.
 */
#ifndef CUDNN_RNN_H
#define CUDNN_RNN_H

#include "cudnn_private.h"

#pragma GCC visibility push(hidden)

struct cudnnRNNStruct {
	bool set;
	cudnnRNNAlgo_t algorithm;
	cudnnRNNMode_t mode;
	cudnnRNNBiasMode_t bias;
	cudnnDirectionMode_t direction;
	cudnnRNNInputMode_t input;
	cudnnDataType_t type, compute;
	cudnnMathType_t math;
	int input_size, hidden_size, projection_size, layers;
	cudnnDropoutDescriptor_t dropout;
	uint32_t flags;
};

struct cudnnRNNDataStruct {
	bool set;
	cudnnDataType_t type;
	cudnnRNNDataLayout_t layout;
	int steps, batch, values;
	int *length; /* of each sequence; owned */
	float fill;  /* what y has after the end of a sequence */
	bool fills;
};

/* One pass, as work for a stream; the lengths of the sequences follow it. */
struct sg_rnn_job {
	struct cudnnRNNStruct rnn;
	cudnnRNNDataLayout_t x_layout, y_layout;
	int steps, batch;
	bool is_backward, is_weights;
	bool fills_x, fills_y; /* what is written as x (dx) or y gets a fill after the end of a sequence */
	float x_fill, y_fill;
	int device;
	const float *x, *hx, *cx, *weights, *dy, *dhy, *dcy;
	float *y, *hy, *cy, *dx, *dhx, *dcx, *dweights;
	float *kept;    /* reserve space, or as much of the workspace when inference */
	float *scratch; /* workspace */
	int length[];
};

/* Gates of a cell: how many matrices of each kind there are. */
int sg_rnn_gates(cudnnRNNMode_t mode);

/* Counts of floats. */
size_t sg_rnn_kept_count(const struct cudnnRNNStruct *rnn, int steps, int batch);
size_t sg_rnn_scratch_count(const struct cudnnRNNStruct *rnn, int steps, int batch);
size_t sg_rnn_weight_count(const struct cudnnRNNStruct *rnn);

/* Where in the weights a layer's parts begin, in floats; -1: there is none. */
struct sg_rnn_parts {
	int64_t w, r;           /* gates x hidden rows of input_size, of hidden_size */
	int64_t w_bias, r_bias; /* gates x hidden */
	int input_size;
};
struct sg_rnn_parts sg_rnn_parts_of(const struct cudnnRNNStruct *rnn, int layer);

/* Runs a struct sg_rnn_job on the calling thread (a worker). */
void sg_rnn_run(void *job);

#pragma GCC visibility pop

#endif
