#!/bin/sh
# What needs a GPU most, in one command and within six minutes on one GPU:
#
#   sh tests/gpu/measure.sh BUILD [FOLDER]
#
# runs what the hook costs a step (steps.sh), the project's own programs (gpu.sh), and PyTorch against torch.profiler
# (frameworks.sh), each with a time limit; a part that fails does not stop the others. All output, tables and reports are collected in
# FOLDER (default: gpu-results), with summary.txt first; results are there as they come, the first within a minute, so that a run
# that is cut off has left what it measured. BUILD may have been built elsewhere: only its lib/libpmhook.so and bin/ are used. PYTHON is
# the interpreter with PyTorch (python3), of which nothing else is needed. GPU_ALL=yes also runs JAX and further variants, for some
# five minutes more. Needs the CUDA driver; what is absent is skipped.
#
# The same as tests: ctest -L gpu.
# Exit status: 0 all that ran is right, 1 something is not, 77 nothing could run.
set -u
[ $# -ge 1 ] && [ -d "$1" ] || {
	echo "usage: measure.sh BUILD [FOLDER]" >&2
	exit 2
}
BUILD=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${2:-gpu-results}" || exit 1
results=$(cd "${2:-gpu-results}" && pwd)
PYTHON=${PYTHON:-python3}
export BUILD PYTHON
. "$here/common.sh"
summary=$results/summary.txt
: >"$summary"
ran=0 failed=0

say() {
	echo "$*" | tee -a "$summary"
}

# part NAME SECONDS COMMAND...: in a folder of its own
part() {
	name=$1 limit=$2
	shift 2
	rm -rf "${results:?}/$name"
	mkdir -p "$results/$name/work"
	begin=$(date +%s)
	status=0
	(cd "$results/$name/work" && timeout -k 10 "$limit" "$@") >"$results/$name/log" 2>&1 || status=$?
	took=$(($(date +%s) - begin))
	case $status in
	0) verdict=ok && ran=$((ran + 1)) ;;
	77) verdict=skipped ;;
	124 | 137) verdict="NOT OK: longer than $limit s" && ran=$((ran + 1)) && failed=1 ;;
	*) verdict="NOT OK: exit status $status" && ran=$((ran + 1)) && failed=1 ;;
	esac
	say "$(printf '======== %-12s %4d s  %s' "$name" "$took" "$verdict")"
	tail -n 200 "$results/$name/log" | tee -a "$summary"
	# what is small is kept: tables and reports, of a failed part also one trace
	find "$results/$name/work" -name '*.pmtrace' -size +2000k -delete 2>/dev/null
	[ $status != 0 ] || find "$results/$name/work" -name '*.pmtrace' -delete 2>/dev/null
	find "$results/$name/work" -type f -size +4000k -delete 2>/dev/null
}

environment() {
	date -u '+%Y-%m-%d %H:%M UTC'
	uname -srm
	"$bin/gpu_probe" libcudart.so.13 libcudart.so.12 libcudnn.so.9 libcublas.so.13 libnccl.so.2 libcupti.so.13 2>&1
	nvidia-smi 2>&1 | head -n 15
	"$PYTHON" -c 'import sys; print("Python", sys.version)' 2>&1
	"$PYTHON" -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)' 2>&1 | tail -n 1
	"$PYTHON" -c 'import jax; print("JAX", jax.__version__)' 2>&1 | tail -n 1
	"$bin/pmrun" --version 2>&1
}

environment >"$results/environment.txt"
say "pmhook on a GPU: $(grep '^device\|^driver\|^PyTorch\|^no GPU' "$results/environment.txt" | tr '\n' ' ') $(date -u +%Y-%m-%d)"
say ""
# the host-bound step first, in several processes, as they differ by some percent
part host_bound 80 env GPU_RESULTS=. GPU_COPIES="${GPU_COPIES:-2}" GPU_MODES="nothing off none cupti profiler" \
	sh "$here/steps.sh" gpt_small
part gpu_bound 100 env GPU_RESULTS=. GPU_MODES="nothing none cupti events profiler" sh "$here/steps.sh" mlp resnet18 gpt2
part programs 60 sh "$here/gpu.sh"
part resnet18 60 sh "$here/frameworks.sh" resnet18
part transformer 60 sh "$here/frameworks.sh" transformer
if [ -n "${GPU_ALL:-}" ]; then
	part jax 100 sh "$here/frameworks.sh" jax
	part variants 180 env GPU_STEPS=40 sh "$here/frameworks.sh" resnet18_amp resnet18_graphs transformer_amp transformer_graphs \
		resnet18_workers
fi
[ $ran -gt 0 ] || exit 77
exit $failed
