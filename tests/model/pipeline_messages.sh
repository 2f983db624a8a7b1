#!/bin/sh
# A pipeline whose batches follow each other hides its messages also with one micro-batch a batch: two stages of which the second is the longer
# take 1.1 times as long with links of 2 GB/s, on which its input takes a fourth of an iteration, as with links a hundred times as fast. If
# receives are queued when the batch before has been waited for it is 1.4 times.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
export SOFTGPU_TIME_SCALE=20

# GB/s: the mean iteration, us, where the pipeline is full
iteration() {
	awk -v rate="$1" '$1 == "device_link_gb_s" { $2 = rate } { print }' "$SOURCE/testapps/softgpu/profiles/v100.profile" >links.profile
	"$bin/pmrun" -q -n 2 -o "run.$1" "--softgpu=$PWD/links.profile" -- "$bin/train_vgg" --depth 11 --dataset cifar10 --synthetic --batch 64 \
		--iterations 20 --print 0 --strategy pipedream --micro-batches 1 --partition 5 --clock clock >/dev/null
	awk -F, '$4 == "iteration" && $1 >= 4 && $1 < 12 { sum += $7; n++ } END { print sum / n }' clock.0
}

slow=$(iteration 2)
fast=$(iteration 200)
awk -v slow="$slow" -v fast="$fast" 'BEGIN { print "an iteration: " slow " us with slow links, " fast " us with fast ones"; exit !(slow < 1.25 * fast) }'
