#!/bin/sh
# pmfit sweep and study on the bundled trainer with modelled GPUs: the traces' own hyperparameters are those that were planned,
# the times those that pmanalyze finds, what the rules allow the trainer takes and the other way round, and a study writes all
# of its files. With a table of known truth its tables have that.
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C
. "$SOURCE/tests/complain.sh"

# Twenty trials by name, with their traces: the analyzer reads off them what was asked for.
pmfit sweep -q --trials 20 --keep all -o runs.csv lenet5 >/dev/null
pmanalyze export --observations -o seen.csv runs.csv.runs/trial-*[0-9]
cat >join.awk <<'END'
FNR == 1 { file++; for (i = 1; i <= NF; i++) place[file, $i] = i; next }
file == 1 { for (name in place) if (split(name, p, SUBSEP) && p[1] == 1) planned[$place[1, "trial"], p[2]] = $place[name]; next }
{
	trial = $place[2, "run"]; sub(/.*trial-/, "", trial); seen++
	n = split("kernel pool filters stride gpus batch dropout iteration_ms", names, " ")
	for (i = 1; i <= n; i++)
		if (planned[trial, names[i]] + 0 != $place[2, names[i]] + 0)
			print "trial " trial ": " names[i] " " planned[trial, names[i]] ", seen " $place[2, names[i]]
	side = planned[trial, "dataset"] == "cifar10" ? 32 : 28
	pad = planned[trial, "padding"] == "same" ? int(planned[trial, "kernel"] / 2) : 0
	if ($place[2, "width"] != side || $place[2, "padding"] != pad || $place[2, "activation"] != planned[trial, "activation"])
		print "trial " trial ": data set, padding or activation"
}
END { if (seen != 20) print seen + 0 " traces, not 20" }
END
awk -F, -f join.awk runs.csv seen.csv >differences
[ ! -s differences ] || complain "$(head -n 5 differences)"

# A placeholder at the wrong option is found by what the trace says.
pmfit sweep -q --trials 4 -o wrong.csv lenet5 -- pmrun -q -n '{gpus}' -o '{out}' --softgpu=rtx2080 -- train_cnn --synthetic --print 0 --iterations 8 \
	--batch '{batch}' --filters '{kernel}' --save /dev/null --clock '{out}/{filters}{pool}{lr}{stride}{dropout}{activation}{optimizer}{dataset}{padding}' >text
grep -q 'In 4 trials a number in the trace differs' text || complain "a wrong placeholder: $(cat text)"
grep -q ',"\?the trace has ' wrong.csv || complain "no note: $(cat wrong.csv)"
pmfit fit -q -d lenet5 wrong.csv 2>&1 | grep -q '4 samples cannot determine' || complain "the space is no description"

# The rules are the trainer's: of a full design of shapes it takes all that they allow and refuses all others.
awk '/^levels (activation|optimizer|filters|lr|dropout|gpus|batch) / { print "levels", $2, $3; next }
	/^levels dataset / { print "levels dataset mnist cifar10"; next }
	/^command pmrun/ { sub(/--iterations 30/, "--epochs 0") } 1
	END { print "time-from wall" }' "$SOURCE/fitter/spaces/lenet5.space" >shapes.space
sed '/^require/d' shapes.space >all.space
# A sanitizer sees nothing more in these.
[ -z "${PM_SANITIZE:-}" ] || sed -i 's/^levels kernel.*/levels kernel 2 5/; s/^levels pool.*/levels pool 2 3/' shapes.space all.space
pmfit sweep --design full --dry-run --csv shapes.space | tail -n +2 | cut -d, -f2- | sort >allowed
pmfit sweep -q --design full -o all.csv all.space >/dev/null
awk -F, 'NR > 1 && $(NF - 3) == "done"' all.csv | cut -d, -f3-14 | sort >taken
cmp allowed taken || complain "the trainer takes other shapes than the rules: $(diff allowed taken | head -n 3)"
[ "$(grep -c ',impossible,' all.csv)" -gt 4 ] && [ "$(wc -l <taken)" -gt 8 ] || complain "shapes: $(wc -l <taken) taken"
! grep ',failed,' all.csv || complain "failed shapes"

# A study from nothing, and again from its trials.
pmfit study -q -o small --trials 60 --seeds 2 --evaluations 500 lenet5 >text 2>said || complain "study: $(cat said)"
for file in trials.csv parameters.csv errors.csv scaling.csv path.csv values.csv study.txt study.json study.html report.html model.json model-l2.json; do
	[ -s "small/$file" ] || complain "no $file"
done
head -n 1 text | grep -q '^small/trials.csv: 60 trials, 40 to fit, 20 to test; times in ms$' || complain "$(head -n 1 text)"
cp small/trials.csv before
pmfit study -q -o small --trials 60 --seeds 2 --evaluations 500 --json lenet5 >json 2>said || complain "study again: $(cat said)"
cmp before small/trials.csv || complain "a study repeats its trials"
cmp json small/study.json || complain "--json is not study.json"

# Few trials: all but lambda's path, whose folds have fewer samples than parameters.
head -n 46 small/trials.csv >few.csv
pmfit study -q -o few --table few.csv --seeds 2 --evaluations 500 lenet5 >text 2>said || complain "few trials: $(cat said)"
grep -q 'Skipped: with one of 5 folds held out, too few samples' few/study.txt && [ -s few/report.html ] || complain "few trials: $(cat text)"
grep -q 'strong scaling: -1 is ideal' few/scaling.csv || complain "scaling: $(cat few/scaling.csv)"

# t = 2 size^1.5 gpus^-0.9 + 1
awk 'BEGIN { print "t,size,gpus"; for (i = 0; i < 90; i++) { s = 1 + i * 7 % 11; g = 1 + i % 5; printf "%.10g,%d,%d\n", 2 * s ^ 1.5 * g ^ -0.9 + 1, s, g } }' >table.csv
printf 'time t s\nintrinsic size\nextrinsic gpus\n' >columns.txt
pmfit study -q -o known --table table.csv --seeds 3 columns.txt >text 2>said || complain "known: $(cat said)"
# truth NAME FILE KEY COLUMN VALUE: that cell of that row
truth() {
	awk -F, -v key="$2" -v head="$3" -v value="$4" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == head) place = i }
		index($0, key) == 1 { d = $place - value; found = d < 0.001 && d > -0.001 } END { exit !found }' "known/$1" ||
		complain "$1: $2 $3 is not $4: $(grep "^$2" "known/$1")"
}
truth parameters.csv 'p size' free 1.5
truth parameters.csv 'a size' mean 2
truth scaling.csv 'no penalty,q gpus' value -0.9
truth scaling.csv 'no penalty,C' value 1
truth errors.csv 'model,test' MAPE 0
truth path.csv '0,' 'test R2' 1
truth values.csv 'p size' 0 1.5
grep -q '^model-l2,test,' known/errors.csv && grep -q '^forest,test,' known/errors.csv && grep -q '^svr,test,' known/errors.csv || complain "methods are missing"
python3 - known <<'END' || complain "study.json or study.html"
import json, sys, xml.dom.minidom
study = json.load(open(sys.argv[1] + "/study.json"))
assert [row["value"] for row in study["scaling"]["rows"] if row["parameter"] == "C"][0] > 0.999
page = open(sys.argv[1] + "/study.html").read()
xml.dom.minidom.parseString(page.replace("<!DOCTYPE html>", "").replace('<meta charset="utf-8">', ""))
assert "http" not in page
END
status=0
pmfit study >said 2>&1 || status=$?
[ "$status" = 2 ] || complain "no space: $status"
status=0
pmfit study --table nothere.csv columns.txt >said 2>&1 || status=$?
[ "$status" = 1 ] && grep -q 'nothere.csv' said || complain "no table: $(cat said)"
exit $bad
