#!/bin/sh
# Checks that the trainers learn, and that neither the number of GPUs or processes, nor where a batch is
# divided, nor when gradients are summed changes what they learn. Usage: test_train.sh FOLDER_OF_THE_PROGRAMS
set -u
. "$(dirname "$0")/test_lib.sh"

"$bin/mkdata" --out "$work/mnist" --train 1600 --test 200 || exit 1
"$bin/mkdata" --out "$work/cifar" --dataset cifar10 --train 400 --test 50 || exit 1

# Learning.
run cnn_sgd train_cnn --print 1 --batch 32 --lr 0.1 --eval
run cnn_adam train_cnn --print 1 --batch 32 --lr 0.002 --optimizer adam --dropout 0.2
run mlp_sgd train_mlp --print 1 --batch 32 --lr 0.05 --momentum 0.9
run mlp_adam train_mlp --print 1 --batch 32 --lr 0.001 --optimizer adam
run ae_sgd train_autoencoder --print 1 --batch 32 --lr 1 --momentum 0.9
run ae_adam train_autoencoder --print 1 --batch 32 --lr 0.002 --optimizer adam
falls cnn_sgd 0.5 5
falls cnn_adam 0.5 5
falls mlp_sgd 0.5 5
falls mlp_adam 0.5 5
falls ae_sgd 0.8 5
falls ae_adam 0.8 5
awk '/accuracy/ { good = $NF > 0.7 } END { exit !good }' "$work/cnn_sgd.log" ||
	fail "cnn_sgd: low test accuracy"
run cifar train_cnn --data "$work/cifar" --dataset cifar10 --eval --print 1 --batch 40
run gradients train_cnn --check-gradients --epochs 0
grep -q '^conv2 .*error' "$work/gradients.log" || fail "gradients: no line for conv2"

# Both ways of calling the libraries learn the same, whatever the activation, the padding and the data set.
for activation in relu tanh; do
	options="--batch 32 --iterations 16 --print 1 --lr 0.05 --momentum 0.9 --activation $activation"
	run legacy train_cnn $options --padding same --stride 2 --pool 2 --kernel 3
	run graph train_cnn $options --padding same --stride 2 --pool 2 --kernel 3 --api graph
	close legacy graph
done
run graph_gradients train_cnn --check-gradients --epochs 0 --api graph
grep -q '^conv2 .*error' "$work/graph_gradients.log" || fail "graph_gradients: no line for conv2"

# Distribution: 16 iterations of each program, 2 and 3 GPUs in every way.
for program in train_cnn train_mlp train_autoencoder; do
	options="--batch 32 --iterations 16 --print 1 --lr 0.05 --momentum 0.9 --eval"
	run one $program $options
	run again $program $options
	identical one again
	run graph $program $options --api graph
	close one graph
	run graph_again $program $options --api graph
	identical graph graph_again
	run graph_gpus2 $program $options --api graph --gpus 2 --aggregate overlap
	close one graph_gpus2
	for n in 2 3; do
		run gpus$n $program $options --gpus $n
		close one gpus$n
		run gpus${n}_overlap $program $options --gpus $n --aggregate overlap
		identical gpus$n gpus${n}_overlap
		run gpus${n}_device $program $options --gpus $n --divide device --aggregate overlap
		identical gpus$n gpus${n}_device
		ranks $n ranks$n $program $options
		close one ranks$n
		ranks $n ranks${n}_device $program $options --divide device --aggregate overlap
		identical ranks$n ranks${n}_device
	done
done

# The clock: a row for each phase and layer of each iteration and rank, and times that are some.
ranks 2 clock train_cnn --iterations 3 --batch 32 --dropout 0.5 --divide device --clock "$work/clock"
for rank in 0 1; do
	awk -F, -v rank=$rank '
		NR == 1 { bad = $0 != "iteration,rank,gpu,phase,layer,index,time_us"; next }
		{ count[$4]++; bad = bad || NF != 7 || $2 != rank || $7 < 0 || $1 > 2 }
		END {
			split("io 3 decode 3 h2d 3 md 3 forward 27 backward 27 communication 18 update 3 " \
				"iteration 3", n, " ")
			for (i = 1; i in n; i += 2)
				bad = bad || count[n[i]] != n[i + 1]
			exit bad
		}' "$work/clock.$rank" || fail "clock.$rank: not the expected rows"
done

# What cannot be is refused in one sentence.
refused 2 "conv2: a 5x5 kernel does not fit into a map of 4x4" "$bin/train_cnn" --data "$work/mnist" --pool 5
refused 2 "--kernel 6: expected an integer from 2 to 5" "$bin/train_cnn" --kernel 6
refused 2 "--optimizer best: expected one of sgd|adam" "$bin/train_cnn" --optimizer best
refused 2 "unknown option '--nothing'" "$bin/train_cnn" --nothing
refused 2 "--momentum 0.9: --optimizer adam has none" "$bin/train_cnn" --optimizer adam --momentum 0.9
refused 2 "--eval: no test images with --synthetic" "$bin/train_cnn" --synthetic --eval
refused 2 "--eval: no epoch to evaluate" "$bin/train_cnn" --epochs 0 --eval
refused 2 "--fusion-threshold 9: only with --aggregate fused" "$bin/train_cnn" --fusion-threshold 9
refused 2 "--cycle-ms 0: only with --aggregate fused" "$bin/train_cnn" --cycle-ms 0 --aggregate overlap
refused 2 "--batch 1601: only 1600 training images" "$bin/train_cnn" --data "$work/mnist" --batch 1601
refused 2 "fc1: 39321650000 weights, the maximum is 2147483647" \
	"$bin/train_mlp" --synthetic --dataset highres --hidden 50000
refused 1 "$work/none/weights: No such file or directory" \
	"$bin/train_cnn" --data "$work/mnist" --save "$work/none/weights"
refused 1 "$work/none/clock: No such file or directory" \
	"$bin/train_cnn" --data "$work/mnist" --clock "$work/none/clock"
refused 1 "$work: Is a directory" "$bin/train_cnn" --data "$work/mnist" --save "$work"
refused 1 "$work/none/train-images-idx3-ubyte: No such file or directory" "$bin/train_cnn" --data "$work/none"
truncate -s -1 "$work/mnist/train-images-idx3-ubyte"
refused 1 "train-images-idx3-ubyte: byte 1254415: truncated file, 1254416 bytes expected" \
	"$bin/train_cnn" --data "$work/mnist"
printf '\001' | dd of="$work/mnist/train-images-idx3-ubyte" bs=1 conv=notrunc 2>/dev/null
refused 1 "train-images-idx3-ubyte: byte 0: 0x01000803 found, 0x00000803 expected" \
	"$bin/train_cnn" --data "$work/mnist"
printf '\252' | dd of="$work/cifar/data_batch_1.bin" bs=1 seek=3073 conv=notrunc 2>/dev/null
refused 1 "data_batch_1.bin: byte 3073: label 170 found, 0 to 9 expected" \
	"$bin/train_cnn" --data "$work/cifar" --dataset cifar10 --print 0
truncate -s -1 "$work/cifar/test_batch.bin"
refused 1 "test_batch.bin: byte 153649: truncated file, inside a record of 3073 bytes" \
	"$bin/train_cnn" --data "$work/cifar" --dataset cifar10 --eval

[ $failures -eq 0 ]
