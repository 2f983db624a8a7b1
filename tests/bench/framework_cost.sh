#!/bin/sh
# What it costs to be told of PyTorch's operators: ns per operator without the hook, with callbacks that return at once (what PyTorch
# takes to call back), with the hook but PMHOOK_FRAMEWORK=off, between samples, and in one; of each the median over the rounds, in which
# all take turns. "alone" and "in a module" are recorded in a sample, "nested" is called by another operator and is not. The operators are
# small ones of the CPU's. PM_TORCH as in tests/pytorch/find_torch.sh.
#
#     tests/bench/framework_cost.sh BUILD [ROUNDS]
set -eu
BUILD=$(cd "${1:?usage: framework_cost.sh BUILD [ROUNDS]}" && pwd)
rounds=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../pytorch/find_torch.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH="$BUILD/softgpu" SOFTGPU_PROFILE=a100 SOFTGPU_TIME_SCALE=0.001 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
export PMHOOK_DEVICE=none PMHOOK_FILES=off PMHOOK_OUT="$scratch"
soft=$BUILD/softgpu/libsoftgpu_preload.so
hooked=$BUILD/lib/libpmhook.so:$soft

run() {
	"$PYTHON" "$here/framework_cost.py" "$@" >>"$scratch/rows"
	rm -f "$scratch"/*.pmtrace
}
for _ in $(seq "$rounds"); do
	LD_PRELOAD=$soft run none
	LD_PRELOAD=$soft run null "$BUILD/lib/libframework_null.so"
	PMHOOK_FRAMEWORK=off PMHOOK_FLOW=all LD_PRELOAD=$hooked run off
	PMHOOK_WINDOW=profiler LD_PRELOAD=$hooked run between
	PMHOOK_FLOW=all LD_PRELOAD=$hooked run sample
done

# median MODE COLUMN
median() {
	awk -v m="$1" -v c="$2" '$1 == m { print $c }' "$scratch/rows" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
"$PYTHON" -c 'import torch; print("PyTorch", torch.__version__)'
printf '%-14s %9s %9s %9s %9s %9s %9s\n' "ns/operator" "no hook" null off between sample ours
column=1
for what in alone "in a module" nested; do
	column=$((column + 1))
	echo "$(for mode in none null off between sample; do median $mode $column; done)" | paste -s -d ' ' - |
		awk -v what="$what" '{ printf "%-14s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n", what, $1, $2, $3, $4, $5, $5 - $2 }'
done
