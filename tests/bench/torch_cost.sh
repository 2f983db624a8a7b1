#!/bin/sh
# The hook's own share of a training step of PyTorch, without a GPU: tests/gpu/steps.sh on softgpu, whose device takes a thousandth of
# an A100's time, so that the host is what a step consists of, and host time is not modelled. What a stand-in's CUPTI costs is no measure
# of CUPTI's. PM_TORCH as in tests/pytorch/find_torch.sh; the options of steps.sh.
#
#     tests/bench/torch_cost.sh BUILD [PROGRAM]...       gpt_small mlp
set -eu
BUILD=$(cd "${1:?usage: torch_cost.sh BUILD [PROGRAM]...}" && pwd)
shift
SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
. "$SOURCE/tests/pytorch/find_torch.sh"
[ $# -gt 0 ] || set -- gpt_small mlp
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export BUILD SOURCE PYTHON OMP_NUM_THREADS=1 SOFTGPU_PROFILE=a100 SOFTGPU_TIME_SCALE=0.001
export GPU_LIBRARIES="$BUILD/softgpu" LD_LIBRARY_PATH="$BUILD/softgpu" LD_PRELOAD="$BUILD/softgpu/libsoftgpu_preload.so"
export GPU_MODES="${GPU_MODES:-nothing off none ring cupti profiler}"
sh "$SOURCE/tests/gpu/steps.sh" "$@"
