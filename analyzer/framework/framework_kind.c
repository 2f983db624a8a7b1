/* Kinds of layers by operators: see framework_kind.h. */
#include "framework_kind.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

const char *framework_layer_kind(const char *name)
{
	/* In this order: "binary_cross_entropy_with_logits" is a loss, "batch_norm" no product. */
	static const struct {
		const char *word, *kind;
	} kinds[] = {{"loss", "loss"}, {"cross_entropy", "loss"}, {"embedding", "embedding"},
		{"attention", "attention"}, {"attn", "attention"}, {"lrn", "lrn"},
		{"local_response_norm", "lrn"}, {"batch_norm", "norm"}, {"layer_norm", "norm"},
		{"group_norm", "norm"}, {"instance_norm", "norm"}, {"rms_norm", "norm"},
		{"layernorm", "norm"}, {"rmsnorm", "norm"}, {"batchnorm", "norm"}, {"dropout", "dropout"},
		{"softmax", "softmax"}, {"max_pool", "pool"}, {"avg_pool", "pool"}, {"maxpool", "pool"},
		{"avgpool", "pool"}, {"lstm", "lstm"}, {"aten::gru", "gru"}, {"_rnn", "rnn"}, {"rnn_", "rnn"},
		{"convolution", "conv"}, {"::conv1d", "conv"}, {"::conv2d", "conv"}, {"::conv3d", "conv"},
		{"conv_transpose", "conv"}};
	static const char *const products[] = {
		"aten::linear", "aten::addmm", "aten::mm", "aten::_scaled_mm", "aten::_addmm_activation"};
	static const char *const others[] = {"aten::matmul", "aten::bmm", "aten::baddbmm", "aten::einsum"};

	for (size_t i = 0; i < COUNT(products); i++)
		if (strcmp(name, products[i]) == 0)
			return "fc";
	for (size_t i = 0; i < COUNT(others); i++)
		if (strcmp(name, others[i]) == 0)
			return "matmul";
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (strstr(name, kinds[i].word))
			return kinds[i].kind;
	return NULL;
}
