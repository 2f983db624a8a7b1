#!/bin/sh
# What the hook costs a training step on softgpu's processors: with a trace that keeps all and with one of constant size, without
# device times, by events and by CUPTI, interleaved in several rounds. Two programs: LeNet-5, batch 256; and a small perceptron,
# batch 8, whose kernels take some microseconds. A line each: the median over all iterations of the trainer's own clock, and what the
# hook says that it took (PMHOOK_VERBOSE): ns per call, once to describe the operations, and bytes of the trace per iteration. A step
# that differs from one without the hook by less than such steps do from round to round has a dash for its difference. The machine's
# noise is larger than what is measured, so the shares are those of what the hook says:
#   step    ns per call times calls per step, of the step without the hook
#   5 us    of 5 us for each kernel, copy or set: the worst case, a program that does nothing but launch kernels of 5 us; of the
#           perceptron alone, as LeNet's calls find cold caches after kernels of hundreds of microseconds
#   large   of a step of $LARGE_MS ms with $LARGE_CALLS calls: ResNet-50 in PyTorch makes some 1,200
# Bytes per step of a trace of constant size are those of its whole file, and fall with each step.
#
#     [LARGE_MS=100 LARGE_CALLS=1200] tests/bench/step_cost.sh BUILD [ROUNDS]
set -eu
build=$(cd "${1:?usage: step_cost.sh BUILD [ROUNDS]}" && pwd)
rounds=${2:-5}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export LD_LIBRARY_PATH="$build/softgpu" PMHOOK_OUT="$scratch" PMHOOK_VERBOSE=on PMHOOK_RING_MB=4
"$build/bin/mkdata" --dataset mnist --out data --train 8000 --test 50

median() {
	sort -n -k"$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'
}
run() { # program, mode, device source, preloaded library
	file=$1.$2.$3
	case $1 in
	lenet) command="train_cnn --data data --batch 256" steps=30 ;;
	small) command="train_mlp --synthetic --batch 8" steps=7000 ;;
	esac
	# shellcheck disable=SC2086
	PMHOOK_MODE=$2 PMHOOK_DEVICE=$3 LD_PRELOAD=$4 "$build/bin/"$command --iterations $steps --epochs 1 --print 0 --clock "$file.%r.csv" \
		>/dev/null 2>"$file.err"
	# the first iterations warm up
	awk -F, '$4 == "iteration" && $1 > 3 { print $NF / 1000 }' "$file".*.csv >round.ms
	cat round.ms >>"$file.ms"
	median round.ms 1 >>"$file.rounds"
	[ -n "$4" ] || return 0
	bytes=$(stat -c %s ./*.pmtrace)
	# calls per step, device intervals per step, ns per call, ms at first, bytes per step
	sed -n 's/.*: \([0-9]*\) calls, hook time \([0-9]*\) ns per call and \([0-9.]*\) ms .*), \([0-9]*\) records.*/\1 \2 \3 \4/p' "$file.err" |
		awk -v steps="$steps" -v bytes="$bytes" '{ print $1 / steps, ($4 - $1) / steps, $2, $3, bytes / steps }' >>"$file.own"
	[ -s "$file.own" ] || { echo "the hook did not say what it cost:"; cat "$file.err"; exit 1; } >&2
	rm -f ./*.pmtrace
}
for _ in $(seq "$rounds"); do
	for program in lenet small; do
		run $program none none ""
		for source in none events cupti; do
			run $program full $source "$build/lib/libpmhook.so"
			run $program ring $source "$build/lib/libpmhook.so"
		done
	done
done
for program in lenet small; do
	base=$(median $program.none.none.ms 1)
	noise=$(sort -n $program.none.none.rounds | awk 'NR == 1 { least = $1 } END { print $1 - least }')
	# device intervals are recorded where there are device times; the perceptron's and the network's are those of CUPTI
	devices=$(median $program.full.cupti.own 2)
	printf '%-22s %8s %8s %7s %9s %9s %7s %7s %7s\n' "" "ms/step" "" "ns/call" "ms first" "B/step" step "5 us" large
	printf '%-22s %8.3f %8s  %.0f calls, %.0f kernels, copies and sets a step\n' "$program, no hook" "$base" "" \
		"$(median $program.full.none.own 1)" "$devices"
	for mode in full ring; do
		for source in none events cupti; do
			own=$program.$mode.$source
			echo "$(median "$own.ms" 1)" "$(median "$own.own" 1)" "$(median "$own.own" 3)" "$(median "$own.own" 4)" \
				"$(median "$own.own" 5)" $program |
				awk -v name="$mode, times: $source" -v base="$base" -v noise="$noise" -v devices="$devices" -v ms="${LARGE_MS:-100}" \
					-v calls="${LARGE_CALLS:-1200}" '{ change = $1 - base
					printf "  %-20s %8.3f %8s %7d %9.1f %9d %6.2f%% %7s %6.2f%%\n", name, $1,
					(change > noise || change < -noise) ? sprintf("%+.1f%%", 100 * change / base) : "-", $3, $4, $5, $2 * $3 / base / 1e4,
					$6 == "small" ? sprintf("%.2f%%", $2 * $3 / devices / 50) : "-", calls * $3 / ms / 1e4 }'
		done
	done
done
