#!/bin/sh
# What the model clock takes for the bytes of PyTorch's own kernels, forward and backward, and for the operations of attention is what they
# read, write and compute; and what it makes of those that move the same bytes in other ways (paces.py).
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
# on_softgpu TRUTH SCRIPT [ARGUMENT]
on_softgpu() {
	SOFTGPU_TRUTH=$1 SOFTGPU_PROFILE=a100 LD_PRELOAD="$BUILD/softgpu/libsoftgpu_preload.so" "$PYTHON" "$SOURCE/tests/pytorch/$2" ${3:+"$3"}
}
on_softgpu truth bytes.py
"$PYTHON" "$SOURCE/tests/pytorch/bytes.py" truth
on_softgpu truth.operands operands.py expected
"$PYTHON" "$SOURCE/tests/pytorch/operands.py" expected truth.operands
on_softgpu truth.paces paces.py
"$PYTHON" "$SOURCE/tests/pytorch/paces.py" truth.paces
