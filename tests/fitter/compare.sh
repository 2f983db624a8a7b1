#!/bin/sh
# pmfit compare on tables made here, of which one power and nothing else differs: what it finds, its forms, careless use.
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C
. "$SOURCE/tests/complain.sh"

# t = (2 size^1.5 + {0, 9}) gpus^q + 1 with 2% of noise; every fourth row is for the test
make() { # power, seed
	awk -v q="$1" -v seed="$2" 'BEGIN {
		srand(seed)
		print "time,size,gpus,kind,set"
		for (i = 0; i < 200; i++) {
			s = 1 + i * 7 % 11; g = 1 + i % 5; k = i * 3 % 7 % 2
			t = (2 * s ^ 1.5 + 9 * k) * g ^ q + 1
			printf "%.10g,%d,%d,%s,%s\n", t * (1 + 0.02 * (2 * rand() - 1)), s, g, k ? "big" : "small", i % 4 ? "fit" : "no"
		}
	}'
}
make -0.9 1 >nine.csv
make -0.6 2 >six.csv
cat >columns.txt <<END
time time ms
intrinsic size
extrinsic gpus
categorical kind
split set fit
END

pmfit compare -d columns.txt --seeds 3 --bootstrap 100 --only forest,boost-plain nine.csv other=six.csv >text
tr -s ' \n' ' ' <text | grep -q '^nine: 150 samples fitted, 50 to test; 3 of 3 seeds agree; no penalty; times in ms other: ' || complain "$(head -n 1 text)"
grep -q '^  q gpus: nine -0\.[89][0-9]*, other -0\.[56][0-9]*: difference 0\.[23].*, clear$' text || complain "the power that differs: $(grep -e 'q gpus:' text)"
grep -q '^  nine, gpus^-0\.[89].*: doubling leaves 5[34]% of the scaling part; flatter than -1,$' text || complain "words: $(grep nine, text)"
grep -q 'efficiency 9[34]% per doubling' text || complain "efficiency: $(grep efficiency text)"
# two power laws and a constant of 1 are distinguished from nothing else: at most one more in twenty by chance
[ "$(sed -n 's/^  \([0-9]*\) of [0-9]* comparisons are clear.*/\1/p' text)" -le 2 ] || complain "$(grep comparisons text)"
for table in 4.3 4.4 4.5; do
	grep -q "as in Table $table" text || complain "no table $table"
done
grep -q '^  forest  *fitted ' text || complain "no forest"
! grep -q '^  svr' text || complain "a method that was not asked for"
grep -q 'Effect of lambda, without -> with: p size' text || complain "no lambda"
# the model's errors are those of 'pmfit fit'
mape=$(pmfit fit -q -d columns.txt --seeds 3 nine.csv | awk '$1 == "test" { sub("%", "", $3); print $3 }')
grep -q "^  model  *$mape " text || complain "MAPE is not $mape: $(grep '^  model ' text)"

# with a penalty that one is shown, and the other is without
expect 0 '^nine: .*; L1 with lambda 0.1$' pmfit compare -d columns.txt --seeds 2 --bootstrap 0 --only none --lambda 0.1 \
	--lambda-powers 0.2 --penalty l1 nine.csv
grep -q '^nine, L1 0.1 (powers 0.2)$' output || complain "the penalty's name"
pmfit compare -d columns.txt --seeds 2 --bootstrap 30 --only boost-plain --csv nine.csv six.csv >csv
[ "$(awk -F, '{ print NF }' csv | sort -u)" = 9 ] || complain "CSV: $(awk -F, 'NF != 9' csv | head -n 1)"
[ "$(cut -d, -f1 csv | sort -u | tr '\n' ' ')" = "differences errors parameters table " ] || complain "tables in CSV"
[ "$(grep -c '^errors,six,boost-plain,' csv)" = 10 ] || complain "errors in CSV"
for threads in 1 3; do
	pmfit compare -d columns.txt --seeds 2 --bootstrap 30 --threads $threads --only forest,boost --csv nine.csv six.csv >csv.$threads
done
cmp csv.1 csv.3 || complain "threads change the answer"
expect 0 '"clear":.*true' pmfit compare -d columns.txt --seeds 2 --bootstrap 30 --only none --json nine.csv six.csv
python3 -c 'import json
answer = json.load(open("output"))
said = answer["sets"][0]["sentences"]
assert said[0].startswith("nine: 150 samples fitted") and any(s.startswith("Effect of lambda") for s in said), said
assert any("q gpus: nine" in s and s.endswith("clear") for s in answer["sentences"]), answer["sentences"]' || complain "sentences in JSON"

# of few rows with times at random nothing is said of the scaling
awk 'BEGIN { srand(3); print "time,size,gpus,kind,set"; for (i = 0; i < 12; i++) printf "%g,%d,%d,big,fit\n", 1 + 9 * rand(), 1 + i % 4, 1 + i % 3 }' >noise.csv
pmfit compare -q -d columns.txt --seeds 2 --bootstrap 50 --only none noise.csv | tr -s ' \n' ' ' >text
! grep -q 'Test MAPE' text || complain "a table of test rows without any"
grep -q 'noise, gpus^[^;]*; undecided: its interval has both -1, ideal for a fixed amount of work, and no effect' text || complain "noise: $(cat text)"

# model files, alone and beside a table; their intervals are their own
for set in nine six; do
	pmfit fit -q -d columns.txt --seeds 2 --bootstrap 30 -o $set.json $set.csv >/dev/null
done
expect 0 'q gpus: nine .*, six .*clear$' pmfit compare nine.json six.json
expect 0 'q gpus: file .*, six .*clear$' pmfit compare -d columns.txt --bootstrap 30 --only none --seeds 2 file=nine.json six.csv
pmfit fit -q -d columns.txt --seeds 2 -o plain.json six.csv >/dev/null
expect 0 'Nothing to compare: no determined parameter' pmfit compare nine.json plain.json
# a description of its own; times in other units are compared by powers alone
sed 's/ ms/ s/' columns.txt >seconds.txt
expect 0 'only powers are compared' pmfit compare -d columns.txt --bootstrap 30 --only none --seeds 2 nine.csv six.csv,seconds.txt
! grep -q '^  C: ' output || complain "seconds are compared with milliseconds"

expect 2 'expected tables or model files' pmfit compare
expect 2 'unknown method' pmfit compare --only forrest nine.csv
expect 2 'the model is always included' pmfit compare --only model nine.csv
expect 2 'expected a number between 0 and 1' pmfit compare --confidence 1 nine.json
expect 1 'two sets are named nine' pmfit compare nine.json -d columns.txt nine.csv
expect 1 'no.csv: No such file' pmfit compare -d columns.txt nine.csv no.csv
expect 1 'no time column' pmfit compare nine.csv
echo '{' >broken.json
expect 1 'broken.json: byte [0-9]*: invalid JSON' pmfit compare broken.json
expect 0 'pmfit compare - compare several data sets' pmfit compare --help
exit $bad
