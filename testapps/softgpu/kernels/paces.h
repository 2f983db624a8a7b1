/*
 * The table of family.c, which alone includes it: what a kernel's name says of its pace (struct sg_pace), for
 * kernels that are slower or faster than element-wise ones. The first row that fits counts. From a step of
 * five nets on an H200, PyTorch 2.11.
 */
#ifndef SG_PACES_H
#define SG_PACES_H

#include "core/sg.h"

static const struct {
	const char *holds, *too; /* the mangled name has both in it; NULL: nothing more */
	struct sg_pace pace;
} paces[] = {
	/* element by element */
	{"elementwise_kernel_with_index", NULL, {0.6, 1, 1, 0, 0}},
	{"vectorized_elementwise_kernelI", "11FillFunctorI", {0.6, 1.05, 0.35, 0, 0}},
	{"GeluCUDAKernelImpl", "8BFloat16E", {1, 0.58, 1, 0, 0}},
	{"GeluCUDAKernelImpl", "4HalfE", {1, 0.58, 1, 0, 0}},
	{"GeluBackwardCUDAKernelImpl", "8BFloat16E", {1, 0.74, 1, 0, 0}},
	{"GeluBackwardCUDAKernelImpl", "4HalfE", {1, 0.74, 1, 0, 0}},
	{"unrolled_elementwise_kernel_for_multi_outputsI", NULL, {0.8, 1, 3, 0, 0}},
	{"unrolled_elementwise_kernelI", "direct_copy_kernel_cuda", {2, 0.44, 0.8, 0, 0}},
	{"unrolled_elementwise_kernelI", NULL, {0.8, 0.53, 1, 0, 0}},
	{"18elementwise_kernelILi128ELi2E", "direct_copy_kernel_cuda", {1.2, 0.37, 1, 0, 0}},
	{"18elementwise_kernelILi128ELi2E", NULL, {1.2, 0.58, 1, 0, 0}},
	{"18elementwise_kernelILi128ELi4E", "direct_copy_kernel_cuda", {1.2, 0.16, 1, 0, 0}},
	{"18elementwise_kernelILi128ELi4E", NULL, {1.2, 0.38, 1, 0, 0}},
	{"CatArrayBatchedCopy", NULL, {1, 0.84, 1, 0, 0}},
	/* depthwise convolution: filters of 3x3 as measured, others by their taps */
	{"conv_depthwise2d_forward_kernelILi3E", NULL, {1, 0.2, 1, 0, 0}},
	{"conv_depthwise2d_forward_kernelILi5E", NULL, {1, 0.072, 1, 0, 0}},
	{"conv_depthwise2d_forward_kernelILi0E", NULL, {1, 0.037, 1, 0, 0}},
	{"conv_depthwise2d_backward_kernelILi3E", NULL, {1, 0.113, 1, 0, 0}},
	{"conv_depthwise2d_backward_kernelILi5E", NULL, {1, 0.041, 1, 0, 0}},
	{"conv_depthwise2d_backward_kernelILi0E", NULL, {1, 0.021, 1, 0, 0}},
	{"conv_depthwise2d_grad_weight_kernelI", NULL, {8, 0.125, 1, 0, 0}},
	/* attention */
	{"fmha_cutlassF_f32", NULL, {3, 1, 1, 0, 0, 0.85}},
	{"fmha_cutlassB_f32", NULL, {6, 1, 1, 0, 0, 0.97}},
	/* reductions */
	{"reduce_kernelILi512ELi1E", NULL, {1, 0.58, 0.3, 1.7, 0, 0, 0.065}},
	{"reduce_kernelI", NULL, {2.5, 0.55, 1, 0, 0, 0, 0.065}},
	/* norms */
	{"GammaBetaBackwardCUDAKernelTemplateI", "Lj32ELj1ELj32E", {2, 0.85, 1, 0, 0}},
	{"GammaBetaBackwardCUDAKernelTemplateI", NULL, {0.5, 0.45, 0.85, 0.5, 0}},
	{"layer_norm_grad_input_kernel", NULL, {1.8, 0.76, 1, 1.3, 0}},
	{"vectorized_layer_norm_kernelI", NULL, {2, 1, 0.215, 2.1, 0}},
	{"RowwiseMomentsCUDAKernelI", NULL, {2.5, 0.5, 1, 0, 0}},
	{"batch_norm_collect_statistics_channels_last", NULL, {4, 0.14, 1, 0, 0}},
	{"batch_norm_transform_input_channels_last", NULL, {0.5, 0.56, 0.35, 0, 0}},
	{"batch_norm_backward_reduce_channels_last", NULL, {4, 0.43, 1, 0, 0}},
	{"batch_norm_backward_elemt_channels_last", NULL, {0.5, 0.64, 0.3, 0, 0}},
	/* softmax */
	{"cunn_SoftMaxBackwardSmemI", NULL, {1, 0.88, 1, 0, 0}},
	{"cunn_SoftMaxBackwardILi8E", NULL, {2, 0.76, 1, 0, 0}},
	{"cunn_SoftMaxBackwardI", NULL, {2, 0.66, 1, 0, 0}},
	{"cunn_SoftMaxForwardRegI", "8BFloat16E", {5, 0.28, 1, 0, 0}},
	{"cunn_SoftMaxForwardRegI", NULL, {5, 0.5, 1, 0, 0}},
	{"cunn_SoftMaxForwardSmemI", NULL, {3, 0.5, 1, 0, 0}},
	{"cunn_SoftMaxForwardILi8E", NULL, {2, 0.72, 1, 0, 0}},
	{"cunn_SoftMaxForwardI", NULL, {2, 0.52, 1, 0, 0}},
	{"softmax_warp_", "8BFloat16E", {2.5, 0.45, 1, 0, 0}},
	{"softmax_warp_", NULL, {2, 0.8, 1, 0, 0}},
	/* pooling */
	{"max_pool_backward_nchwI", NULL, {1, 0.16, 1, 0, 0}},
	{"max_pool_backward_nhwcI", NULL, {1, 0.12, 1, 0, 0}},
	{"max_pool_forward_nchwI", NULL, {1, 0.45, 1, 0, 0}},
	{"max_pool_forward_nhwcIf", NULL, {1, 0.36, 1, 0, 0}},
	{"max_pool_forward_nhwcI", NULL, {1, 0.25, 1, 0, 0}},
	{"adaptive_average", NULL, {1, 0.03, 1, 0, 0}},
	/* optimizers: a block has up to 65,536 elements of each list */
	{"FusedOptimizerTensorListMetadataI", NULL, {6, 0.8, 2, 0, 0}},
	{"TensorListScalarListMetadataIfLi3E", NULL, {1.5, 0.92, 1.2, 0.5, 0}},
	{"TensorListScalarListMetadataI", NULL, {6, 0.92, 0.75, 0, 0}},
	{"multi_tensor_apply_kernelI", "TensorListMetadataILi1E", {6, 0.96, 1.15, 0, 0}},
	{"multi_tensor_apply_kernelI", "UnaryOpFunctorI", {6, 0.96, 1.15, 0, 0}},
	{"multi_tensor_apply_kernelI", NULL, {6, 0.96, 1.6, 0, 0}},
	/* embeddings, and what sorts their indices */
	{"embedding_backward_feature_kernelI", NULL, {0.8, 0.2, 0.25, 0.5, 0}},
	{"compute_grad_weightI", NULL, {3.5, 0.5, 0.5, 1, 0}},
	{"sum_and_scatterI", NULL, {1.5, 0.28, 0.2, 0.5, 0}},
	{"vectorized_gather_kernelI", NULL, {1.5, 0.76, 1, 0, 0}},
	{"DeviceRadixSortOnesweepKernelI", NULL, {0.5, 0.2, 1.2, 0.5, 0}},
	{"DeviceRadixSortHistogramKernelI", NULL, {2.5, 1, 1, 0, 0}},
	{"DeviceUniqueByKeySweepKernelI", NULL, {0.6, 0.2, 0.7, 0.5, 0}},
	{"DeviceScanKernelI", NULL, {0.5, 0.2, 1.2, 0.5, 0}},
	/* losses: one block */
	{"nll_loss_forward_reduce_cuda_kernel_2dI", NULL, {0.5, 1, 0.2, 0, 0}},
	{"nll_loss_backward_reduce_cuda_kernel_2dI", NULL, {0.5, 1, 0.4, 0, 0}},
};

#endif
