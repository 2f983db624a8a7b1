#!/bin/sh
# What a push and a pop of an NVTX range cost, in nanoseconds of the processor: with nobody attached, recorded, and with ranges switched
# off; medians of several rounds.
#
#     tests/bench/nvtx_cost.sh BUILD [ROUNDS]
set -eu
build=${1:?usage: nvtx_cost.sh BUILD [ROUNDS]}
rounds=${2:-5}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PMHOOK_DEVICE=none PMHOOK_OUT="$scratch" LD_LIBRARY_PATH="$build/softgpu"
unset NVTX_INJECTION64_PATH
for round in $(seq "$rounds"); do
	"$build/bin/nvtx_host" cost | tail -n 1 >>"$scratch/none"
	LD_PRELOAD="$build/lib/libpmhook.so" "$build/bin/nvtx_host" cost | tail -n 1 >>"$scratch/recorded"
	PMHOOK_NVTX=off LD_PRELOAD="$build/lib/libpmhook.so" "$build/bin/nvtx_host" cost | tail -n 1 >>"$scratch/off"
	rm -f "$scratch"/*.pmtrace
done
for kind in none recorded off; do
	sort -n "$scratch/$kind" | awk -v kind=$kind '{ v[NR] = $1 } END { printf "%-10s %7.1f\n", kind, v[int((NR + 1) / 2)] }'
done
