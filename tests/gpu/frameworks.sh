#!/bin/sh
# Training programs of PyTorch and JAX under the hook on a real GPU: they print the same losses, iterations are found, and device
# times agree with what torch.profiler measured in a run without the hook (compare.py). Arguments name the cases; no
# argument: resnet18 transformer jax. A case without its framework or a GPU is skipped; when all are, the exit status is 77.
#
#   BUILD=build sh tests/gpu/frameworks.sh [CASE]...
#   cases: resnet18 resnet18_amp resnet18_graphs resnet18_workers resnet18_compile, the same of transformer, and jax
#
# PYTHON is the interpreter (python3). What is measured is left in the current folder: CASE.reference.json, CASE.compare, CASE.report.
set -eu
: "${BUILD:?the build folder}"
BUILD=$(cd "$BUILD" && pwd)
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

LIMIT="timeout -k 5 ${GPU_LIMIT:-180}"
STEPS=${GPU_STEPS:-60}
export PYTHONDONTWRITEBYTECODE=1
all_bad=0 ran=0

# options_of CASE: the program's options
options_of() {
	case $1 in
	resnet18) ;;
	resnet18_amp) echo "--amp --channels-last" ;;
	*_amp) echo "--amp" ;;
	*_graphs) echo "--graphs" ;;
	*_workers) echo "--workers 4" ;;
	*_compile) echo "--compile" ;;
	esac
}

# analyse FOLDER LABEL: what compare.py wants, and the report for people
analyse() {
	set_trace "$1"
	[ -n "$trace" ] || {
		complain "no trace in $1"
		return 1
	}
	"$bin/pmanalyze" dump "$trace" >"$2.dump" 2>&1 || complain "dump: $(tail -n 1 "$2.dump")"
	"$bin/pmanalyze" dump --records --csv "$trace" >"$2.records.csv" || complain "no records"
	"$bin/pmanalyze" dump --ops --csv "$trace" >"$2.ops.csv" || complain "no operations"
	if "$bin/pmanalyze" report "$1" >"$2.report" 2>&1; then
		"$bin/pmanalyze" report --json "$1" >"$2.report.json"
		"$bin/pmanalyze" report --csv --iterations "$1" >"$2.iterations.csv"
		"$bin/pmanalyze" layers "$1" >"$2.layers" 2>&1 || complain "layers: $(tail -n 1 "$2.layers")"
	else
		complain "report: $(tail -n 1 "$2.report")"
		return 1
	fi
}

# torch_case CASE
torch_case() {
	program=$here/train_${1%%_*}.py
	options="--steps $STEPS $(options_of "$1")"
	# shellcheck disable=SC2086
	$LIMIT "$PYTHON" "$program" $options --profile "$1.reference.json" >"$1.plain" 2>"$1.plain.err" || {
		complain "fails without the hook: $(tail -n 3 "$1.plain.err")"
		return
	}
	for source in events cupti; do
		rm -rf "$1.$source"
		# shellcheck disable=SC2086
		hooked $source "$1.$source" $LIMIT "$PYTHON" "$program" $options >"$1.$source.out" 2>"$1.$source.err" || {
			complain "ends with $? under the hook ($source): $(tail -n 3 "$1.$source.err")"
			continue
		}
		nearly_same "$1.plain" "$1.$source.out" 0.02 >"$1.$source.differs" ||
			complain "prints something else ($source): $(cat "$1.$source.differs")"
		analyse "$1.$source" "$1.$source" || continue
		# with pairs of events the gaps inside a call are in its time: for information
		"$PYTHON" "$here/compare.py" --made "$STEPS" --made-within 5 "$1.reference.json" "$1.$source.report.json" \
			"$1.$source.iterations.csv" "$1.$source.records.csv" "$1.$source.ops.csv" >"$1.$source.compare" 2>&1 ||
			[ $source = events ] || complain "differs from torch.profiler: $(cat "$1.$source.compare")"
		echo "---- $1, $source" && cat "$1.$source.compare"
	done
}

jax_case() {
	options="--steps $STEPS"
	# shellcheck disable=SC2086
	$LIMIT "$PYTHON" "$here/train_jax.py" $options >jax.plain 2>jax.plain.err || {
		complain "fails without the hook: $(tail -n 3 jax.plain.err)"
		return
	}
	for source in events cupti; do
		rm -rf jax.$source
		# shellcheck disable=SC2086
		hooked $source jax.$source $LIMIT "$PYTHON" "$here/train_jax.py" $options >jax.$source.out 2>jax.$source.err || {
			complain "ends with $? under the hook ($source): $(tail -n 3 jax.$source.err)"
			continue
		}
		nearly_same jax.plain jax.$source.out 0.02 >jax.$source.differs ||
			complain "prints something else ($source): $(cat jax.$source.differs)"
		analyse jax.$source jax.$source || true
		[ -n "$trace" ] || continue
		# XLA may put convolutions into a captured graph: then their calls are recorded once, when it is captured
		counts=$("$bin/pmanalyze" dump --ops --csv "$trace" | awk -F, '
			$4 ~ /[Cc]onvolution/ { convolutions += $2 }
			$4 ~ /[Ll]aunchKernel|GraphLaunch/ { launches += $2 }
			$4 == "kernel" { kernels += $3 }
			END { print convolutions + 0, launches + 0, kernels + 0 }')
		echo "---- jax, $source: convolutions, launches, kernels: $counts"
		notes "$trace"
		# shellcheck disable=SC2086
		set -- $counts
		[ "$1" -ge 3 ] || complain "$1 calls of convolutions seen ($source)"
		[ "$2" -ge "$STEPS" ] || complain "$2 launches of kernels seen in $STEPS steps ($source)"
		[ $source = events ] || [ "$3" -ge $((3 * STEPS)) ] || complain "$3 kernels have times in $STEPS steps"
	done
}

# Whether the framework can use the GPU; says why not.
available() {
	case $1 in
	jax) "$PYTHON" -c 'import jax; print(jax.__version__, jax.devices("cuda"))' ;;
	*) "$PYTHON" -c 'import torch, sys; print(torch.__version__, torch.version.cuda)
sys.exit(not torch.cuda.is_available())' ;;
	esac
}

need_gpu
"$bin/pmanalyze" --help >/dev/null 2>&1 || skip "pmanalyze does not run here: $("$bin/pmanalyze" --help 2>&1 | head -n 1)"
[ $# -gt 0 ] || set -- resnet18 transformer jax
for name in "$@"; do
	if ! available "$name" >available.out 2>&1; then
		echo "skipped $name: $(tail -n 1 available.out)"
		continue
	fi
	ran=$((ran + 1)) bad=0
	case $name in
	jax) jax_case ;;
	resnet18* | transformer*) torch_case "$name" ;;
	*) complain "there is no such case" ;;
	esac
	[ $bad != 0 ] || echo "ok $name"
	[ $bad = 0 ] || all_bad=1
done
[ $ran -gt 0 ] || exit 77
exit $all_bad
