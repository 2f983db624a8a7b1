#!/bin/sh
# What it costs to look at which memory launches work on: launches without the hook, with the hook off the samples, and in one
# (PMHOOK_FLOW=off and all), interleaved in several rounds. Prints ns per launch as medians over the rounds, and bytes of the
# trace per launch. Device time is off: it is the CUDA library's cost.
#
#     tests/bench/flow_cost.sh BUILD [ROUNDS]
set -eu
build=${1:?usage: flow_cost.sh BUILD [ROUNDS]}
rounds=${2:-5}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PMHOOK_DEVICE=none PMHOOK_OUT="$scratch"
for round in $(seq "$rounds"); do
	"$build/bin/bench_touches" >>"$scratch/none"
	for flow in off all; do
		PMHOOK_FLOW=$flow LD_PRELOAD=$build/lib/libpmhook.so "$build/bin/bench_touches" >>"$scratch/$flow"
		stat -c %s "$scratch"/*.pmtrace >"$scratch/bytes.$flow"
		rm "$scratch"/*.pmtrace
	done
done

# median FILE COLUMN
median() {
	sort -n -k"$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'
}
printf '%-28s %9s %9s %9s %9s\n' "ns per launch" "no hook" "off" "sample" "added"
column=0
for kernel in "4 words, 4 addresses" "64 words, 13 addresses" "512 words, 512 addresses"; do
	column=$((column + 1))
	echo "$(median "$scratch/none" $column) $(median "$scratch/off" $column) $(median "$scratch/all" $column)" |
		awk -v kernel="$kernel" '{ printf "%-28s %9.1f %9.1f %9.1f %9.1f\n", kernel, $1, $2, $3, $3 - $2 }'
done
awk 'NR == 1 { off = $1 } NR == 2 { printf "bytes added per launch, mean of the three kernels: %.1f\n", ($1 - off) / (3 * 15 * 1000) }' \
	"$scratch/bytes.off" "$scratch/bytes.all"
