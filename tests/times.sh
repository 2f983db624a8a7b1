#!/bin/sh
# Measured times: a run on a modelled V100, as the times of another device, gives a run on a modelled RTX 2080 the V100's durations, by softgpu's
# own log; with another batch or number of ranks it says how much was measured, and all-reduces follow the ring formula; wrong files are refused.
# And what a trace of torch.profiler gives: kernels by grid and block, products and convolutions by their operators' sizes, copies, sets, collectives.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
. "$SOURCE/tests/complain.sh"

# run NAME RANKS GPU BATCH: a run into NAME, what it says into NAME.said, softgpu's log of rank 0 into NAME.0
run() {
	SOFTGPU_TRUTH=$1.%r "$bin/pmrun" -q -n "$2" -o "$1" --softgpu="$3" -- \
		"$bin/train_cnn" --synthetic --iterations 8 --print 0 --batch "$4" >"$1.said" 2>&1 || fail "$1: $(cat "$1.said")"
}
# busy NAME: ns of rank 0's kernels, copies and sets
busy() {
	awk -F, '$1 == "kernel" || $1 == "copy" || $1 == "set" { sum += $11 - $9 } END { printf "%.0f\n", sum }' "$1.0"
}
# part NAME WORD: a share that the run says
part() {
	sed -n "s/^softgpu: SOFTGPU_TIMES: .* \([0-9.]*\)% $2.*/\1/p" "$1.said"
}
near() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(b > 0 && a > 0.99 * b && a < 1.01 * b) }' || fail "$3: $1, expected $2"
}
is() {
	awk "BEGIN { exit !($1) }" || fail "not so: $1"
}

run v100 2 v100 256
"$bin/pmanalyze" export --times -o v100.times v100
run plain 2 rtx2080 256
is "$(busy plain) > 1.1 * $(busy v100)"

export SOFTGPU_TIMES=v100.times
run same 2 rtx2080 256
near "$(busy same)" "$(busy v100)" "device time of the same run"
grep -q 'SOFTGPU_TIMES: 100.0% of the modelled GPU time was measured' same.said || fail "$(cat same.said)"

run batch 2 rtx2080 128
is "$(part batch 'by rule') > 20"
is "$(part batch 'by rule') < 99"

# the same gradients over three ranks: 2 (n-1) / n is 4/3 there, and 1 of two
run ranks 3 rtx2080 384
is "$(part ranks 'is scaled') > 1"
unset SOFTGPU_TIMES
"$bin/pmanalyze" export --times -o ranks.times ranks
all_reduce() {
	awk -F'\t' -v shape="$2" '$2 == "ncclAllReduce" && $3 == shape { print $5 }' "$1"
}
near "$(all_reduce ranks.times '123360 3')" "$(all_reduce v100.times '123360 2' | awk '{ print $1 * 4 / 3 }')" "all-reduce of three ranks"

# refused FILE SENTENCE
refused() {
	! SOFTGPU_TIMES=$1 SOFTGPU_PROFILE=v100 LD_LIBRARY_PATH=$BUILD/softgpu "$bin/train_cnn" --synthetic --iterations 1 --print 0 >said 2>&1 ||
		fail "not refused: $1"
	grep -q "^softgpu: SOFTGPU_TIMES: $2" said || fail "$1: $(cat said)"
}
echo "# times of pmhook 1" >empty
printf '# times of pmhook 1\nkernel\tfoo\t1 1 1 32 1 1\tmany\n' >broken
refused v100 "v100: found a folder, expected a run's times: pmanalyze export --times -o times.tsv v100"
refused none "none: No such file"
refused empty "empty: no times in it"
refused said "said: no times in it"
refused broken "broken: line 2: expected kind, name"
printf '# times of pmhook 1\nkernel\tfoo\t1 1 1 32 1 1\t5\t1000\n' >other
SOFTGPU_TIMES=other run covered 1 v100 64
grep -q 'SOFTGPU_TIMES: other: no operation of this program is in it' covered.said || fail "$(cat covered.said)"

# a line of the trace: CATEGORY NAME BEGIN DURATION ARGUMENTS
event() {
	printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": 0, "tid": 7, "ts": %s, "dur": %s, "args": {%s}},\n' "$@"
}
kernel() {
	event kernel "$1" "$2" "$3" "\"device\": 0, \"stream\": 7, \"correlation\": $4, \"External id\": $5${6:+, $6}"
}
{
	echo '{"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": ['
	event cpu_op aten::addmm 0 50 '"External id": 1, "Input Dims": [[64], [32, 128], [128, 64], [], []]'
	event cpu_op aten::bmm 60 50 '"External id": 2, "Input Dims": [[4, 8, 16], [4, 16, 32]]'
	event cpu_op aten::mm 120 50 '"External id": 3, "Input Dims": [[4, 8], [9, 16]]' # no product
	event cpu_op aten::convolution_backward 190 5 '"External id": 5, "Input Dims": [[8, 32, 10, 9], [8, 16, 20, 18], [32, 4, 3, 3], [], []]' # in 4 groups
	event cpu_op aten::cudnn_convolution 170 5 '"External id": 6, "Input Dims": [[8, 16, 20, 18], [32, 4, 3, 3], [], []]'
	event cpu_op aten::cudnn_convolution 175 5 '"External id": 7, "Input Dims": [[8, 16, 21, 18], [32, 4, 3, 3], [], []]' # nothing goes back
	event cpu_op aten::convolution_backward 195 5 '"External id": 8, "Input Dims": [[8, 16, 20, 20], [8, 16, 10, 10], [16, 16, 4, 4], [], []]' # transposed
	event cpu_op aten::relu 180 10 '"External id": 4, "Input Dims": [[32, 64]]'
	kernel sgemm_128x64 200 10 1 1 '"grid": [1, 2, 3], "block": [128, 1, 1]'
	kernel splitKreduce 210 2.5 2 1 '"grid": [1, 1, 1], "block": [32, 1, 1]'
	kernel 'void at::native::vectorized_elementwise_kernel<4, float>(int)' 220 3 3 1 '"grid": [8, 1, 1], "block": [128, 1, 1]'
	kernel sgemm_batched 230 7 4 2 '"grid": [4, 1, 1], "block": [128, 1, 1]'
	kernel sgemm_odd 240 4 5 3 '"grid": [9, 1, 1], "block": [64, 1, 1]'
	kernel 'void at::native::relu<float>(int)' 250 1.5 6 4 '"grid": [ 16 , 1,1 ], "block": [256, 1, 1]'
	kernel 'void at::native::relu<float>(int)' 260 2.5 7 4 '"grid": [16, 1, 1], "block": [256, 1, 1]'
	kernel 'void at::native::short<float>(int)' 270 2 8 4 '"grid": [16, 1], "block": [256, 1, 1]' # not as it should be
	kernel 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)' 280 9 9 0 \
		'"grid": [2, 1, 1], "block": [512, 1, 1], "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float", "Group size": 2'
	kernel conv_back_data 290 6 20 5 '"grid": [1, 1, 1], "block": [64, 1, 1]'
	kernel conv_back_filter 291 8 21 5 '"grid": [1, 1, 1], "block": [64, 1, 1]'
	kernel conv 292 7 22 6 '"grid": [2, 1, 1], "block": [64, 1, 1]'
	kernel conv_alone 293 5 23 7 '"grid": [3, 1, 1], "block": [64, 1, 1]'
	kernel conv_other 294 5 24 8 '"grid": [4, 1, 1], "block": [64, 1, 1]'
	event gpu_memcpy 'Memcpy HtoD (Pinned -> Device)' 300 6 '"device": 0, "stream": 7, "correlation": 10, "bytes": 4096'
	event gpu_memset 'Memset (Device)' 310 1 '"device": 0, "stream": 7, "correlation": 11, "bytes": 512'
	echo '{}]}'
} >trace.json
"$bin/pmanalyze" export --times trace.json 2>/dev/null | grep -v '^#' >given
tr '|' '\t' >wanted <<'END'
call|-|1658880 0|3|7000
call|-|32768 0|1|7000
call|-|524288 0|1|12500
collective|ncclAllReduce|4000 2|1|9000
copy|H2D|4096|1|6000
kernel|conv_alone|3 1 1 64 1 1|1|5000
kernel|conv_other|4 1 1 64 1 1|1|5000
kernel|sgemm_odd|9 1 1 64 1 1|1|4000
kernel|void at::native::relu<float>(int)|16 1 1 256 1 1|2|2000
kernel|void at::native::vectorized_elementwise_kernel<4, float>(int)|8 1 1 128 1 1|1|3000
set|-|512|1|1000
END
diff wanted given || fail "times of a trace of torch.profiler"
