#!/bin/sh
# What a hooked call costs: the same calls without a hook, with the least hook there can be (two clock readings and a store of
# 16 bytes), with libpmhook.so, and with a trace of constant size (PMHOOK_MODE=ring), interleaved in several rounds. Prints ns per
# call as medians over the rounds, what the hook adds, and the bytes a record takes on disk. Device time is off: it is the CUDA library's cost.
#
#     [HOOK_BEFORE=OTHER/libpmhook.so] tests/bench/hook_cost.sh BUILD [ROUNDS]
#
# HOOK_BEFORE is another libpmhook.so, which takes its turns too: lines of the ratio of this hook's time to that one's, the median over
# the rounds, each within its round.
set -eu
build=${1:?usage: hook_cost.sh BUILD [ROUNDS]}
rounds=${2:-5}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PMHOOK_DEVICE=none PMHOOK_OUT="$scratch" PMHOOK_MAX_MB=8192

run() { # name, preloaded library
	LD_PRELOAD=$2 "$build/bin/bench_calls" >>"$scratch/$1"
}
for round in $(seq "$rounds"); do
	run none ""
	run floor "$build/lib/libfloor_hook.so"
	PMHOOK_MODE=off run off "$build/lib/libpmhook.so"
	run pmhook "$build/lib/libpmhook.so"
	stat -c %s "$scratch"/*.pmtrace >"$scratch/bytes"
	rm "$scratch"/*.pmtrace
	if [ -n "${HOOK_BEFORE-}" ]; then
		run before "$HOOK_BEFORE"
		rm "$scratch"/*.pmtrace
	fi
	PMHOOK_MODE=ring run ring "$build/lib/libpmhook.so"
	stat -c %s "$scratch"/*.pmtrace >"$scratch/ring_bytes"
	rm "$scratch"/*.pmtrace
done

# median FILE COLUMN
median() {
	sort -n -k"$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'
}
printf '%-26s %9s %9s %9s %9s %9s %9s\n' "ns per call" "no hook" "least" "off" "pmhook" "added" "ring"
column=0
for call in cudaStreamWaitEvent cudaMemcpyAsync cublasSgemm cudnnConvolutionForward; do
	column=$((column + 1))
	for kind in none floor off pmhook ring; do
		echo "$(median "$scratch/$kind" $column)"
	done | tr '\n' ' ' | awk -v call="$call" '{ printf "%-26s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n", call, $1, $2, $3, $4, $4 - $1, $5 }'
done
column=0
for call in cudaStreamWaitEvent cudaMemcpyAsync cublasSgemm cudnnConvolutionForward; do
	column=$((column + 1))
	[ -z "${HOOK_BEFORE-}" ] ||
		paste "$scratch/pmhook" "$scratch/before" | awk -v c=$column '{ print $c / $(c + 4), $c - $(c + 4) }' | sort -n |
		awk -v call=$call '{ r[NR] = $1; d[NR] = $2 } END { m = int((NR + 1) / 2)
			printf "%-26s %9.3f times before (%.3f to %.3f), %+.1f ns\n", call, r[m], r[1], r[NR], d[m] }'
done
awk '{ printf "bytes per recorded call on disk: %.2f\n", $1 / (4 * 62 * 20000 + 64) }' "$scratch/bytes"
awk '{ print "bytes of a trace of constant size, of as many calls:", $1 }' "$scratch/ring_bytes"
