#!/bin/sh
# pmfit strategy against modelled GPUs: six networks on four kinds of images (batch 128, 64, 32, 32 over all GPUs) and 4, 8 and 16 GPUs. A
# network is measured on one GPU with three batches; from that the time of each strategy is predicted, then the strategy is run as predicted
# (partition, stages, micro-batches) and its iteration timed by the trainer itself (median of all but the first
# three; of PipeDream but the first three and last eight of 20, where it fills and empties). Errors are
# predicted over measured, less 1: ours, and in brackets the published formulas (5.1), (6.1) with (6.2). The last columns say which is
# recommended by ours and by the published ones (of data and GPipe alone), and which was the quickest; at the end how many were right. A
# dash: the network cannot be cut so often, it does not fit into a GPU, or the run failed.
#
# These are the questions of [RS] (a recommender for Horovod, GPipe and PipeDream, 16 of 24 right): which of the three frameworks' strategies
# is the quickest for a network, its images and so many GPUs. Its suite is six networks on four kinds of images, 24, on 4, 8 and 16 GPUs; which 24
# of these 72 it asked, and the times that it measured, are not published with its formulas, so all are asked, and the answers are those of
# modelled GPUs. How many are right is printed for each number of GPUs and for all, with what a wrong answer costs.
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
	awk -v t="$1" -v n="$2" 'BEGIN { s = 25 * n / t; print (s < 4 ? 4 : s > 400 ? 400 : int(s)) }'
}
measure() { # the time of an iteration, ms: scale, ranks, iterations, trainer and its options
	scale=$1
	count=$2
	iterations=$3
	shift 3
	if SOFTGPU_TIME_SCALE=$scale timeout 300 pmrun -q -n "$count" -o run --softgpu -- "$@" --synthetic --batch "$batch" --iterations "$iterations" \
		--print 0 --clock clock >log 2>&1; then
		median_iteration clock.0 "$iterations" | awk -v scale="$scale" '{ print $1 == "nan" ? $1 : $1 / 1e3 / scale }'
	elif grep -q 'out of memory' log; then
		echo inf
	else
		sed -n 1p log >&2
		echo nan
	fi
	rm -rf run clock.*
}

# strategy: does a worker hold it?
fits() {
	awk -v gib="$(awk '$1 == "memory_gib" { print $2 }' cluster)" -v need="$(field "$1" memory_bytes)" \
		'BEGIN { exit !(gib == "" || need / 1073741824 <= gib) }'
}

row() { # net, images
	for ranks in ${GPUS:-4 8 16}; do
		# shellcheck disable=SC2046,SC2086
		pmfit strategy --csv --cluster cluster --workers "$ranks" --batch "$batch" --other-us "$other" --micro-batches 4,8,16,32 \
			layers.*.json >predicted
		for strategy in data gpipe pipedream; do
			predicted=$(field $strategy time_ns)
			fits $strategy || predicted=''
			case " ${STRATEGIES:-data gpipe pipedream} " in *" $strategy "*) ;; *) predicted='' ;; esac
			ms=$(awk -v t="${predicted:-1}" 'BEGIN { print t / 1e6 }')
			scale=$(scale_of "$ms" "$ranks")
			how=$(options_of $strategy "$(field $strategy micro_batches)" "$(field $strategy stages)" "$(field $strategy partition)")
			[ $strategy != data ] || how="$how --cycle-ms $scale"
			if [ -n "$predicted" ]; then
				# shellcheck disable=SC2046,SC2086
				echo "$strategy $ms $(field $strategy published_ns | awk '{ print $1 == "" ? "nan" : $1 / 1e6 }') \
					$(measure $scale $ranks $(iterations_of $strategy 8) $(trainer_of "$1") --dataset "$2" $how)"
			else
				echo "$strategy inf inf inf" # it does not fit, or the network cannot be cut so often
			fi
		done >timed
		awk -v net="$1" -v images="$2" -v ranks="$ranks" '
			function percent(p, m) { return p ~ /n/ || m ~ /n/ ? "-" : sprintf("%+.0f%%", 100 * (p / m - 1)) }
			function is_number(x) { return x !~ /n/ }
			function least(a, n, i, b) { b = 1; for (i = 2; i <= n; i++) if (a[i] !~ /n/ && (a[b] ~ /n/ || a[i] + 0 < a[b] + 0)) b = i; return b }
			{ name[NR] = $1; ours[NR] = $2; published[NR] = $3; real[NR] = $4 }
			END {
				printf "%-10s %-8s %4d", net, images, ranks
				for (i = 1; i <= 3; i++) {
					printf " %9s %6s", real[i] ~ /n/ ? "-" : sprintf("%.2f", real[i]), percent(ours[i], real[i])
					if (i < 3) printf " (%5s)", percent(published[i], real[i])
				}
				printf "  %-9s %-9s %-9s\n", name[least(ours, 3)], name[least(published, 2)], is_number(real[least(real, 3)]) ? name[least(real, 3)] : "-"
			}' timed
		awk -v name="$1 $2 $ranks" 'BEGIN { ORS = " "; print name } { print $2, $3 == "nan" ? 0 : $3, $4 } END { printf "\n" }' timed >>rows
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
	function share(right, of) { return sprintf("%d of %d", right, of) }
	/nan/ { left++; next } # not all three ran
	{ for (i = 1; i <= 3; i++) { o[i] = big($(3 * i + 1)); p[i] = big($(3 * i + 2) == 0 ? "inf" : $(3 * i + 2)); m[i] = big($(3 * i + 3))
		if (o[i] < 1e300 && m[i] < 1e300) { e = o[i] / m[i] - 1; se[i] += e < 0 ? -e : e; ne[i]++ }
		if (p[i] < 1e300 && m[i] < 1e300) { e = p[i] / m[i] - 1; sp[i] += e < 0 ? -e : e; np[i]++ } }
	  first = best(m[1], m[2], m[3])
	  if (m[first] == 1e300) { left++; next } # none fits
	  rows++; named = best(o[1], o[2], o[3]); right += named == first; asked[$3]++; hit[$3] += named == first
	  cost = m[named] / m[first] - 1
	  if (named != first) { wrong = wrong sprintf("  %s %s %d: %.1f%% slower than the quickest\n", $1, $2, $3, 100 * cost) }
	  two += best(o[1], o[2], 1e300) == best(m[1], m[2], 1e300); theirs += best(p[1], p[2], 1e300) == best(m[1], m[2], 1e300)
	  three += best(p[1], p[2], 1e300) == first; hit_p[$3] += best(p[1], p[2], 1e300) == first }
	END {
		printf "Mean absolute error: data %.1f%% (published %.1f%%), GPipe %.1f%% (%.1f%%), PipeDream %.1f%%\n", 100 * se[1] / (ne[1] ? ne[1] : 1),
			100 * sp[1] / (np[1] ? np[1] : 1), 100 * se[2] / (ne[2] ? ne[2] : 1), 100 * sp[2] / (np[2] ? np[2] : 1), 100 * se[3] / (ne[3] ? ne[3] : 1)
		printf "The quickest of three was recommended %s times; of data and GPipe ours %d, the published formulas %d times; %d left out\n", share(right, rows), two, theirs, left
		for (g = 1; g <= 1024; g++) if (g in asked)
			printf "  %d GPUs: ours %s, the published formulas, which have no PipeDream, %s\n", g, share(hit[g], asked[g]), share(hit_p[g], asked[g])
		if (wrong) printf "Wrong:\n%s", wrong }' rows
