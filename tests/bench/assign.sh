#!/bin/sh
# Heredity (pmfit strategy's, for workers or links that differ) against all orders with the exact partition of each: networks measured on one
# modelled GPU, on clusters of it and of slower ones. What the columns are: bench_assign.c. Excess is that of the pipeline's bound for a
# micro-batch; times are of the processor.
#
#     [NETS="vgg11 resnet18"] [CLUSTERS="alike slow"] tests/bench/assign.sh BUILD [PROFILE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: assign.sh BUILD [PROFILE]}" && pwd)
export PATH="$build/bin:$PATH" LC_ALL=C
unset SOFTGPU_DISTURB SOFTGPU_TRUTH SOFTGPU_NUMERICS
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
. "$here/modelled.sh"

links="link_latency_us 10
link_gb_s 12
network_latency_us 30
network_gb_s 2.5"
cluster() { # name, lines
	printf '%s\n%s\n' "$links" "$2" >"$1.cluster"
}
cluster alike "workers 6"
cluster slow "workers 6
slow 0-1 2"
cluster kinds "workers 7
slow 0-1 3
slow 2-3 1.5"
cluster nodes "workers 6
workers_per_node 3
slow 1 2
slow 4 2"
cluster links "workers 6
link 0-1 30 1
link 2-3 30 1
link 0-5 30 1"

printf '%-28s %-9s %9s %7s %9s %17s %8s %17s %8s\n' 'net and cluster' pipeline numbered orders 'exact ms' 'alone mean, max' ms 'helped mean, max' ms
for net in ${NETS:-vgg11 resnet18 mobilenet resnet50}; do
	layers=
	for batch in 2 8; do
		# shellcheck disable=SC2046
		pmrun -q -n 1 -o one "--softgpu=${2:-v100}" -- $(trainer_of "$net") --dataset imagenet --synthetic --batch $batch --iterations 4 --print 0 \
			>/dev/null 2>&1
		pmanalyze layers --json one >"$net.$batch.json"
		rm -rf one
		layers="$layers $net.$batch.json"
	done
	for cluster in ${CLUSTERS:-alike slow kinds nodes links}; do
		# shellcheck disable=SC2086
		bench_assign "$net $cluster" 64 16 "$cluster.cluster" $layers
	done
done | tee rows
awk '
	{ n++; for (i = 4; i <= 11; i++) { sub("%", "", $i); sum[i] += $i; if ($i + 0 > most[i]) most[i] = $i + 0 }
	  alone += $8 + 0 < 0.005; helped += $11 + 0 < 0.005 }
	END { printf "Of %d cases heredity alone found the least bound with every seed in %d, helped in %d. Mean and greatest excess: numbered %.1f%%, %.1f%%; alone %.2f%%, %.1f%%; helped %.2f%%, %.1f%%\n",
		n, alone, helped, sum[4] / n, most[4], sum[7] / n, most[8], sum[10] / n, most[11] }' rows
