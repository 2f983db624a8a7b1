#!/bin/sh
# What the model clock takes for the bytes of PyTorch's softmax and layer norm, forward and backward, and for the operations of flash
# attention is what they read, write and compute.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
SOFTGPU_TRUTH=truth SOFTGPU_PROFILE=a100 LD_PRELOAD="$BUILD/softgpu/libsoftgpu_preload.so" "$PYTHON" "$SOURCE/tests/pytorch/bytes.py"
"$PYTHON" "$SOURCE/tests/pytorch/bytes.py" truth
