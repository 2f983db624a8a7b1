#!/bin/sh
# A program prints the same, bit for bit, and ends the same with and without the hook: the trainers in their variants, and a
# host that is awkward on purpose, with either source of device times. Killed programs print a beginning of the same.
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on PMHOOK_OUT="$SCRATCH"
bin=$BUILD/bin

. "$SOURCE/tests/complain.sh"

# same COMMAND...: output, error output and exit status
same() {
	plain=0
	"$@" >plain.out 2>plain.err || plain=$?
	[ -s plain.out ] || [ -s plain.err ] || complain "$* prints nothing: this test tests nothing"
	for PMHOOK_DEVICE in auto events; do
		export PMHOOK_DEVICE
		hooked=0
		with_hook "$@" >hooked.out 2>hooked.err || hooked=$?
		cmp plain.out hooked.out || complain "$* ($PMHOOK_DEVICE) prints something else"
		cmp plain.err hooked.err ||
			complain "$* ($PMHOOK_DEVICE) prints something else on standard error: $(cat hooked.err)"
		[ $plain = $hooked ] || complain "$* ($PMHOOK_DEVICE) ends with $hooked instead of $plain"
		traces=$(find . -name '*.pmtrace' | wc -l)
		[ "$traces" -gt 0 ] || [ "$plain" != 0 ] || complain "$* ($PMHOOK_DEVICE) left no trace"
		rm -f "$SCRATCH"/*.pmtrace
	done
}

"$bin/mkdata" --dataset mnist --out data --train 600 --test 100
common="--data data --batch 32 --epochs 2 --iterations 6 --print 1"
for optimizer in sgd adam; do
	for trainer in train_cnn train_mlp train_autoencoder; do
		# shellcheck disable=SC2086
		same "$bin/$trainer" $common --optimizer $optimizer
	done
done
# shellcheck disable=SC2086
{
	same "$bin/train_cnn" $common --eval --dropout 0.5 --activation tanh --padding same
	same "$bin/train_cnn" $common --gpus 2 --divide device --aggregate overlap
	same "$bin/train_mlp" $common --gpus 8
	same "$bin/train_cnn" $common --save hooked.weights
	same "$bin/train_cnn" --data nowhere
	same env SOFTGPU_FAIL=cudnnConvolutionForward:9 "$bin/train_cnn" $common
	same env SOFTGPU_FAIL=cudaMemcpyAsync:11 "$bin/train_cnn" $common
	# failures that only the hook's own calls meet
	for fault in cudaEventCreateWithFlags:3 cudaEventRecord:7 cudaEventQuery:5 cudaEventElapsedTime:4; do
		same env PMHOOK_DEVICE=events SOFTGPU_FAIL=$fault "$bin/train_mlp" $common
	done
}
for what in threads fork _exit kill error unready errno capture; do
	same "$bin/invisible_host" $what
done

# what went into a graph is marked, and has no device time: three calls in three rounds in three modes
with_hook env PMHOOK_DEVICE=events "$bin/invisible_host" capture >capture.out
"$bin/pmanalyze" dump --records --csv ./*.pmtrace >capture.csv
rm -f ./*.pmtrace
captured=$(awk -F, '$2 == "call" && $10 ~ /c/' capture.csv | wc -l)
[ "$captured" = 27 ] || complain "$captured captured calls are marked instead of 27"
timed=$(awk -F, '$2 == "device" && $12 ~ /cudaMem(cpy|set)Async/' capture.csv | wc -l)
[ "$timed" = 9 ] || complain "$timed copies and sets have device times instead of 9"

# killed from outside: what it printed until then is a beginning of what it prints otherwise
endless="--data data --batch 32 --epochs 100000 --print 1"
# shellcheck disable=SC2086
for hook in without with; do
	mkfifo lines.$hook
	if [ $hook = with ]; then
		with_hook "$bin/train_cnn" $endless >lines.with &
	else
		"$bin/train_cnn" $endless >lines.without &
	fi
	pid=$!
	head -n 40 <lines.$hook >killed.$hook
	kill -KILL $pid 2>/dev/null || true
	wait $pid || true
done
[ "$(wc -l <killed.with)" = 40 ] || complain "a killed trainer printed too little"
cmp killed.without killed.with || complain "a killed trainer prints something else"

# several ranks, each compared with itself
port=$((20000 + $$ % 20000))
for hook in without with; do
	port=$((port + 1))
	export WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
	pids=
	for rank in 0 1 2; do
		# shellcheck disable=SC2086
		if [ $hook = with ]; then
			RANK=$rank LOCAL_RANK=$rank with_hook "$bin/train_cnn" $common --batch 33 >ranks.$hook.$rank 2>&1 &
		else
			RANK=$rank LOCAL_RANK=$rank "$bin/train_cnn" $common --batch 33 >ranks.$hook.$rank 2>&1 &
		fi
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || complain "a rank $hook the hook failed"
	done
done
for rank in 0 1 2; do
	cmp ranks.without.$rank ranks.with.$rank || complain "rank $rank prints something else"
done
[ -s ranks.with.0 ] || complain "rank 0 prints nothing"
exit $bad
