#!/bin/sh
# A cause of imbalance is injected into softgpu's model clock; pmanalyze balance must name the right rank, the cause and the layer, and
# nobody where nothing was injected. One row a case.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
export SOFTGPU_PROFILE=v100
. "$SOURCE/tests/undisturbed.sh"
bad=0

# one_case NAME EXPECTED DISTURBANCE RANKS TRAINER [OPTION]...: EXPECTED is "worker,cause,layer" of each cause, by worker, with
# spaces between; "-" for nobody
one_case() {
	name=$1 expected=$2 disturb=$3 ranks=$4 trainer=$5
	shift 5
	rm -rf "$name" "$name".*
	SOFTGPU_DISTURB=$disturb "$bin/pmrun" -q -n "$ranks" -o "$name" --softgpu -- "$bin/$trainer" --iterations 16 --print 0 "$@" \
		>"$name.out" 2>&1
	"$bin/pmanalyze" balance --json "$name" >"$name.json"
	found=$(python3 -c '
import json, sys
causes = json.load(open(sys.argv[1]))["runs"][0]["causes"]
print(" ".join(c["worker"].replace(" ", "") + "," + c["cause"] + "," + (c["layer"] or "") for c in causes) or "-")' "$name.json")
	if [ "$found" = "$expected" ]; then
		echo "ok $name"
	else
		echo "not ok $name: $found found, $expected injected"
		"$bin/pmanalyze" balance "$name" | sed -n '/^Ranks/,$p'
		return 1
	fi
	rm -rf "$name" "$name".*
}
run_case() {
	undisturbed one_case "$@" || bad=1
}

# Hosts share processors: what they lose to each other must be small beside an iteration.
export SOFTGPU_TIME_SCALE=50
cnn="train_cnn --synthetic --batch 768"
run_case nothing - "" 3 $cnn
run_case jitter - "jitter=0.03 seed=3" 3 $cnn
run_case slower rank1,slower, "rank=1 slow=1.5" 3 $cnn
run_case layer rank2,layer,conv2 "rank=2 layer=conv2 slow=3" 3 $cnn
run_case layer_added rank0,layer,fc1 "rank=0 layer=fc1 add=100us" 3 $cnn
run_case layer_jitter rank2,layer,conv2 "rank=2 layer=conv2 slow=3; jitter=0.03 seed=3" 3 $cnn
run_case host rank0,host, "rank=0 launch=20us" 3 $cnn
if [ -e "$BUILD/softgpu/libslowinput.so" ]; then
	"$bin/mkdata" --dataset mnist --out data --train 20000 --test 50
	export LD_PRELOAD="$BUILD/softgpu/libslowinput.so"
	run_case input rank1,input, "rank=1 input=4ms" 3 train_cnn --data data --batch 768
	run_case input_all - "input=2ms" 3 train_cnn --data data --batch 768
	unset LD_PRELOAD
fi
# These iterations are longer. A message has two ends, and the third of the four stages is in fact the longest.
export SOFTGPU_TIME_SCALE=10
run_case slower_overlap rank2,slower, "rank=2 slow=1.3" 4 train_vgg --depth 11 --dataset cifar10 --synthetic --aggregate overlap
run_case slower_fused rank0,slower, "rank=0 slow=1.3" 3 train_resnet --depth 18 --dataset cifar10 --synthetic --batch 48 --aggregate fused
run_case layer_deep rank1,layer,conv30 "rank=1 layer=conv30 slow=8" 2 train_resnet --depth 50 --dataset imagenet --synthetic --batch 8
run_case more_work rank0,work, "" 2 train_resnet --depth 18 --dataset imagenet --synthetic --batch 5
run_case link "rank1,link, rank2,stage, rank2,link," "link=1-2 bandwidth=0.02" 4 train_vgg --depth 11 --dataset cifar10 --synthetic --strategy gpipe
run_case stage rank1,stage, "" 3 train_vgg --depth 11 --dataset cifar10 --synthetic --strategy gpipe --partition 2,17
exit $bad
