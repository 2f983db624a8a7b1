#!/bin/sh
# pmfit next from a table or a model to configurations: text, CSV and JSON name the same ones, none that was measured; careless input.
set -u
. "$SOURCE/tests/fitter/expect.sh"

awk 'BEGIN {
	print "cluster,gpus,nodes,local_bsz,step_ms"
	split("1/1 2/1 4/1 4/2 8/2", places, " ")
	for (c = 1; c <= 2; c++) for (i = 1; i <= 5; i++) for (m = 8; m <= 32; m *= 2) {
		split(places[i], p, "/")
		printf "%s,%d,%d,%d,%.4f\n", c == 1 ? "east" : "west", p[1], p[2], m, c * (5 + 0.4 * m) + (p[2] > 1 ? 15 : p[1] > 1 ? 4 : 0) + (m + i) % 3 / 10
	}
}' >runs.csv
status=0
expect 'the largest batch on twice' "$pmfit" next --level east runs.csv
"$pmfit" step -o model.json runs.csv >/dev/null || fail "no model"
"$pmfit" next --csv model.json >named.csv || fail "no CSV"
[ "$(grep -c '^[123],east' named.csv)" = 3 ] && [ "$(grep -c '^[123],west' named.csv)" = 3 ] || { cat named.csv; fail "not three of each level"; }
awk -F, 'NR == FNR { measured[$1 "," $4 "," $2 "," $3] = 1; next } FNR > 1 && (($2 "," $3 "," $4 "," $5) in measured || $4 > 8 || $6 <= 0 || $7 < 1) { exit 1 }' \
	runs.csv named.csv || { cat named.csv; fail "named though measured, or too many GPUs"; }
"$pmfit" next --json model.json | python3 -c '
import csv, json, sys
levels = json.load(sys.stdin)["levels"]
rows = [row for level in levels for row in level["measure"]]
assert [row["gpu_batch"] for row in rows] == [float(row["gpu_batch"]) for row in csv.DictReader(open("named.csv"))], rows
for level in levels:
    ratios = [level["high_over_low_now"]] + [row["high_over_low"] for row in level["measure"]]
    assert ratios[-1] < ratios[0], ratios' || fail "JSON"
# what is asked for and what can be measured are given
printf 'gpus,nodes,local_bsz\n32,8,64\n' >ask.csv
printf 'gpus,nodes,local_bsz\n8,1,16\n2,2,8\n' >can.csv
expect '64 samples on each of 32 GPUs on 8 nodes' "$pmfit" next --for ask.csv --candidates can.csv --level west --json model.json
"$pmfit" next --for ask.csv --candidates can.csv --level west --csv model.json >named.csv
[ "$(wc -l <named.csv)" = 3 ] && grep -q ',8,2,2,' named.csv && grep -q ',16,8,1,' named.csv || { cat named.csv; fail "other candidates"; }
sed 's/^/west,/; 1s/west/cluster/' ask.csv >west.csv
expect 'configuration of west.csv is of this' "$pmfit" next --for west.csv --level east model.json
status=1
expect 'not measured' "$pmfit" next --level north model.json
"$pmfit" fit -q --seeds 1 --evaluations 500 --time step_ms --extrinsic local_bsz,gpus -o formula.json runs.csv >/dev/null 2>&1 || fail "no formula"
expect 'cannot say which measurement narrows them' "$pmfit" next formula.json
expect 'no model: fewer than' "$pmfit" next ask.csv --time nodes
status=2
expect 'expected a table' "$pmfit" next
expect '--count' "$pmfit" next --count 0 runs.csv
exit 0
