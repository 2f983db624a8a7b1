#!/bin/sh
# pmfit step and auto from a table to predictions and a guide: columns found by name, placements, units, careless input.
set -u
. "$SOURCE/tests/fitter/expect.sh"

# 8 ms and 0.5 ms a sample; 6 ms on one node, 30 + 10 log2 n among nodes, one after the other.
awk 'BEGIN {
	print "placement,local_bsz,step_time,sync_time"
	split("1 2 4 11 22 44 111 222 444 1111 2222 4444", places, " ")
	for (i = 1; i <= 12; i++) for (m = 16; m <= 128; m *= 2) {
		n = length(places[i]); k = n * substr(places[i], 1, 1)
		s = k == 1 ? 0 : n == 1 ? 6 : 30 + 10 * log(n) / log(2)
		printf "%s,%d,%.6f,%.6f\n", places[i], m, (8 + 0.5 * m + s) / 1000, s / 1000
	}
}' >runs.csv

status=0
expect 'placement         placement' "$pmfit" step --time step_time,s -o model.json runs.csv
awk '$1 == "b" { b = $2 } $1 == "a" { a = $2 } $1 == "g" { g = $2 + 0 } $1 == "d0" { d = $2 } END {
	exit !(a > 7.6 && a < 8.4 && b > 0.49 && b < 0.51 && g == 1 && d > 5.5 && d < 6.5) }' out.txt ||
	{ cat out.txt; fail "terms are not those of the table"; }
expect '"format":	"pmfit step model"' "$pmfit" step --json --time step_time,s --gradient-bytes 100000000 runs.csv
cp out.txt whole.json
python3 - whole.json <<'END' || fail "the summary of the JSON output"
import json, sys
summary = json.load(open(sys.argv[1]))["summary"]
level, = summary["levels"]
value = {term["name"]: term["value"] for term in level["coefficients"]}
assert summary["rows"] == 48 and summary["time_unit"] == "ms" and summary["columns"][0]["columns"] == ["step_time"], summary
assert abs(value["a"] - 8) < 0.4 and abs(value["d0"] - 6) < 0.5, value
errors = level["errors"]
assert list(dict.fromkeys(row["where"] for row in errors)) == ["inside", "batch", "gpus", "nodes"], errors
assert errors[0]["times"] is None and [row["times"] for row in errors if row["where"] == "batch"] == [2], errors  # of four batches: through two every law passes
assert all(a["error"] <= b["error"] for a, b in zip(errors, errors[1:]) if a["where"] == b["where"]), errors
assert all(row["intervals_widened_by"] >= 1 for row in errors[1:]), errors
assert any(said.startswith("4 GPUs on 1 node: 25 GB/s") for said in level["sentences"]), level["sentences"]
END
expect 'beyond the data' "$pmfit" predict whole.json /dev/stdin <<END
gpus,nodes,local_bsz
32,8,128
END

# Beyond the data: 8 nodes, twice the batch; a placement with numbers; milliseconds by the column's name.
printf 'gpus,nodes,local_bsz,step_ms\n32,8,128,132\n4,1,256,142\n' >ask.csv
expect 'beyond the data: gpus nodes' "$pmfit" predict --time step_ms model.json ask.csv
grep -q 'converted to the model' out.txt || fail "milliseconds are taken for seconds"
"$pmfit" predict --time step_ms --csv model.json ask.csv 2>/dev/null |
	awk -F, 'NR > 1 { if ($5 < 0.9 * $8 || $5 > 1.1 * $8 || $6 >= $5 || $7 <= $5) exit 1 }' || fail "beyond the data"
printf 'placement,local_bsz,time\n4-4,64,80\n' >ms.csv
expect 'another unit of time' "$pmfit" predict --time time model.json ms.csv
printf 'gpus,batch\n4,64\n' >guess.csv
expect 'all GPUs together' "$pmfit" predict model.json guess.csv
printf 'gpus,nodes,local_bsz\n1,1,0.5\n1000,500,16\n' >few.csv
expect 'beyond the data' "$pmfit" predict model.json few.csv

# The time's column by its name, whatever its unit; the time of a step before that of a run.
for name in ms us ns s step_us iter_sec elapsed_s; do
	printf 'batch,gpus,%s\n32,1,9000\n32,2,5000\n32,4,3000\n32,8,2000\n' "$name" >named.csv
	expect "  time   $name (" "$pmfit" auto named.csv
done
printf 'batch,gpus,elapsed_s,step_us\n32,1,70,9000\n32,2,71,5000\n32,4,73,3000\n32,8,72,2000\n' >named.csv
expect "step_us (us)" "$pmfit" auto named.csv

# The guide: placements, more GPUs that are slower, both batches; limits.
expect 'GPU batch  global' "$pmfit" guide --gpus 1,4,8 --batch 16,64 model.json
grep -q '8 GPUs on 2 nodes do fewer samples a second than 4 GPUs on 1 node with 16' out.txt ||
	{ cat out.txt; fail "more GPUs are slower: not said"; }
grep -q 'Fastest within the data: 8 GPUs on 2 nodes with 64 samples on each (512 in' out.txt ||
	{ cat out.txt; fail "another is the fastest"; }
expect 'Fastest within the data' "$pmfit" guide --json model.json
expect '"fastest_inside"' "$pmfit" guide --json --batch-is global --batch 256 --at-most-nodes 2 model.json
"$pmfit" guide --csv --gpus 16 --gpus-per-node 4 --batch 64 model.json |
	awk -F, 'NR == 2 && ($1 != 16 || $2 != 4 || $5 < 0.081 || $5 > 0.099) { exit 1 }' || fail "16 GPUs on 4 nodes"
status=1
expect 'no such level' "$pmfit" guide --level none model.json
expect 'whole numbers' "$pmfit" guide --gpus 1.5 model.json
status=0

# Steps a second are times: the same answers.
awk -F, -v OFS=, 'NR == 1 { $3 = "steps_per_s" } NR > 1 { $3 = 1 / $3 } { print $1, $2, $3 }' runs.csv >rates.csv
expect 'steps a second: the time is one over' "$pmfit" step -o rates.json rates.csv
"$pmfit" predict --csv rates.json ask.csv 2>/dev/null | awk -F, 'NR == 2 && ($5 < 0.118 || $5 > 0.145) { exit 1 }' || fail "rates"

# Without a word about the table: a step's model where nothing else varies, else a formula; a table in place of a model.
awk -F, 'NR == 1 { print $0 ",run,rank,loss" } NR > 1 { print $0 ",run" NR ",0," 1 / NR }' runs.csv >told.csv
expect "Model: the training step ('pmfit step')" "$pmfit" auto told.csv
for line in '  constant          rank' '  results, unused   loss' '  labels, unused    run' '5. Not answered: another GPU'; do
	grep -qF "$line" out.txt || { cat out.txt; fail "auto does not say '$line'"; }
done
"$pmfit" predict --csv model.json ask.csv >by_model.csv 2>/dev/null
"$pmfit" predict --csv told.csv ask.csv >by_table.csv 2>/dev/null
awk -F, 'NR == FNR { t[FNR] = $5 } NR != FNR && FNR > 1 && ($5 < 0.99 * t[FNR] || $5 > 1.01 * t[FNR]) { exit 1 }' by_model.csv by_table.csv ||
	fail "the table's answers are not the model's"
expect 'Fastest within the data' "$pmfit" guide --gpus 1,4,8 runs.csv
awk 'BEGIN { print "filters,optimizer,gpus,batch,time"
	for (i = 1; i <= 120; i++) { f = 8 * (1 + i % 5); g = 2 ^ (i % 3); b = 16 * 2 ^ (i % 4); printf "%d,%s,%d,%d,%.5f\n", f, i % 2 ? "sgd" : "adam", g, b, (3 + 0.02 * f * b / g) * (i % 2 ? 1 : 1.3) } }' >settings.csv
"$pmfit" auto --json told.csv | python3 -c 'import json, sys
answer = json.load(sys.stdin)
taken = {row["role"]: row["columns"] for row in answer["columns"]}
assert taken["label"] == ["run"] and taken["batch"] == ["local_bsz"], taken
assert answer["model"] == "step" and answer["errors"][0]["mape"] < 10 and len(answer["sentences"]) == 5, answer' || fail "auto as JSON"
expect "Model: a formula ('pmfit search')" "$pmfit" auto -o formula.json settings.csv
grep -qF '  settings   filters' out.txt && grep -qF '  levels     optimizer' out.txt || { cat out.txt; fail "settings"; }
expect 'lie within their intervals' "$pmfit" predict -q settings.csv settings.csv
expect 'warning: rows with the same batch, GPUs and nodes differ by' "$pmfit" step settings.csv
"$pmfit" step runs.csv | grep 'rows with the same batch' && fail "a warning about repeated measurements"
expect '"pmfit expression"' cat formula.json

# Results of a run are no settings: by their names, or as they give the time with others; a rate is a time.
awk 'BEGIN { srand(5); print "gpus,local_bsz,img,images_per_sec,peak_mem_mb,seen,step_time"
	for (g = 1; g <= 8; g *= 2) for (b = 8; b <= 64; b *= 2) for (i = 128; i <= 384; i += 128) {
		t = (0.01 + 2e-8 * b * i * i + 0.004 * log(g)) * (1 + 0.02 * rand())
		printf "%d,%d,%d,%.2f,%d,%.3f,%.6f\n", g, b, i, g * b / t, 2000 + b * i, 100 * g * b / t, t } }' >results.csv
expect 'seen with gpus and local_bsz gives the time exactly' "$pmfit" auto results.csv
grep -q '^  settings  *img$' out.txt && grep -q '^  results, unused  *images_per_sec, peak_mem_mb, seen$' out.txt || { cat out.txt; fail "results"; }
expect 'seen with gpus and batch gives the time exactly' "$pmfit" search --work 0.01 --time step_time --extrinsic gpus,batch,seen /dev/stdin <<END
$(sed 's/local_bsz/batch/' results.csv)
END
# Three terms come out as three or four constants, and how far the largest values were missed is said.
"$pmfit" search -q --work 2 --time step_time --extrinsic gpus,local_bsz,img --json results.csv 2>/dev/null >simple.json
python3 - simple.json <<'END' || fail "superfluous terms"
import json, re, sys
found = json.load(open(sys.argv[1]))
taken, = [row for row in found["front"] if row["taken"]]
assert 3 <= taken["constants"] <= 4 and taken["held_out"] < 2, taken
said, = [said for said in found["sentences"] if said.startswith("Beyond the measured ranges")]
assert re.search(r"gpus [\d.]+% \(2× the next\)", said) and re.search(r"local_bsz [\d.]+% \(2× the next\)", said), said
assert "seconds" not in found, found.keys()
END
"$pmfit" search -q --work 2 --time step_time --extrinsic gpus,local_bsz,img --json results.csv 2>/dev/null | cmp -s - simple.json || fail "another file from the same table"
awk -F, -v OFS=, 'NR == 1 { print $1, $2, $4 } $3 == 128 { print $1, $2, $4 }' results.csv >published.csv
awk -F, -v OFS=, 'NR == 1 || $3 == 128 { print $1, $2, $7 }' results.csv >published_times.csv
expect 'samples a second: the time is the whole batch over it' "$pmfit" step --rate images_per_sec -o published.json published.csv
"$pmfit" step --time step_time,s -o published_times.json published_times.csv >/dev/null
printf 'gpus,local_bsz\n16,32\n' >more.csv
for model in published published_times; do "$pmfit" predict --csv $model.json more.csv 2>/dev/null | awk -F, 'NR == 2 { print $5 }'; done |
	awk 'NR == 1 { t = $1 } NR == 2 { exit !($1 > 0.999 * t && $1 < 1.001 * t) }' || fail "a rate is not the time"
status=1
expect 'or the throughput with --rate images_per_sec' "$pmfit" step published.csv
status=2
expect 'expected steps or samples' "$pmfit" step --rate images_per_sec,frames published.csv
status=0
printf 'gpus,local_bsz,step_time_ms\n' >named.csv
awk -F, 'NR > 1 { print $1 "," $2 "," 1000 * $3 }' published_times.csv >>named.csv
for name in step_time_ms elapsed_ms duration_ms ms; do
	sed "1s/step_time_ms/$name/" named.csv >name.csv
	expect "time   $name (ms)" "$pmfit" step name.csv
done

# Repeated runs: the interval of a run and that of the mean of runs; nothing is repeated: none.
awk 'BEGIN { srand(3); print "gpus,batch,step_time"
	for (g = 1; g <= 4; g *= 2) for (b = 16; b <= 64; b *= 2) for (i = 0; i < 12; i++) {
		n = -6; for (j = 0; j < 12; j++) n += rand(); printf "%d,%d,%.6f\n", g, b * g, (0.01 + 0.001 * b) * exp(0.15 * n) } }' >repeated.csv
"$pmfit" step -o repeated.json repeated.csv >/dev/null
printf 'gpus,batch\n2,64\n' >once.csv
"$pmfit" predict --csv repeated.json once.csv 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR == 2 && !(log($(at["high"]) / $(at["low"])) > 3 * log($(at["mean_high"]) / $(at["mean_low"])) && $(at["mean_low"]) > 0) { exit 1 }' ||
	fail "the interval of the mean"
expect 'those of the mean of runs are' "$pmfit" predict repeated.json once.csv
"$pmfit" predict --csv model.json ask.csv 2>/dev/null | grep mean_low && fail "a mean of runs that are not repeated"

# What cannot be: one sentence each, with the line.
status=1
printf 'gpus,nodes,batch,time\n1,4,8,1\n' >bad.csv
expect 'line 2: 1 GPU on 4 nodes: impossible' "$pmfit" step bad.csv
expect 'line 2: 1 GPU on 4 nodes: impossible' "$pmfit" predict model.json bad.csv
printf 'gpus,batch,time\n4,1e308,1\n' >bad.csv
expect 'line 2: batch 1e308: expected' "$pmfit" step bad.csv
printf 'gpus,batch,time\n4,8,-1\n' >bad.csv
expect 'line 2: time -1: expected' "$pmfit" step bad.csv
printf 'gpus,batch,time\n1.5,8,1\n' >bad.csv
expect 'a whole number' "$pmfit" step bad.csv
printf 'placement,batch,time\n4-0,8,1\n' >bad.csv
expect "placement '4-0'" "$pmfit" step bad.csv
printf 'gpus,batch,time\n4,8,1\n' >bad.csv
expect 'fewer than 3' "$pmfit" step bad.csv
expect 'no usable rows' "$pmfit" step --skip-bad --batch-column time --time batch --gpu-column gpus /dev/stdin <<END
gpus,batch,time
x,8,1
END
printf 'speed,batch,time\n4,8,1\n' >bad.csv
expect '--gpu-column or --placement-column' "$pmfit" step bad.csv
expect "did you mean 'batch'" "$pmfit" step --batch-column batc bad.csv
sed 's/"version":	2/"version":	1/' model.json >other.json
expect 'fit the table again' "$pmfit" predict other.json ask.csv
sed 's/"version":	2/"version":	7/' model.json >other.json
expect 'other.json: the file is of a newer pmfit: fit the table again' "$pmfit" predict other.json ask.csv
status=2
expect 'expected local or global' "$pmfit" step --batch-is both runs.csv
expect 'expected the unit' "$pmfit" step --time step_time,hours runs.csv
exit 0
