#!/bin/sh
# Convolutions carried over from the GPUs of the Justus measurements (FITDATA/justus) to a GPU of another generation that was measured
# itself (KERNELS: a table of tests/gpu/operations.py's columns kind, shape, dtype, flop, bytes, median_us), with none and five of its rows
# measured: MAPE, share of times in their intervals and how wide these are, beside the roofline's ratio and the median of what was measured.
#
#     [TO=H200] [DRAWS=5] tests/bench/transfer_measured.sh BUILD FITDATA KERNELS
set -eu
usage='usage: transfer_measured.sh BUILD FITDATA KERNELS'
build=$(cd "${1:?$usage}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
[ -d "${2:?$usage}/justus" ] && [ -f "${3:?$usage}" ] || {
	echo "no measured data in '$2/justus' or '$3'"
	exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 "$here/transfer_measured.py" "$build/bin/pmfit" "$2/justus" "$3" "$scratch"
