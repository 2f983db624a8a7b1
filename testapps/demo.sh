#!/bin/sh
# The main job on one machine without a GPU: trains three networks with 1, 2 and 3 ranks on softgpu under the hook, and prints
# what pmanalyze finds: the phases, the layers, the load imbalance, and what overlapping the aggregation changes.
#
#     sh testapps/demo.sh [BUILD [FOLDER]]      (default: build demo)
#
# FOLDER keeps the traces and reports, to look at afterwards.
set -eu
build=${1:-build}
out=${2:-demo}
bin=$build/bin
data=$out/data

if [ -e "$out" ]; then
	echo "demo.sh: '$out' exists: remove it or name another folder" >&2
	exit 1
fi
mkdir "$out"
"$bin/mkdata" --dataset mnist --out "$data" --train 3000 --test 300

# capture NAME RANKS TRAINER [OPTION]...
capture() {
	name=$1 ranks=$2 trainer=$3
	shift 3
	echo "pmrun -n $ranks -o $out/$name --softgpu -- $trainer $*"
	"$bin/pmrun" -q -n "$ranks" -o "$out/$name" --softgpu -- "$bin/$trainer" --data "$data" --batch 96 --epochs 2 \
		--iterations 15 --print 0 "$@" >"$out/$name.log"
}
for ranks in 1 2 3; do
	capture cnn.$ranks $ranks train_cnn
	capture mlp.$ranks $ranks train_mlp
	capture ae.$ranks $ranks train_autoencoder
done
for network in cnn:train_cnn mlp:train_mlp ae:train_autoencoder; do
	capture "${network%%:*}.3.overlap" 3 "${network#*:}" --aggregate overlap
done

show() {
	echo
	echo "\$ pmanalyze $*"
	"$bin/pmanalyze" "$@"
}
cd "$out"
bin=$(cd "$OLDPWD" && cd "$bin" && pwd)
show report cnn.3
show layers cnn.3
show report cnn.1 cnn.2 cnn.3 mlp.1 mlp.2 mlp.3 ae.1 ae.2 ae.3
show balance cnn.2 cnn.3 mlp.2 mlp.3 ae.2 ae.3
show report cnn.3 cnn.3.overlap mlp.3 mlp.3.overlap ae.3 ae.3.overlap
echo
echo "The traces are in $out: look at them with pmanalyze (in $bin)."
