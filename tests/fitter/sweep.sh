#!/bin/sh
# pmfit sweep on a program whose time is a formula of its arguments: every trial once whatever stops the sweep, the formula
# found again, failures recorded, plans never mixed.
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C
. "$SOURCE/tests/complain.sh"
# complete TABLE COUNT: trials 1 to COUNT, each once
complete() {
	[ "$(tail -n +2 "$1" | cut -d, -f2 | sort -n | tr '\n' ' ')" = "$(seq "$2" | tr '\n' ' ')" ] ||
		complain "$1 has not each of $2 trials once: $(tail -n +2 "$1" | cut -d, -f2 | sort -n | uniq -c | awk '$1 > 1' | head -n 3)"
}

# t = (2 size^1.5 + {0, 9}) gpus^-0.9 + 1
cat >took.awk <<'END'
BEGIN { printf "step %.10g ms\n", (2 * size ^ 1.5 + 9 * (kind == "wide")) * gpus ^ -0.9 + 1 }
END
cat >a.space <<'END'
time ms ms          # what is measured
intrinsic size
extrinsic gpus
categorical kind
levels size 1 2 3 4 5 6
levels gpus 1 2 3 4
levels kind small big
words kind small=slim big=wide
command awk -v size={size} -v gpus={gpus} -v kind={kind} -f took.awk
time-from regex:^step ([0-9.]+) ms$
skip-bad
END

# All combinations, and the parameters that were put in.
pmfit sweep -q --design full -o full.csv a.space >text
grep -q '^full.csv: 48 trials done, 0 failed; 48 in this run' text || complain "summary: $(cat text)"
complete full.csv 48
[ "$(tail -n +2 full.csv | cut -d, -f3-5 | sort -u | wc -l)" = 48 ] || complain "a full design repeats itself"
[ ! -e full.csv.runs ] || complain "traces are left behind"
pmfit fit -q -d a.space --seeds 3 full.csv >text
while read -r name value; do
	awk -v name="$name" -v value="$value" 'index($0, "  " name " ") == 1 {
		split(substr($0, length(name) + 3), v, " "); d = v[1] - value; if (d < 0) d = -d; if (d < 0.001) found = 1 }
		END { exit !found }' text || complain "$name is not $value: $(grep -e "$name" text)"
done <<END
p\040size 1.5
a\040size 2
kind=big 9
q\040gpus -0.9
C 1
END

# The same plan again is done at once; a longer one goes on; the dry run says what is in the table.
pmfit sweep -q --trials 20 -o r.csv a.space >/dev/null
cp r.csv before
expect 0 '; 0 in this run' pmfit sweep -q --trials 20 -o r.csv a.space
cmp r.csv before || complain "a finished table is changed"
expect 0 '; 15 in this run' pmfit sweep -q --trials 35 -o r.csv a.space
complete r.csv 35
head -n 21 r.csv | cmp - before || complain "more trials change the first ones"
pmfit sweep --trials 35 --dry-run --csv a.space >plan
cut -d, -f2-5 r.csv | cmp - plan || complain "the dry run has other trials"
pmfit sweep --trials 35 --dry-run --json a.space | python3 -c 'import csv, json, sys
trials = json.load(sys.stdin)
rows = [[str(trial["trial"]), *trial["values"].values()] for trial in trials]
assert rows == list(csv.reader(open("plan")))[1:], rows[0]
assert all(trial["command"] for trial in trials)' || complain "the dry run as JSON has other trials"
# whatever the jobs
pmfit sweep -q --trials 35 --jobs 4 -o jobs.csv a.space >/dev/null
tail -n +2 jobs.csv | sort -t, -k2n | cut -d, -f1-7 >second
tail -n +2 r.csv | cut -d, -f1-7 | cmp - second || complain "jobs change the table"

# Nothing is mixed, and no other file is touched.
cp r.csv before
expect 1 'line 2 belongs to another plan' pmfit sweep -q --trials 35 --seed 2 -o r.csv a.space
expect 1 'line 2 belongs to another plan' pmfit sweep -q --trials 35 -o r.csv a.space -- awk -v size='{size}' -v gpus='{gpus}' -v kind='{kind}' 1
expect 1 'line 2 belongs to another plan' pmfit sweep -q --trials 35 --design lhs -o r.csv a.space
sed 's/^\(levels size.*\)/\1 7/' a.space >b.space
expect 1 'line 2 belongs to another plan' pmfit sweep -q --trials 35 -o r.csv b.space
sed 's/^levels size/levels wide/; s/^intrinsic size/intrinsic wide/; s/{size}/{wide}/' a.space >c.space
expect 1 'is not a table of this sweep' pmfit sweep -q --trials 35 -o r.csv c.space
cmp r.csv before || complain "a refused table is changed"
echo "dear diary" >notes.csv
expect 1 'is not a table of this sweep' pmfit sweep -q -o notes.csv a.space
[ "$(cat notes.csv)" = "dear diary" ] || complain "somebody's file is gone"
sed '3s/,small,\|,big,/,huge,/' r.csv >edited.csv
expect 1 'line 3: trial 2 has kind' pmfit sweep -q --trials 35 -o edited.csv a.space
sed '3p' r.csv >twice.csv
expect 1 'line 4: trial 2 appears twice' pmfit sweep -q --trials 35 -o twice.csv a.space

# Half a line: cut anywhere in the last two, the table comes back with each trial once.
size=$(wc -c <before)
from=$(($(head -n 34 before | wc -c) - 3))
while [ "$from" -lt "$size" ]; do
	head -c "$from" before >half.csv
	pmfit sweep -q --trials 35 -o half.csv a.space >/dev/null 2>&1 || complain "cut at $from: it does not go on"
	cut -d, -f1-7 half.csv >one
	cut -d, -f1-7 before | cmp - one || complain "cut at $from"
	from=$((from + 3))
done
head -c 20 before >half.csv
expect 0 '; 35 in this run' pmfit sweep -q --trials 35 -o half.csv a.space

# Killed twenty times at random moments.
kills=0
awk 'BEGIN { srand(7); for (i = 0; i < 400; i++) print 0.01 + 0.06 * rand() }' >moments
while read -r moment && [ "$kills" -lt 20 ]; do
	status=0
	timeout -s KILL "$moment" pmfit sweep -q --jobs 2 --trials 1500 -o killed.csv a.space >/dev/null 2>&1 || status=$?
	[ "$status" = 137 ] && kills=$((kills + 1))
	[ "$status" = 0 ] && break
done <moments
[ "$kills" = 20 ] || complain "killed $kills times only"
rows=$(tail -n +2 killed.csv 2>/dev/null | wc -l)
[ "$rows" -gt 0 ] && [ "$rows" -lt 1500 ] || complain "after the kills there are $rows trials"
pmfit sweep -q --jobs 2 --trials 1500 -o killed.csv a.space >text 2>&1 || complain "after the kills: $(cat text)"
complete killed.csv 1500
pmfit sweep --trials 1500 --dry-run --csv a.space | tail -n +2 >plan
tail -n +2 killed.csv | cut -d, -f2-5 | sort -n | cmp - plan || complain "the kills have changed the plan"
[ ! -e killed.csv.runs ] || complain "the kills leave $(ls killed.csv.runs) behind"

# Killed by its own trial, before and after that has printed; interrupted in the same way.
cat >deadly.sh <<'END'
[ -e "seen.$1.$2" ] || { : >"seen.$1.$2"; [ $(($2 % 3)) != 1 ] || kill "-$1" $PPID; }
awk -v size="$2" -v gpus=1 -f took.awk
[ $(($2 % 3)) != 2 ] || [ -e "late.$1.$2" ] || { : >"late.$1.$2"; kill "-$1" $PPID; }
END
for number in 9 INT TERM; do
	rounds=0
	until pmfit sweep -q --trials 12 --time-from 'regex:^step ([0-9.]+)' -o dead.$number.csv a.space -- \
		sh deadly.sh $number '{trial}' '{size}{gpus}{kind}' >text 2>&1; do
		rounds=$((rounds + 1))
		[ $number = 9 ] || grep -q 'interrupted; rerun the same command to resume' text || complain "$number: $(cat text)"
		[ $rounds -lt 20 ] || break
	done
	complete dead.$number.csv 12
	[ $rounds = 8 ] || complain "$number: $rounds rounds, not 8"
done

# Failures: recorded with the reason and the attempts, run again when asked to; what fails is not lost.
cat >weak.sh <<'END'
echo "$1" >>attempts
[ "$(($1 % 4))" != 0 ] || [ -e mended ] || { echo 'said "no",	twice'; exit 3; }
[ "$1" != 6 ] || [ -e mended ] || { echo "step 0 ms"; exit 0; }
[ "$1" != 7 ] || [ -e mended ] || kill -SEGV $$
echo "step 5 ms"; echo "step 1 ms"; echo "step 3 ms"
END
weak() {
	pmfit sweep -q --trials 10 --retries 2 -o weak.csv "$@" a.space -- sh weak.sh '{trial}' '{size}{gpus}{kind}'
}
expect 0 '^ms: 3 to 3 ms, median 3$' weak
expect 0 '6 trials done, 4 failed' weak
complete weak.csv 10
grep -q '^[^,]*,8,.*,,failed,3,[0-9.]*,"exit status 3: said ""no"", twice"$' weak.csv || complain "$(grep ',8,' weak.csv)"
grep -q '^[^,]*,6,.*failed.*the time is 0: expected a positive number' weak.csv || complain "a time of 0: $(grep ',6,' weak.csv)"
grep -q '^[^,]*,7,.*failed.*signal 11' weak.csv || complain "a signal"
[ "$(cut -d, -f6 weak.csv | grep -c '^3$')" = 6 ] || complain "the median of 5, 1, 3 is not 3"
[ "$(grep -c '^4$' attempts)" = 3 ] || complain "trial 4 was tried $(grep -c '^4$' attempts) times"
sed '5s/,[0-9.]*,done,/,,failed,/' full.csv >holes.csv
expect 0 'holes.csv: 1 rows skipped' pmfit fit -d a.space --seeds 1 holes.csv
expect 0 '6 trials done, 4 failed.*; 0 in this run' weak
: >mended
expect 0 '10 trials done, 0 failed; 4 in this run' weak --again
complete weak.csv 10
rm mended

# The program's own refusals are no failures, and others take their places.
cat >d.space <<'END'
time ms
intrinsic size
levels size 1 2 3 4 5 6
refusal 2 does not fit
END
expect 0 '20 trials done, 0 failed, [1-9][0-9]* impossible' pmfit sweep -q --trials 20 --time-from 'regex:([0-9]+) ms' -o d.csv d.space -- \
	sh -c '[ $1 != 3 ] || { echo "a 3 does not fit"; exit 2; }; echo "$1 ms"' sh '{size}'
[ "$(grep -c ',done,' d.csv)" = 20 ] || complain "refusals: $(grep -c ',done,' d.csv) done"
[ "$(awk -F, '$5 == "impossible" && $3 != 3' d.csv | wc -l)" = 0 ] || complain "others are impossible"
expect 1 'rejected 200 consecutive trials; the last, trial 200: it does not fit' pmfit sweep -q --trials 2000 -o e.csv d.space --time-from wall -- \
	sh -c 'echo it does not fit; exit 2' '{size}'

# Early stops: no program, all trials fail, no room, too long; nothing that was started goes on.
expect 1 'stopped: ./nowhere: No such file' pmfit sweep -q -o f.csv d.space --time-from wall -- ./nowhere '{size}'
[ "$(wc -l <f.csv)" = 1 ] || complain "a trial without a program is recorded"
expect 1 '10 consecutive trials failed; the last, trial 10: exit status 1: no GPU' pmfit sweep -q -o g.csv --retries 0 d.space --time-from wall -- \
	sh -c 'echo no GPU; exit 1' '{size}'
complete g.csv 10
expect 1 'no space left\|File too large' sh -c 'ulimit -f 1; pmfit sweep -q -o h.csv d.space --time-from wall -- true "{size}"'
rows=$(tail -n +2 h.csv | wc -l)
[ "$rows" -gt 3 ] && [ "$(tail -c 1 h.csv | od -An -c | tr -d ' ')" = '\n' ] || complain "no room: $rows rows"
expect 0 "; $((30 - rows)) in this run" pmfit sweep -q --trials 30 -o h.csv d.space --time-from wall -- true '{size}'
complete h.csv 30
expect 1 'timed out after 0.2 s' pmfit sweep -q --trials 1 --retries 0 --timeout 0.2 --give-up 1 -o i.csv d.space --time-from wall -- \
	sh -c 'exec 9>held; flock 9; tail -f /dev/null & wait' '{size}'
flock -w 20 held true || complain "a trial's process goes on"
expect 0 '2 trials done' pmfit sweep -q --trials 2 -o i2.csv d.space --time-from wall -- \
	sh -c 'exec 9>>held; flock 9; tail -f /dev/null & exit 0' '{size}'
flock -w 20 held true || complain "what a trial leaves behind goes on"

# Times from files, and one sweep at a time.
expect 0 '2 trials done' pmfit sweep -q --trials 2 -o j.csv d.space --time-from 'csv:{out}/t.csv:took' -- \
	sh -c 'printf "n,took\n1,9\n2,4\n3,5\n" >$2/t.csv' sh '{size}' '{out}'
expect 0 'ms: 5 to 5' pmfit sweep -q --trials 2 -o j.csv d.space --time-from 'csv:{out}/t.csv:took' -- \
	sh -c 'printf "n,took\n1,9\n2,4\n3,5\n" >$2/t.csv' sh '{size}' '{out}'
expect 0 'ms: 6.5 to 6.5' pmfit sweep -q --trials 2 -o k.csv d.space --time-from 'json:{out}/t.json:epochs.1.ms' -- \
	sh -c 'echo "{\"epochs\": [0, {\"ms\": [9, 4]}]}" >$2/t.json' sh '{size}' '{out}'
echo 'pmfit sweep -q --trials 1 -o l.csv d.space --time-from wall -- true "{size}" 2>said; true' >second.sh
expect 0 '1 trials done' pmfit sweep -q --trials 1 -o l.csv d.space --time-from wall -- sh second.sh '{size}'
grep -q 'l.csv: another sweep is writing it' said || complain "two sweeps at once: $(cat said)"

# Latin hypercube: each level equally often, ranges in every stratum.
cat >m.space <<'END'
time s
intrinsic a b c
levels a 1 2 3 4 5
range b 0.001 1000 log
range c 1 60 integer
time-from wall
END
pmfit sweep --design lhs --trials 60 --dry-run --csv m.space -- true '{a}{b}{c}' >plan
[ "$(tail -n +2 plan | cut -d, -f2 | sort | uniq -c | awk '{ print $1 }' | sort -u)" = 12 ] || complain "lhs: levels"
[ "$(tail -n +2 plan | awk -F, '{ print int(10 * (log($3) / log(10) + 3)) }' | sort -u | wc -l)" = 60 ] || complain "lhs: strata"
[ "$(tail -n +2 plan | cut -d, -f4 | sort -nu | tr '\n' ' ')" = "$(seq 60 | tr '\n' ' ')" ] || complain "lhs: integers"

[ "$(tail -n +2 plan | head -n 12 | cut -d, -f2 | sort -u | wc -l)" -gt 2 ] || complain "lhs: not shuffled"
# ... also where a rule forbids some of its trials: values are exchanged, not drawn anew
cat >p.space <<'END'
time s
extrinsic gpus batch
intrinsic a
levels gpus 1 2 3
levels batch 1 2 3 4
levels a 1 2 3 4 5
require batch >= gpus
time-from wall
END
pmfit sweep --design lhs --trials 60 --dry-run --csv p.space -- true '{gpus}{batch}{a}' >plan 2>said
[ ! -s said ] || complain "$(cat said)"
for column in 2,20 3,15 4,12; do
	[ "$(tail -n +2 plan | cut -d, -f"${column%,*}" | sort | uniq -c | awk '{ print $1 }' | sort -u)" = "${column#*,}" ] || complain "lhs with a rule: column $column"
done
awk -F, 'NR > 1 && $3 < $2' plan | grep . && complain "the rule is broken"

# Rules, by another implementation of the same.
cat >n.space <<'END'
time s
intrinsic k m
categorical p
levels k 1 2 3 4 5
levels m 1 2 3 4 5 6 7 8
levels p valid same-as
let pad = (p == "same-as") * floor(k / 2)
let left = m + 2 * pad - k
require left >= 0 && !(left % 3 == 1) || max(k, m) == 8 && -k < min(2, -3)
command true {k} {m} {p}
time-from wall
END
pmfit sweep --design full --dry-run --csv n.space | tail -n +2 | cut -d, -f2- | sort >plan
awk 'BEGIN { for (k = 1; k <= 5; k++) for (m = 1; m <= 8; m++) for (p = 0; p < 2; p++) {
	left = m + 2 * p * int(k / 2) - k
	if ((left >= 0 && left % 3 != 1) || ((k > m ? k : m) == 8 && -k < -3)) print k "," m "," (p ? "same-as" : "valid") } }' |
	sort | cmp - plan || complain "rules"

# Mistakes get a sentence.
expect 2 'expected a space' pmfit sweep
expect 1 'nothere: No such file' pmfit sweep nothere
expect 2 'the command has no {size}' pmfit sweep a.space -- true
expect 2 '{sise} in the command is not a column' pmfit sweep a.space -- true '{sise}{size}{gpus}{kind}'
expect 2 'the command has no {out}' pmfit sweep d.space -- true '{size}'
expect 2 'expected a command after --' pmfit sweep d.space
expect 2 '--trials 0: expected an integer of at least 1' pmfit sweep --trials 0 a.space
expect 2 'expected random, lhs or full' pmfit sweep --design grid a.space
expect 2 'regex:(' pmfit sweep --time-from 'regex:(' a.space
mistake() {
	printf '%s\n' 'time t' 'intrinsic x' 'categorical w' 'levels x 1 2' 'levels w u v' "$2" >mistake.space
	expect 1 "$1" pmfit sweep --time-from wall mistake.space -- true '{x}{w}'
}
mistake "line 6: column x: levels are already defined" 'levels x 3'
mistake "line 6: unknown keyword 'columm'" 'columm y'
mistake "line 6: range y: expected two numbers" 'range y 5 1'
mistake "line 6: range y: log requires numbers above 0" 'range y 0 1 log'
mistake "column y has neither levels nor a range" 'extrinsic y'
mistake "line 6: words w: z: expected LEVEL=WORD" 'words w z=1'
mistake "unknown column: z" 'require z > 1'
mistake "unknown level same" 'require w == same'
mistake "expected )" 'require (x > 1'
mistake "expected an operator or the end" 'require x 1'
mistake "unknown function sqrt" 'require sqrt(x) > 1'
mistake "the rules reject all of" 'require x > 2'
sed 's/^intrinsic size/categorical size/; s/^categorical kind/intrinsic kind/' a.space >o.space
expect 1 'column kind: level small is not a number' pmfit sweep o.space
pmfit sweep --help >text
[ "$(head -n 1 text)" = "pmfit sweep - plan and run trials, collect their times" ] || complain "help"
exit $bad
