#!/bin/sh
# What softgpu computes of PyTorch's small kernels is what PyTorch computes on the CPU, under both clocks.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
for profile in a100 ""; do
	SOFTGPU_PROFILE=$profile LD_PRELOAD="$BUILD/softgpu/libsoftgpu_preload.so" "$PYTHON" "$SOURCE/tests/pytorch/twins.py"
done
