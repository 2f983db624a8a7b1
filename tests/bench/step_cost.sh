#!/bin/sh
# What the hook costs a training step: LeNet-5 on softgpu, batch 256, without the hook and with it, with each source of device
# times, interleaved in several rounds. Prints the median over all iterations of the trainer's own clock and, beside it, what the
# hook says that it took (PMHOOK_VERBOSE): per call, once to describe the operations, and both as part of a run of 30 steps. The
# machine's noise is larger than what is measured.
#
#     tests/bench/step_cost.sh BUILD [ROUNDS]
set -eu
build=$(cd "${1:?usage: step_cost.sh BUILD [ROUNDS]}" && pwd)
rounds=${2:-5}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export LD_LIBRARY_PATH="$build/softgpu" PMHOOK_OUT="$scratch" PMHOOK_VERBOSE=on
"$build/bin/mkdata" --dataset mnist --out data --train 8000 --test 50

run() { # name, preloaded library, device source
	PMHOOK_DEVICE=$3 LD_PRELOAD=$2 "$build/bin/train_cnn" --data data --batch 256 --epochs 1 --iterations 30 --print 0 \
		--clock "$1.%r.csv" >/dev/null 2>"$1.err"
	# the first iterations warm up
	awk -F, '$4 == "iteration" && $1 > 3 { print $NF / 1000 }' "$1".*.csv >>"$1.ms"
	sed -n 's/.* calls, \([0-9]*\) ns each in the hook and \([0-9.]*\) ms .*(\([0-9.]*\)%.*/\1 \2 \3/p' "$1.err" >>"$1.own"
	rm -f ./*.pmtrace
}
for round in $(seq "$rounds"); do
	run none "" none
	for source in none events cupti; do
		run "hook_$source" "$build/lib/libpmhook.so" $source
	done
done
median() {
	sort -n -k"$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'
}
base=$(median none.ms 1)
printf '%-28s %12s %9s %12s %11s %11s\n' "" "ms per step" "" "ns per call" "ms at first" "of the run"
printf '%-28s %12.3f\n' "without the hook" "$base"
for source in none events cupti; do
	median hook_$source.ms 1 | awk -v base="$base" -v name="device times: $source" -v ns="$(median hook_$source.own 1)" \
		-v first="$(median hook_$source.own 2)" -v percent="$(median hook_$source.own 3)" \
		'{ printf "%-28s %12.3f %+8.1f%% %12d %11.1f %10.2f%%\n", name, $1, 100 * ($1 / base - 1), ns, first, percent }'
done
