#!/bin/sh
# Every model of the zoo and every strategy, on modelled GPUs: pmanalyze's layers, phases and balance against softgpu's ground truth
# (truth.py). One row a difference; each case is one run of some iterations.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
export SOFTGPU_PROFILE=v100
bad=0

# run_case NAME RANKS TRAINER [OPTION]...: means=--means for the next one compares means
means=
run_case() {
	name=$1 ranks=$2 trainer=$3
	shift 3
	if SOFTGPU_TRUTH=$name.%r.truth "$bin/pmrun" -q -n "$ranks" -o "$name" --softgpu -- "$bin/$trainer" --synthetic --iterations 6 \
		--print 0 "$@" >"$name.out" 2>&1 &&
		"$bin/pmanalyze" layers --csv --iterations "$name" >"$name.layers" &&
		"$bin/pmanalyze" report --csv --iterations "$name" >"$name.phases" &&
		"$bin/pmanalyze" balance --json "$name" >"$name.balance" &&
		python3 "$SOURCE/tests/model/truth.py" $means "$name.layers" "$name.phases" "$name.balance" "$name".*.truth \
			>>"$name.out" 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name"
		cat "$name.out"
		bad=1
	fi
	rm -rf "$name" "$name".*
}

# the zoo
run_case lenet5 3 train_cnn --batch 96
run_case mlp 3 train_mlp --batch 96
run_case autoencoder 3 train_autoencoder --batch 96
run_case shallow 2 train_shallow --dataset mnist
run_case resnet18_mnist 2 train_resnet --depth 18 --dataset mnist
run_case resnet18 2 train_resnet --depth 18 --dataset cifar10
run_case resnet50 2 train_resnet --depth 50 --dataset imagenet --batch 32
# few iterations where there are many operations: the hook holds 8192 device times at most until it knows their calls
run_case resnet152 1 train_resnet --depth 152 --dataset highres --batch 2
run_case vgg11 2 train_vgg --depth 11 --dataset imagenet --batch 8
run_case vgg16 2 train_vgg --depth 16 --dataset cifar10
run_case mobilenet 2 train_mobilenet --dataset imagenet --batch 32
run_case mobilenet_cifar10 2 train_mobilenet --dataset cifar10
run_case resattnet 2 train_resattnet --dataset volumes --batch 4

# who adds up gradients, when, and of which replicas
run_case overlap 3 train_vgg --depth 11 --dataset cifar10 --batch 96 --aggregate overlap
run_case fused 3 train_resnet --depth 18 --dataset cifar10 --batch 96 --aggregate fused
run_case fused_deep 2 train_mobilenet --dataset cifar10 --aggregate fused
run_case adam 2 train_resnet --depth 18 --dataset cifar10 --optimizer adam
run_case gpus_host 1 train_vgg --depth 11 --dataset cifar10 --gpus 2
run_case gpus_device 1 train_vgg --depth 11 --dataset cifar10 --gpus 3 --divide device --batch 96
run_case graph_api 3 train_cnn --batch 96 --api graph --aggregate fused
run_case graph_api_resnet18 2 train_resnet --depth 18 --dataset cifar10 --api graph

# the network divided
run_case model 3 train_vgg --depth 11 --dataset cifar10 --strategy model
run_case model_resnet18 4 train_resnet --depth 18 --dataset cifar10 --strategy model
run_case gpipe 3 train_vgg --depth 11 --dataset cifar10 --strategy gpipe
run_case gpipe_resnet18 4 train_resnet --depth 18 --dataset cifar10 --strategy gpipe --micro-batches 8
run_case gpipe_resnet50 4 train_resnet --depth 50 --dataset imagenet --batch 32 --strategy gpipe
run_case gpipe_kept 2 train_mobilenet --dataset cifar10 --strategy gpipe --recompute off
run_case gpipe_mobilenet 2 train_mobilenet --dataset imagenet --batch 16 --strategy gpipe
run_case gpipe_resattnet 2 train_resattnet --dataset volumes --batch 4 --strategy gpipe
run_case hybrid 4 train_vgg --depth 11 --dataset cifar10 --strategy hybrid --stages 2-2
run_case hybrid_resnet18 4 train_resnet --depth 18 --dataset cifar10 --strategy hybrid --stages 2-2
means=--means
run_case pipedream 3 train_vgg --depth 11 --dataset cifar10 --strategy pipedream
run_case pipedream_replicas 4 train_vgg --depth 11 --dataset cifar10 --strategy pipedream --stages 2-1-1
run_case pipedream_adam 3 train_vgg --depth 11 --dataset cifar10 --strategy pipedream --optimizer adam
run_case pipedream_resnet18 4 train_resnet --depth 18 --dataset cifar10 --strategy pipedream
exit $bad
