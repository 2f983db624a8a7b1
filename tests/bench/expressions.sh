#!/bin/sh
# What `pmfit search` finds on each set of a folder of measured data, beside pmfit's forests and support vectors on the same split:
# constants, MAPE and R2 on the test rows, seconds; then the formulas. The same defaults for all sets.
#
#     tests/bench/expressions.sh BUILD FITDATA [OPTION OF pmfit search]...
set -eu
usage='usage: expressions.sh BUILD FITDATA [OPTION]...'
build=$(cd "${1:?$usage}" && pwd)
data=${2:?$usage}
shift 2
[ -d "$data" ] || {
	echo "no data in $data"
	exit 77
}
data=$(cd "$data" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
pmfit=$build/bin/pmfit

# Placements are written as a digit of GPUs for each node: nodes, GPUs, batch of a GPU, seconds.
pollux() {
	echo nodes,gpus,batch,time
	awk -F, 'NR > 1 { gpus = 0; for (i = 1; i <= length($1); i++) gpus += substr($1, i, 1); print length($1) "," gpus "," $2 "," $3 }' \
		"$data/pollux/$1/placements.csv"
	awk -F, 'NR > 1 { print $1 "," $2 "," $3 "," $4 }' "$data/pollux/$1/scalability.csv"
}
synth='time time s
intrinsic filters kernel pool lr stride dropout
categorical padding activation dataset optimizer
extrinsic batch gpus
split split train'
conv='time timeUsed_median ms
intrinsic batchsize channels_in channels_out kernelsize matsize strides
categorical activation_fct optimizer padding use_bias
share 0.667'
dense='time timeUsed_median ms
intrinsic batchsize dim_input dim_output
categorical activation_fct optimizer
share 0.667'
gavel='rate steps_per_s s
intrinsic batch
extrinsic gpus
categorical gpu model unconsolidated
share 0.667'
placed='time time s
intrinsic batch gpus
extrinsic nodes
share 0.667'

try() { # name, table, description; then options of the search
	name=$1 table=$2
	printf '%s\n' "$3" >"$scratch/columns.txt"
	shift 3
	begun=$(date +%s.%N)
	"$pmfit" search -q --skip-bad -d "$scratch/columns.txt" --json "$@" "$table" >"$scratch/found.json" 2>/dev/null
	seconds=$(echo "$(date +%s.%N) - $begun" | bc)
	"$pmfit" baselines -q --skip-bad -d "$scratch/columns.txt" --only forest,forest-log,svr --seeds 3 --csv "$table" \
		>"$scratch/others.csv" 2>/dev/null
	python3 - "$name" "$scratch/found.json" "$scratch/others.csv" "$scratch/formulas" "$seconds" <<'END'
import csv, json, sys
name, found, others, formulas, seconds = sys.argv[1:]
found = json.load(open(found))
mape = {row["method"]: float(row["mape"]) for row in csv.DictReader(open(others)) if row["set"] == "test"}
taken = next(r for r in found["front"] if r["taken"])
print("%-22s %9d %8.2f %8.4f %9.2f %9.2f %9.2f %8.1f" % (name, taken["constants"], taken["test"]["mape"], taken["test"]["r2"],
    mape["forest"], mape["forest-log"], mape["svr"], float(seconds)))
open(formulas, "a").write("%s: time = %s\n" % (name, taken["formula"]))
END
}

printf '%-22s %9s %8s %8s %9s %9s %9s %8s\n' set constants "MAPE %" R2 forest "forest-log" svr seconds
for set in mxnet tensorflow pytorch-dropout05 pytorch; do
	try "thesis-synth $set" "$data/thesis-synth/$set.csv" "$synth" "$@"
done
for set in cifar10 bert; do
	pollux $set >"$scratch/$set.csv"
	try "pollux $set" "$scratch/$set.csv" "$placed" "$@"
done
try "justus conv 1080Ti" "$data/justus/1080ti-0-benchmark_convolution__20180924.derived.csv" "$conv" "$@"
try "justus conv V100" "$data/justus/V100-2-benchmark_convolution__20180904.derived.csv" "$conv" "$@"
try "justus dense 1080Ti" "$data/justus/1080ti-1-benchmark_dense__20180925.derived.csv" "$dense" "$@"
try "gavel" "$data/gavel/derived-single-job.csv" "$gavel" "$@"
echo
cat "$scratch/formulas"
