#!/bin/sh
# What `pmfit advise` says of PyTorch's ways to divide a training, against simulation: torch_strategies.py trains on one modelled A100; from that run
# alone an iteration and the memory of a GPU are predicted for GPUS, each with as many samples; then the same program runs as DDP, ZeRO-1
# (ZeroRedundancyOptimizer), FSDP2 (zero-2: reshard_after_forward=False, zero-3: the default) and tensor parallelism, of transformers as `advise` would
# have it (its partition: blocks, or the head too), and pipelines of torch.distributed.pipelining (gpipe, 1f1b), cut and with as many micro-batches as
# advised, under softgpu. Times are by the program's own CUDA events, the median of all but the first three, memory is the most that a GPU has in use by
# softgpu's count. All times are SCALE times the device's, so that the hosts' own time does not count, and are printed divided by it. A line for each:
# predicted, measured, error, whether the measured time lies in the range; the same of memory, whose prediction may be a lower bound (>=). A dash: not
# predicted.
#
# PyTorch 2.15 has two backends for NCCL. That of earlier versions (TORCH_DIST_USE_NCCL2=0) is the default here; with the new one DDP's
# sums are not hidden behind the backward pass: the stream that computes waits for each of them.
#
#     [NETS="gpt mlp gpt-wide resnet50 llama gpt-long"] [GPUS="2 4"] [STRATEGIES="ddp zero-1 zero-2 zero-3 tensor gpipe 1f1b"] [SCALE=50] tests/bench/torch_strategies.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: torch_strategies.sh BUILD}" && pwd)
. "$here/../pytorch/find_torch.sh"
export SOFTGPU_DEVICES=8 PATH="$build/bin:$PATH" LC_ALL=C OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
export SOFTGPU_TIME_SCALE="${SCALE:-50}" TORCH_DIST_USE_NCCL2="${TORCH_DIST_USE_NCCL2-0}"
unset SOFTGPU_TIMES SOFTGPU_DISTURB SOFTGPU_NUMERICS SOFTGPU_PROFILE
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
. "$here/modelled.sh"
cluster_of "$here/../../testapps/softgpu/profiles/a100.profile" "$SOFTGPU_TIME_SCALE" >cluster

run() { # ranks, net, strategy, batch of a rank, options: its step, ns, and the bytes of the GPU that had most
	launcher=
	[ "$1" = 1 ] || launcher="-m torch.distributed.run --nproc-per-node $1"
	rm -rf run truth.*
	# shellcheck disable=SC2086
	SOFTGPU_TRUTH=truth.%r timeout 500 pmrun -q --softgpu=a100 -o run -- "$PYTHON" $launcher "$here/torch_strategies.py" "$2" "$3" --batch "$4" ${5:-} \
		>log 2>&1 || { grep -v '^$' log | tail -n 5 >&2; echo nan nan; return; }
	awk '/^step_us/ { printf "%.0f ", 1e3 * $2 }' log
	cat truth.* | awk -F, '$1 == "memory" && $13 > most { most = $13 } END { print most }'
}

advised() { # strategy, GPUs: time, low, high, memory, whether that is a lower bound; of what `advise` printed
	name=$1
	[ "$1" != ddp ] || name=data
	awk -F, -v s="$name" -v n="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["gpus"] == n && $at["strategy"] == s {
		if (gsub(/"[0-9,]+"/, "cuts")) $0 = $0 # a partition of several cuts
		least = "memory_at_least" in at ? $at["memory_at_least"] : 0
		print $at["time_ns"] == "" ? "nan nan nan nan 0" : $at["time_ns"] " " $at["low_ns"] " " $at["high_ns"] " " ($at["memory_bytes"] == "" ? "nan" : $at["memory_bytes"]) " " least + 0 }' predicted
}

plan() { # GPUs, strategy: of a pipeline as advised, torch_strategies.py's options; a partition of several cuts is in quotes
	awk -v n="$1" -v s="$2" 'index($0, n "," s ",") == 1 { cut = ""
		if (match($0, /"[0-9,]+"/)) { cut = substr($0, RSTART + 1, RLENGTH - 2); sub(/"[0-9,]+"/, "") }
		split($0, cell, ","); print "--cut", cut == "" ? cell[10] : cut, "--micro-batches", cell[8] }' predicted
}

style() { # GPUs: of tensor parallelism, as advised: torch_strategies.py's name for it
	awk -F, -v n="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["gpus"] == n && $at["strategy"] == "tensor" {
		print $at["partition"] == "blocks" ? "tensor-blocks" : "tensor" }' predicted
}

# a line of what is known of a run, and how far the prediction is off
show() {
	echo "$*" | awk -v scale="$SOFTGPU_TIME_SCALE" '
		function number(x, unit) { return x == "nan" ? "-" : sprintf("%.3f", x / unit) }
		function error(p, m) { return p == "nan" || m == "nan" ? "-" : sprintf("%+.1f%%", 100 * (p / m - 1)) }
		function size(x) { return x == "nan" ? "-" : sprintf("%.0f", x / 1048576) }
		{ held = $4 == "nan" || $9 == "nan" ? "-" : $9 + 0 >= $5 + 0 && $9 + 0 <= $6 + 0 ? "in" : "out"
		  printf "%-8s %-7s %4d %9s %9s %7s %-5s %12s %9s %7s\n", $1, $2, $3, number($4, 1e6 * scale), number($9, 1e6 * scale), error($4, $9),
			held, ($8 ? ">= " : "") size($7), size($10), error($7, $10) }' | tee -a rows
}

printf '%-8s %-7s %4s %9s %9s %7s %-5s %12s %9s %7s\n' net way GPUs predicted measured error range 'memory, MiB' measured error
for net in ${NETS:-gpt mlp gpt-wide resnet50 llama gpt-long}; do
	case $net in
	gpt) batch=8 ;;
	llama) batch=8 ;;
	gpt-wide | gpt-long) batch=4 ;;
	resnet50) batch=32 ;;
	*) batch=512 ;;
	esac
	run 1 "$net" one $batch >/dev/null
	mv run one
	pmfit advise --csv --optimizer adam --batch $batch --cluster cluster --gpus "1,$(echo ${GPUS:-2 4} | tr ' ' ,)" one >predicted
	rm -rf one
	for gpus in ${GPUS:-2 4}; do
		for way in ${STRATEGIES:-ddp zero-1 zero-2 zero-3 tensor gpipe 1f1b}; do
			case "$net $way" in
			"resnet50 tensor" | "resnet50 gpipe" | "resnet50 1f1b" | "mlp gpipe" | "mlp 1f1b") continue ;;
			esac
			each=$batch how=$way options=
			case $way in gpipe | 1f1b) each=$((batch * gpus)) && options=$(plan "$gpus" "$way") ;; esac
			[ "$way" != tensor ] || { each=$((batch * gpus)) && how=$(style "$gpus"); }
			# shellcheck disable=SC2046
			show "$net" "$way" "$gpus" $(advised "$way" "$gpus") $(run "$gpus" "$net" "$how" "$each" "$options")
		done
	done
done
awk '
	function size(x) { x += 0; return x < 0 ? -x : x }
	$7 != "-" { e = size($6); n[$2]++; sum[$2] += e; if (e > most[$2]) most[$2] = e; inside[$2] += $7 == "in" }
	NF == 10 && $10 != "-" { e = size($10); mn[$2]++; msum[$2] += e; if (e > mmost[$2]) mmost[$2] = e }
	END { for (s in n) printf "%s: time %.1f%%, at most %.1f%%, in the range %d of %d; memory %.1f%%, at most %.1f%%\n", s, sum[s] / n[s], most[s],
		inside[s], n[s], mn[s] ? msum[s] / mn[s] : 0, mmost[s] }' rows
