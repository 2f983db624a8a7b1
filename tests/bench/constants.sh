#!/bin/sh
# How the constants that calibrate a step model's intervals are chosen: what each would be with each table left out, and with each source
# of tables, on the splits of coverage.sh; prints how the left-out tables are held by what the others choose.
#
#     [SETS="ncf azcifar"] tests/bench/constants.sh BUILD FITDATA [REPRO]
set -eu
usage='usage: constants.sh BUILD FITDATA [REPRO]'
build=$(cd "${1:?$usage}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
SPLITS=$scratch/splits "$here/coverage.sh" "$build" "${2:?$usage}" "${3:-}"
PM_READ_MEGABYTES=0 "$build/bin/bench_constants" "$scratch/splits" # keeps all answers: some 4 MB a split
