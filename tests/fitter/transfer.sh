#!/bin/sh
# pmfit transfer from tables of layers to another GPU: who is asked for, what the answer rests on, tables of captured runs, careless input.
set -u
pmfit=$BUILD/bin/pmfit
. "$SOURCE/tests/complain.sh"
expect() { # a word, then a command: it is in what the command prints, and the status is as `status` says
	word=$1
	shift
	"$@" >out.txt 2>&1
	got=$?
	tr -s " \n" " " <out.txt | grep -qF -- "$word" || { cat out.txt; fail "$*: no '$word'"; }
	[ $got = "$status" ] || fail "$*: status $got"
}

cat >gpus.csv <<'END'
device,flops,bandwidth
A,4T,300G
B,10 TFLOP/s,500 GB/s
C,15e12,9e11
NEW,12T,800G
END
# Half of the peak and 0.7 of the bandwidth, 5 us; the new one reaches half of that. A word and a number describe a layer.
awk 'BEGIN {
	print "device,flops,bytes,kind,batch,time_us"
	split("A B C NEW", name, " "); split("4 10 15 12", tera, " "); split("300 500 900 800", giga, " ")
	for (g = 1; g <= 4; g++) for (i = 1; i <= (g == 4 ? 45 : 60); i++) {
		f = exp(20 + 5 * (i * 37 % 61) / 61); b = exp(14 + 4 * (i * 23 % 59) / 59)
		us = (f / (tera[g] * 5e5) + b / (giga[g] * 7e2) + 5) * (g == 4 ? 2 : 1)
		printf "%s,%.0f,%.0f,%s,%d,", name[g], f, b, i % 2 ? "conv" : "fc", 8 * (1 + i % 4)
		if (g < 4 || i <= 5) printf "%.3f", us
		printf "\n"
	}
}' >layers.csv

status=0
expect '5 measured rows of NEW' "$pmfit" transfer --devices gpus.csv --to NEW layers.csv
grep -q 'kind, batch' out.txt || fail "columns that describe layers are not named"
grep -q '5 rows measured' out.txt || fail "the basis is not in the table"
grep -q 'when it was left out\. A GPU' out.txt || fail "intervals that hold without widening are said to be widened"
expect '"basis":	"measured-rows"' "$pmfit" transfer --json --devices gpus.csv --to NEW layers.csv
python3 - out.txt layers.csv <<'END' || fail "the JSON output"
import csv, json, sys
answer = json.load(open(sys.argv[1]))
asked = [r for r in csv.DictReader(open(sys.argv[2])) if not r["time_us"]]
assert len(answer["layers"]) == len(asked) == 40, len(answer["layers"])
off = [abs(said["predicted_ns"] / 2e3 / (float(row["flops"]) / 6e6 + float(row["bytes"]) / 5.6e5 + 5) - 1)
       for said, row in zip(answer["layers"], asked)]
assert sum(off) / len(off) < 0.15, off
assert all(row["low_ns"] < row["predicted_ns"] < row["high_ns"] for row in answer["layers"])
assert 1.6 < answer["factor"] < 2.4 and answer["known_devices"] == 3, answer
assert abs(sum(row["predicted_ns"] for row in answer["layers"]) / answer["total_ns"] - 1) < 1e-6
assert [row["device"] for row in answer["left_out"]] == ["A", "B", "C"], answer["left_out"]
END

# Nothing measured: marked. One known GPU, a table of a captured run, without a column for the GPU: no intervals.
grep -v '^NEW.*[0-9]$' layers.csv >unmeasured.csv
expect 'nothing of it was measured' "$pmfit" transfer --devices gpus.csv --to NEW unmeasured.csv
grep -q 'data sheet' out.txt || fail "the basis is not in the table"
cat >a.csv <<'END'
layer,direction,kind,arithmetic,calls,flops,bytes,flops_per_byte,time_ns,flops_per_second,bytes_per_second,roof_ns,roof_share,bound,uncounted_ns
conv1,forward,convolution,f32,1,1e9,2e6,500,600000,1.6e12,3e9,250000,0.41,compute,0
fc2,forward,product,f32,1,1e7,4e7,0.25,200000,5e10,2e11,133333,0.66,memory,0
relu,forward,activation,f32,1,0,4e5,,3000,,1.3e11,1333,0.44,memory,0
loss,forward,other,f32,1,,,,3000,,,,,,3000
END
status=1
expect 'line 5: operations or bytes are missing' "$pmfit" transfer --devices gpus.csv --to NEW A=a.csv
status=0
expect 'Intervals are unknown' "$pmfit" transfer --skip-bad --devices gpus.csv --to NEW A=a.csv
grep -q 'roof_share' out.txt && fail "what depends on the time describes a layer"
grep '^  *conv1 .* - .* - .* data sheet' out.txt >/dev/null || { cat out.txt; fail "unknown is not '-'"; }
"$pmfit" transfer --skip-bad --csv --devices gpus.csv --to NEW A=a.csv 2>/dev/null |
	awk -F, 'NR == 2 && ($4 != "" || $5 != "" || $3 < 202000 || $3 > 204000) { exit 1 }' || fail "the same layer by the ratio of rooflines"

# Which layers: those of a known GPU, those of a file.
grep -v '^NEW' layers.csv >known.csv
status=1
expect 'no layer is asked for' "$pmfit" transfer --devices gpus.csv --to NEW known.csv
status=0
expect 'All 60 layers' "$pmfit" transfer --devices gpus.csv --to NEW --like B known.csv
printf 'flops,bytes,kind,batch\n1e10,1e7,conv,8\n' >ask.csv
expect 'All 1 layers' "$pmfit" transfer --devices gpus.csv --to NEW --layers ask.csv known.csv

status=1
expect 'no peak rates of it in gpus.csv' "$pmfit" transfer --devices gpus.csv --to K80 known.csv
sed 's/4T/fast/' gpus.csv >bad.csv
expect "line 2: flops 'fast' is not a rate" "$pmfit" transfer --devices bad.csv --to NEW known.csv
sed 's/^B,/A,/' gpus.csv >bad.csv
expect "a second row for device 'A'" "$pmfit" transfer --devices bad.csv --to NEW known.csv
sed 's/^device,flops/device,tera/' gpus.csv >bad.csv
expect "no column 'flops'" "$pmfit" transfer --devices bad.csv --to NEW known.csv
sed '3s/^A,/Z,/' layers.csv >bad.csv
expect "line 3: no peak rates of device 'Z'" "$pmfit" transfer --devices gpus.csv --to NEW bad.csv
sed '3s/[0-9.]*$/-4/' layers.csv >bad.csv
expect 'line 3: the time is not above 0' "$pmfit" transfer --devices gpus.csv --to NEW bad.csv
sed '3s/[0-9.]*$//' layers.csv >bad.csv
expect 'line 3: the time is missing' "$pmfit" transfer --devices gpus.csv --to NEW bad.csv
sed '1s/time_us/time/' layers.csv >bad.csv
expect "unit of 'time' unknown" "$pmfit" transfer --devices gpus.csv --to NEW bad.csv
status=0
expect '5 measured rows' "$pmfit" transfer --devices gpus.csv --time time,us --to NEW bad.csv
status=1
expect "no column 'batch', which known.csv has" "$pmfit" transfer --devices gpus.csv --to NEW --layers a.csv known.csv
expect "did you mean 'flops'" "$pmfit" transfer --devices gpus.csv --to NEW --flops-column flop known.csv
status=2
expect 'required' "$pmfit" transfer --devices gpus.csv known.csv
expect 'exclude each other' "$pmfit" transfer --devices gpus.csv --to NEW --like A --layers ask.csv known.csv
expect 'expected a table' "$pmfit" transfer --devices gpus.csv --to NEW
expect 'expected the unit' "$pmfit" transfer --devices gpus.csv --to NEW --time time,hours known.csv
exit 0
