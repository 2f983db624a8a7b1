#!/bin/sh
# The largest job that these cores carry in real time under softgpu's model clock: ranks as processes, each iteration a number of
# layers (a kernel of LAYER_US and an all-reduce of BYTES each, all in one stream) and a synchronisation, on the V100 profile.
# Prints by what part an iteration lasts longer for the hosts than the model says, how long the start of all ranks took, and the
# largest job, in ranks x layers, within 5%. What is fixed, such as waking up once in an iteration, weighs most in short ones.
#
#     tests/bench/model_ranks.sh BUILD [LAYER_US [BYTES]]
set -eu
build=$(cd "${1:?usage: model_ranks.sh BUILD [LAYER_US [BYTES]]}" && pwd)
layer_us=${2:-100}
bytes=${3:-1000000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH="$build/softgpu" SOFTGPU_PROFILE=v100 SOFTGPU_NUMERICS=off
unset SOFTGPU_DISTURB SOFTGPU_TIME_SCALE SOFTGPU_TRUTH
layers='16 32 64 128 256'

printf 'a layer: a kernel of %s us and an all-reduce of %s bytes; %s cores\n' "$layer_us" "$bytes" "$(nproc)"
printf '%-8s' layers
for count in $layers; do
	printf ' %9s' "$count"
done
printf ' %12s\n' 'start, ms'
for ranks in 4 8 16 32 64; do
	printf '%-8s' "$ranks ranks"
	for count in $layers; do
		"$build/bin/model_ranks" "$ranks" "$count" "$layer_us" "$bytes" >"$scratch/line"
		awk -v ranks="$ranks" -v layers="$count" '{ print ranks, layers, $0 }' "$scratch/line" >>"$scratch/all"
		awk '{ printf " %+8.1f%%", 100 * ($2 / $1 - 1) }' "$scratch/line"
	done
	awk '{ printf " %12.1f\n", $3 }' "$scratch/line"
done
awk '$4 <= 1.05 * $3 && $1 * $2 > most { most = $1 * $2; which = $1 " ranks x " $2 " layers"; modelled = $3; delivered = $4 }
	END {
		if (most)
			printf "largest within 5%%: %s, %.2f ms where the model says %.2f ms\n", which, delivered / 1000, modelled / 1000
		else
			print "largest within 5%: none"
	}' "$scratch/all"
