#!/bin/sh
# pmanalyze roofline on the zoo, on modelled GPUs: operations and bytes of each layer against softgpu's own log, multiply-adds against the
# published ones, and rates against the profile's efficiencies (roofline.py).
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
check=$SOURCE/tests/model/roofline.py
bad=0

# Without curves, so that a rate follows from the profile's efficiencies.
# run_case NAME PROFILE RANKS BATCH MILLIONS FIRST TRAINER [OPTION]...: MILLIONS of multiply-adds of a sample as published, - none; FIRST: the
# first layer's, whose data have no gradient; BATCH: of each rank
run_case() {
	name=$1 profile=$2 ranks=$3 batch=$4 millions=$5 first=$6 trainer=$7
	shift 7
	grep -v '^curves\|^near' "$SOURCE/testapps/softgpu/profiles/$profile.profile" >"$profile.profile"
	if SOFTGPU_TRUTH=$name.%r.truth SOFTGPU_PROFILE=./$profile.profile "$bin/pmrun" -q -n "$ranks" -o "$name" --softgpu -- "$bin/$trainer" \
		--synthetic --iterations 6 --print 0 --batch $((batch * ranks)) "$@" >"$name.out" 2>&1 &&
		"$bin/pmanalyze" roofline --json "$name" >"$name.roofline" &&
		python3 "$check" --truth "$name.roofline" "$name".*.truth >>"$name.out" 2>&1 &&
		{ [ "$millions" = - ] || python3 "$check" --products "$millions" "$first" "$name.roofline" "$batch" >>"$name.out" 2>&1; }; then
		echo "ok $name"
	else
		echo "not ok $name"
		cat "$name.out"
		bad=1
	fi
}

# Published: VGG-16 15.5 billion (Simonyan and Zisserman, 2014, by its layers 15.47), ResNet-18 1.8 and ResNet-50 4.1 with the stride in the
# 3x3 convolutions (He et al., 2015, and torchvision's 1.814 and 4.089), MobileNetV2 300 million (Sandler et al., 2018; 300.8 by its layers),
# LeNet-5's by its layers.
run_case lenet5 v100 3 32 0.2816 0.0864 train_cnn
run_case mlp v100 2 32 - - train_mlp
run_case autoencoder v100 1 32 - - train_autoencoder
run_case vgg16 h200 1 8 15470 86.7 train_vgg --depth 16 --dataset imagenet
run_case resnet18 rtx2080 1 16 1814 118 train_resnet --depth 18 --dataset imagenet
run_case resnet50 a100 2 16 4089 118 train_resnet --depth 50 --dataset imagenet
run_case mobilenet v100 1 16 300.8 10.8 train_mobilenet --dataset imagenet
run_case resattnet v100 1 4 - - train_resattnet --dataset volumes
run_case graph_api v100 1 32 0.2816 0.0864 train_cnn --api graph
run_case recomputed v100 2 64 - - train_vgg --depth 11 --dataset cifar10 --strategy gpipe
for pair in "resnet18 rtx2080" "resnet50 a100"; do
	if python3 "$check" --efficiency "${pair% *}.roofline" "$SOURCE/testapps/softgpu/profiles/${pair#* }.profile"; then
		echo "ok ${pair% *}: efficiency"
	else
		echo "not ok ${pair% *}: efficiency"
		bad=1
	fi
done
# Tables of several GPUs can be put together: each row names its own.
if "$bin/pmanalyze" roofline --csv vgg16 | awk -F, 'NR == 1 { ok = $NF == "device"; next } { ok = ok && $NF ~ /H200/; n++ } END { exit !(ok && n) }'; then
	echo "ok vgg16: the GPU in each row"
else
	echo "not ok vgg16: the GPU in each row"
	"$bin/pmanalyze" roofline --csv vgg16 | head -n 3
	bad=1
fi
exit $bad
