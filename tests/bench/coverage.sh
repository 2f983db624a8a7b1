#!/bin/sh
# How far step models are off beyond the data, and how many rows their 95% intervals hold, by distance: every table of step times of two
# folders (FITDATA, and tables in REPRO), with the upper half, two thirds and three quarters of the batches, GPUs and nodes left out, and a
# third of the rows at random. Prints also how often `pmfit auto` says "believe", and the error then over that which it states.
#
#     [SETS="ncf azcifar"] tests/bench/coverage.sh BUILD FITDATA [REPRO]
set -eu
usage='usage: coverage.sh BUILD FITDATA [REPRO]'
build=$(cd "${1:?$usage}" && pwd)
data=${2:?$usage}
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$data/pollux" ] || {
	echo "no data in $data/pollux"
	exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 "$here/coverage.py" "$build/bin/pmfit" "$data" "${3:-/nonexistent}" "$scratch"
