#!/bin/sh
# When gradients are summed, and what it does to the phases of an iteration and to the balance: CNN, MLP and autoencoder on one to
# three modelled GPUs, summed after the backward pass, layer by layer next to it, and fused into buckets. Tables in the manner of
# 3.2 and 3.4 of the thesis, from pmanalyze; the GPUs differ by a seeded jitter and one of them is slower.
#
#     tests/bench/styles.sh BUILD [PROFILE]
set -eu
build=$(cd "${1:?usage: styles.sh BUILD [PROFILE]}" && pwd)
export SOFTGPU_PROFILE="${2:-rtx2080}" PATH="$build/bin:$PATH"
# so that the hosts' own time weighs as little as it does beside a GPU
export SOFTGPU_TIME_SCALE=10
unset SOFTGPU_TRUTH SOFTGPU_NUMERICS
jitter="jitter=0.05 seed=1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdata --dataset mnist --out data --train 12000 --test 50

run() { # net, style, ranks
	disturb=$jitter
	[ "$3" = 1 ] || disturb="$jitter; rank=1 slow=1.1"
	[ -d "$1.$2.$3" ] || SOFTGPU_DISTURB="$disturb" pmrun -q -n "$3" -o "$1.$2.$3" --softgpu -- "train_$1" --data data --batch 384 \
		--iterations 30 --print 0 --aggregate "$2" >/dev/null
}

echo "Mean time of an iteration on $SOFTGPU_PROFILE, batch 384, exclusive, ms of the modelled GPU"
printf '%-12s %-8s %4s' net style GPUs
set -- t_io t_h2d t_md t_f t_b t_c t_u other idle t_iter
printf ' %8.8s' "$@"
echo
for net in cnn mlp autoencoder; do
	for style in after overlap fused; do
		for ranks in 1 3; do
			[ $ranks = 1 ] && [ $style != after ] && continue
			run $net $style $ranks
			pmanalyze report --csv $net.$style.$ranks | awk -F, -v net=$net -v style=$style -v ranks=$ranks \
				-v scale=$SOFTGPU_TIME_SCALE '
				NR > 1 { sub(/^idle_.*/, "idle", $3); sum[$3] += $8; workers[$1 "," $2] }
				END {
					for (w in workers) n++
					printf "%-12s %-8s %4d", net, ranks == 1 ? "-" : style, ranks
					split("io h2d md forward backward communication update other idle iteration", names, " ")
					for (i = 1; i <= 10; i++)
						printf " %8.3f", sum[names[i]] / n / 1e6 / scale
					print ""
				}'
		done
	done
done

echo
echo "Load imbalance factor of computing (3.8), with a jitter of 5% and rank 1 slower by 10%"
printf '%-12s %8s %8s %8s %8s %8s %8s\n' "" after "" overlap "" fused "" GPUs 2 3 2 3 2 3
for net in cnn mlp autoencoder; do
	printf '%-12s' $net
	for style in after overlap fused; do
		for ranks in 2 3; do
			run $net $style $ranks
			pmanalyze balance --csv $net.$style.$ranks | awk -F, '$1 == "computing" { printf " %8.3f", $4; exit }'
		done
	done
	echo
done
