/*
 * cuDNN's descriptors: what their set functions said. By the thread that sets one up; nothing fails.
 */
#ifndef DESCRIPTOR_H
#define DESCRIPTOR_H

#include <stdint.h>

#include "pm_abi.h"

/* The number of its present content in the trace, 0: not known. Any thread. */
uint32_t pmh_descriptor(const void *descriptor);

/* A descriptor was set. */
void pmh_set_tensor_4d(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format, cudnnDataType_t type, int n,
	int c, int h, int w);
void pmh_set_tensor_4d_strided(
	cudnnTensorDescriptor_t d, cudnnDataType_t type, const int *dims, const int *strides);
void pmh_set_tensor_nd(
	cudnnTensorDescriptor_t d, cudnnDataType_t type, int n, const int *dims, const int *strides);
void pmh_set_tensor_packed(
	cudnnTensorDescriptor_t d, cudnnTensorFormat_t format, cudnnDataType_t type, int n, const int *dims);
void pmh_set_filter(
	cudnnFilterDescriptor_t d, cudnnDataType_t type, cudnnTensorFormat_t format, int n, const int *dims);
void pmh_set_convolution(cudnnConvolutionDescriptor_t d, int n, const int *pads, const int *strides,
	const int *dilations, cudnnConvolutionMode_t mode, cudnnDataType_t type);
void pmh_set_convolution_groups(cudnnConvolutionDescriptor_t d, int groups);
void pmh_set_convolution_math(cudnnConvolutionDescriptor_t d, cudnnMathType_t math);
void pmh_set_pooling(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode, int n, const int *windows,
	const int *pads, const int *strides);
void pmh_set_activation(cudnnActivationDescriptor_t d, cudnnActivationMode_t mode, double coefficient);
void pmh_set_dropout(cudnnDropoutDescriptor_t d, float probability, unsigned long long seed);
void pmh_set_op_tensor(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t op, cudnnDataType_t type);
void pmh_set_reduce(cudnnReduceTensorDescriptor_t d, cudnnReduceTensorOp_t op, cudnnDataType_t type,
	cudnnReduceTensorIndices_t indices);
void pmh_set_lrn(cudnnLRNDescriptor_t d, unsigned n, double alpha, double beta, double k);
void pmh_set_rnn(cudnnRNNDescriptor_t d, cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias,
	cudnnDirectionMode_t direction, cudnnRNNInputMode_t input, cudnnDataType_t type, cudnnMathType_t math,
	int input_size, int hidden_size, int projection_size, int layers);
void pmh_set_rnn_data(cudnnRNNDataDescriptor_t d, cudnnDataType_t type, int length, int batch, int vector);
void pmh_set_attention(cudnnAttnDescriptor_t d, const int sizes[12]);
void pmh_set_sequence(cudnnSeqDataDescriptor_t d, cudnnDataType_t type, int n, const int *dims);

#endif
