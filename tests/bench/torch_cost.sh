#!/bin/sh
# What a training step of PyTorch costs on softgpu without anything, with the hook passing calls on, with the hook (events, CUPTI)
# and with torch.profiler: tests/gpu/overhead.sh, which measures the same on a GPU, on modelled A100s. PM_TORCH as in
# tests/pytorch/find_torch.sh; GPU_ROUNDS and GPU_STEPS as there. What a stand-in's CUPTI costs is no measure of CUPTI's.
#
#     tests/bench/torch_cost.sh BUILD [PROGRAM]...       resnet18 transformer
set -eu
BUILD=$(cd "${1:?usage: torch_cost.sh BUILD [PROGRAM]...}" && pwd)
shift
SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
. "$SOURCE/tests/pytorch/find_torch.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export BUILD SOURCE PYTHON OMP_NUM_THREADS=1 SOFTGPU_PROFILE=a100 GPU_STEPS="${GPU_STEPS:-30}"
export GPU_LIBRARIES="$BUILD/softgpu" LD_LIBRARY_PATH="$BUILD/softgpu" LD_PRELOAD="$BUILD/softgpu/libsoftgpu_preload.so"
export GPU_MODES="${GPU_MODES:-none off events cupti profiler}"
sh "$SOURCE/tests/gpu/overhead.sh" "$@"
