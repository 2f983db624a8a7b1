#!/bin/sh
# How often 95% intervals of `pmfit fit` and `search` hold new rows, in all and in each group of 50 rows or more: values of the columns, and
# quarters by predicted time. On the Pollux and Justus measurements of a folder (FITDATA), in three folds: two are fitted, the third is asked,
# so that each row is tested once. Beside it the same predictions with the quantiles of all residuals, as if they were alike everywhere, and how
# many of the groups would lie outside of 93 to 97% if each row were held with 95% ("right"), and if each group's ends were the quantiles of
# its own fitted rows ("learned"). `wide`: mean of the logarithm of high over low.
#
#     [METHODS="fit search"] [SETS="imagenet ncf bert cifar10 conv"] tests/bench/intervals.sh BUILD FITDATA
set -eu
usage='usage: intervals.sh BUILD FITDATA'
build=$(cd "${1:?$usage}" && pwd)
data=${2:?$usage}
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$data/pollux" ] || {
	echo "no data in $data/pollux"
	exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 "$here/intervals.py" "$build/bin/pmfit" "$data" "$scratch"
