#!/bin/sh
# The programs that measure a GPU (tests/gpu/nets.py, operations.py) run, on softgpu, and what the bench makes of them is right: a net held
# against itself differs in nothing, on a GPU of half the rates it takes about twice as long. PM_TORCH as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 SOFTGPU_ABSENT=off
. "$SOURCE/tests/complain.sh"
on_softgpu() {
	LD_PRELOAD="$BUILD/softgpu/libsoftgpu_preload.so" "$PYTHON" "$@" 2>>errors || complain "$*: $(tail -n 3 errors)"
}
bench() {
	"$PYTHON" "$SOURCE/tests/bench/softgpu_times.py" "$@"
}
net=gptsmall_b1_bf16
# what has a constant time in it (floors, latencies) is not twice as long
awk '/^(memory_gb_s|l2_gb_s|thread_mb_s|fp[0-9]+_tflops|tf32_tflops)/ { $2 /= 2 } { print }' "$SOURCE/testapps/softgpu/profiles/h200.profile" >half.profile
for profile in h200 ./half.profile; do
	of=$(basename "$profile" .profile)
	SOFTGPU_PROFILE=$profile on_softgpu "$SOURCE/tests/gpu/nets.py" $net --out "$of.jsonl" --traces "$of" --warm-up 2 --rounds 0 --profiled 1 >/dev/null
done
bench h200.jsonl h200.jsonl --traces h200 h200 >same
grep -Eq "^$net .*( +\+0\.0%){4}" same || complain "the net against itself: $(grep "^$net" same)"
grep -q '^all  *[0-9]*  *0.0%  *0.0%$' same || complain "its operations against themselves: $(grep '^all' same)"
bench h200.jsonl half.jsonl --traces h200 half >other
awk -v net=$net '$1 == net { exit !($4 + 0 > 30 && $4 + 0 < 105) }' other || complain "half the rates: $(grep "^$net" other)"
SOFTGPU_PROFILE=h200 SOFTGPU_TIME_SCALE=0.001 on_softgpu "$SOURCE/tests/gpu/operations.py" --seconds 1 --out operations.csv
for kind in relu sum copy_hd_pageable; do
	[ "$(grep -c "^$kind," operations.csv)" -ge 7 ] || complain "operations.csv has too little of $kind"
done
status=0
PM_GPU_DATA='' sh "$SOURCE/tests/bench/softgpu_times.sh" "$BUILD" >skipped || status=$?
{ [ $status = 77 ] && grep -q PM_GPU_DATA skipped; } || complain "the bench without data: status $status"
exit $bad
