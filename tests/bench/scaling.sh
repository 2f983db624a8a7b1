#!/bin/sh
# How an iteration's time falls with GPUs: the exponent q of t = c N^q (-1 is ideal) over 1, 2, 3, 4, 8 and 16 modelled GPUs with a batch
# that stays the same (strong scaling), and over a batch that grows with them (weak scaling, 0 is ideal). By least squares of the
# logarithms, from the medians that pmanalyze reports.
#
#     tests/bench/scaling.sh BUILD [PROFILE]
set -eu
build=$(cd "${1:?usage: scaling.sh BUILD [PROFILE]}" && pwd)
export SOFTGPU_PROFILE="${2:-v100}" SOFTGPU_DEVICES=16 PATH="$build/bin:$PATH"
unset SOFTGPU_DISTURB SOFTGPU_TRUTH SOFTGPU_NUMERICS
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# The hosts of 16 ranks share this machine's processors: the time scale makes short iterations long enough for them.
row() { # title, time scale, aggregate, batch, 1: it grows with the ranks, trainer and its options
	title=$1 aggregate=$3 batch=$4 grows=$5
	export SOFTGPU_TIME_SCALE="$2"
	shift 5
	printf '%-26s %-8s' "$title" "$aggregate"
	for ranks in 1 2 3 4 8 16; do
		[ "$grows" = 1 ] && all=$((batch * ranks)) || all=$batch
		pmrun -q -n $ranks -o run --softgpu -- "$@" --synthetic --batch $all --iterations 8 --print 0 --aggregate "$aggregate" \
			>/dev/null
		pmanalyze report --csv run | awk -F, -v scale=$SOFTGPU_TIME_SCALE '$3 == "iteration" { sum += $10; n++ } END { print sum / n / 1e6 / scale }'
		rm -rf run
	done | awk 'BEGIN { split("1 2 3 4 8 16", n, " ") }
		{ printf " %8.3f", $1; x = log(n[NR]); y = log($1); sx += x; sy += y; sxx += x * x; sxy += x * y }
		END { printf " %8.3f\n", (NR * sxy - sx * sy) / (NR * sxx - sx * sx) }'
}
header() {
	printf '%s\n%-26s %-8s %8s %8s %8s %8s %8s %8s %8s\n' "$1" net style 1 2 3 4 8 16 exponent
}
header "Median iteration on $SOFTGPU_PROFILE, ms, batch 480 over all GPUs"
row "LeNet-5, MNIST" 50 after 480 0 train_cnn
row "LeNet-5, MNIST" 50 overlap 480 0 train_cnn
row "ResNet-18, CIFAR-10" 4 after 480 0 train_resnet --depth 18 --dataset cifar10
row "ResNet-18, CIFAR-10" 4 overlap 480 0 train_resnet --depth 18 --dataset cifar10
row "ResNet-18, CIFAR-10" 4 fused 480 0 train_resnet --depth 18 --dataset cifar10
row "VGG-11, CIFAR-10" 4 fused 480 0 train_vgg --depth 11 --dataset cifar10
header "Median iteration on $SOFTGPU_PROFILE, ms, batch 32 on each GPU"
row "ResNet-50, ImageNet" 2 overlap 32 1 train_resnet --depth 50 --dataset imagenet
row "ResNet-50, ImageNet" 2 fused 32 1 train_resnet --depth 50 --dataset imagenet
row "MobileNetV2, ImageNet" 2 fused 32 1 train_mobilenet --dataset imagenet
row "VGG-16, ImageNet" 2 fused 32 1 train_vgg --depth 16 --dataset imagenet
