#!/bin/sh
# Memory of pmfit strategy against softgpu's own count (the truth log): a network is measured on one GPU with two batches; from that the
# memory of each strategy is predicted for a batch that was not measured, then the strategy is run as predicted and the most that any of
# its GPUs had in use is taken. Exits with 1 where an error is above LIMIT percent (default 5). A dash: the network cannot be cut so often.
#
#     [NETS="vgg11 resnet18"] [IMAGES="cifar10"] [GPUS="2 4"] [OPTIMIZERS="sgd adam"] tests/bench/strategy_memory.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: strategy_memory.sh BUILD}" && pwd)
export SOFTGPU_PROFILE=v100 SOFTGPU_DEVICES=16 SOFTGPU_MEMORY=64G PATH="$build/bin:$PATH" LC_ALL=C
unset SOFTGPU_DISTURB SOFTGPU_NUMERICS
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
. "$here/modelled.sh"
cluster_of "$here/../../testapps/softgpu/profiles/$SOFTGPU_PROFILE.profile" >cluster
batch=32

run() { # ranks, trainer and its options: the bytes of the GPU that had most
	count=$1
	shift
	rm -rf run truth.*
	SOFTGPU_TRUTH=truth.%r timeout 120 pmrun -q -n "$count" -o run --softgpu -- "$@" --synthetic --iterations 4 --print 0 >log 2>&1 ||
		{ cat log >&2; return 1; }
	cat truth.* | awk -F, '$1 == "memory" && $13 > most { most = $13 } END { print most }'
}
row() { # net, images, optimizer, ranks
	printf '%-10s %-8s %-8s %4d' "$1" "$2" "$3" "$4"
	pmfit strategy --csv --cluster cluster --workers "$4" --batch $batch --optimizer "$3" --micro-batches 4,8 layers.*.json >predicted
	for strategy in data model gpipe pipedream hybrid; do
		bytes=$(field $strategy memory_bytes)
		if [ -z "$bytes" ]; then
			printf ' %11s %6s' - -
			continue
		fi
		how=$(options_of $strategy "$(field $strategy micro_batches)" "$(field $strategy stages)" "$(field $strategy partition)")
		# shellcheck disable=SC2086
		most=$(run "$4" $(trainer_of "$1") --dataset "$2" --batch $batch $options $how)
		awk -v p="$bytes" -v m="$most" 'BEGIN { printf " %7.1f MiB %+5.1f%%", m / 1048576, 100 * (p / m - 1) }'
		awk -v p="$bytes" -v m="$most" -v s=$strategy 'BEGIN { print s, 100 * (p / m - 1) }' >>errors
	done
	echo
}

printf 'Most memory of a GPU, and the error of the prediction from one GPU with batches of 8 and 16; a batch of %d\n' $batch
printf '%-10s %-8s %-8s %4s %18s %18s %18s %18s %18s\n' net images optimizer GPUs data model GPipe PipeDream hybrid
for net in ${NETS:-vgg11 resnet18 resnet50 mobilenet}; do
	for images in ${IMAGES:-cifar10 imagenet}; do
		for optimizer in ${OPTIMIZERS:-sgd momentum adam}; do
			case $optimizer in
			sgd) options="--momentum 0" ;;
			momentum) options="--momentum 0.9" ;;
			adam) options="--optimizer adam" ;;
			esac
			rm -f layers.*.json
			for part in 8 16; do
				# shellcheck disable=SC2046,SC2086
				run 1 $(trainer_of "$net") --dataset "$images" --batch $part $options >/dev/null
				pmanalyze layers --json run >layers.$part.json
			done
			for ranks in ${GPUS:-2 4}; do
				row "$net" "$images" "$optimizer" "$ranks"
			done
		done
	done
done
awk -v limit="${LIMIT:-5}" '{ e = $2 < 0 ? -$2 : $2; n[$1]++; sum[$1] += e; if (e > most[$1]) most[$1] = e; if (e > worst) worst = e }
	END { printf "Mean and greatest absolute error:"; for (s in n) printf " %s %.1f%%, %.1f%%;", s, sum[s] / n[s], most[s]
		printf " %d predictions\n", NR; exit worst > limit }' errors
