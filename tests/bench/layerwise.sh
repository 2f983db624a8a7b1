#!/bin/sh
# pmfit strategy's layer-wise partition and merge against modelled GPUs: networks are measured on one GPU with two batches; from that an
# iteration of a batch on several is predicted (as many partitions as pay, at most the GPUs), then the trainer runs it with these partitions,
# and the middle of 40 iterations is timed by the trainer itself (it fills and empties at both ends). Beside it PipeDream with whole batches and
# the same partitions, which has half as many batches under way: with slow links (of LINK GB/s; the profile's as well) it is slower. Times in ms; the last column is what a round would take if a GPU's two passes cost each other nothing, which softgpu does not model.
#
#     [NETS="vgg11 resnet18 mobilenet"] [IMAGES="cifar10 imagenet"] [GPUS="2 4"] [LINK=2] tests/bench/layerwise.sh BUILD [PROFILE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: layerwise.sh BUILD [PROFILE]}" && pwd)
export SOFTGPU_DEVICES=16 PATH="$build/bin:$PATH" LC_ALL=C
unset SOFTGPU_DISTURB SOFTGPU_TRUTH SOFTGPU_NUMERICS SOFTGPU_PROFILE
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
. "$here/modelled.sh"
cp "$here/../../testapps/softgpu/profiles/${2:-v100}.profile" own.profile

# processes, strategy, batch, trainer and its options: the median iteration, ms
run() {
	count=$1 how=$2 batch=$3
	shift 3
	scale=$(awk -v t="$predicted" -v n="$count" 'BEGIN { s = 25 * n / t; print (s < 1 ? 1 : s > 400 ? 400 : int(s)) }')
	# shellcheck disable=SC2086
	if SOFTGPU_TIME_SCALE=$scale timeout 240 pmrun -q -n "$count" -o run "--softgpu=$PWD/$links.profile" -- "$@" --synthetic --batch "$batch" \
		--iterations 40 --print 0 --clock clock $how >log 2>&1; then
		# of the first worker, which runs ahead least; between filling and emptying
		awk -F, '$4 == "iteration" && $1 >= 12 && $1 < 28 { n++; sum += $7 } END { print n ? sum / n : "nan" }' clock.0 |
			awk -v s="$scale" '{ print $1 == "nan" ? $1 : $1 / 1e3 / s }'
	else
		sed -n 1p log >&2
		echo nan
	fi
	rm -rf run clock.*
}

printf '%-10s %-8s %-5s %4s %10s %10s %10s %7s %14s %10s\n' net images links GPUs partitions predicted simulated error 'PipeDream whole' 'at once'
for net in ${NETS:-vgg11 resnet18 mobilenet}; do
	for images in ${IMAGES:-cifar10 imagenet}; do
		batch=64
		[ "$images" != imagenet ] || batch=16
		train="$(trainer_of "$net") --dataset $images"
		for links in own slow; do
			awk -v rate="${LINK:-2}" -v is_slow=$links '/^(device_link|network)_gb_s/ && is_slow == "slow" { $2 = rate } { print }' own.profile >$links.profile.new
			mv $links.profile.new $links.profile
			cluster_of $links.profile >cluster
			rm -f layers.*.json
			for part in 1 2; do
				# shellcheck disable=SC2086
				pmrun -q -n 1 -o one "--softgpu=$PWD/$links.profile" -- $train --synthetic --batch $((batch / part)) --iterations 4 --print 0 >/dev/null 2>&1
				pmanalyze layers --json one >layers.$part.json
				[ $part != 1 ] || other=$(pmanalyze report --csv one | awk -F, '$3 ~ /^(io|h2d|other)$/ { sum += $8 } END { print sum / 1e3 }')
				rm -rf one
			done
			for gpus in ${GPUS:-2 4}; do
				pmfit strategy --csv --cluster cluster --workers "$gpus" --batch $batch --other-us "$other" layers.*.json >predicted
				predicted=$(field layerwise time_ns | awk '{ print $1 / 1e6 }')
				at_once=$(pmfit strategy --cluster cluster --workers "$gpus" --batch $batch --other-us "$other" layers.*.json |
					sed -n 's/.*layerwise.*; \([0-9.]*\) ms if.*/\1/p')
				stages=$(field layerwise stages)
				partition=$(field layerwise partition)
				count=$(echo "$stages" | tr -d '\n' | awk -F- '{ print NF }')
				simulated=$(run "$count" "$(options_of layerwise 1 "$stages" "$partition")" $batch $train)
				whole=$(run "$count" "$(options_of pipedream 1 "$stages" "$partition")" $batch $train)
				printf '%-10s %-8s %-5s %4d %10d %10.3f %10.3f %+6.1f%% %14.3f %10.3f\n' "$net" "$images" $links "$gpus" "$count" "$predicted" "$simulated" \
					"$(awk -v p="$predicted" -v s="$simulated" 'BEGIN { print 100 * (p / s - 1) }')" "$whole" "${at_once:-0}" | tee -a rows
			done
		done
	done
done
awk '/nan/ { next } { e = $8 + 0; if (e < 0) e = -e; sum += e; n++; if (e > most) most = e }
	END { printf "Mean absolute error %.1f%%, at most %.1f%%, of %d\n", sum / n, most, n }' rows
