#!/bin/sh
# pmfit advise against simulation: a network runs on one modelled GPU; from that run alone advise predicts every strategy on several, each
# with the run's batch; then each is run as predicted (stages, micro-batches, partition) by softgpu with the times of that run
# (SOFTGPU_TIMES; what the run has no time for, other batches and collectives, takes that of the model's rule), and its iteration timed by
# the trainer itself: the least of all but the first three (of PipeDream and layer-wise the mean of those that neither fill nor empty the pipeline). All times
# are SCALE times the device's, in the first run too, so that the hosts' own time does not count, and are printed divided by it. Once with the
# device's links and once with slow ones, of LINK GB/s (by default 2; 12 for images of ImageNet's size, whose networks have more parameters). A line for each: predicted, its range, simulated, the error (predicted over simulated, less 1),
# whether it lies in the range, how sure advise is, and "recommended" or "quickest" (of what learns from current weights).
#
# Many processes on few processors need longer times to keep pace, but what takes longer than the rest by itself does not: with LEAST the
# simulated runs have scales of their own, so that an iteration takes about LEAST ms, with more than 32 GPUs in proportion more:
# GPUS=16,32,64 NETS=vgg11 IMAGES=cifar10 SCALE=200 LEAST=1000 on two. STRATEGIES: those alone, by default all that the trainers can do.
#
#     [NETS="vgg11 resnet18"] [IMAGES="cifar10"] [GPUS=2,4,8] [STRATEGIES="data hybrid"] [LINK=2] [SCALE=8] [LEAST=1000] tests/bench/advise.sh BUILD [PROFILE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: advise.sh BUILD [PROFILE]}" && pwd)
export SOFTGPU_DEVICES=64 PATH="$build/bin:$PATH" LC_ALL=C
unset SOFTGPU_TIMES SOFTGPU_DISTURB SOFTGPU_TRUTH SOFTGPU_NUMERICS SOFTGPU_PROFILE
export SOFTGPU_TIME_SCALE="${SCALE:-8}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
. "$here/modelled.sh"
cp "$here/../../testapps/softgpu/profiles/${2:-v100}.profile" own.profile
# the slow profile, and what the user says of the links of both, as slow as all else
clusters() { # GB/s
	awk -v rate="$1" '/^(device_link|network)_gb_s/ { $2 = rate } { print }' own.profile >slow.profile
	for links in own slow; do
		cluster_of $links.profile "$SOFTGPU_TIME_SCALE" >$links.cluster
	done
}

# GPUs, predicted ns: the scale of a simulated run
scale_of() {
	awk -v scale="$SOFTGPU_TIME_SCALE" -v least="${LEAST:-0}" -v gpus="$1" -v t="$2" 'BEGIN {
		s = least * (gpus > 32 ? gpus / 32 : 1) / (t / scale / 1e6)
		print !least ? scale : s < 1 ? 1 : int(s) }'
}

# the simulated iteration, ns: GPUs, strategy, micro-batches, stages, partition, its scale
simulate() {
	iterations=$(iterations_of "$2" 10)
	left=8
	how=$(options_of "$2" "$3" "$4" "$5")
	[ "$2" != data ] || how="$how --cycle-ms $6"
	ranks=$1
	[ "$2" != pipedream ] || left=$(((ranks + $3 - 1) / $3))
	if [ "$2" = layerwise ]; then
		ranks=$(echo "$4" | awk -F- '{ print NF }') # partitions that are merged leave GPUs out
		left=$((2 * ranks))
		iterations=$((24 + left))
	fi
	# shellcheck disable=SC2086
	if SOFTGPU_TIMES=times.tsv SOFTGPU_TIME_SCALE=$6 timeout "${LIMIT:-240}" pmrun -q -n "$ranks" -o run "--softgpu=$PWD/$links.profile" -- $train --batch \
		$((batch * $1)) --iterations $iterations --clock clock $how >log 2>&1 </dev/null; then
		steady_iteration clock.0 "$iterations" "$left" |
			awk -v by="$6" -v scale="$SOFTGPU_TIME_SCALE" '{ print $1 == "nan" ? $1 : $1 * 1e3 * scale / by }'
	else
		sed -n 1p log >&2
		echo nan
	fi
	rm -rf run clock.*
}

printf '%-10s %-8s %-5s %4s %-9s %9s %9s %9s %9s %6s %-3s %-8s\n' net images links GPUs strategy predicted low high simulated error '' sure
for net in ${NETS:-vgg11 resnet18 mobilenet}; do
	for images in ${IMAGES:-cifar10 imagenet}; do
		batch=64 link=2
		[ "$images" != imagenet ] || batch=8 link=12
		clusters "${LINK:-$link}"
		train="$(trainer_of "$net") --dataset $images --synthetic --print 0"
		for links in own slow; do
			rm -rf one
			# shellcheck disable=SC2086
			pmrun -q -n 1 -o one "--softgpu=$PWD/$links.profile" -- $train --batch $batch --iterations 10 >/dev/null 2>&1
			pmanalyze export --times -o scaled.tsv one >/dev/null
			awk -F'\t' -v OFS='\t' -v scale="$SOFTGPU_TIME_SCALE" '!/^#/ && $NF + 0 > 0 { $NF /= scale } { print }' scaled.tsv >times.tsv # softgpu scales them
			# commas of a partition, which are within quotes, are kept apart from those of the table
			pmfit advise --csv --cycle-ms "$SOFTGPU_TIME_SCALE" --cluster $links.cluster --gpus "1,${GPUS:-2,4,8}" one | awk -F'"' -v OFS= '{ for (i = 2; i <= NF; i += 2) gsub(",", "+", $i); print }' |
				awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "recommended") best = i }
					NR > 1 && $1 > 1 && $3 != "" && $2 !~ /^(1f1b|tensor|zero)/ { gsub("[+]", ",", $10); print $1, $2, $3, $4, $5, $8 == "" ? "-" : $8, $9 == "" ? "-" : $9, $10 == "" ? "-" : $10, $11, $best }' >ways
			while read -r gpus strategy time low high micro stages partition sure best; do
				case " ${STRATEGIES:-$strategy} " in *" $strategy "*) ;; *) continue ;; esac
				echo "$net $images $links $gpus $strategy $time $low $high $(simulate "$gpus" "$strategy" "$micro" "$stages" "$partition" "$(scale_of "$gpus" "$time")") $sure $best"
			done <ways >timed
			awk -v scale="$SOFTGPU_TIME_SCALE" '
				{ for (i = 6; i <= 9; i++) $i = $i == "nan" ? "nan" : $i / scale; line[NR] = $0; if ($5 == "pipedream" || $5 == "layerwise" || $9 == "nan") next
				  if (!($4 in first) || $9 + 0 < least[$4]) { first[$4] = $5; least[$4] = $9 + 0 } }
				END { for (i = 1; i <= NR; i++) { split(line[i], f, " ")
					held = (f[9] + 0 >= f[7] + 0 && f[9] + 0 <= f[8] + 0) ? "in" : "out"
					is_best = (f[11] + 0) ? " recommended" : ""
					is_first = (first[f[4]] == f[5]) ? " quickest" : ""
					printf "%-10s %-8s %-5s %4d %-9s %9.3f %9.3f %9.3f %9.3f %+5.1f%% %-3s %-8s%s%s\n", f[1], f[2], f[3], f[4], f[5], f[6] / 1e6, f[7] / 1e6,
						f[8] / 1e6, f[9] / 1e6, 100 * (f[6] / f[9] - 1), held, f[10], is_best, is_first } }' timed | tee -a rows
		done
	done
done
awk '
	/nan/ { left++; next }
	{ e = $10 + 0; if (e < 0) e = -e; n[$5]++; sum[$5] += e; if (e > most[$5]) most[$5] = e; if ($11 == "in") held[$5]++; all++; inside += $11 == "in" }
	/recommended/ { r++; rsum += e; if (e > rmost) rmost = e; if ($11 == "in") rheld++; right += /quickest/ }
	END {
		for (s in n) printf "%s: mean absolute error %.1f%%, at most %.1f%%; in the range %d of %d\n", s, sum[s] / n[s], most[s], held[s], n[s]
		printf "Recommended: mean absolute error %.1f%%, at most %.1f%%; in the range %d of %d; the quickest in %d of %d\n", rsum / r, rmost, rheld, r, right, r
		printf "All ranges: %d of %d hold what was simulated; %d left out\n", inside, all, left }' rows
