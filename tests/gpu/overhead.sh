#!/bin/sh
# What the hook costs a training step on a real GPU: ResNet-18 and a transformer in PyTorch, without anything, with the hook and
# events, with the hook and CUPTI, and with torch.profiler, in rounds that take turns, so that a machine that slows down slows all
# of them. Prints the medians of the step times, to be pasted into docs/cost.md.
#
#   BUILD=build sh tests/gpu/overhead.sh [PROGRAM]...      resnet18 transformer; options: GPU_ROUNDS (5), GPU_STEPS (100)
#
# GPU_MODES names the columns; "off" is the hook that only passes calls on.
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
done
exit $bad
