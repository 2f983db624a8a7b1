#!/bin/sh
# How far softgpu's device times are from a GPU's: tests/gpu/nets.py's nets on the model clock beside the same nets measured on the GPU.
# MEASURED is what nets.py wrote there (its traces in the folder kineto beside it), or a folder with nets.jsonl; without it $PM_GPU_DATA. GPU
# names the profile (h200). Device time is the time of kernels, copies and sets, which a slow host does not change. PM_TORCH as in
# tests/pytorch/find_torch.sh: the version that measured, as others launch other kernels. What torch.profiler makes of the run stays in
# $KEEP, if that is set. NETS: other nets than those of the file; OPTIONS: of softgpu_times.py.
#
#     tests/bench/softgpu_times.sh BUILD [MEASURED [GPU]]
set -eu
build=$(cd "${1:?usage: softgpu_times.sh BUILD [MEASURED [GPU]]}" && pwd)
measured=${2:-${PM_GPU_DATA:-}}
SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "$measured" ] || { echo "skipped: no measured times: name a file of tests/gpu/nets.py, or set PM_GPU_DATA" && exit 77; }
[ ! -d "$measured" ] || measured=$measured/nets.jsonl
[ -e "$measured" ] || { echo "skipped: $measured is not there" && exit 77; }
. "$SOURCE/tests/pytorch/find_torch.sh"
out=${KEEP:-}
[ -n "$out" ] || { out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT; }
mkdir -p "$out"
nets=${NETS:-$("$PYTHON" -c 'import json, sys
print(*(json.loads(line)["name"] for line in open(sys.argv[1])))' "$measured")}
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
# shellcheck disable=SC2086
SOFTGPU_PROFILE=${3:-h200} SOFTGPU_ABSENT=off LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$build/softgpu/libsoftgpu_preload.so" \
	"$PYTHON" "$SOURCE/tests/gpu/nets.py" $nets --out "$out/nets.jsonl" --traces "$out/kineto" --warm-up 2 --rounds 0 --profiled 1 \
	>"$out/log" 2>&1 || cat "$out/log"
echo "Modelled with PyTorch $("$PYTHON" -c 'import importlib.metadata; print(importlib.metadata.version("torch"))') on ${3:-h200}"
# shellcheck disable=SC2086
"$PYTHON" "$SOURCE/tests/bench/softgpu_times.py" "$measured" "$out/nets.jsonl" --traces "$(dirname "$measured")/kineto" "$out/kineto" ${OPTIONS:-}
