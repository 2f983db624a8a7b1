#!/bin/sh
# What the hook costs a training step in PyTorch: steps.py in all programs and modes at once, taking turns, some 150 seconds of a GPU.
#
#   BUILD=build sh tests/gpu/steps.sh [PROGRAM]...      gpt_small gpt2 resnet18 mlp; needs no package beyond PyTorch
#
# Options: GPU_ROUNDS (3), GPU_SECONDS of steps in each (1), GPU_COPIES: processes of each (1), as they differ by some percent, GPU_MODES (below), GPU_RESULTS: the folder to which steps.tsv is written, a
# line as soon as it is measured (.), GPU_TRACES: a folder to keep the traces in (not kept), HOOK_BEFORE: another libpmhook.so, measured beside it in the modes before_*. The modes:
#
#   nothing      without the hook             hook, off    passing calls on      no times    without device times
#   ring         a trace of constant size     cupti        CUPTI's times         external    the same, joined by external correlation
#   events       pairs of events              profiler     torch.profiler instead
#
# Prints medians over the rounds, and what each adds to the median of `nothing`.
set -eu
: "${BUILD:?the build folder}"
BUILD=$(cd "$BUILD" && pwd)
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

DEVICE=${GPU_DEVICE:-cuda} # cpu tests this script
MODES=${GPU_MODES:-nothing off none ring cupti external events profiler ${HOOK_BEFORE:+before_none before_cupti}}
results=$(cd "${GPU_RESULTS:-.}" && pwd)
traces=${GPU_TRACES:+$(cd "$GPU_TRACES" && pwd)}
[ "$DEVICE" = cpu ] || need_gpu
"$PYTHON" -c 'import torch, sys; sys.exit(sys.argv[1] == "cuda" and not torch.cuda.is_available())' "$DEVICE" 2>/dev/null ||
	skip "PyTorch has no GPU"
[ $# -gt 0 ] || set -- gpt_small gpt2 resnet18 mlp
turns=$(mktemp -d)
trap 'rm -rf "$turns"' EXIT
traces=${traces:-$turns/traces}
: >"$turns/steps.tsv"
count=0
for mode in $MODES; do
	count=$((count + $# * ${GPU_COPIES:-1}))
done

# preloaded HOOK SETTING... -- COMMAND...
preloaded() {
	hook=$1
	shift
	env LD_PRELOAD="$hook${LD_PRELOAD:+:$LD_PRELOAD}" PMHOOK_OUT="$traces/$name" "$@"
}

# start PROGRAM MODE COPY: one process
start() {
	set -- "$1" "$2" "$3" "$PYTHON" "$here/steps.py" "$1" "$2" "$turns" --copy "$3" --processes "$count" \
		--rounds "${GPU_ROUNDS:-3}" --seconds "${GPU_SECONDS:-1}" --device "$DEVICE" ${GPU_SMALL:+--small}
	name=$1.$2.$3 mode=$2
	shift 3
	mkdir -p "$traces/$name"
	case $mode in
	nothing | profiler) "$@" ;;
	off) preloaded "$HOOK" PMHOOK_MODE=off "$@" ;;
	ring) preloaded "$HOOK" PMHOOK_MODE=ring PMHOOK_DEVICE=none "$@" ;;
	external) preloaded "$HOOK" PMHOOK_DEVICE=cupti PMHOOK_CUPTI_JOIN=external "$@" ;;
	before_*) preloaded "$HOOK_BEFORE" PMHOOK_DEVICE="${mode#before_}" "$@" ;;
	*) preloaded "$HOOK" PMHOOK_DEVICE="$mode" "$@" ;;
	esac >"$turns/log.$name" 2>&1 || {
		echo "not ok: $name: $(tail -n 1 "$turns/log.$name")"
		: >"$turns/failed.$name"
	}
}

for program in "$@"; do
	for mode in $MODES; do
		for copy in $(seq "${GPU_COPIES:-1}"); do
			start "$program" "$mode" "$copy" &
		done
	done
done
while [ "$(find "$turns" -name 'round*' | wc -l)" -lt $((count * ${GPU_ROUNDS:-3})) ]; do
	cp "$turns/steps.tsv" "$results/steps.tsv"
	sleep 1
	jobs >"$turns/jobs"
	[ -s "$turns/jobs" ] || break
done
wait
cp "$turns/steps.tsv" "$results/steps.tsv"
"$PYTHON" "$here/steps_table.py" "$results/steps.tsv"
! ls "$turns"/failed.* >/dev/null 2>&1
