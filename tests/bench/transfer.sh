#!/bin/sh
# How well layers are carried over to another GPU, on the Justus measurements of a folder (FITDATA/justus, all GPUs that it has): each GPU
# left out in turn, with none and with five of its rows measured, by pmfit transfer beside the plain roofline ratio, a forest and boosting
# on the same columns. MAPE in percent, means over draws of the measured rows; of pmfit also the share of times in their 95% intervals.
#
#     [KINDS="convolution dense"] [DRAWS=5] [MEASURED="0 5"] tests/bench/transfer.sh BUILD FITDATA [PYTHON]
#
# PYTHON: one with scikit-learn, for the last two; without it they are left out. Needs three GPUs of a kind. LIMIT=X: fails where an error
# of pmfit's is above X.
set -eu
usage='usage: transfer.sh BUILD FITDATA [PYTHON]'
build=$(cd "${1:?$usage}" && pwd)
data=${2?$usage}
python=${3:-python3}
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$data/justus" ] || {
	echo "no measured data in '$data': PM_FITDATA says where they are"
	exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" "$here/transfer.py" "$build/bin/pmfit" "$data/justus" "$scratch"
