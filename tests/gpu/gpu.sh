#!/bin/sh
# The project's trainers and two small programs on a real GPU under the hook: they print what they print without it, and the
# trace tells what they did. Each case is a function below; without arguments all are run.
#
#   ctest -L gpu                          all of them, skipped (77) where there is no GPU
#   BUILD=build sh tests/gpu/gpu.sh       the same by hand, in the current folder; or some: gpu.sh graph nccl_one
#
# The programs are linked against names (libcudart.so.13, libcudnn.so.9, libcublas.so.13, libnccl.so.2), so the vendor's
# libraries are found by path: see common.sh. Tuning: GPU_BATCH, GPU_FILTERS make the work of an iteration larger or smaller.
set -eu
: "${BUILD:?the build folder}"
BUILD=$(cd "$BUILD" && pwd)
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

LIMIT="timeout -k 5 120"
batch=${GPU_BATCH:-4096}
filters=${GPU_FILTERS:-32}
bad=0 done_cases=0

data() {
	[ -d data ] || "$bin/mkdata" --dataset mnist --out data --train $((batch * 13)) --test 100
}

# same NAME COMMAND...: output and exit status with and without the hook, with each source of device times. Two runs
# without it say whether the program repeats itself to the last bit.
same() {
	label=$1
	shift
	for run in plain again; do
		$LIMIT "$@" >"$label.$run" 2>"$label.$run.err" || {
			complain "$label fails without the hook: $(tail -n 3 "$label.$run.err")"
			return
		}
	done
	[ -s "$label.plain" ] || complain "$label prints nothing"
	for source in none events cupti; do
		rm -rf "$label.$source.run"
		hooked $source "$label.$source.run" $LIMIT "$@" >"$label.$source" 2>"$label.$source.err" ||
			complain "$label ends with $? under the hook ($source): $(tail -n 3 "$label.$source.err")"
		if cmp -s "$label.plain" "$label.again"; then
			cmp "$label.plain" "$label.$source" || complain "$label prints something else ($source)"
		else
			nearly_same "$label.plain" "$label.$source" || complain "$label prints something else ($source)"
		fi
		cmp -s "$label.plain.err" "$label.$source.err" ||
			complain "$label ($source) on standard error: $(head -n 3 "$label.$source.err")"
		set_trace "$label.$source.run"
		[ -n "$trace" ] || { complain "$label ($source) left no trace" && continue; }
		is_whole $source
	done
}

# is_whole SOURCE: the trace has its end, lost nothing, and has device times from where they were asked for
is_whole() {
	"$bin/pmanalyze" dump --json "$trace" >dump.json
	[ "$(json_value device_times <dump.json)" = "$1" ] ||
		complain "device times are not from $1: $(notes "$trace")"
	[ "$(json_value ended <dump.json)" = true ] || complain "the trace has no end"
	for loss in refused_records lost_records lost_device_times lost_operations; do
		[ "$(json_value $loss <dump.json)" = 0 ] || complain "$loss $(json_value $loss <dump.json) ($1)"
	done
}

# calls FUNCTION: how many calls the trace has of it
calls() {
	"$bin/pmanalyze" dump --records --csv "$trace" | awk -F, -v f="$1" '$2 == "call" && $12 == f { n++ } END { print n + 0 }'
}

# expect FUNCTION COUNT
expect() {
	[ "$(calls "$1")" = "$2" ] || complain "$(calls "$1") calls of $1 in the trace instead of $2 ($source)"
}

# ---- cases ----

# Three networks, two optimisers, an evaluation, dropout: the same losses to the last digit.
case_same() {
	data
	options="--data data --batch $batch --epochs 2 --iterations 6 --print 1"
	# shellcheck disable=SC2086
	{
		same cnn "$bin/train_cnn" $options
		same adam "$bin/train_cnn" $options --optimizer adam --dropout 0.5 --eval
		same mlp "$bin/train_mlp" $options
		same ae "$bin/train_autoencoder" $options
	}
}

# Iterations, layers in order, and the device time of each layer against the trainer's own clock. Its clock is events around
# calls: CUPTI's times are of the kernels alone, without the gaps between them, and so may be shorter.
case_layers() {
	data
	epochs=2 iterations=13
	for source in events cupti; do
		for trainer in train_cnn train_autoencoder; do
			label=$trainer.$source
			options=
			[ $trainer != train_cnn ] || options="--filters $filters"
			rm -rf "$label"
			# shellcheck disable=SC2086
			RANK=0 hooked $source "$label" $LIMIT "$bin/$trainer" --data data --batch "$batch" --epochs $epochs \
				--iterations $iterations --print 0 --clock "$label.clock" $options >"$label.out" 2>&1 ||
				complain "$label: $(tail -n 3 "$label.out")"
			set_trace "$label"
			[ -n "$trace" ] || { complain "$label left no trace" && continue; }
			is_whole $source
			"$bin/pmanalyze" layers --csv --iterations "$label" >"$label.layers" || complain "$label: no layers"
			"$bin/pmanalyze" report --csv --iterations "$label" >"$label.phases" || complain "$label: no phases"
			"$bin/pmanalyze" layers "$label" >"$label.txt" || true
			below=0.1
			[ $source = events ] || below=0.4
			awk -f "$SOURCE/tests/clock.awk" -v count=$((epochs * iterations)) -v within=0.1 -v below=$below \
				-v floor_us="${GPU_FLOOR_US:-50}" "$label.clock" "$label.layers" "$label.phases" >"$label.bad" ||
				complain "$label: $(cat "$label.bad" "$label.txt")"
		done
	done
}

# A captured graph: its operations once, a record each launch, device times of the whole (events) or of each node (CUPTI).
case_graph() {
	launches=50
	same graph "$bin/gpu_graph_host" $launches
	for source in events cupti; do
		set_trace graph.$source.run
		[ -n "$trace" ] || continue
		expect cudaGraphLaunch $launches
		"$bin/pmanalyze" dump --records --csv "$trace" >records.csv
		captured=$(awk -F, '$2 == "call" && $10 ~ /c/' records.csv | wc -l)
		[ "$captured" = 3 ] || complain "$captured calls went into the graph instead of 3 ($source)"
		awk -F, -v launches=$launches -v source=$source '
			$2 == "call" && $12 == "cudaGraphLaunch" { launch[$6] }
			$2 == "device" && ($6 in launch) { if (++n[$6] == 1) timed++; if (n[$6] > most) most = n[$6]; nodes[$8] }
			END {
				for (k in nodes) ordinals++
				wrong = timed != launches || (source == "events" ? most != 1 : most < 3 || ordinals != most)
				if (wrong)
					printf "%d launches timed, at most %d intervals each, %d ordinals\n", timed, most, ordinals
				exit wrong
			}' records.csv >graph.bad || complain "$(cat graph.bad) ($source)"
	done
}

# NCCL with one rank: a communicator of one, every collective once, its device times.
case_nccl_one() {
	rounds=20
	same nccl "$bin/gpu_nccl_host" $rounds
	for source in events cupti; do
		set_trace nccl.$source.run
		[ -n "$trace" ] || continue
		expect ncclAllReduce $((3 * rounds))
		expect ncclBroadcast $rounds
		expect ncclGroupEnd $rounds
		"$bin/pmanalyze" dump --json "$trace" | sed -n '/"communicators"/,/]/p' >communicators
		[ "$(json_value size <communicators)" = 1 ] || complain "no communicator of one rank ($source)"
		timed=$("$bin/pmanalyze" dump --records --csv "$trace" | awk -F, '
			$2 == "call" && $12 ~ /^nccl(AllReduce|Broadcast)$/ && !$9 { call[$6] }
			$2 == "device" && ($6 in call) && !seen[$6]++ { n++ }
			END { print n + 0 }')
		[ "$timed" = $((2 * rounds)) ] || complain "$timed collectives have device times, not $((2 * rounds)) ($source)"
	done
}

# ranks HOOK_SOURCE|without FOLDER OPTION...: two processes on one GPU, which NCCL takes for two hosts
ranks() {
	how=$1 folder=$2
	shift 2
	rm -rf "$folder"
	mkdir "$folder"
	port=$((20000 + ($$ + ${port_step:=0}) % 20000)) port_step=$((port_step + 1))
	pids= failed=0
	for rank in 0 1; do
		(
			export RANK=$rank LOCAL_RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
			export NCCL_HOSTID=pmhook.$rank NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1 NCCL_MNNVL_ENABLE=0 NCCL_DEBUG=WARN
			if [ "$how" = without ]; then
				exec $LIMIT "$bin/train_cnn" "$@" >"$folder/$rank.out" 2>&1
			fi
			hooked "$how" "$folder" $LIMIT "$bin/train_cnn" "$@" >"$folder/$rank.out" 2>&1
		) &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || failed=1
	done
	return $failed
}

# Two ranks on one GPU: both traces, one communicator, as many collectives on either, the report over both.
case_nccl_two() {
	data
	set -- --data data --batch "$batch" --epochs 2 --iterations 13 --print 5
	if ! ranks without two.plain "$@"; then
		echo "skipped $name: NCCL does not take one GPU for two ranks here: $(grep -hi 'warn\|error\|line' two.plain/*.out | head -n 3)"
		return
	fi
	for source in events cupti; do
		ranks $source two.$source "$@" || complain "a rank fails under the hook: $(tail -n 2 two.$source/*.out)"
		[ "$(find two.$source -name '*.pmtrace' | wc -l)" = 2 ] || complain "not two traces ($source)"
		nearly_same two.plain/0.out two.$source/0.out || complain "rank 0 prints something else ($source)"
		for trace in two.$source/*.pmtrace; do
			is_whole $source
			"$bin/pmanalyze" dump --json "$trace" | sed -n '/"communicators"/,/]/p' | json_value hash
			calls ncclAllReduce
		done | paste -d ' ' - - | sort -u >two.$source.collectives
		[ "$(wc -l <two.$source.collectives)" = 1 ] || complain "the ranks differ: $(cat two.$source.collectives)"
		"$bin/pmanalyze" report --json two.$source >report.json || complain "no report ($source)"
		[ "$(json_value processes <report.json)" = 2 ] || complain "not two processes in the report ($source)"
		[ "$(json_value iterations_found <report.json)" = 26 ] ||
			complain "$(json_value iterations_found <report.json) iterations found, 26 made ($source)"
	done
}

need_gpu libcudart.so.13 libcudnn.so.9 libcublas.so.13 libnccl.so.2
"$bin/pmanalyze" --help >/dev/null 2>&1 || skip "pmanalyze does not run here: $("$bin/pmanalyze" --help 2>&1 | head -n 1)"
for name in "${@:-same layers graph nccl_one nccl_two}"; do
	for name in $name; do
		bad_before=$bad bad=0
		case_"$name"
		[ $bad != 0 ] || echo "ok $name"
		[ $bad_before = 0 ] || bad=$bad_before
		done_cases=$((done_cases + 1))
	done
done
[ $done_cases -gt 0 ] || bad=1
exit $bad
