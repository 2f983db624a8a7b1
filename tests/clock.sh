#!/bin/sh
# pmanalyze against the trainers' own clock: the same number of iterations, every layer in order, and over 20 iterations the median
# time of each layer's forward and backward pass and communication and of the iteration as the trainer measured it itself with CUDA
# events. On modelled GPUs, whose times do not depend on how busy the machine is, within 1% or 10 us; one case where the stand-ins
# compute, with no more threads than two processors have room for, within 5% or 50 us. Each case is one run; one row a difference.
set -eu
bin=$BUILD/bin
if [ -n "$PM_SANITIZE" ]; then
	echo "times under a sanitizer say nothing"
	exit 77
fi
epochs=2 iterations=13
"$bin/mkdata" --dataset mnist --out data --train 2000 --test 50
. "$SOURCE/tests/undisturbed.sh"
bad=0

# one_case NAME RANKS TRAINER [OPTION]...: on $gpu, within $within
one_case() {
	name=$1 ranks=$2 trainer=$3
	shift 3
	rm -rf "$name" "$name".*
	# a trainer's clock is events around calls; CUPTI's kernels have gaps between them
	PMHOOK_DEVICE=events "$bin/pmrun" -q -n "$ranks" -o "$name" "$gpu" -- "$bin/$trainer" --data data --epochs $epochs \
		--iterations $iterations --batch 96 --print 0 --clock "$name.%r.csv" "$@" >/dev/null
	"$bin/pmanalyze" layers --csv --iterations "$name" >"$name.layers"
	"$bin/pmanalyze" report --csv --iterations "$name" >"$name.phases"
	cat "$name".*.csv >"$name.clock"
	# shellcheck disable=SC2086
	if awk -f "$SOURCE/tests/clock.awk" -v count=$((epochs * iterations)) $within "$name.clock" "$name.layers" "$name.phases" \
		>"$name.out"; then
		echo "ok $name"
	else
		echo "not ok $name"
		cat "$name.out"
		return 1
	fi
}
run_case() {
	undisturbed one_case "$@" || bad=1
}

gpu=--softgpu within='-v within=0.05 -v floor_us=50'
run_case cnn_computing 1 train_cnn
# hosts do not run by the model clock: what they lose to each other must be small beside an iteration
export SOFTGPU_TIME_SCALE=20
gpu=--softgpu=v100 within='-v within=0.01 -v floor_us=10'
run_case cnn_1 1 train_cnn
run_case cnn_3 3 train_cnn
run_case cnn_3_overlap 3 train_cnn --aggregate overlap
run_case cnn_adam_dropout 2 train_cnn --optimizer adam --dropout 0.5 --activation tanh --padding same
run_case cnn_eval 2 train_cnn --eval --optimizer sgd --momentum 0.9
run_case cnn_gpus 1 train_cnn --gpus 2
run_case cnn_gpus_device 1 train_cnn --gpus 2 --divide device --aggregate overlap
run_case mlp_3 3 train_mlp
run_case mlp_overlap 2 train_mlp --aggregate overlap --optimizer adam
run_case ae_3 3 train_autoencoder
run_case ae_adam 2 train_autoencoder --optimizer adam --aggregate overlap
exit $bad
