#!/bin/sh
# Checks what the commands print, word for word, on made-up traces: golden.sh PMANALYZE MAKE_TRACE [--write]. The times in the
# golden texts are those that the made-up program gave its work. --write replaces the golden texts.
set -eu
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
pmanalyze=$(realpath "$1") make_trace=$(realpath "$2") write=${3-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

for name in one three overlap two_gpus killed host_only odd graph graph_cupti modules windows stretches untimed cost recompute causes now_and_then; do
	mkdir "$name"
	"$make_trace" "$name" "$name"
done
printf 'no trace\n' >text.pmtrace
head -c 3000 one/program.0.pmtrace >cut.pmtrace

# A trace of another profiler, of one rank: imported RANK, the start of its communication in us.
imported() {
	cat >imported/rank"$1".json <<-END
		{"distributedInfo": {"rank": $1, "world_size": 2}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
		{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9, "ts": 0, "dur": 500},
		{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 10, "dur": 5, "args": {"correlation": 1}},
		{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 20, "dur": 5, "args": {"correlation": 2}},
		{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 9, "tid": 9, "ts": 480, "dur": 5, "args": {"correlation": 3}},
		{"ph": "X", "cat": "kernel", "name": "void gemm<128>(float const*, float*)", "pid": 0, "tid": 7, "ts": 30.5, "dur": 150, "args": {"device": 0, "stream": 7, "correlation": 1}},
		{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 20, "ts": $2, "dur": $((400 - $2)), "args": {"device": 0, "stream": 20, "correlation": 2}},
		{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "pid": 0, "tid": 7, "ts": 490, "dur": 10.25, "args": {"device": 0, "stream": 7, "correlation": 3}}
		]}
	END
}
mkdir imported
imported 0 100
imported 1 370
# Kernels that belong to no phase, in a job whose ranks do not go equally far: unattributed RANK STEPS.
unattributed() {
	printf '{"distributedInfo": {"rank": %d, "world_size": 2}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [' "$1"
	for step in $(seq "$2"); do
		for kernel in gemm_fusion loop_multiply_fusion; do
			ts=$((1000 * step))
			[ $kernel = gemm_fusion ] || ts=$((ts + 200))
			printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": %d, "dur": 5, "args": {"correlation": %d}},\n' \
				$ts $ts
			printf '{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7, "ts": %d, "dur": 100, "args": {"device": 0, "stream": 7, "correlation": %d}}%s\n' \
				$kernel $((ts + 20)) $ts "$([ "$step $kernel" = "$2 loop_multiply_fusion" ] || echo ,)"
		done
	done
	echo ']}'
}
mkdir unattributed
unattributed 0 8 >unattributed/rank0.json
unattributed 1 6 >unattributed/rank1.json
# An inference, which exchanges what its layers need: nothing goes backward, and there are no gradients.
inference() {
	printf '{"distributedInfo": {"rank": 0, "world_size": 1}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": ['
	for step in 1 2 3 4 5 6 7 8; do
		for work in linear:sgemm_128x64_nn:100 all_to_all:ncclDevKernel_SendRecv:300 linear:sgemm_128x64_tn:200; do
			operator=${work%%:*} duration=${work##*:} kernel=${work#*:} ts=$((2000 * step + ${#work} + ${work##*:}))
			printf '{"ph": "X", "cat": "cpu_op", "name": "aten::%s", "pid": 9, "tid": 9, "ts": %d, "dur": 20},\n' "$operator" $((ts - 5))
			printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": %d, "dur": 5, "args": {"correlation": %d}},\n' \
				$ts $ts
			printf '{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7, "ts": %d, "dur": %d, "args": {"device": 0, "stream": 7, "correlation": %d}},\n' \
				"${kernel%:*}" $((ts + 20)) "$duration" $ts
		done
	done
	echo '{"ph": "M", "name": "process_name", "pid": 9}]}'
}
mkdir inference
inference >inference/rank0.json
mkdir same empty_imported
cp imported/rank1.json same/a.json
cp imported/rank1.json same/b.json
head -c 1000 imported/rank1.json >imported_cut.json

# NAME STATUS COMMAND...: output and messages, then the exit status
run_case() {
	name=$1 expected=$2 status=0
	shift 2
	"$pmanalyze" "$@" >"$name.txt" 2>"$name.err" || status=$?
	sed 's/^[^ ]*pmanalyze[^ ]*:/pmanalyze:/' "$name.err" >>"$name.txt"
	sed -i 's/0x7000[0-9a-f]*/ADDRESS/g' "$name.txt"
	if [ "$status" != "$expected" ]; then
		echo "$name: exit status $status, expected $expected"
		failed=1
	fi
	if [ "$write" = --write ]; then
		cp "$name.txt" "$here/golden/$name.txt"
	elif ! diff -u "$here/golden/$name.txt" "$name.txt"; then
		echo "$name: not as in golden/$name.txt"
		failed=1
	fi
}

run_case report_one 0 report one
"$pmanalyze" reduce -o summaries causes >reduce.txt
run_case report_summaries 0 report summaries
run_case report_summaries_json 0 report --json summaries
run_case report_three 0 report three
run_case report_killed 0 report killed
run_case report_host_only 0 report host_only
run_case report_graph 0 report graph
run_case report_graph_cupti 0 report graph_cupti
run_case report_windows 0 report windows
run_case report_windows_json 0 report --json windows
run_case report_stretches 0 report stretches
run_case report_stretches_json 0 report --json stretches
run_case report_untimed 1 report untimed
run_case dump_stretches 0 dump --limit 0 stretches/program.0.pmtrace
run_case report_cost 0 report cost
run_case report_cost_json 0 report --json cost
run_case report_several 0 report one three overlap
run_case report_csv 0 report --csv two_gpus
run_case report_json 0 report --json one
run_case report_unattributed 0 report --iteration-at '^loop_multiply' unattributed
run_case report_forward_only 0 report --iteration-at '^sgemm.*_nn' inference
run_case report_none_skipped 0 report --skip 0 one
run_case layers_one 0 layers one
run_case kernels_three 0 kernels three
run_case kernels_graph 0 kernels --csv graph_cupti
run_case layers_ranks 0 layers --ranks two_gpus
run_case layers_killed 0 layers killed
run_case layers_modules 0 layers modules
run_case layers_graph 0 layers graph
run_case layers_recompute 0 layers recompute
run_case layers_csv 0 layers --csv three
run_case layers_why 0 layers --why one
run_case layers_why_csv 0 layers --why --ranks --csv two_gpus
run_case layers_why_graph 0 layers --why graph
run_case layers_why_iterations 2 layers --why --csv --iterations one
LC_ALL=C run_case roofline_plot 0 roofline --peak-flops 2T --bandwidth 100G --plot one
run_case roofline_csv 0 roofline --csv --kinds --peak-flops 2T --bandwidth 100G three
run_case roofline_json 0 roofline --json graph
run_case roofline_host_only 0 roofline host_only
run_case roofline_bad_rate 2 roofline --bandwidth 900X one
run_case roofline_two 2 roofline one two_gpus killed
run_case balance_three 0 balance three
run_case balance_json 0 balance --json two_gpus
run_case balance_unattributed 0 balance --iteration-at '^loop_multiply' unattributed
run_case balance_causes 0 balance causes
run_case balance_now_and_then 0 balance now_and_then
run_case balance_csv 0 balance --csv causes
run_case comm_three 0 comm three
run_case comm_json 0 comm --json --skip 0 two_gpus
run_case comm_csv 0 comm --csv overlap
run_case comm_none 0 comm one
run_case path_overlap 0 path --iterations overlap
run_case path_json 0 path --json two_gpus
run_case path_csv 0 path --csv --sample 2 one
run_case path_graph 0 path graph
run_case whatif_three 0 whatif three
run_case whatif_json 0 whatif --json two_gpus
run_case whatif_csv 0 whatif --csv --factor 4 one
run_case whatif_asked 0 whatif --rank 2=others --layer conv2=3 --communication 2 --overlap three
run_case whatif_no_layer 2 whatif --layer conv9=2 one
run_case whatif_no_peer 2 whatif --rank 0=others one
run_case whatif_no_factor 2 whatif --communication 0 one
run_case dump_one 0 dump --ops --limit 6 one/program.0.pmtrace
run_case dump_records 0 dump --csv --records --limit 6 killed/program.0.pmtrace
run_case dump_odd 0 dump --ops --records --limit 14 odd/program.0.pmtrace
run_case dump_odd_json 0 dump --json odd/program.0.pmtrace
run_case cut 1 report cut.pmtrace
run_case window_two 0 window --streams imported
run_case window_json 0 window --json --kernels 2 imported/rank0.json
run_case window_csv 0 window --csv --comm-pattern gemm imported
run_case window_cut 0 window imported_cut.json
run_case window_same_rank 0 window --kernels 0 same text.pmtrace
run_case window_no_folder 1 window nothing
run_case window_empty 1 window empty_imported
run_case window_none 1 window text.pmtrace
run_case window_bad_pattern 2 window --comm-pattern '(' imported
run_case arrivals_two 0 arrivals imported
run_case arrivals_json 0 arrivals --json imported
run_case arrivals_alone 1 arrivals imported/rank0.json
run_case export_observations 0 export --observations one three two_gpus killed
run_case export_both 2 export --perfetto --observations one
run_case export_append 2 export --perfetto --append -o one.json one
# A trace of each version that was released stays readable for ever.
mkdir first && cp "$here/golden/version_1.pmtrace" first/program.0.pmtrace
run_case version_1 0 report first
run_case version_1_dump 0 dump --ops --records --limit 8 first/program.0.pmtrace
run_case not_a_trace 1 report text.pmtrace
run_case no_folder 1 report nothing
run_case empty_folder 1 layers .
run_case one_bad_file 0 layers text.pmtrace one/program.0.pmtrace
run_case no_command 2 frobnicate
run_case no_run 2 report
run_case bad_option 2 layers --skip x one
run_case near_command 2 reprot one
run_case near_option 2 layers --rnaks one
run_case unknown_option 2 layers --itration one
run_case short_option 2 balance -x one
run_case no_argument 2 whatif one --layer
run_case needless_argument 2 comm --json=yes one
run_case ambiguous_option 2 whatif --s one
run_case help 0 --help
run_case help_report 0 report --help
run_case help_layers 0 layers --help
run_case help_kernels 0 kernels --help
run_case help_hang 0 hang --help
run_case help_memory 0 memory --help
run_case hang_killed 0 hang killed
run_case hang_three 0 hang three
run_case hang_wrong 1 hang cut.pmtrace text.pmtrace empty_imported
run_case hang_nothing 2 hang
run_case help_top 0 top --help
LC_ALL=C run_case top_three 0 top three
run_case top_csv 0 top --csv two_gpus
LC_ALL=C run_case top_host_only 0 top --once host_only
run_case help_balance 0 balance --help
run_case help_roofline 0 roofline --help
run_case help_comm 0 comm --help
run_case help_path 0 path --help
run_case help_whatif 0 whatif --help
run_case help_dump 0 dump --help
run_case help_window 0 window --help
run_case help_arrivals 0 arrivals --help
run_case help_html 0 html --help
run_case help_export 0 export --help
run_case help_reduce 0 reduce --help
run_case help_snap 0 snap --help

# Lines of help and tables of a usual run fit a terminal.
for text in help help_top top_three help_report help_layers help_kernels help_roofline help_balance help_comm help_path help_whatif help_dump help_window help_arrivals help_html help_export help_reduce help_snap window_two arrivals_two comm_three report_one report_summaries report_three report_several layers_one balance_three balance_causes path_overlap whatif_three whatif_asked; do
	if awk 'length($0) > 80 { exit 1 }' "$text.txt"; then :; else
		echo "$text: a line longer than 80 columns"
		failed=1
	fi
done
[ "$(wc -l <report_three.txt)" -le 64 ] || { echo "a report of $(wc -l <report_three.txt) lines"; failed=1; }
# A reader that stops early is no error.
"$pmanalyze" report --csv --iterations three 2>err | head -n 1 >/dev/null
if [ -s err ]; then
	echo "messages after a broken pipe:"
	cat err
	failed=1
fi
# One row for each iteration, rank and phase, and for each layer.
rows=$("$pmanalyze" report --csv --iterations three | wc -l)
phases=$("$pmanalyze" report --csv one | wc -l)
[ "$rows" -eq $((1 + 3 * 8 * (phases - 1))) ] || { echo "report --csv --iterations: $rows rows"; failed=1; }
rows=$("$pmanalyze" layers --csv --iterations three | wc -l)
[ "$rows" -eq $((1 + 3 * 8 * 9)) ] || { echo "layers --csv --iterations: $rows rows"; failed=1; }
exit $failed
