#!/bin/sh
# What softgpu computes of PyTorch's small kernels is what PyTorch computes on the CPU, under both clocks; and cuDNN's attention, on a GPU
# for which PyTorch chooses it.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
for profile in a100 ""; do
	SOFTGPU_PROFILE=$profile LD_PRELOAD="$BUILD/softgpu/libsoftgpu_preload.so" "$PYTHON" "$SOURCE/tests/pytorch/twins.py"
done
SOFTGPU_PROFILE=h200 SOFTGPU_NUMERICS=on LD_PRELOAD="$BUILD/softgpu/libsoftgpu_preload.so" \
	"$PYTHON" "$SOURCE/tests/pytorch/twins.py" attention attention_dropout
