#!/bin/sh
# Bad data get a sentence each, which names the file and the line: no crash, no half answer, no answer that means nothing; a million
# rows work, and what takes long says so.
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C
. "$SOURCE/tests/complain.sh"
# expect STATUS PATTERN TABLE [OPTION...]: of 'pmfit fit' on it
expect() {
	wanted=$1 pattern=$2 table=$3
	shift 3
	status=0
	pmfit fit --time time,ms --intrinsic size --extrinsic gpus --categorical kind --split set,fit --seeds 2 "$@" "$table" >output 2>&1 ||
		status=$?
	[ "$status" = "$wanted" ] || complain "$table $*: exit code $status, not $wanted: $(head -n 3 output)"
	grep -q -e "$pattern" output || complain "$table $*: no '$pattern' in: $(head -n 5 output)"
}
# change LINE AWK-STATEMENT: the table with one line changed, or all with LINE 0
change() {
	awk -F, -v OFS=, -v line="$1" "NR > 1 && (NR == line || !line) { $2 } 1" table.csv >changed.csv
}

# t = (2 size^1.5 + {0, 9}) gpus^-0.9 + 1; lines 2, 6, 10, ... are for the test
awk 'BEGIN {
	print "time,size,gpus,kind,set"
	for (i = 0; i < 60; i++) {
		s = 1 + i * 7 % 11; g = 1 + i % 5; k = i * 3 % 7 % 2
		printf "%.10g,%d,%d,%s,%s\n", (2 * s ^ 1.5 + 9 * k) * g ^ -0.9 + 1, s, g, k ? "big" : "small", i % 4 ? "fit" : "no"
	}
}' >table.csv
expect 0 '^table.csv: 45 samples to fit, 15 to test' table.csv

# missing values, of each kind of column; they are left out when asked for
for word in '' NA NaN null -; do
	change 5 "\$1 = \"$word\""
	expect 1 'changed.csv: line 5: the time is missing; --skip-bad' changed.csv
done
change 5 '$2 = ""'
expect 1 'changed.csv: line 5: column size: the value is missing; --skip-bad' changed.csv
expect 0 '1 rows skipped' changed.csv --skip-bad
expect 0 '44 samples to fit, 15 to test' changed.csv --skip-bad
change 5 '$4 = ""'
expect 1 'changed.csv: line 5: column kind: the value is missing' changed.csv
change 0 '$1 = "NA"'
expect 1 'changed.csv: no samples left' changed.csv --skip-bad
change 5 '$2 = "many"'
expect 1 "line 5: column size: 'many' is not a number; is the column categorical" changed.csv
sed '5s/,[^,]*$//' table.csv >changed.csv
expect 1 'changed.csv: line 5 has 4 cells: expected 5' changed.csv

# a column that says nothing
change 0 '$2 = 4'
expect 0 'column size has one value in all samples' changed.csv
change 0 '$4 = "x"'
expect 0 'column kind has one value in all samples' changed.csv
change 3 '$4 = "rare"'
expect 0 'level rare has one sample' changed.csv

# a level that only the test has
change 6 '$4 = "huge"'
expect 1 'changed.csv: line 6: column kind: level huge is in the test set but in no fitted sample' changed.csv

# times
change 5 '$1 = 0'
expect 1 'changed.csv: line 5: the time is 0: expected a positive number' changed.csv
change 5 '$1 = -3'
expect 1 'changed.csv: line 5: the time is -3: expected a positive number' changed.csv
change 5 '$1 = "inf"'
expect 1 "line 5: the time is 'inf': expected a number" changed.csv
change 6 '$4 = "odd"'
expect 1 'line 6: column kind: level odd is in the test set but in no fitted sample' changed.csv
expect 0 '1 rows skipped: missing or impossible values, or a level without a fitted row' changed.csv --skip-bad
change 0 '$1 = 3'
expect 1 'all 45 times are equal: nothing to fit' changed.csv
sed -n '1p;3p' table.csv >changed.csv
expect 1 'one sample: at least two different times are needed' changed.csv
change 5 '$1 = 1e20'
expect 0 'sample 3: its time, 1e+20, is .* possible outlier' changed.csv
change 5 '$1 = 1e308'
expect 1 'line 5: the time is 1e+308: expected a number from 1e-30 to 1e+30' changed.csv
change 5 '$2 = 1e308'
expect 1 'line 5: column [a-z]*: 1e+308 is beyond 1e+30' changed.csv
expect 0 '1 rows skipped: missing or impossible values' changed.csv --skip-bad
change 5 '$2 = -3'
expect 0 '1 rows skipped: missing or impossible values' changed.csv --skip-bad
change 0 '$5 = "no"'
expect 1 "column set never contains 'fit'" changed.csv
# equal times in the test have no R2, and none is made up
change 0 'if ($5 == "no") $1 = 3'
expect 0 '^  test  *15 .* -$' changed.csv

# what has no power, in fitted rows and in those of the test
for line in 5 6; do
	change $line '$2 = 0'
	expect 1 "changed.csv: line $line: column size: zero cannot be raised to a negative power; make the column" changed.csv
	expect 0 'samples to fit' changed.csv --bounds-powers 0,5
	change $line '$3 = -2'
	expect 1 "changed.csv: line $line: column gpus: -2 is negative and cannot be raised to a power" changed.csv
	expect 1 'is negative' changed.csv --bounds-powers 0,5
done
# a row that is left out for another reason is not asked
change 5 '$1 = 0; $2 = 0'
expect 0 '1 rows skipped' changed.csv --skip-bad

# too little
head -n 6 table.csv >changed.csv
expect 1 'changed.csv: 3 samples cannot determine 6 parameters: add samples' changed.csv
head -n 12 table.csv >changed.csv
expect 0 '8 samples for 6 parameters: expect the test error to be far above' changed.csv
head -n 1 table.csv >changed.csv
expect 1 'changed.csv: header without samples' changed.csv
: >changed.csv
expect 1 'changed.csv: the file is empty' changed.csv
printf '\377\376\0\0' >changed.csv
expect 1 'changed.csv: byte 2 is zero: expected text' changed.csv
expect 1 'a folder, expected a file' .
sed '1s/gpus/size/' table.csv >changed.csv
expect 1 'duplicate column name size' changed.csv

# a million rows, and a word on how long it takes
awk 'BEGIN {
	print "time,size,gpus,kind,set"
	for (i = 0; i < 1000000; i++) {
		s = 1 + i * 7 % 11; g = 1 + i % 5; k = i * 3 % 7 % 2
		printf "%.6g,%d,%d,%s,%s\n", (2 * s ^ 1.5 + 9 * k) * g ^ -0.9 + 1, s, g, k ? "big" : "small", i % 4 ? "fit" : "no"
	}
}' >million.csv
expect 0 '^million.csv: 750000 samples to fit, 250000 to test' million.csv --seeds 1 --evaluations 2000
grep -q '^  fitted .* 1\.0000$' output || complain "a million rows: $(cat output)"
pmfit baselines --time time --intrinsic size --extrinsic gpus --categorical kind --split set,fit --seeds 1 --only linear million.csv >output 2>&1 ||
	complain "a million rows: $(cat output)"
grep -q '750000 rows: estimated run time about [0-9]* s; --only' output || complain "it does not say how long: $(head -n 3 output)"
rm million.csv
# said before it begins: the interrupt comes as soon as it is caught (bit 2 of the signals that are)
pmfit fit --time time --intrinsic size --extrinsic gpus --seeds 1000 --evaluations 100000000 table.csv >output 2>errors &
fit=$!
caught=0
while [ $((caught & 2)) = 0 ] && kill -0 $fit 2>/dev/null; do
	# until then it is this shell, with the signals that it catches
	[ "$(cat /proc/$fit/comm)" = pmfit ] || continue
	caught=$((0x$(sed -n 's/^SigCgt:.*\(.\{8\}\)$/\1/p' /proc/$fit/status || echo 0)))
done
kill -INT $fit
wait $fit || :
grep -q 'estimated run time about [0-9]* s; fewer --seeds' errors || complain "it does not say how long: $(cat errors)"
exit $bad
