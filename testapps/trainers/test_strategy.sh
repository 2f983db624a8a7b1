#!/bin/sh
# Checks that every strategy of distribution learns what it must: the synchronous ones the same weights as one GPU,
# PipeDream those that its versions of the weights give, all compared with plain C in double precision. Usage:
# test_strategy.sh FOLDER_OF_THE_PROGRAMS
set -u
. "$(dirname "$0")/test_lib.sh"
batch=24 iterations=8 rate=0.1 momentum=0.9

# Largest difference of a weight that rounding may make, relative to the largest weight of the layer: floats have
# 6e-8, and a weight is a sum of a few hundred of them. What a wrong order or version makes is larger by far, which
# `differs` checks.
tolerance=5e-6

# difference NAME NET MICRO_BATCHES RULE: of NAME.weights, and what the rule gives from NET's first weights.
difference() {
	"$bin/test_strategy_reference" "$2" "$work/mnist" $batch "$3" $iterations $rate $momentum "$4" \
		"$work/$2.first" "$work/$1.weights"
}

agrees() {
	d=$(difference "$@") && awk "BEGIN { exit !($d < $tolerance) }" || fail "$*: weights differ by $d"
}

# So that a tolerance too wide is seen: another rule gives other weights.
differs() {
	d=$(difference "$@") && awk "BEGIN { exit !($d > 100 * $tolerance) }" ||
		fail "$*: weights differ by only $d"
}

mlp="train_mlp --hidden 24,20,16,12 --activation tanh"
cnn="train_cnn --filters 3 --activation tanh"
common="--batch $batch --iterations $iterations --print 1 --lr $rate --momentum $momentum"

"$bin/mkdata" --out "$work/mnist" --train 300 --test 50 || exit 1
ranks 1 mlp_first $mlp --epochs 0
ranks 1 cnn_first $cnn --epochs 0
mv "$work/mlp_first.weights" "$work/mlp.first"
mv "$work/cnn_first.weights" "$work/cnn.first"

# The losses of one process, which all others are checked against.
ranks 1 mlp $mlp $common
ranks 1 cnn $cnn $common
for net in mlp cnn; do
	sort -o "$work/$net.log" "$work/$net.log"
done

# case_sync N NET OPTION...: N processes learn NET's weights of a sequential run.
number=0
case_sync() {
	world=$1 net=$2
	shift 2
	number=$((number + 1))
	eval "ranks $world sync$number \$$net $common $*"
	agrees sync$number $net 4 sync
	sort "$work/sync$number.log" | paste -d ' ' "$work/$net.log" - | awk '
		{ d = $NF - $(NF / 2); n++; bad = bad || !(d < 1e-5 && d > -1e-5) || $4 != $(4 + NF / 2) }
		END { exit bad || n != '$((iterations + 1))' }' || fail "sync$number $*: other losses"
}

case_sync 1 mlp
case_sync 1 cnn
for style in after overlap fused "fused --cycle-ms 0" "fused --cycle-ms 0.003" "fused --cycle-ms 100000" \
	"fused --cycle-ms 100000 --fusion-threshold 5000"; do
	case_sync 3 mlp --aggregate $style
done
case_sync 2 cnn --aggregate fused --api graph
case_sync 1 cnn --aggregate fused --gpus 3
case_sync 2 mlp --aggregate fused --gpus 2 --divide device
case_sync 1 mlp --strategy gpipe
case_sync 2 mlp --strategy model
case_sync 3 cnn --strategy model --partition 2,5
case_sync 2 mlp --strategy gpipe --micro-batches 1
case_sync 3 cnn --strategy gpipe --api graph
case_sync 4 mlp --strategy gpipe --micro-batches 8 --recompute off
case_sync 3 cnn --strategy gpipe --micro-batches 6 --partition 1,7
case_sync 4 mlp --strategy hybrid --stages 2-2
case_sync 4 cnn --strategy hybrid --stages 1-3 --micro-batches 3 --recompute off
case_sync 4 mlp --strategy hybrid --stages 2-1-1 --aggregate overlap
case_sync 3 mlp --strategy hybrid --stages 3 --micro-batches 12 --aggregate fused

# An update after each micro-batch, whose loss is its own mean: a smaller step, or rounding grows.
rate=0.01
common="--batch $batch --iterations $iterations --print 1 --lr $rate --momentum $momentum"

# case_pipedream N NET MICRO_BATCHES RULE OPTION...
case_pipedream() {
	world=$1 net=$2 micro=$3 rule=$4
	shift 4
	number=$((number + 1))
	cuts=$(echo "$rule" | sed 's/^0:[0-9]*,*//; s/:[0-9]*//g')
	stages=$(echo "$rule" | sed 's/[0-9]*://g; s/,/-/g')
	eval "ranks $world pipedream$number \$$net $common --strategy pipedream --micro-batches $micro \
		--stages $stages ${cuts:+--partition $cuts} $*"
	agrees pipedream$number $net $micro "$rule"
}

case_pipedream 1 mlp 4 0:1
case_pipedream 2 mlp 4 0:1,2:1
differs pipedream$number mlp 4 0:1
differs pipedream$number mlp 4 sync
case_pipedream 3 cnn 4 0:1,2:1,5:1
differs pipedream$number cnn 4 0:1,2:1
case_pipedream 4 mlp 6 0:1,1:1,2:1,4:1
differs pipedream$number mlp 6 0:1,1:1,2:1
case_pipedream 4 mlp 4 0:2,2:1,3:1 --aggregate overlap
differs pipedream$number mlp 4 0:1,2:1,3:1
case_pipedream 4 cnn 4 0:1,4:2,6:1
case_pipedream 3 mlp 3 0:3 --aggregate fused
case_pipedream 3 mlp 4 0:1,2:2 --recompute on

# Whole batches, twice as many under way.
ranks 3 layerwise1 $mlp $common --strategy layerwise --partition 2,4
agrees layerwise1 mlp 1 =0:1,2:1,4:1
differs layerwise1 mlp 1 0:1,2:1,4:1
ranks 2 layerwise2 $cnn $common --strategy layerwise --partition 2
agrees layerwise2 cnn 1 =0:1,2:1

# Micro-batches are the same wherever the cuts are, and so are batch normalisation, dropout and what is computed again:
# the same weights, bit for bit, and losses, those of test images too.
"$bin/mkdata" --out "$work/volumes" --dataset volumes --train 40 --test 10 --side 16 || exit 1
resattnet="train_resattnet --data $work/volumes --filters 4 --stride 1 --batch 8 --iterations 3 --print 1 --strategy gpipe"
ranks 1 resattnet1 $resattnet
ranks 3 resattnet3 $resattnet
ranks 2 resattnet2 $resattnet --recompute off
identical resattnet1 resattnet3
identical resattnet1 resattnet2
dropping="train_cnn --batch 20 --iterations 5 --epochs 2 --print 1 --dropout 0.5 --optimizer adam --lr 0.001 --eval"
ranks 1 dropping1 $dropping --strategy gpipe
ranks 4 dropping4 $dropping --strategy gpipe
ranks 3 dropping3 $dropping --strategy gpipe --recompute off
identical dropping1 dropping4
identical dropping1 dropping3
ae="train_autoencoder --batch 20 --iterations 5 --print 1 --lr 1 --eval"
ranks 1 ae1 $ae --strategy gpipe
ranks 3 ae3 $ae --strategy gpipe
identical ae1 ae3
ranks 1 stale1 $dropping --strategy pipedream --stages 1
ranks 1 stale2 $dropping --strategy pipedream --recompute on
identical stale1 stale2

# A gradient is sent before the next one takes its place: the first stage takes far longer than the second, which would
# be through with all micro-batches meanwhile, and a gradient of 160 KB does not find room on its way.
wide="train_mlp --hidden 2000,10 --batch 80 --iterations 2 --print 1 --strategy gpipe"
ranks 1 wide1 $wide
ranks 2 wide2 $wide --partition 1
identical wide1 wide2

# The hook changes nothing. A sanitizer's library would have to come before it.
hooked() {
	[ -z "${PM_SANITIZE:-}" ] || return
	world=$1 name=$2
	shift 2
	"$bin/pmrun" -q -n "$world" -o "$work/$name.run" --softgpu -- "$bin/$@" --data "$work/mnist" \
		--save "$work/$name.weights" >"$work/$name.log" 2>&1 || fail "$name: pmrun: $(tail -n 1 "$work/$name.log")"
	rm -rf "$work/$name.run"
	identical "$without" "$name"
}
without=ae1
hooked 3 hooked_ae $ae --strategy gpipe
for options in "--stages 2-1" "--stages 1-2 --aggregate overlap"; do
	ranks 3 plain $cnn $common --strategy pipedream $options
	without=plain
	hooked 3 hooked $cnn $common --strategy pipedream $options
done

# The clock: what each stage does in an iteration, several times a layer, is a row with the sum.
ranks 3 clock $mlp --batch 24 --iterations 3 --strategy hybrid --stages 1-2 --partition 2 --clock "$work/clock"
ranks 3 clocked $mlp --batch 24 --iterations 3 --strategy pipedream --partition 2,4 --clock "$work/flow" --eval
rows() { # FILE PHASE: layers and rows of the phase
	awk -F, -v phase="$2" '$4 == phase { n[$5]++ } END { for (l in n) print l, n[l] }' "$1" | sort | tr '\n' ' '
}
expect() {
	[ "$(rows "$work/$1" "$2")" = "$3" ] || fail "$1 $2: $(rows "$work/$1" "$2")"
}
expect clock.0 forward "fc1 3 fc2 3 "
expect clock.0 recompute "fc1 3 fc2 3 "
expect clock.0 communication "fc2 3 total 3 "
expect clock.0 iteration "- 3 "
expect clock.0 io "- 3 "
expect clock.1 backward "fc3 3 fc4 3 fc5 3 loss 3 "
expect clock.2 communication "fc2 3 fc3 3 fc4 3 fc5 3 total 3 "
expect clock.2 update "- 3 "
expect flow.1 communication "fc2 3 fc4 3 total 3 "
expect flow.1 io ""
expect flow.1 forward "fc3 3 fc4 3 "
expect flow.2 iteration "- 3 "

# What cannot be is refused in one sentence, by each process.
# A bucket is called after all its layers, to the ground-truth log too: 52 convolutions, as many normalisations, fc1.
SOFTGPU_PROFILE=v100 SOFTGPU_TRUTH="$work/truth" "$bin/train_mobilenet" --synthetic --dataset mnist --batch 4 --gpus 2 \
	--iterations 2 --aggregate fused --cycle-ms 1e6 >/dev/null || fail "labels: exit status $?"
awk -F, '{ n = split($6, names, "+"); most = n > most ? n : most } END { exit most != 105 }' "$work/truth" ||
	fail "labels: $(cut -d, -f 6 "$work/truth" | grep + | sort -u)"

# odd OPTION...: the last of three processes has one option more, and all say so.
odd() {
	start 3 odd train_mlp --iterations 1 "$@"
	for pid in $pids; do
		wait "$pid"
		[ $? -eq 2 ] || fail "$* and $last_option: another exit status than 2"
	done
	for rank in 0 1 2; do
		[ "$(cat "$work/odd.log.$rank")" = "train_mlp: options or data of rank 2 differ from those of rank 0" ] ||
			fail "$* and $last_option: rank $rank: $(cat "$work/odd.log.$rank")"
	done
}
ln -s mnist "$work/same"
"$bin/mkdata" --out "$work/fewer" --train 299 --test 50 || exit 1
for last_option in "--lr 0.02" "--hidden 9" "--aggregate overlap" "--eval" "--batch 30" "--strategy model" "--data $work/fewer"; do
	odd
done
for last_option in "--micro-batches 8" "--partition 1,2" "--print 1"; do
	odd --strategy gpipe
done
last_option="--data $work/same --clock $work/some"
ranks 3 paths $mlp $common --strategy gpipe
last_option=
[ -s "$work/some.2" ] || fail "paths: no clock"

of4="WORLD_SIZE=4 RANK=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=1 $bin/train_mlp --data $work/mnist"
refused 2 "4 stages: this network can be cut into at most 3" env $of4 --strategy gpipe --hidden 9
refused 2 "a batch of 30 samples is not divisible into that many" env $of4 --strategy gpipe --batch 30
refused 2 "--gpus 2: a process of a pipeline has one GPU" env $of4 --strategy gpipe --gpus 2
refused 2 "--divide device: the stages" env $of4 --strategy pipedream --divide device
refused 2 "--check-gradients: only with" env $of4 --strategy model --check-gradients
refused 2 "--stages: --strategy data has no stages" env $of4 --stages 2-2
refused 2 "--micro-batches: --strategy data has no stages" env $of4 --micro-batches 8
refused 2 "3 processes required, but 4 are running" env $of4 --strategy hybrid --stages 2-1
refused 2 "--strategy hybrid: --stages must set" env $of4 --strategy hybrid
refused 2 "not divisible among the replicas of stage 1 (3)" env $of4 --strategy pipedream --stages 3-1
refused 2 "the network's last layer is 3" env $of4 --strategy gpipe --partition 1,2,9
refused 2 "--aggregate: no gradients to sum with --strategy model and gpipe" env $of4 --strategy gpipe \
	--aggregate overlap
refused 2 "--aggregate sometimes: expected one of after|overlap|fused" env $of4 --aggregate sometimes

[ $failures -eq 0 ]
