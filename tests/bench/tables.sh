#!/bin/sh
# The tables over measured data: test MAPE in percent of the generic model with each penalty, of support vectors, forests and boosted
# trees, and of the normal form, on one split a set, and the seconds that each took over all seeds; then what 'pmfit compare' says of
# the synthetic sets beside each other. Where a method is random: mean +- standard deviation over the seeds.
#
#     tests/bench/tables.sh BUILD FITDATA [SEEDS]
#
# SETS="mxnet gavel" takes some of the sets, COMPARE= leaves out the comparison.
set -eu
build=$(cd "${1:?usage: tables.sh BUILD FITDATA [SEEDS]}" && pwd)
data=${2:?usage: tables.sh BUILD FITDATA [SEEDS]}
seeds=${3:-3}
[ -d "$data" ] || {
	echo "no data in $data"
	exit 77
}
data=$(cd "$data" && pwd)
export PATH="$build/bin:$PATH" LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

cat >synth.txt <<END
time time s
intrinsic filters kernel pool lr stride dropout
categorical padding activation dataset optimizer
extrinsic batch gpus
split split train
END
for set in mxnet tensorflow pytorch-dropout05; do
	cp "$data/thesis-synth/$set.csv" .
	cp synth.txt $set.txt
done
# pollux: nodes and GPUs from the digits of a placement, both files in one
awk -F, 'FNR == 1 { first = ($1 == "placement"); if (NR == 1) print "local_bsz,gpus,nodes,several,step_time"; next }
	first { g = 0; n = length($1); for (i = 1; i <= n; i++) g += substr($1, i, 1); print $2 "," g "," n "," (n > 1) "," $3 }
	!first { print $3 "," $2 "," $1 "," ($1 > 1) "," $4 }' "$data/pollux/cifar10/placements.csv" "$data/pollux/cifar10/scalability.csv" >pollux.csv
printf 'time step_time s\nintrinsic local_bsz gpus\ncategorical several\nextrinsic nodes\nshare 0.667\n' >pollux.txt
# convolutions with an optimizer: sizes as factors
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 1 || $at["optimizer"] > 0' \
	"$data/justus/1080ti-0-benchmark_convolution__20180924.derived.csv" >justus.csv
printf 'time timeUsed_median ms\nintrinsic kernelsize\nextrinsic batchsize matsize channels_in channels_out strides\n' >justus.txt
printf 'categorical padding activation_fct optimizer use_bias\nshare 0.667\n' >>justus.txt
# gavel has rows that ran out of memory
cp "$data/gavel/derived-single-job.csv" gavel.csv
printf 'rate steps_per_s s\nextrinsic batch gpus\nfactor gpu model unconsolidated\nshare 0.667\n' >gavel.txt

methods=model,model-l2,svr,svr-plain,forest,forest-log,boost-plain,boost,linear,pmnf
table() { # figure, its number in the CSV, digits, with deviation or not
	printf '%-18s' "$1"
	for method in $(echo $methods | tr , ' '); do
		printf ' %15s' $method
	done
	printf '\n'
	for set in ${SETS:-mxnet tensorflow pytorch-dropout05 pollux justus gavel}; do
		printf '%-18s' $set
		for method in $(echo $methods | tr , ' '); do
			awk -F, -v m=$method -v f="$2" -v d="$3" -v sd="$4" '$1 == m && $2 == "test" {
				if (sd && $(f + 1) > 0) text = sprintf("%.*f +-%.2g", d, $f, $(f + 1)); else text = sprintf("%.*f", d, $f) }
				END { printf " %15s", text == "" ? "-" : text }' $set.out
		done
		printf '\n'
	done
	printf '\n'
}

for set in ${SETS:-mxnet tensorflow pytorch-dropout05 pollux justus gavel}; do
	pmfit baselines -q -d $set.txt --skip-bad --seeds "$seeds" --only $methods --csv $set.csv >$set.out
	echo "$set: $(pmfit baselines -d $set.txt --skip-bad --only median --seeds 1 -q $set.csv 2>/dev/null | sed -n '1s/.*: //p')"
done
echo
table "test MAPE, %" 4 2 1
table "test R2" 20 4 0
table "seconds" 24 2 0
[ -z "${COMPARE-yes}" ] || pmfit compare -q -d synth.txt --seeds "$seeds" --only none mxnet.csv tensorflow.csv pytorch-dropout05.csv
