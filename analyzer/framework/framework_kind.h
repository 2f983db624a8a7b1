/* What layers PyTorch's operators are, by their names: of its profiler's traces and of the hook's alike. */
#ifndef FRAMEWORK_FRAMEWORK_KIND_H
#define FRAMEWORK_FRAMEWORK_KIND_H

/* As names of layers begin: "conv", "fc", "norm"; NULL: an operator of this name is no layer of its own. */
const char *framework_layer_kind(const char *name);

#endif
