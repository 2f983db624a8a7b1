#!/bin/sh
# The model of synchronous SGD on modelled GPUs: CNN, MLP and autoencoder, with gradients summed after the backward pass, layer by layer
# next to it, and fused into buckets. First, which assumption pmanalyze names for each; then how well (3.9), t = b0 + b1 N_g + b2 LIF,
# fits runs on one to three GPUs of which one is slower by 0, 15, 30 and 50%: R2 in the manner of Table 3.5 of the thesis, which has
# .990 to .9987 in nine cells of three frameworks and three networks. Each GPU has
# the same batch; a run's time is its median, for what holds up this machine's hosts is none of the modelled GPUs' business.
#
#     tests/bench/ssgd.sh BUILD [PROFILE]
set -eu
build=$(cd "${1:?usage: ssgd.sh BUILD [PROFILE]}" && pwd)
export SOFTGPU_PROFILE="${2:-rtx2080}" PATH="$build/bin:$PATH"
# so that the hosts' own time weighs as little as it does beside a GPU
export SOFTGPU_TIME_SCALE=50
unset SOFTGPU_TRUTH SOFTGPU_NUMERICS SOFTGPU_DISTURB
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

run() { # net, style, ranks, slower by
	folder=$1.$2.$3.$4
	[ -d "$folder" ] && return
	options=
	# a bucket is what becomes ready within this time, which is that of the modelled GPU as it is scaled
	[ "$2" = fused ] && options="--cycle-ms 2.5"
	# shellcheck disable=SC2086 # options with their values
	SOFTGPU_DISTURB="rank=$(($3 - 1)) slow=$4" pmrun -q -n "$3" -o "$folder" --softgpu -- "train_$1" --synthetic --batch $((128 * $3)) \
		--iterations 12 --print 0 --aggregate "$2" $options >/dev/null
}

# What pmanalyze says of a run's behaviour, and how far that is off
behaviour() { # folder
	pmanalyze model --csv "$1" 2>/dev/null | awk -F, '
		/^run,assumption,/ { for (i = 1; i <= NF; i++) column[$i] = i; inside = 1; next }
		/^$/ { inside = 0 }
		inside && $column["best"] == 1 { printf " %14s %5.1f%%", $column["assumption"], 100 * $column["off"] }'
}

echo "Assumption named, and how far off it is with the rest counted in, 3 GPUs ($SOFTGPU_PROFILE, 128 samples each)"
printf '%-12s %21s %21s %21s\n' net after overlap fused
for net in cnn mlp autoencoder; do
	printf '%-12s' $net
	for style in after overlap fused; do
		run $net $style 3 1
		behaviour $net.$style.3.1
	done
	echo
done

for net in cnn mlp autoencoder; do
	for style in after overlap fused; do
		run $net $style 1 1
		for slow in 1 1.15 1.3 1.5; do
			run $net $style 2 $slow
			run $net $style 3 $slow
		done
	done
done
r2() { # title, terms, numbers of GPUs
	echo
	echo "$1"
	printf '%-12s %9s %9s %9s\n' net after overlap fused
	for net in cnn mlp autoencoder; do
		printf '%-12s' $net
		for style in after overlap fused; do
			# shellcheck disable=SC2046,SC2116 # a list of files
			pmanalyze model --json --median --terms "$2" $(echo $net.$style.$3.*) | awk '/"r2":/ { gsub(/[^0-9.e-]/, "", $2); printf " %9.4f", $2 }'
		done
		echo
	done
}
r2 "R2 of (3.9) over 9 runs: one GPU; two and three of which one is slower by 0, 15, 30, 50%" gpus,lif "[123]"
r2 "R2 of (3.9) over the 8 runs on two and three GPUs" gpus,lif "[23]"
r2 "The same with slowdown S in place of LIF" gpus,slowdown "[23]"

echo
echo "All of one cell: the coefficients for the CNN, aggregated after the backward pass"
pmanalyze model --median --residuals cnn.after.* | sed -n '/^Scaling/,$p'
