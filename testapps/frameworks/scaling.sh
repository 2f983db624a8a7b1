#!/bin/sh
# The generic model (4.4) of LeNet-5's step in each framework: scaling.sh BUILD GPU|none, in a folder for what it makes. PYTORCH, JAX and TENSORFLOW
# as for study.sh; TRIALS (18), STEPS (8) and SEED (1) may be set, too.
#
# `pmfit sweep` trains the same settings of lenet.space in each framework, and `pmfit compare` puts the models that are fitted to them side by side;
# then two thirds of the settings are fitted, and the others predicted. Tables are kept in scaling.FRAMEWORK.csv: an interrupted sweep goes on where it was, and one with more TRIALS
# has those that were made.
set -eu
[ $# = 2 ] || { echo "usage: scaling.sh BUILD GPU|none" >&2 && exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
steps=${STEPS:-8} trials=${TRIALS:-18}
. "$here/frameworks.sh"
make_data 384

# TABLE [PMRUN'S OPTION...] -- PROGRAM...
sweep() {
	table=$1
	shift
	# shellcheck disable=SC2086
	PATH=$bin:$PATH "$bin/pmfit" sweep -q --design full --trials "$trials" --seed "${SEED:-1}" -o "$table" "$here/lenet.space" -- \
		"$bin/pmrun" -q -o '{out}' $modelled "$@" >&2
}

for framework in $frameworks; do
	with_program "$framework" cnn '{gpus}' '--batch {batch} --filters {filters}' sweep "scaling.$framework.csv"
done
set --
for framework in $frameworks; do
	set -- "$@" "$framework=scaling.$framework.csv"
done
"$bin/pmfit" compare -q -d "$here/lenet.space" --only none "$@"
for framework in $frameworks; do
	"$bin/pmfit" fit -q -d "$here/lenet.space" --share 0.67 -o "scaling.$framework.json" \
		--predictions "scaling.$framework.predicted.csv" "scaling.$framework.csv" >/dev/null
	printf '\n==== %s: settings that were left out, ms\n' "$framework"
	awk -F , 'NR == 1 || $2 == "test"' "scaling.$framework.predicted.csv"
done
