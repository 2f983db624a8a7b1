#!/bin/sh
# The device memory in `pmanalyze layers --json` is softgpu's own count, of the rank with most; where allocations do not tell, it says why.
set -u
if [ -n "${PM_SANITIZE:-}" ]; then
	echo "it runs trainers under the hook, which comes before the sanitizer's runtime"
	exit 77
fi
export PATH="$BUILD/bin:$PATH" LC_ALL=C SOFTGPU_PROFILE=v100 SOFTGPU_DEVICES=2
. "$(dirname "$0")/../complain.sh"
run() { # name, ranks, trainer and its options
	name=$1 ranks=$2
	shift 2
	SOFTGPU_TRUTH=$name.truth.%r pmrun -q -n "$ranks" -o "$name" --softgpu -- "$@" --synthetic --print 0 >"$name.out" 2>&1 ||
		{ cat "$name.out"; fail "$name: no run"; }
	pmanalyze layers --json "$name" >"$name.json" || fail "$name: no layers"
}
same() { # name
	truth=$(cat "$1".truth.* | awk -F, '$1 == "memory" && $13 > most { most = $13 } END { print most }')
	grep -q "\"device_bytes\":	$truth\$" "$1.json" || { sed -n 1,6p "$1.json"; fail "$1: softgpu counted $truth"; }
}
run one 1 train_cnn --batch 16 --iterations 6
same one
run data 2 train_vgg --depth 11 --dataset cifar10 --batch 16 --iterations 6
same data
run pipeline 2 train_vgg --depth 11 --dataset cifar10 --batch 16 --strategy gpipe --iterations 6
same pipeline
PMHOOK_MODE=ring run ring 1 train_cnn --batch 16 --iterations 6
same ring
run threads 1 train_cnn --batch 16 --gpus 2 --iterations 6
grep -q '"unknown":	"a process uses several devices' threads.json || { sed -n 1,6p threads.json; fail "two devices of one process"; }
PMHOOK_WINDOW=20-30 run part 1 train_cnn --batch 16 --iterations 60
grep -q '"unknown":	"only a part of the run' part.json || { sed -n 1,6p part.json; fail "a part of the run"; }
exit 0
