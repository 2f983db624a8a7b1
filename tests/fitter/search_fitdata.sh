#!/bin/sh
# What `pmfit search` finds on measured data predicts the test rows better than a random forest does on the same split (MAPE of its log
# times where that is the better one; mean of three seeds by `pmfit baselines`), with a dozen constants. Needs PM_FITDATA or an argument.
set -eu
data=${PM_FITDATA:-${1:-}}
[ -n "$data" ] && [ -d "$data" ] || {
	echo "no measured data in '$data': PM_FITDATA says where they are"
	exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0
check() { # name, table, MAPE of the forest, options
	name=$1 table=$2 forest=$3
	shift 3
	"$BUILD/bin/pmfit" search -q --csv --work 20 "$@" "$table" >"$scratch/found.csv"
	awk -F, -v name="$name" -v forest="$forest" '$2 == 1 { print name ": " $8 "% with " $1 " constants; forest " forest "%"
		if ($8 < forest && $1 <= 12) good = 1 } END { exit !good }' "$scratch/found.csv" || bad=1
}
check mxnet "$data/thesis-synth/mxnet.csv" 4.74 --time time,s --intrinsic filters,kernel,pool,lr,stride,dropout \
	--categorical padding,activation,dataset,optimizer --extrinsic batch,gpus --split split,train
{
	echo nodes,gpus,batch,time
	awk -F, 'NR > 1 { gpus = 0; for (i = 1; i <= length($1); i++) gpus += substr($1, i, 1); print length($1) "," gpus "," $2 "," $3 }' \
		"$data/pollux/cifar10/placements.csv"
	awk -F, 'NR > 1 { print $1 "," $2 "," $3 "," $4 }' "$data/pollux/cifar10/scalability.csv"
} >"$scratch/cifar10.csv"
check cifar10 "$scratch/cifar10.csv" 6.4 --time time,s --intrinsic batch,gpus --extrinsic nodes --share 0.667
check conv "$data/justus/1080ti-0-benchmark_convolution__20180924.derived.csv" 28.69 --time timeUsed_median,ms \
	--intrinsic batchsize,channels_in,channels_out,kernelsize,matsize,strides \
	--categorical activation_fct,optimizer,padding,use_bias --share 0.667
exit $bad
