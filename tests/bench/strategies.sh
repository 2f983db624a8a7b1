#!/bin/sh
# pmfit strategy against modelled GPUs: six networks on four kinds of images (batch 128, 64, 32, 32 over all GPUs) and 4, 8 and 16 GPUs. A
# network is measured on one GPU with three batches; from that the time of each strategy is predicted, then the strategy is run as predicted
# (partition, stages, micro-batches) and its iteration timed by the trainer itself (median of all but the first
# three; of PipeDream but the first three and last eight of 20, where it fills and empties). Errors are
# predicted over measured, less 1: ours, and in brackets the published formulas (5.1), (6.1) with (6.2). The last columns say which is
# recommended by ours and by the published ones (of data and GPipe alone), and which was the quickest; at the end how many were right. A
# dash: the network cannot be cut so often, or the run failed.
#
#     [NETS="vgg11 resnet18"] [IMAGES="cifar10"] [GPUS="4 8"] [STRATEGIES=data] tests/bench/strategies.sh BUILD [PROFILE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: strategies.sh BUILD [PROFILE]}" && pwd)
export SOFTGPU_PROFILE="${2:-v100}" SOFTGPU_DEVICES=16 PATH="$build/bin:$PATH" LC_ALL=C
unset SOFTGPU_DISTURB SOFTGPU_TRUTH SOFTGPU_NUMERICS
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

. "$here/modelled.sh"
cluster_of "$here/../../testapps/softgpu/profiles/$SOFTGPU_PROFILE.profile" >cluster

# one GPU with a quarter, a sixteenth and a 32nd of the batch: what 4 and 16 GPUs have, and small micro-batches
profile() { # trainer and its options
	rm -f layers.*.json
	for part in 4 16 32; do
		pmrun -q -n 1 -o one --softgpu -- "$@" --synthetic --batch $((batch / part)) --iterations 4 --print 0 >/dev/null 2>&1 &&
			pmanalyze layers --json one >layers.$part.json || return 1
		[ "$part" != 4 ] || other=$(pmanalyze report --csv one | awk -F, '$3 ~ /^(io|h2d|other)$/ { sum += $8 } END { print sum * 4 / 1e3 }')
		rm -rf one
	done
}

scale_of() { # predicted ms, ranks: the hosts' own time must not count
	awk -v t="$1" -v n="$2" 'BEGIN { s = 25 * n / t; print (s < 1 ? 1 : s > 400 ? 400 : int(s)) }'
}
measure() { # the time of an iteration, ms: scale, ranks, iterations, trainer and its options
	scale=$1
	count=$2
	iterations=$3
	shift 3
	if SOFTGPU_TIME_SCALE=$scale timeout 120 pmrun -q -n "$count" -o run --softgpu -- "$@" --synthetic --batch "$batch" --iterations "$iterations" \
		--print 0 --clock clock >log 2>&1; then
		median_iteration clock.0 "$iterations" | awk -v scale="$scale" '{ print $1 == "nan" ? $1 : $1 / 1e3 / scale }'
	else
		sed -n 1p log >&2
		echo nan
	fi
	rm -rf run clock.*
}

# a field of the predicted strategies: strategy, number of the field
field() {
	# a partition of several cuts is in quotes
	awk -F, -v s="$1" -v n="$2" '$1 == s { if (n == 8 && sub(/^[^"]*"/, "")) { sub(/".*/, ""); print } else print $n }' predicted
}

row() { # net, images
	for ranks in ${GPUS:-4 8 16}; do
		# shellcheck disable=SC2046,SC2086
		pmfit strategy --csv --cluster cluster --workers "$ranks" --batch "$batch" --other-us "$other" --micro-batches 4,8,16,32 \
			layers.*.json >predicted
		for strategy in data gpipe pipedream; do
			predicted=$(field $strategy 2)
			case " ${STRATEGIES:-data gpipe pipedream} " in *" $strategy "*) ;; *) predicted='' ;; esac
			ms=$(awk -v t="${predicted:-1}" 'BEGIN { print t / 1e6 }')
			scale=$(scale_of "$ms" "$ranks")
			how=$(options_of $strategy "$(field $strategy 6)" "$(field $strategy 7)" "$(field $strategy 8)")
			[ $strategy != data ] || how="$how --cycle-ms $scale"
			if [ -n "$predicted" ]; then
				# shellcheck disable=SC2046,SC2086
				echo "$strategy $ms $(field $strategy 3 | awk '{ print $1 == "" ? "nan" : $1 / 1e6 }') \
					$(measure $scale $ranks $(iterations_of $strategy 8) $(trainer_of "$1") --dataset "$2" $how)"
			else
				echo "$strategy inf inf inf" # the network cannot be cut so often
			fi
		done >timed
		awk -v net="$1" -v images="$2" -v ranks="$ranks" '
			function percent(p, m) { return p ~ /n/ || m ~ /n/ ? "-" : sprintf("%+.0f%%", 100 * (p / m - 1)) }
			function least(a, n, i, b) { b = 1; for (i = 2; i <= n; i++) if (a[i] !~ /n/ && (a[b] ~ /n/ || a[i] + 0 < a[b] + 0)) b = i; return b }
			{ name[NR] = $1; ours[NR] = $2; published[NR] = $3; real[NR] = $4 }
			END {
				printf "%-10s %-8s %4d", net, images, ranks
				for (i = 1; i <= 3; i++) {
					printf " %9s %6s", real[i] ~ /n/ ? "-" : sprintf("%.2f", real[i]), percent(ours[i], real[i])
					if (i < 3) printf " (%5s)", percent(published[i], real[i])
				}
				printf "  %-9s %-9s %-9s\n", name[least(ours, 3)], name[least(published, 2)], name[least(real, 3)]
			}' timed
		awk 'BEGIN { ORS = " " } { print $2, $3 == "nan" ? 0 : $3, $4 } END { printf "\n" }' timed >>rows
	done
}

printf 'Iteration on modelled %s GPUs, ms; error of ours and, in brackets, as published\n' "$SOFTGPU_PROFILE"
printf '%-10s %-8s %4s %9s %14s %9s %14s %9s %6s  %-9s %-9s %-9s\n' net images GPUs data error GPipe error PipeDream error ours published quickest
for net in ${NETS:-resnet18 resnet50 resnet152 vgg11 vgg16 mobilenet}; do
	for images in ${IMAGES:-mnist cifar10 imagenet highres}; do
		case $images in
		mnist) batch=128 ;;
		cifar10) batch=64 ;;
		*) batch=32 ;;
		esac
		# shellcheck disable=SC2046
		if profile $(trainer_of "$net") --dataset "$images"; then
			row "$net" "$images"
		else
			printf '%-10s %-8s could not be measured on one GPU\n' "$net" "$images"
		fi
	done
done
[ -f rows ] || exit 1
awk '
	function best(a, b, c) { return a <= b && a <= c ? 1 : b <= c ? 2 : 3 }
	function big(x) { return x == "inf" ? 1e300 : x + 0 }
	/nan/ { left++; next } # not all three ran
	{ for (i = 1; i <= 3; i++) { o[i] = big($(3 * i - 2)); p[i] = big($(3 * i - 1) == 0 ? "inf" : $(3 * i - 1)); m[i] = big($(3 * i))
		if (o[i] < 1e300 && m[i] < 1e300) { e = o[i] / m[i] - 1; se[i] += e < 0 ? -e : e; ne[i]++ }
		if (p[i] < 1e300 && m[i] < 1e300) { e = p[i] / m[i] - 1; sp[i] += e < 0 ? -e : e; np[i]++ } }
	  rows++; right += best(o[1], o[2], o[3]) == best(m[1], m[2], m[3])
	  two += best(o[1], o[2], 1e300) == best(m[1], m[2], 1e300); theirs += best(p[1], p[2], 1e300) == best(m[1], m[2], 1e300) }
	END {
		printf "Mean absolute error: data %.1f%% (published %.1f%%), GPipe %.1f%% (%.1f%%), PipeDream %.1f%%\n", 100 * se[1] / (ne[1] ? ne[1] : 1),
			100 * sp[1] / (np[1] ? np[1] : 1), 100 * se[2] / (ne[2] ? ne[2] : 1), 100 * sp[2] / (np[2] ? np[2] : 1), 100 * se[3] / (ne[3] ? ne[3] : 1)
		printf "The quickest of three was recommended %d of %d times; of data and GPipe ours %d, the published formulas %d times; %d left out\n", right, rows, two, theirs, left
	}' rows
