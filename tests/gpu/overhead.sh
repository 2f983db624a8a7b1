#!/bin/sh
# What the hook costs a training step on a real GPU: ResNet-18 and a transformer in PyTorch, without anything, with the hook and
# events, with the hook and CUPTI, and with torch.profiler, in rounds that take turns, so that a machine that slows down slows all
# of them. Prints the medians of the step times, to be pasted into docs/cost.md.
#
#   BUILD=build sh tests/gpu/overhead.sh [PROGRAM]...      resnet18 transformer; options: GPU_ROUNDS (5), GPU_STEPS (100)
#
# GPU_MODES names the columns; "off" is the hook that only passes calls on. Below each row: what a call costs more than without
# anything, by the number of calls that the hook has seen (those of the set-up too, so it is a little low).
set -eu
: "${BUILD:?the build folder}"
BUILD=$(cd "$BUILD" && pwd)
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

LIMIT="timeout -k 5 ${GPU_LIMIT:-120}"
ROUNDS=${GPU_ROUNDS:-5}
STEPS=${GPU_STEPS:-100}
MODES=${GPU_MODES:-none events cupti profiler}
DEVICE=${GPU_DEVICE:-cuda} # cpu tests this script
export PYTHONDONTWRITEBYTECODE=1

# run MODE PROGRAM OPTION...: one run; its step time is the last line of standard error
run() {
	how=$1 file=$here/train_$2.py
	shift 2
	set -- "$file" --steps "$STEPS" --device "$DEVICE" "$@"
	case $how in
	none) $LIMIT "$PYTHON" "$@" ;;
	profiler) $LIMIT "$PYTHON" "$@" --profile profile.json ;;
	off) PMHOOK_MODE=off hooked auto traces $LIMIT "$PYTHON" "$@" ;;
	*) hooked "$how" traces $LIMIT "$PYTHON" "$@" ;;
	esac >run.out 2>run.err || return 1
	set_trace traces
	[ -z "$trace" ] || "$bin/pmanalyze" dump "$trace" 2>/dev/null | sed -n 's/.*clean exit: \([0-9]*\) calls.*/\1/p' >calls
	awk '$1 == "step_ms" { ms = $2 } END { if (!ms) exit 1; print ms }' run.err
	rm -rf traces profile.json
}

# The median of the lines of a file.
median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

versions() {
	[ "$DEVICE" = cpu ] || "$bin/gpu_probe" | tr '\n' ' '
	"$PYTHON" - <<'END'
import torch
print("PyTorch", torch.__version__, "CUDA", torch.version.cuda, "cuDNN", torch.backends.cudnn.version(), end=" ")
END
	date -u +%Y-%m-%d
}

[ "$DEVICE" = cpu ] || need_gpu
"$PYTHON" -c 'import torch, sys; sys.exit(sys.argv[1] == "cuda" and not torch.cuda.is_available())' "$DEVICE" 2>/dev/null ||
	skip "PyTorch has no GPU"
[ $# -gt 0 ] || set -- resnet18 transformer
echo "Time of a training step, medians of $ROUNDS runs of $STEPS steps each, taking turns"
versions
printf '%-14s' "ms"
for mode in $MODES; do
	printf ' %18s' "$mode"
done
echo
bad=0
for program in "$@"; do
	rm -f "$program".*.ms
	: >calls
	for round in $(seq "$ROUNDS"); do
		for mode in $MODES; do
			# shellcheck disable=SC2086
			run "$mode" "$program" ${GPU_OPTIONS:-} >>"$program.$mode.ms" || {
				echo "not ok: $program $mode, round $round: $(tail -n 1 run.err)"
				bad=1
			}
		done
	done
	printf '%-14s' "$program"
	for mode in $MODES; do
		if [ -s "$program.$mode.ms" ] && [ -s "$program.none.ms" ]; then
			awk -v ms="$(median "$program.$mode.ms")" -v none="$(median "$program.none.ms")" -v mode="$mode" \
				'BEGIN { printf mode == "none" ? " %18.3f" : " %9.3f (%+.1f%%)", ms, (ms / none - 1) * 100 }'
		else
			printf ' %18s' "-"
		fi
	done
	echo
	[ ! -s calls ] || {
		printf '%-14s' "  ns a call"
		for mode in $MODES; do
			awk -v ms="$(median "$program.$mode.ms")" -v none="$(median "$program.none.ms")" -v steps="$STEPS" -v mode="$mode" \
				'{ printf mode == "none" ? " %18s" : " %+18.0f", mode == "none" ? "-" : (ms - none) * 1e6 * steps / $1 }' calls
		done
		echo
	}
done
exit $bad
