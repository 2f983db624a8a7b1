#!/bin/sh
# No function that PyTorch's libraries are bound to is missing from softgpu's, and none has another symbol version. PM_TORCH: a virtual
# environment that has torch, or its python (python3 otherwise); PM_TORCH_OLDER another one; PM_TORCHES: a folder of others.
set -eu
check() {
	set -- "$TORCH"/lib/libc10_cuda.so "$TORCH"/lib/libcaffe2_nvrtc.so "$TORCH"/lib/libtorch_*.so "$TORCH"/_C*.so
	for library in "$TORCH"/../torchvision/*.so; do
		[ -e "$library" ] && set -- "$@" "$library"
	done
	"$PYTHON" "$SOURCE/testapps/softgpu/absent/generate.py" "$BUILD/softgpu" "$@"
}
. "$SOURCE/tests/pytorch/find_torch.sh"
check
for PM_TORCH in ${PM_TORCH_OLDER:-} ${PM_TORCHES:+"$PM_TORCHES"/torch-*}; do
	echo "$PM_TORCH"
	. "$SOURCE/tests/pytorch/find_torch.sh"
	check
done
