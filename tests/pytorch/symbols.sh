#!/bin/sh
# No function that PyTorch's libraries are bound to is missing from softgpu's, and none has another symbol version. PM_TORCH: a virtual
# environment that has torch, or its python (python3 otherwise).
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
set -- "$TORCH"/lib/libc10_cuda.so "$TORCH"/lib/libcaffe2_nvrtc.so "$TORCH"/lib/libtorch_*.so "$TORCH"/_C*.so
for library in "$TORCH"/../torchvision/*.so; do
	[ -e "$library" ] && set -- "$@" "$library"
done
"$PYTHON" "$SOURCE/testapps/softgpu/absent/generate.py" "$BUILD/softgpu" "$@"
