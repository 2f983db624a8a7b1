#!/bin/sh
# Checks pmanalyze reduce and the report of summaries on four ranks of softgpu's modelled GPUs, of which one is slow in one layer:
# under a launcher's variables and under Open MPI where it is installed (77 where it is not, with all else checked). What the
# summaries say must be what report and balance say of the traces.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
pmanalyze=$bin/pmanalyze
unset RANK OMPI_COMM_WORLD_RANK MV2_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID 2>/dev/null || true

. "$(dirname "$0")/../complain.sh"

# expect STATUS SENTENCE COMMAND...: exit status, and a part of what is said
expect() {
	expected=$1 sentence=$2 status=0
	shift 2
	"$@" >out 2>&1 || status=$?
	[ "$status" = "$expected" ] || complain "exit status $status, expected $expected: $*"
	grep -qFe "$sentence" out || complain "'$sentence' is not said by: $*: $(cat out)"
}

export SOFTGPU_TIME_SCALE=50
SOFTGPU_DISTURB="rank=2 layer=conv2 slow=3" "$bin/pmrun" -q -n 4 -o run --softgpu=v100 -- "$bin/train_cnn" --synthetic \
	--batch 768 --iterations 30 --print 0 >run.out 2>&1

# what report and balance say of the traces
cat >agree.py <<'END2'
import csv, json, sys
pmanalyze, folder, runs = sys.argv[1:4]
import subprocess
def ask(*words):
    return subprocess.run([pmanalyze, *words], stdout=subprocess.PIPE, check=True).stdout.decode()
full, own = json.loads(ask("report", "--json", runs)), json.loads(ask("report", "--json", folder))
balance = json.loads(ask("balance", "--json", runs))["runs"][0]
layers = json.loads(ask("layers", "--json", runs))["layers"]
bad = 0
def same(what, a, b, part=1e-6):
    global bad
    if (a is None) != (b is None) or (a is not None and abs(a - b) > part * (abs(a) + abs(b)) + 0.01):
        bad = 1
        print(f"{what}: {b} from summaries, {a} from traces")
for a, b in zip(full["phases"], own["phases"], strict=True):
    for key in ("busy_ns", "busy_sd_ns", "exclusive_ns", "exclusive_sd_ns", "share", "lif"):
        same(f'{a["phase"]} {key}', a.get(key), b.get(key))
for key in ("t_iter_ns", "equation_ns", "communication_busy_ns", "communication_exposed_ns", "lif"):
    same(key, full[key], own[key])
same("waiting", full["communication_wait_ns"], own["communication_wait_ns"], 0.05)
for a, b in zip(layers, own["layers"], strict=True):
    assert a["layer"] == b["layer"] and a["sizes"] == b["sizes"], (a, b)
    for key in ("forward_ns", "backward_ns", "update_ns", "forward_sd_ns"):
        same(f'{a["layer"]} {key}', a[key], b[key])
    # a summary is of one rank, which does not know how long it waited
    same(f'{a["layer"]} communication', a["communication_ns"] + a["wait_ns"], b["communication_ns"])
for a, b in zip(balance["ranks"], own["ranks"], strict=True):
    assert a["worker"] == b["worker"], (a, b)
    same(a["worker"] + " computing", a["computing_ns"], b["computing_ns"])
    same(a["worker"] + " wait caused", a["wait_caused_ns"], b["wait_caused_ns"], 0.05 if a["wait_caused_ns"] > full["t_iter_ns"] / 100 else 1)
    same(a["worker"] + " waiting", a["waiting_ns"], b["waiting_ns"], 0.05 if a["waiting_ns"] > full["t_iter_ns"] / 100 else 1)
def causes(of):
    return [(c["worker"], c["cause"], c["layer"]) for c in of["causes"]]
if causes(balance) != causes(own) or causes(own) != [("rank 2", "layer", "conv2")]:
    bad = 1
    print("causes", causes(own), "from traces", causes(balance))
# one list of findings, whichever way: the straggler is the first, at the same gain; each has its basis and strength
first, of_traces = own["findings"][0], full["findings"][0]
for key in ("kind", "cause", "subject", "layer", "strength", "advice"):
    if first[key] != of_traces[key]:
        bad = 1
        print(f"first finding: {key} {first[key]} from summaries, {of_traces[key]} from traces")
same("gain", of_traces["gain_ns"], first["gain_ns"], 0.05)
same("step", full["step"]["median_ns"], own["step"]["median_ns"], 0.05)
if any(not item["basis"] or item["gain_ns"] > item["lost_ns"] for item in own["findings"]):
    bad = 1
    print("findings without a basis, or beyond what is lost")
# the same rows as CSV
a, b = (list(csv.DictReader(ask("report", "--csv", name).splitlines())) for name in (runs, folder))
assert len(a) == len(b) == 4 * 14, (len(a), len(b))
for left, right in zip(a, b):
    for key in left:
        if key.endswith("_ns"):
            if not key.endswith("median_ns"):
                same(str((left["rank"], left["phase"], key)), float(left[key] or 0), float(right[key] or 0))
        else:
            assert left[key] == right[key], (key, left, right)
sys.exit(bad)
END2

# each rank by itself, as a launcher starts it: with its variables, and with %r
for rank in 0 1 2 3; do
	RANK=$rank "$pmanalyze" reduce --mine -o a/b/sums run >out &
	SLURM_PROCID=$rank "$pmanalyze" reduce -o slurm run/train_cnn.%r.pmtrace >out.slurm &
done
wait
[ ! -s out ] || complain "--mine prints: $(cat out)"
[ "$(cd a/b/sums && echo *)" = "train_cnn.0.pmsum train_cnn.1.pmsum train_cnn.2.pmsum train_cnn.3.pmsum" ] ||
	complain "the summaries: $(ls a/b/sums)"
diff -r a/b/sums slurm || complain "%r makes other summaries"
for file in a/b/sums/*; do
	[ "$(wc -c <"$file")" -le 8192 ] || complain "$file is longer than 8 KB"
done
python3 agree.py "$pmanalyze" a/b/sums run || complain "summaries and traces disagree"

# all at once, into a folder, a file, and beside the traces: the same summaries
"$pmanalyze" reduce -o all run >/dev/null
diff -r a/b/sums all || complain "all at once differ"
"$pmanalyze" reduce --jobs 1 -o one.pmsum run >/dev/null
cat all/*.pmsum | cmp - one.pmsum || complain "one file differs"
"$pmanalyze" report --json all | sed 's/"run":[^,]*//' >all.json
"$pmanalyze" report --json one.pmsum | sed 's/"run":[^,]*//' | cmp all.json - || complain "the report of one file differs"
cp -r run beside
"$pmanalyze" reduce beside >/dev/null
cmp beside/train_cnn.3.pmsum all/train_cnn.3.pmsum || complain "beside the trace it differs"
"$pmanalyze" report beside | grep -q "from summaries" && complain "a folder with traces is not reported from its traces"
"$pmanalyze" reduce --rank 1 -o rank1 run >/dev/null
[ "$(ls rank1)" = train_cnn.1.pmsum ] || complain "--rank 1: $(ls rank1)"
expect 0 '"collectives":' "$pmanalyze" reduce --json -o all run
expect 0 'rank,trace,trace_bytes,' "$pmanalyze" reduce --csv -o all run
[ "$(wc -l <out)" = 5 ] || complain "the table: $(cat out)"

# other causes, injected; from summaries alone: "rank,cause,layer" or - for nobody
one_case() {
	name=$1 expected=$2 disturb=$3 trainer=$4
	shift 4
	SOFTGPU_DISTURB=$disturb "$bin/pmrun" -q -n 4 -o "$name" --softgpu=v100 -- "$bin/$trainer" --synthetic --iterations 16 \
		--print 0 "$@" >"$name.out" 2>&1
	"$pmanalyze" reduce -o "$name.sums" "$name" >/dev/null
	rm -r "$name"
	"$pmanalyze" report --json "$name.sums" >"$name.json"
	found=$(python3 -c '
import json, sys
causes = json.load(open(sys.argv[1]))["causes"]
print(" ".join(c["worker"].replace(" ", "") + "," + c["cause"] + "," + (c["layer"] or "") for c in causes) or "-")' "$name.json")
	[ "$found" = "$expected" ]
}
# a busy machine's hosts are late for no cause of ours: what is found otherwise is tried once more
run_case() {
	one_case "$@" || { rm -r "$name.sums" && one_case "$@"; } ||
		complain "$name: $found found, $expected injected: $("$pmanalyze" report "$name.sums" | sed -n '/^Ranks/,$p')"
}
run_case nothing - "" train_cnn --batch 768
run_case jitter - "jitter=0.03 seed=3" train_cnn --batch 768
run_case slower rank1,slower, "rank=1 slow=1.5" train_cnn --batch 768
run_case layer_jitter rank2,layer,conv2 "rank=2 layer=conv2 slow=3; jitter=0.03 seed=3" train_cnn --batch 768
run_case host rank0,host, "rank=0 launch=20us" train_cnn --batch 768
SOFTGPU_TIME_SCALE=10
run_case slower_overlap rank2,slower, "rank=2 slow=1.3" train_vgg --depth 11 --dataset cifar10 --aggregate overlap
run_case slower_fused rank0,slower, "rank=0 slow=1.3" train_resnet --depth 18 --dataset cifar10 --batch 48 --aggregate fused

# a pipeline: its layers are named and summed up as those of the traces; that nobody waits in a collective is said
SOFTGPU_TIME_SCALE=10 "$bin/pmrun" -q -n 4 -o pipeline --softgpu=v100 -- "$bin/train_vgg" --depth 11 --dataset cifar10 --synthetic \
	--strategy gpipe --iterations 12 --print 0 >pipeline.out 2>&1
"$pmanalyze" reduce -o stages pipeline >/dev/null
"$pmanalyze" layers --json pipeline >layers.json
"$pmanalyze" report --json stages >stages.json
python3 - <<'END3' || complain "the layers of a pipeline differ"
import json, sys
a, b = (json.load(open(name + ".json"))["layers"] for name in ("layers", "stages"))
bad = len(a) < 10 or [r["layer"] for r in a] != [r["layer"] for r in b]
for r, s in zip(a, b):
    r["communication_ns"] += r["wait_ns"] or 0 # as above
    for key in ("forward_ns", "backward_ns", "communication_ns", "update_ns"):
        if abs(r[key] - s[key]) > 1e-6 * abs(r[key]) + 0.01:
            bad = True
            print(r["layer"], key, r[key], s[key])
sys.exit(bad)
END3
expect 0 "no collective in common" "$pmanalyze" report stages

# a job of many ranks: one in each iteration is late, another each time; nobody is; one is, and always the same
for cause in changing none slower; do
	mkdir "many_$cause"
	"$bin/make_summaries" "many_$cause" 300 "$cause" 17 >/dev/null
	"$pmanalyze" report "many_$cause" | tr '\n' ' ' | tr -s ' ' >"$cause.words"
done
grep -q "Jitter: no persistent straggler: at most [0-9.]* ms a step ([0-9.]*%)" changing.words ||
	complain "intermittent waiting: $(cat changing.words)"
! grep -q "Straggler\|Jitter" none.words || complain "no straggler: $(cat none.words)"
grep -q "1\. Straggler rank 17: slower throughout: at most [0-9.]* ms a step" slower.words || complain "a straggler: $(cat slower.words)"
grep -q "10 of 300, most wait caused first" slower.words || complain "the table is not cut: $(cat slower.words)"
"$pmanalyze" report --ranks many_slower >ranks
[ "$(grep -c '^  rank [0-9]* *node' ranks)" = 300 ] || complain "--ranks does not list 300 ranks"

# what a careless user does
expect 2 "no trace given" "$pmanalyze" reduce
expect 2 "mutually exclusive" "$pmanalyze" reduce --mine --rank 1 run
expect 2 "cannot be written to standard output" "$pmanalyze" reduce -o - run
expect 1 "no launcher variable" "$pmanalyze" reduce --mine run
expect 1 "%r stands for the rank" "$pmanalyze" reduce run/train_cnn.%r.pmtrace
expect 1 "no trace of rank 9 in this folder" env RANK=9 "$pmanalyze" reduce --mine run
expect 1 "No such file" "$pmanalyze" reduce no/such/folder
expect 1 "no *.pmtrace file in this folder" "$pmanalyze" reduce all
expect 1 "run.out: not a folder" "$pmanalyze" reduce -o run.out run
expect 1 "all/train_cnn.0.pmsum" "$pmanalyze" reduce all/train_cnn.0.pmsum
expect 1 "/proc/none" "$pmanalyze" reduce -o /proc/none/here run
expect 2 "cannot be combined in one report" "$pmanalyze" report all run
expect 2 "summaries have no single iterations" "$pmanalyze" report --csv --iterations all
rm all/train_cnn.1.pmsum
head -c 100 all/train_cnn.3.pmsum >cut && mv cut all/train_cnn.3.pmsum
cp all/train_cnn.0.pmsum all/again.pmsum
expect 0 "all/train_cnn.3.pmsum: byte 0: truncated summary" "$pmanalyze" report all
tr '\n' ' ' <out | tr -s ' ' >words
grep -q "summaries of 2 of 4 ranks: 1, 3 are missing" words || complain "missing ranks: $(cat out)"
grep -q "rank 0 occurs more than once" words || complain "a rank twice: $(cat out)"
printf 'PMSUM\r\n\032' >bad.pmsum
expect 1 "truncated summary: incomplete header" "$pmanalyze" report bad.pmsum
ls -A . a/b/sums all slurm | grep -q "pmsum\.......$" && complain "a temporary file was left"

[ $bad = 0 ] || exit 1
command -v mpirun >/dev/null || {
	echo "all but Open MPI: no mpirun"
	exit 77
}
mpirun --allow-run-as-root --oversubscribe -n 4 "$pmanalyze" reduce --mine -o mpi run >mpi.out 2>&1 || complain "mpirun: $(cat mpi.out)"
diff -r a/b/sums mpi || complain "under Open MPI the summaries are others"
exit $bad
