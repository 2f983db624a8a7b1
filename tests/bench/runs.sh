#!/bin/sh
# Intervals of a run and of the mean of runs beside statsmodels' (get_prediction: obs_ci and mean_ci of least squares with the right form given),
# on made tables with 5 and 20% of noise and 1, 3 and 30 runs of a configuration: share of new runs, and of true means, that they hold, and how
# wide they are. statsmodels is taken from $PYTHON, or installed from PyPI into a folder that goes afterwards.
#
#     [TABLES=10] tests/bench/runs.sh BUILD
set -eu
build=$(cd "${1:?usage: runs.sh BUILD}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python=${PYTHON:-}
if [ -z "$python" ] && python3 -m venv "$scratch/venv" >/dev/null 2>&1 && "$scratch/venv/bin/pip" -q install statsmodels >/dev/null 2>&1; then
	python=$scratch/venv/bin/python
fi
[ -n "$python" ] || {
	echo "no statsmodels: neither PYTHON nor PyPI has it"
	exit 77
}
"$python" "$here/runs.py" "$build/bin/pmfit" "$scratch" "${TABLES:-10}"
