#!/bin/sh
# pmfit's commands: what they print of a table made here, exit codes, files, the same output again, an interrupt.
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C
. "$SOURCE/tests/complain.sh"

# t = (2 size^1.5 + {0, 9}) gpus^-0.9 + 1, without noise; every fourth row is for the test
awk 'BEGIN {
	print "time,size,gpus,kind,set"
	for (i = 0; i < 200; i++) {
		s = 1 + i * 7 % 11; g = 1 + i % 5; k = i * 3 % 7 % 2
		printf "%.10g,%d,%d,%s,%s\n", (2 * s ^ 1.5 + 9 * k) * g ^ -0.9 + 1, s, g, k ? "big" : "small", i % 4 ? "fit" : "no"
	}
}' >table.csv
cat >columns.txt <<END
time time ms        # measured
intrinsic size
extrinsic gpus
categorical kind
split set fit
END

pmfit fit -d columns.txt --seeds 3 -o model.json --predictions predictions.csv table.csv >text
grep -q '^table.csv: 150 samples to fit, 50 to test, 6 parameters; times in ms$' text || complain "first line: $(head -n 1 text)"
# the parameters that were put in: name, value
while read -r name value; do
	awk -v name="$name" -v value="$value" 'index($0, "  " name " ") == 1 {
		split(substr($0, length(name) + 3), v, " "); d = v[1] - value; if (d < 0) d = -d; if (d < 0.001) found = 1 }
		END { exit !found }' text || complain "$name is not $value"
done <<END
p\040size 1.5
a\040size 2
q\040gpus -0.9
C 1
END
grep -q '3 of 3 agree within 0.1%' text || complain "the seeds do not agree"
[ "$(awk -F, 'NR > 1 && $2 == "test" && ($3 - $4) ^ 2 < 1e-6 * $3 ^ 2' predictions.csv | wc -l)" = 50 ] || complain "predictions"
grep -q '"format":.*"pmfit model"' model.json || complain "no model"

# the same file again, though it took another time
mkdir again
pmfit fit -q -d columns.txt --seeds 3 -o again/model.json table.csv >/dev/null
cmp model.json again/model.json || complain "a model's file differs from run to run"
# the same bits again, whatever the threads
untimed() {
	sed 's/\("seconds":\).*[0-9]/\1 0/; s/[0-9.]* s in total//'
}
pmfit fit -d columns.txt --seeds 3 --threads 1 --json table.csv | untimed >first
pmfit fit -d columns.txt --seeds 3 --threads 3 --json table.csv | untimed >second
cmp first second || complain "threads change the answer"
pmfit fit -d columns.txt --seeds 3 --json - <table.csv | untimed >second
cmp first second || complain "standard input gives another answer"

# what text says, JSON has
python3 - first text <<'END' || complain "sentences of the JSON output"
import json, sys
answer, text = json.load(open(sys.argv[1])), " ".join(open(sys.argv[2]).read().split())
assert answer["formula"][0].startswith("t = ( ") and len(answer["formula"]) == 2 and answer["formula"][1].startswith("[kind]: "), answer["formula"]
assert answer["sentences"][0].startswith("Seeds: 3 of 3 agree"), answer["sentences"]
for line in answer["formula"] + answer["sentences"]:
    assert line.partition("seed,")[0].strip() in text, line
END

# every method finds it
for method in jso varpro de; do
	expect 0 'fitted .* 0\.9999\|fitted .* 1\.0000' pmfit fit -d columns.txt --seeds 2 --method $method table.csv
done
expect 0 'Unscaled, the search has' pmfit fit -d columns.txt --scale none --seeds 2 table.csv
! grep -q 'The search has converged' output || complain "unscaled seeds that agree are called converged"
pmfit fit -d columns.txt --scale none --seeds 2 --evaluations 300 --method jso table.csv >text
tr -s ' \n' ' ' <text | grep -q 'Unscaled, the search has not reached .* 100% less' || complain "unscaled, few evaluations: $(cat text)"
expect 0 'The search has converged' pmfit fit -d columns.txt --lambda 0.001 --penalty l1 --penalty-scaled table.csv
expect 0 'Effect of lambda, without -> with: p size 1.5 -> ' pmfit fit -d columns.txt --lambda 0.1 table.csv
expect 0 'low .*95%.*high' pmfit fit -d columns.txt --seeds 1 --bootstrap 20 table.csv

# paths
expect 0 'Lowest held-out error: lambda 0\.' pmfit path -d columns.txt --lambdas 0,0.1,1 --folds 3 --seeds 1 table.csv
pmfit path -d columns.txt --lambdas 0,1 --folds 3 --seeds 1 --csv table.csv >path.csv
[ "$(awk -F, '{ print NF }' path.csv | sort -u | wc -l)" = 1 ] && [ "$(wc -l <path.csv)" = 3 ] || complain "path as CSV"
expect 0 '"simple":' pmfit path -d columns.txt --lambdas 0,1 --folds 3 --seeds 1 --json table.csv
grep -q '"sentences":.*"Lowest held-out error: lambda 0\..*"At 2 of 2 lambdas all seeds agree\."' output || complain "path as JSON: no sentences"

# baselines: the table by formula is exact for the model alone; threads change nothing
expect 0 'Lowest test MAPE: model, 0.0' pmfit baselines -d columns.txt --seeds 2 table.csv
for threads in 1 3; do
	pmfit baselines -d columns.txt --seeds 2 --threads $threads --csv table.csv | sed 's/,[^,]*$//' >baselines.$threads
done
cmp baselines.1 baselines.3 || complain "threads change the baselines"
[ "$(cut -d, -f1,2 baselines.1 | sort -u | wc -l)" = 25 ] || complain "not 12 methods and 2 sets: $(cat baselines.1)"
[ "$(awk -F, '{ print NF }' baselines.1 | sort -u)" = 23 ] || complain "baselines as CSV"
expect 0 '"method":.*"forest"' pmfit baselines -d columns.txt --seeds 2 --only forest,linear --json table.csv
expect 2 "only forrest: unknown method" pmfit baselines -d columns.txt --only forrest table.csv
expect 1 'in no fitted sample: no prediction possible' pmfit baselines --time time --intrinsic size --categorical gpus,set --split set,fit table.csv

# predictions of rows that were not there, by the formula: 2*16^1.5 / 2^0.9 + 1 and 2*4^1.5 + 9 + 1
cat >planned.csv <<END
gpus,note,kind,size,time
2,a,small,16,69.6
1,b,big,4,26
1,c,huge,4,
7,d,small,4,
END
pmfit predict model.json planned.csv >text
grep -q '^ *2 *69\.59.*size 16 > 11$' text || complain "extrapolation: $(cat text)"
grep -q '^ *3 *26 ' text || complain "prediction: $(cat text)"
grep -q '^ *4 *-.*kind=huge unseen$' text || complain "unseen: $(cat text)"
tr -s ' \n' ' ' <text | grep -q ' 4 rows; times in ms; 2 outside the fitted range; 1 without a prediction: unseen levels' || complain "sum: $(cat text)"
grep -q '^  all  *2 ' text || complain "error: $(cat text)"
grep -q 'from the residuals' text || complain "what intervals are made of: $(cat text)"
pmfit predict --csv model.json planned.csv >predicted.csv
[ "$(awk -F, '{ print NF }' predicted.csv | sort -u)" = 10 ] || complain "predictions as CSV: $(cat predicted.csv)"
grep -q '^line,size,gpus,kind,predicted,low,high,measured,extrapolated,unseen$' predicted.csv || complain "$(head -n 1 predicted.csv)"
grep -q '^4,4,1,huge,,,,,,kind$' predicted.csv || complain "unseen as CSV: $(cat predicted.csv)"
grep -q '^5,4,7,small,.*,gpus,$' predicted.csv || complain "extrapolated as CSV: $(cat predicted.csv)"
expect 0 '"interval":.*"residuals"' pmfit predict --json model.json planned.csv
grep -q '"sentences":.*rows; times in ms; .*"Intervals: 95%, of a run, from the residuals' output || complain "predict: no sentences as JSON"
pmfit fit -q -d columns.txt --seeds 1 --bootstrap 20 -o sampled.json table.csv >/dev/null
expect 0 'from 20 bootstrap values and the residuals' pmfit predict sampled.json planned.csv
expect 0 '^  all  *200 .* 1\.0000$' pmfit predict -q model.json table.csv
sed 's/^time/rate/' table.csv >rates.csv
expect 0 '^  all  *200 ' pmfit predict -q --rate rate model.json rates.csv
expect 1 'column size, which the model requires, not found' pmfit predict model.json predictions.csv
expect 1 'time column seconds not found' pmfit predict --time seconds model.json planned.csv
printf 'size,gpus,kind\n4,,big\n4,1,big\n' >missing.csv
expect 1 'line 2: column gpus: the value is missing' pmfit predict model.json missing.csv
expect 0 '1 rows skipped' pmfit predict --skip-bad model.json missing.csv
printf 'size,gpus,kind\n4,one,big\n' >missing.csv
expect 1 "line 2: column gpus: 'one' is not a number" pmfit predict model.json missing.csv
printf 'size,gpus,kind\n4,0,big\n' >missing.csv
expect 1 'gpus' pmfit predict model.json missing.csv
printf 'size,gpus\n4,1\n' >notime.csv
expect 1 'no column for the measured time' pmfit predict notime.csv planned.csv
printf '{"format":' >cut.json
expect 1 'invalid JSON' pmfit predict cut.json planned.csv
# a limit of the error: the first row is off by 0.01%, the second by nothing, the third has no prediction
head -n 3 planned.csv >known.csv
sed '4s/$/20/' planned.csv >unknown.csv
sed '2s/69.6/99/' known.csv >slower.csv
printf 'size,gpus,kind\n4,1,big\n' >unmeasured.csv
expect 0 '^  all  *2 ' pmfit predict -q --fail-above 1% model.json known.csv
expect 3 'the mean error of 2 rows is 1[45].*%, above 10%' pmfit predict -q --fail-above 0.1 model.json slower.csv
expect 0 '^  all  *2 ' pmfit predict -q --fail-above 20% model.json slower.csv
expect 3 '1 measured row without a prediction' pmfit predict -q --fail-above 20% model.json unknown.csv
expect 1 'no row has a measured time' pmfit predict --fail-above 20% model.json unmeasured.csv
for share in much 20 -1% 5%x; do
	expect 2 'expected a share' pmfit predict --fail-above=$share model.json known.csv
done
expect 2 'expected a number between 0 and 1' pmfit predict --confidence 1 model.json planned.csv
expect 2 'expected a model and a table' pmfit predict model.json

# search: the formula itself, the table, the model, the same again, wrong options
pmfit search -q -d columns.txt --work 3 --constants 6 -o formula.json table.csv >text
# of n rows and c numbers: held-out / (1 - c/n)^3
tr '\n' ' ' <text | sed 's/.*\(Expected on [^)]*)\).*/\1./' | awk '/^Expected on new rows: MAPE/ { gsub(/[(,;)]/, " "); e = $6; h = $8; c = $9; n = $(NF - 1); found = 1 }
	END { r = h / (1 - c / n) ^ 3; exit !(found && (e - r) ^ 2 <= (0.002 * r) ^ 2) }' || complain "expected error: $(grep Expected text)"
grep -q '^time = .*gpus^-0\.9' text || complain "search: $(cat text)"
grep -q '^ *\*  *[0-9].*size^1\.5' text || complain "search, its table: $(cat text)"
! grep -q '^ *\*.*^[0-9.]*e-' text || complain "search tells exact formulas apart by their rounding: $(cat text)"
expect 0 '^  all  *200 .* \(1\.0000\|0\.999.\)$' pmfit predict -q formula.json table.csv
expect 0 'size 16 > 11' pmfit predict formula.json planned.csv
# a formula has no parameters: what can be asked of its predictions is, what cannot is refused in a sentence
# 2 * 11^0.75 + 9 = 21.08 beside 1; of gpus from 1 to 2
expect 0 'gpus^-0\.844 here' pmfit guide --at gpus=1 --at kind=big formula.json
expect 0 'size  *+0\.821% of time per % more' pmfit guide --at gpus=1 --at kind=big formula.json
expect 1 "formula.json: a formula of 'pmfit search' has no parameters" pmfit compare formula.json model.json
expect 1 'formula.json: --path and --baselines fit the generic model' pmfit html --path --data table.csv -d columns.txt formula.json
expect 1 'formula.json: this is JSON: expected a table' pmfit path -d columns.txt formula.json
pmfit html -q -o both.html --data table.csv -d columns.txt formula.json model.json >/dev/null || complain "html of a formula"
for words in 'constants, of a formula found by pmfit search' 'f1[kind]: 1 for big' 'gpus^-0.9' 'Predicted against measured' 'Models side by side'; do
	grep -qF -- "$words" both.html || complain "html of a formula: no $words"
done
expect 0 'kind=huge unseen' pmfit predict formula.json planned.csv
for threads in 1 3; do
	pmfit search -q -d columns.txt --work 1 --constants 4 --threads $threads --csv table.csv >search.$threads
done
cmp search.1 search.3 || complain "threads change what is found"
expect 0 '"front":' pmfit search -q -d columns.txt --work 0 --json table.csv
# errors have one unit in CSV and JSON, that of the model's MAPE
pmfit search -q -d columns.txt --work 1 --constants 4 --json table.csv >search.json
python3 - search.1 search.json <<'END' || complain "search: JSON differs from CSV"
import csv, json, sys
rows, found = list(csv.DictReader(open(sys.argv[1]))), json.load(open(sys.argv[2]))
assert found["cost_unit"] == "%" and len(rows) == len(found["front"]) > 1
assert found["formula"][0] == [item["formula"] for item in found["front"] if item["taken"]][0], found["formula"]
starts = ["table.csv: 150 samples to fit, 50 to test", "", "Selected: ", "Expected on new rows: ", "Beyond the measured ranges: ", "Unused columns: "]
assert all(said.startswith(start) for said, start in zip(found["sentences"], starts, strict=False)), found["sentences"]
assert len(found["sentences"]) >= 4, found["sentences"]
for row, item in zip(rows, found["front"]):
    assert row["formula"] == item["formula"] and int(row["taken"]) == item["taken"]
    for key in "held_out", "held_out_error", "excess", "fitted":
        assert abs(float(row[key]) - item[key]) <= 1e-6 * abs(item[key]), (key, row, item)
    assert not item["taken"] or abs(item["fitted"] - found["model"]["train"]["mape"]) <= 1e-6 * item["fitted"], item
    assert abs(float(row["test_mape"]) - item["test"]["mape"]) <= 1e-6 * item["test"]["mape"]
END
expect 2 'expected one of relative, absolute, squared' pmfit search --cost best table.csv
expect 2 'monotone size: expected a column and + or -' pmfit search -q -d columns.txt --monotone size table.csv
expect 2 'no such numeric column' pmfit search -q -d columns.txt --monotone kind+ table.csv
expect 2 "unknown option '--lambda'" pmfit search -d columns.txt --lambda 1 table.csv
expect 1 'version 2 of the file, this pmfit reads 1 to 1: fit the table again' sh -c "sed 's/\"version\":.*1,/\"version\": 2,/' formula.json >later.json; pmfit predict later.json table.csv"
expect 0 'pmfit search - the expression' pmfit search --help

# wrong usage is 2, bad data 1, and each says what
expect 2 "unknown command 'fitt' (did you mean 'fit'?)" pmfit fitt
expect 2 'expected one table' pmfit fit -d columns.txt
expect 2 "unknown option '--lamda' (did you mean '--lambda'?)" pmfit fit --lamda 1 table.csv
expect 2 "unknown option '--tirals' (did you mean '--trials'?)" pmfit sweep --tirals 1 lenet5
expect 2 "option '--seeds' requires an argument" pmfit path --seeds
expect 1 "column gpu not found (did you mean 'gpus'?)" pmfit fit --time time --extrinsic gpu table.csv
expect 2 'method nothing: expected one of jso' pmfit fit --method nothing table.csv
expect 2 'expected an integer of at least 1' pmfit fit --seeds 0 table.csv
expect 2 'share 2: expected' pmfit fit --share 2 table.csv
expect 2 'expected two numbers' pmfit fit --bounds-powers 3 table.csv
expect 2 'split and --share' pmfit fit -d columns.txt --share 0.5 table.csv
expect 1 'no.csv: No such file' pmfit fit -d columns.txt no.csv
expect 1 'no time column' pmfit fit table.csv
expect 1 'column size not found' pmfit fit --time measured --intrinsic size -q predictions.csv
expect 2 '--bounds-powers 3,2: expected the lower bound first' pmfit fit -d columns.txt --bounds-powers 3,2 table.csv
expect 1 'model.json' pmfit fit -d columns.txt -o no/model.json table.csv
expect 0 'pmfit fit - fit the generic model' pmfit fit --help
expect 0 'pmfit path - regularisation paths' pmfit path --help
expect 0 'pmfit baselines - compare the model with' pmfit baselines --help
expect 0 'pmfit predict - predict configurations' pmfit predict --help
expect 0 'usage: pmfit COMMAND' pmfit --help

# an interrupt prints the best so far: sent as soon as it is caught (bit 2 of the signals that are)
pmfit fit -d columns.txt --evaluations 1000000000000 --threads 2 table.csv >text 2>errors &
fit=$!
caught=0
while [ $((caught & 2)) = 0 ] && kill -0 $fit 2>/dev/null; do
	# until then it is this shell, with the signals that it catches
	[ "$(cat /proc/$fit/comm)" = pmfit ] || continue
	caught=$((0x$(sed -n 's/^SigCgt:.*\(.\{8\}\)$/\1/p' /proc/$fit/status || echo 0)))
done
kill -INT $fit
status=0
wait $fit || status=$?
[ "$status" = 1 ] || complain "interrupted: exit code $status"
grep -q 'were interrupted' text || complain "interrupted: $(tail -n 3 text)"
exit $bad
