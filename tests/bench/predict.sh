#!/bin/sh
# How well step times are predicted inside and beyond the data, on the Pollux measurements of a folder (FITDATA): pmfit step, search and
# fit, beside a forest, gradient boosting, scaled support vectors and the Pollux form on the same splits. Prints MAPE in percent, and for
# pmfit's models the share of test rows in their 95% intervals. Splits:
#
#     gpus    trained on up to 4 GPUs, asked for more         batch   up to a third of the largest batch, asked for larger
#     third   the lowest third of the batches (three at least)   nodes   up to a quarter of the nodes
#     inter   two thirds of the rows at random
#
#     [METHODS="step fit"] [SETS="ncf cifar10"] tests/bench/predict.sh BUILD FITDATA [PYTHON]
#
# PYTHON: one with scikit-learn, for the peers; without it they are left out.
set -eu
usage='usage: predict.sh BUILD FITDATA [PYTHON]'
build=$(cd "${1:?$usage}" && pwd)
data=${2:?$usage}
python=${3:-python3}
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$data/pollux" ] || {
	echo "no data in $data/pollux"
	exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
exec "$python" "$here/predict.py" "$build/bin/pmfit" "$data/pollux" "$scratch"
