#!/bin/sh
# Checks that the published networks learn, that both ways of calling the libraries agree, and that data, networks and
# options that do not fit together are refused. Usage: test_zoo.sh FOLDER_OF_THE_PROGRAMS
set -u
. "$(dirname "$0")/test_lib.sh"

"$bin/mkdata" --out "$work/mnist" --train 320 --test 20 || exit 1
"$bin/mkdata" --out "$work/cifar" --dataset cifar10 --train 100 --test 10 || exit 1
"$bin/mkdata" --out "$work/volumes" --dataset volumes --train 120 --test 20 --side 16 || exit 1
"$bin/mkdata" --out "$work/bytes" --dataset volumes --train 24 --test 8 --side 16 --bytes || exit 1
"$bin/mkdata" --out "$work/large" --dataset imagenet --train 5 --test 1 || exit 1

# Learning.
run shallow train_shallow --data "$work/mnist" --batch 20 --optimizer adam --lr 0.002 --eval
falls shallow 0.4
run resnet train_resnet --data "$work/cifar" --batch 4 --iterations 14 --lr 0.01 --momentum 0.5
falls resnet 0.4
run mobilenet train_mobilenet --data "$work/cifar" --batch 4 --lr 0.002 --optimizer adam --epochs 4 --iterations 4
falls mobilenet 0.8
run resattnet train_resattnet --data "$work/volumes" --filters 4 --stride 1 --batch 12 --lr 0.05 --eval --epochs 2
falls resattnet 0.4
awk '/accuracy/ { good = $NF > 0.9 } END { exit !good }' "$work/resattnet.log" || fail "resattnet: low test accuracy"

# Both ways of calling, and two GPUs, whenever the sums are made.
options="--data $work/volumes --filters 4 --stride 1 --batch 12 --iterations 4"
run again train_resattnet $options --lr 0.02
run graph train_resattnet $options --lr 0.02 --api graph
close again graph 1e-3
for kernel in 2 5; do
	run kernel$kernel train_resattnet $options --kernel $kernel --activation tanh --padding valid --iterations 2
	run kernel${kernel}_graph train_resattnet $options --kernel $kernel --activation tanh --padding valid \
		--iterations 2 --api graph
	close kernel$kernel kernel${kernel}_graph 1e-3
done
options4="--synthetic --kernel 4 --filters 2 --batch 2 --iterations 2 --lr 0.001"
run kernel4 train_resattnet $options4
run kernel4_graph train_resattnet $options4 --api graph
close kernel4 kernel4_graph 1e-3
run gpus2 train_resattnet $options --gpus 2
run gpus2_overlap train_resattnet $options --gpus 2 --aggregate overlap --divide device
identical gpus2 gpus2_overlap
run bytes train_resattnet --data "$work/bytes" --filters 2 --batch 12 --stride 1 --eval
for depth in 11 16; do
	run vgg train_vgg --depth $depth --data "$work/cifar" --batch 4 --iterations 2 --lr 0.001
	run vgg_graph train_vgg --depth $depth --data "$work/cifar" --batch 4 --iterations 2 --lr 0.001 --api graph
	close vgg vgg_graph 1e-3
done
run large train_mobilenet --data "$work/large" --dataset imagenet --batch 2 --iterations 2 --eval
grep -q 'test loss' "$work/large.log" || fail "large: no evaluation"

# Without files: the same every time, as many iterations as are asked for.
run made train_shallow --synthetic --batch 8 --iterations 5
run made_again train_shallow --synthetic --batch 8 --iterations 5 --data "$work/nothing"
identical made made_again
[ "$(grep -c ' iteration ' "$work/made.log")" -eq 5 ] || fail "made: not five iterations"
run made_gpus2 train_shallow --synthetic --batch 8 --iterations 5 --gpus 2
close made made_gpus2 1e-3

# The check of gradients by difference quotients, with normalisation and attention.
run gradients train_resattnet --data "$work/volumes" --filters 2 --stride 1 --batch 12 --check-gradients --epochs 0 \
	--activation tanh
grep -q '^bn1 .*error' "$work/gradients.log" || fail "gradients: no line for bn1"

refused 2 "images expected, volumes of 16x16x16 found" \
	"$bin/train_resnet" --data "$work/volumes" --dataset volumes
refused 2 "volumes expected, images of 28x28 found" "$bin/train_resattnet" --data "$work/mnist" --dataset mnist
refused 2 "--depth 34: expected one of 18|50|152" "$bin/train_resnet" --depth 34
refused 2 "--kernel 6: expected an integer from 2 to 5" "$bin/train_resattnet" --kernel 6
refused 2 "does not fit into a map of" "$bin/train_resattnet" --data "$work/volumes" --kernel 4 --stride 3
refused 1 "train.raw: byte 8: samples of 3x1x224x224 found, 3x1x512x512 of bytes expected" \
	"$bin/train_vgg" --data "$work/large" --dataset highres
refused 1 "train.raw: No such file or directory" "$bin/train_resattnet" --data "$work/mnist"

[ $failures -eq 0 ]
