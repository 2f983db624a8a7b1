#!/bin/sh
# pmfit beside SciPy's differential evolution, in one run on the same tables: cost (least, median and greatest over the seeds),
# seconds a fit, evaluations a fit. SciPy is taken from $PYTHON, or installed from PyPI into a folder that goes afterwards; without
# either, its columns are left out. One thread each.
#
#     tests/bench/fit.sh BUILD FITDATA [SEEDS]
set -eu
build=$(cd "${1:?usage: fit.sh BUILD FITDATA [SEEDS]}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
data=${2:?usage: fit.sh BUILD FITDATA [SEEDS]}
seeds=${3:-3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python=${PYTHON:-}
if [ -z "$python" ] && python3 -m venv "$scratch/venv" >/dev/null 2>&1 && "$scratch/venv/bin/pip" -q install scipy >/dev/null 2>&1; then
	python=$scratch/venv/bin/python
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# median of a column of numbers
middle() {
	sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
line() { # who, file with "cost seconds evaluations" a line
	printf '  %-14s %11s %11s %11s %9s %10s\n' "$1" "$(cut -d' ' -f1 "$2" | sort -g | head -n 1)" \
		"$(cut -d' ' -f1 "$2" | middle)" "$(cut -d' ' -f1 "$2" | sort -g | tail -n 1)" \
		"$(cut -d' ' -f2 "$2" | middle)" "$(cut -d' ' -f3 "$2" | middle)"
}
ours() { # method, table, lambda, the columns' options
	method=$1 table=$2 lambda=$3
	shift 3
	"$build/bin/pmfit" fit --method "$method" --lambda "$lambda" --seeds "$seeds" --threads 1 --time time --split split "$@" -q --json \
		"$table" | python3 -c '
import json, sys
for run in json.load(sys.stdin)["model"]["runs"]:
    print("%.6g %.3f %d" % (run["objective"], run["seconds"], run["evaluations"]))' >"$scratch/ours"
	line "pmfit $method" "$scratch/ours"
}
compare() { # name, table, lambda, intrinsic, categorical, extrinsic
	printf '%s, lambda %s, %s seeds\n  %-14s %11s %11s %11s %9s %10s\n' "$1" "$3" "$seeds" "" "least cost" median greatest "s a fit" \
		evaluations
	for method in jso varpro; do
		ours $method "$2" "$3" --intrinsic "$4" --categorical "$5" --extrinsic "$6"
	done
	ours de "$2" "$3" --scale none --intrinsic "$4" --categorical "$5" --extrinsic "$6"
	if [ -n "$python" ]; then
		"$python" "$here/fit_scipy.py" "$2" "$3" "$seeds" "$4" "$5" "$6" >"$scratch/scipy"
		line SciPy "$scratch/scipy"
	fi
}

[ -d "$data" ] || {
	echo "no data in $data"
	exit 77
}
[ -z "$python" ] || "$python" -c 'import scipy, numpy; print("SciPy", scipy.__version__, "NumPy", numpy.__version__)'
for set in ${SETS:-mxnet tensorflow pytorch-dropout05}; do
	for lambda in ${LAMBDAS:-0 0.001}; do
		compare "$set" "$data/thesis-synth/$set.csv" "$lambda" filters,kernel,pool,lr,stride,dropout \
			padding,activation,dataset,optimizer batch,gpus
	done
done
