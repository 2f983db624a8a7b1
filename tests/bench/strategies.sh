#!/bin/sh
# pmfit strategy against modelled GPUs: six networks on four kinds of images (batch 128, 64, 32, 32 over all GPUs) and 4, 8 and 16 GPUs. A
# network is measured on one GPU with three batches; from that the time of each strategy is predicted, then the strategy is run as predicted
# (partition, stages, micro-batches) and its iteration timed by the trainer itself (the least of all but the first
# three; of PipeDream the mean of 8 of 20, without those where it fills and empties). Errors are
# predicted over measured, less 1: ours, and in brackets the published formulas (5.1), (6.1) with (6.2). The last columns say which is
# recommended by ours and by the published ones (of data and GPipe alone), and which was the quickest; at the end how many were right, and how
# many were right or named a tie with the quickest, by what `pmfit strategy` says its predictions miss. A
# dash: the network cannot be cut so often, it does not fit into a GPU, or the run failed.
#
# These are the questions of [RS] (a recommender for Horovod, GPipe and PipeDream, 16 of 24 right): which of the three frameworks' strategies
# is the quickest for a network, its images and so many GPUs. Its suite is six networks on four kinds of images, 24, on 4, 8 and 16 GPUs; which 24
# of these 72 it asked, and the times that it measured, are not published with its formulas, so all are asked, and the answers are those of
# modelled GPUs. How many are right is printed for each number of GPUs and for all, with what a wrong answer costs.
#
# ROWS=FILE (an absolute path) keeps predicted, published and measured times there, and counts what earlier runs left in it: for the suite in parts.
#
#     [NETS="vgg11 resnet18"] [IMAGES="cifar10"] [GPUS="4 8"] [STRATEGIES=data] [ROWS=FILE] tests/bench/strategies.sh BUILD [PROFILE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: strategies.sh BUILD [PROFILE]}" && pwd)
export SOFTGPU_PROFILE="${2:-v100}" SOFTGPU_DEVICES=16 PATH="$build/bin:$PATH" LC_ALL=C
unset SOFTGPU_DISTURB SOFTGPU_TRUTH SOFTGPU_NUMERICS
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rows="${ROWS:-$scratch/rows}"
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

# strategy, predicted ms, ranks: so many times slower that the hosts' own time does not count, which is not the model's and is longer where
# others use the machine. An iteration takes 100 ms for each rank, for its launches, of data 300, whose ranks all wait for the last one; and, where
# each process copies its part out of the batch, 50 ms for each MB of it: this machine copies 3 MB a ms, so that is below 1%
scale_of() {
	awk -v strategy="$1" -v t="$2" -v n="$3" -v mb="$(awk -v n="$batch" -v sample="$sample" 'BEGIN { print n * sample / 1e6 }')" 'BEGIN {
		least = (strategy == "data" ? 300 : 100) * n
		if (strategy == "data" && least < 50 * mb) least = 50 * mb
		s = least / t
		print (s < 4 ? 4 : s > 4000 ? 4000 : int(s)) }'
}
measure() { # the time of an iteration, ms: scale, ranks, iterations, trainer and its options
	scale=$1
	count=$2
	iterations=$3
	shift 3
	if SOFTGPU_TIME_SCALE=$scale timeout 300 pmrun -q -n "$count" -o run --softgpu -- "$@" --synthetic --batch "$batch" --iterations "$iterations" \
		--print 0 --clock clock >log 2>&1; then
		steady_iteration clock.0 "$iterations" | awk -v scale="$scale" '{ print $1 == "nan" ? $1 : $1 / 1e3 / scale }'
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
			scale=$(scale_of $strategy "$ms" "$ranks")
			how=$(options_of $strategy "$(field $strategy micro_batches)" "$(field $strategy stages)" "$(field $strategy partition)")
			[ $strategy != data ] || how="$how --cycle-ms $scale"
			if [ -n "$predicted" ]; then
				# shellcheck disable=SC2046,SC2086
				echo "$strategy $ms $(field $strategy miss) $(field $strategy published_ns | awk '{ print $1 == "" ? "nan" : $1 / 1e6 }') \
					$(measure $scale $ranks $(iterations_of $strategy 6) $(trainer_of "$1") --dataset "$2" $how)"
			else
				echo "$strategy inf 0 inf inf" # it does not fit, or the network cannot be cut so often
			fi
		done >timed
		awk -v net="$1" -v images="$2" -v ranks="$ranks" '
			function percent(p, m) { return p ~ /n/ || m ~ /n/ ? "-" : sprintf("%+.0f%%", 100 * (p / m - 1)) }
			function is_number(x) { return x !~ /n/ }
			function least(a, n, i, b) { b = 1; for (i = 2; i <= n; i++) if (a[i] !~ /n/ && (a[b] ~ /n/ || a[i] + 0 < a[b] + 0)) b = i; return b }
			{ name[NR] = $1; ours[NR] = $2; published[NR] = $4; real[NR] = $5 }
			END {
				printf "%-10s %-8s %4d", net, images, ranks
				for (i = 1; i <= 3; i++) {
					printf " %9s %6s", real[i] ~ /n/ ? "-" : sprintf("%.2f", real[i]), percent(ours[i], real[i])
					if (i < 3) printf " (%5s)", percent(published[i], real[i])
				}
				printf "  %-9s %-9s %-9s\n", name[least(ours, 3)], name[least(published, 2)], is_number(real[least(real, 3)]) ? name[least(real, 3)] : "-"
			}' timed
		awk -v name="$1 $2 $ranks" 'BEGIN { ORS = " "; print name } { print $2, $4 == "nan" ? 0 : $4, $5; miss = miss " " $3 } END { printf "%s\n", miss }' timed >>"$rows"
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
		case $images in # bytes of one
		mnist) sample=3136 ;;
		cifar10) sample=12288 ;;
		imagenet) sample=602112 ;;
		*) sample=3145728 ;;
		esac
		# shellcheck disable=SC2046
		if profile $(trainer_of "$net") --dataset "$images"; then
			row "$net" "$images"
		else
			printf '%-10s %-8s could not be measured on one GPU\n' "$net" "$images"
		fi
	done
done
[ -f "$rows" ] || exit 1
awk '
	function best(a, b, c) { return a <= b && a <= c ? 1 : b <= c ? 2 : 3 }
	function big(x) { return x == "inf" ? 1e300 : x + 0 }
	function share(right, of) { return sprintf("%d of %d", right, of) }
	function mean(s) { return count[s] ? 100 * sum[s] / count[s] : 0 }
	function note(s, predicted, measured, e, k) { # into its errors, in order
		if (predicted >= 1e300 || measured >= 1e300) return
		e = predicted / measured - 1; if (e < 0) e = -e
		sum[s] += e
		for (k = ++count[s]; k > 1 && errors[s, k - 1] > e; k--) errors[s, k] = errors[s, k - 1]
		errors[s, k] = e
	}
	function of_ours(s, k) { # 19 of 20 are below
		k = int(0.95 * count[s]); if (k < 0.95 * count[s]) k++
		return sprintf("%.1f%% (19 of 20 within %.1f%%, at most %.1f%%", mean(s), 100 * errors[s, k], 100 * errors[s, count[s]])
	}
	# may the two be in the other order, by what predictions miss?
	function ties(a, b, x, y) { x = o[a] * off[a]; y = o[b] * off[b]; return o[b] < 1e300 && o[b] - o[a] <= sqrt(x * x + y * y) }
	/nan/ { left++; next } # not all three ran
	{ for (i = 1; i <= 3; i++) { o[i] = big($(3 * i + 1)); p[i] = big($(3 * i + 2) == 0 ? "inf" : $(3 * i + 2)); m[i] = big($(3 * i + 3)); off[i] = $(12 + i)
		note(i, o[i], m[i]); note("published" i, p[i], m[i]) }
	  first = best(m[1], m[2], m[3])
	  if (m[first] == 1e300) { left++; next } # none fits
	  rows++; named = best(o[1], o[2], o[3]); right += named == first; asked[$3]++; hit[$3] += named == first
	  tied = 0; for (i = 1; i <= 3; i++) tied += i != named && ties(named, i)
	  said += tied > 0; held += named == first || ties(named, first); sole += !tied; sole_right += !tied && named == first
	  if (named != first) wrong = wrong sprintf("  %s %s %d: %.1f%% slower than the quickest%s\n", $1, $2, $3, 100 * (m[named] / m[first] - 1),
		ties(named, first) ? ", said to be a tie" : "")
	  two += best(o[1], o[2], 1e300) == best(m[1], m[2], 1e300); theirs += best(p[1], p[2], 1e300) == best(m[1], m[2], 1e300)
	  three += best(p[1], p[2], 1e300) == first; hit_p[$3] += best(p[1], p[2], 1e300) == first }
	END {
		printf "Mean absolute error: data %s; published %.1f%%), GPipe %s; published %.1f%%), PipeDream %s)\n",
			of_ours(1), mean("published1"), of_ours(2), mean("published2"), of_ours(3)
		printf "The quickest of three was recommended %s times; of data and GPipe ours %d, the published formulas %d times; %d left out\n", share(right, rows), two, theirs, left
		for (g = 1; g <= 1024; g++) if (g in asked)
			printf "  %d GPUs: ours %s, the published formulas, which have no PipeDream, %s\n", g, share(hit[g], asked[g]), share(hit_p[g], asked[g])
		printf "It was recommended or named as a tie %s times; a tie was said %d times; where none was said, %s are right\n", share(held, rows), said, share(sole_right, sole)
		if (wrong) printf "Wrong:\n%s", wrong }' "$rows"
