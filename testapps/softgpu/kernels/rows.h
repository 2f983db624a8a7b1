/*
 * The table of terms.c, which alone includes it: PyTorch's kernels whose bytes follow from numbers among
 * their arguments. Each operand is counted once, but for what is added to in place, which is read and
 * written; statistics, weights and biases of a norm, a number per row or channel, are left out.
 */
#ifndef SG_ROWS_H
#define SG_ROWS_H

struct row {
	const char *rule;  /* what durations say they rest on */
	const char *holds; /* the mangled name has this in it, and the template's arguments after it */
	const char *terms; /* see terms.c */
};

static const struct row rows[] = {
	{"softmax", "softmax_warp_forwardI", "2Tce"},
	{"softmax", "softmax_warp_backwardI", "3Tdf"},
	{"softmax", "cunn_SoftMaxForwardRegI", "2TcX"},
	{"softmax", "cunn_SoftMaxForwardSmemI", "2TcX"},
	{"softmax", "cunn_SoftMaxForwardI", "2TcX"},
	{"softmax", "cunn_SoftMaxBackwardSmemI", "3TdX"},
	{"softmax", "cunn_SoftMaxBackwardI", "3TdX"},
	{"softmax", "cunn_SpatialSoftMaxForwardI", "2Tcde"},
	{"softmax", "cunn_SpatialSoftMaxBackwardI", "3Tdef"},

	{"layer norm", "vectorized_layer_norm_kernelI", "2TaX"},
	{"layer norm", "LayerNormForwardCUDAKernelI", "2TaX"},
	{"layer norm", "layer_norm_grad_input_kernel_vectorizedI", "3TgX"},
	{"layer norm", "layer_norm_grad_input_kernelI", "3TgX"},
	{"layer norm", "GammaBetaBackwardCUDAKernelTemplateI", "2Tab"},
	{"layer norm", "RowwiseMomentsCUDAKernelI", "TaX"},

	{"group norm", "RowwiseMomentsContiguousCUDAKernelI", "TaX"},
	{"group norm", "ComputeInternalGradientsContiguousCUDAKernelI", "2TaX"},
	{"group norm", "ComputeFusedParamsCUDAKernelI", "2Tab"},
	{"group norm", "ComputeBackwardFusedParamsCUDAKernelI", "2TaX"},
	{"group norm", "GammaBetaBackwardCUDAKernel1I", "2Tab"},

	{"batch norm", "batch_norm_collect_statistics_kernelI", "T(a)"},
	{"batch norm", "batch_norm_transform_input_kernelI", "T(a) T(b)"},
	{"batch norm", "batch_norm_backward_kernelI", "T(a) T(b) T(c)"},
	{"batch norm", "batch_norm_backward_reduce_kernelI", "T(a) T(b)"},
	{"batch norm", "batch_norm_backward_elemt_kernelI", "2T(a) T(b)"},
	{"batch norm", "batch_norm_reduce_statistics_kernelI", "T(a) T(b)"},
	{"batch norm", "batch_norm_collect_statistics_channels_last_kernelI", "Tfg"},
	{"batch norm", "batch_norm_transform_input_channels_last_kernelI", "2Thi"},
	{"batch norm", "batch_norm_backward_reduce_channels_last_kernelI", "2Tkl"},
	/* of SyncBatchNorm, which has the number of all ranks' elements too */
	{"batch norm", "batch_norm_backward_elemt_channels_last_kernelI", "3Tjk"},
	{"batch norm", "batch_norm_backward_elemt_channels_last_kernelI", "3Tij"},

	{"pooling", "max_pool_forward_nchwI", "Tade/f/g Ta 8Ba"},
	{"pooling", "max_pool_forward_nhwcI", "Tbcde Tbcfg 8Bbcfg"},
	{"pooling", "max_pool_backward_nchwI", "Tcdef Tcdgh 8Bcdgh"},
	{"pooling", "max_pool_backward_nhwcI", "Tcdef Tcdgh 8Bcdgh"},
	{"pooling", "max_pool3d_with_indices_single_out_frameI", "Tdhefg Tdhijk 8Bdhijk"},
	{"pooling", "max_pool3d_with_indices_backward_single_out_frameI", "3Tdhijk 8Bdhijk"},
	{"pooling", "avg_pool2d_out_cuda_frameI", "Ta Tade/f/g"},
	{"pooling", "avg_pool2d_out_cuda_frame_nhwcI", "Ta Tade/f/g"},
	{"pooling", "avg_pool2d_backward_out_cuda_frameI", "Ta Tafg/d/e"},
	{"pooling", "avg_pool2d_backward_out_cuda_frame_nhwcI", "Ta Tafg/d/e"},
	{"pooling", "avg_pool2d_backward_nonoverlap_frameI", "Ta Tafg/d/e"},
	{"pooling", "avg_pool3d_cuda_update_outputI", "T(a) T(b)"},
	{"pooling", "avg_pool3d_cuda_update_grad_inputI", "T(a) T(b)"},
	{"pooling", "adaptive_average_poolI", "TXcd TXef"},
	{"pooling", "adaptive_average_gradinputI", "TXcd TXef"},
	{"pooling", "adaptive_average_pool_nhwcI", "Ucdef Ucdgh"},
	{"pooling", "adaptive_average_gradinput_nhwcI", "Ucdef Ucdgh"},
	{"pooling", "adaptiveaveragepoolI", "TXcde/f TXgh"},
	{"pooling", "adaptiveaveragegradinputI", "TXde TXfgh/c"},
	{"pooling", "adaptivemaxpoolI", "TXde TXfg 8BXfg"},
	{"pooling", "adaptivemaxgradinputI", "TXde TXfg 8BXfg"},

	{"embedding", "vectorized_gather_kernelI", "2Bde Td"},
	{"embedding", "vectorized_scatter_kernelI", "3Tde Ud"},
	{"embedding", "embedding_backward_feature_kernelI", "3Tde 8Bd"},
	/* as if each segment of equal indices had one of them */
	{"embedding", "compute_grad_weightI", "2Tde 8Bd"},
	{"embedding", "compute_grad_weight_bagsI", "2Tef 16Be"},
	{"embedding", "sum_and_scatterI", "3TXc"},
	{"embedding", "krn_partials_per_segmentI", "16Bd"},
	{"embedding", "krn_partial_segment_offsetI", "768BX"},
	{"embedding", "compute_num_of_partial_segmentsI", "32B"},
	{"embedding", "EmbeddingBag_updateOutputKernel_sum_meanI", "Tfh Tgh Uf"},
	{"embedding", "EmbeddingBag_updateOutputKernel_maxI", "Tfh Tgh 8Bgh Uf"},
	{"embedding", "EmbeddingBag_accGradParametersKernel_maxI", "3Tde 8Bde"},

	{"index", "indexing_backward_kernelI", "3Tefh 16Be"},
	{"index", "indexing_backward_kernel_stride_1I", "3Tefh 16Be"},
	{"index", "index_elementwise_kernelI", "2Oa"},
	{"index", "_scatter_gather_elementwise_kernelI", "2Oa 8Ba"},
	{"index", "roll_cuda_kernelI", "2Tc"},
	{"index", "triu_tril_kernelI", "2T(a)"},
	{"index", "tril_indices_kernelI", "2Te 2Tf"},
	{"index", "triu_indices_kernelI", "2Te 2Tf"},
	/* the border is left out */
	{"index", "reflection_pad2d_out_kernelI", "2TcdYZ"},
	{"index", "reflection_pad2d_backward_out_kernelI", "2TcdYZ"},
	{"index", "im2col_kernelI", "Taef Tacd/m/n"},

	{"loss", "nll_loss_forward_reduce_cuda_kernel_2dI", "Tg Vg"},
	{"loss", "nll_loss_backward_reduce_cuda_kernel_2dI", "Tg Ug"},
	{"loss", "nll_loss_forward_no_reduce_cuda_kernelI", "2Ta Ua"},
	{"loss", "nll_loss_backward_no_reduce_cuda_kernelI", "2Ta Ua"},
	{"loss", "nll_loss2d_forward_kernelI", "TgX/h 8BgX/h"},
	{"loss", "nll_loss2d_backward_kernelI", "ThX/i 8BhX/i"},
	{"loss", "nll_loss2d_forward_size_average_kernelI", "2T"},

	{"random numbers", "_and_transformI", "Ta"},
	{"random numbers", "distribution_nullary_kernelI", "Ta"},
	{"dropout", "fused_dropout_kernel_vecI", "2Td Bd"},
	{"dropout", "fused_dropout_kernelI", "2Td Bd"},
	{"elements", "glu_backward_kernelI", "5Ta"},
	{"scan", "tensor_kernel_scan_innermost_dimI", "2Tcd"},
	{"scaler", "amp_update_scale_cuda_kernelE", "12B"},
	{"assertion", "_assert_async_cuda_kernelI", "B"},
	{"tensor lists", "lpnorm_cleanupI", "TXd"},

	{"upsampling", "upsample_nearest2d_out_frameI", "Tcde Tcfg"},
	{"upsampling", "upsample_nearest2d_backward_out_frameI", "Tbcde Tbcfg"},
	{"upsampling", "upsample_nearest2d_nhwc_out_frameI", "Tj Tjde/f/g"},
	{"upsampling", "upsample_nearest2d_backward_nhwc_out_frameI", "Tj Tjcd/e/f"},
	{"upsampling", "upsample_bilinear2d_out_frameI", "T(e) T(f)"},
	{"upsampling", "upsample_bilinear2d_backward_out_frameI", "Tabc Tade"},
	{"upsampling", "upsample_bilinear2d_nhwc_out_frameI", "Tk Tkef/g/h"},
	{"upsampling", "upsample_bilinear2d_backward_nhwc_out_frameI", "Tk Tl"},
	{"upsampling", "grid_sampler_2d_kernelI", "T(b) T(c) T(d)"},
	{"upsampling", "grid_sampler_2d_backward_kernelI", "T(b) T(c) T(d) T(e) T(f)"},

	{"depthwise", "conv_depthwise2d_forward_kernelI", "T(a) T(b) T(c)"},
	{"depthwise", "conv_depthwise2d_backward_kernelI", "T(a) T(b) T(c)"},
	{"depthwise", "conv_depthwise2d_grad_weight_kernelI", "T(a) T(b) T(c)"},

	{"recurrent cell", "lstm_cell_forwardI", "15Tj"},
	{"recurrent cell", "lstm_cell_backwardI", "13Ti"},
	{"recurrent cell", "gru_cell_forwardI", "13Ti"},
	{"recurrent cell", "gru_cell_backwardI", "13Tg"},

	/* of CUB: 8 bytes are a key, and a value */
	{"sort", "DeviceRadixSortSingleTileKernelI", "32Be"},
	{"sort", "DeviceRadixSortHistogramKernelI", "8Bc"},
	{"sort", "DeviceRadixSortOnesweepKernelI", "32Bi"},
	{"sort", "DeviceRadixSortExclusiveSumKernelI", "4096BX"},
	{"scan", "DeviceScanKernelI", "16Bg"},
	{"scan", "DeviceScanInitKernelI", "16Bb"},
	{"scan", "DeviceCompactInitKernelI", "16Bb"},
	{"select", "DeviceUniqueByKeySweepKernelI", "24Bh"},
	{"select", "DeviceSelectSweepKernelI", "16Bh"},
};

#endif
