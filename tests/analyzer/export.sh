#!/bin/sh
# Checks pmanalyze export on made-up traces: export.sh PMANALYZE MAKE_TRACE PYTHON3. What the traces hold is checked by
# check_export.py; here is what happens to files, names and wrong command lines.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
pmanalyze=$(realpath "$1") make_trace=$(realpath "$2") python3=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

. "$(dirname "$0")/../complain.sh"

# expect STATUS SENTENCE COMMAND...: exit status, and a part of what is said on stderr
expect() {
	expected=$1 sentence=$2 status=0
	shift 2
	"$@" >out 2>err || status=$?
	[ "$status" = "$expected" ] || complain "exit status $status, expected $expected: $*"
	grep -qFe "$sentence" err || complain "'$sentence' is not said by: $*: $(cat err)"
}

for name in one three overlap two_gpus killed host_only odd graph graph_cupti modules windows recompute; do
	mkdir "$name"
	"$make_trace" "$name" "$name"
	"$pmanalyze" export --perfetto -o trace.json "$name" 2>/dev/null
	"$python3" "$here/check_export.py" "$pmanalyze" "$name" trace.json || bad=1
done

# standard output and gzip have the same
"$pmanalyze" export --perfetto -o plain.json three
"$pmanalyze" export --perfetto three | cmp plain.json - || complain "standard output differs"
"$pmanalyze" export --perfetto -o trace.json.gz three
gzip -dc trace.json.gz | cmp plain.json - || complain "gzip differs"

# names that JSON and CSV have to quote
odd=$(printf 'a"b\\c,\033\377 d')
cp -r one "$odd"
"$pmanalyze" export --perfetto -o trace.json "$odd"
"$pmanalyze" export --observations -o table.csv "$odd"
"$python3" - <<-'END' || complain "a name with quotes is not what it was"
	import csv, json
	name = json.load(open("trace.json", encoding="utf-8"))["otherData"]["run"]
	assert name == 'a"b\\c,\x1b\ufffd d', name
	rows = list(csv.DictReader(open("table.csv", newline="", encoding="latin-1")))
	assert len(rows) == 1 and None not in rows[0] and None not in rows[0].values(), rows
	assert rows[0]["run"].startswith('a"b\\c,') and rows[0]["kernel"] == "5", rows
	END

# rows are appended to a table, which need not be there; alone they take its place
"$pmanalyze" export --observations -o all.csv one three graph
"$pmanalyze" export --observations --append -o parts.csv one
"$pmanalyze" export --observations --append -o parts.csv three graph
cmp all.csv parts.csv || complain "appended rows differ"
"$pmanalyze" export --observations one three graph | cmp all.csv - || complain "rows on standard output differ"
"$pmanalyze" export --observations -o parts.csv one
[ "$(wc -l <parts.csv)" = 2 ] || complain "the old rows are still there"
for i in 1 2 3 4 5 6 7 8; do
	"$pmanalyze" export --observations --append -o many.csv one three &
done
wait
[ "$(wc -l <many.csv)" = 17 ] && [ "$(sort -u many.csv | wc -l)" = 3 ] || complain "rows appended at the same time are lost or torn"

# other tables are left alone
sed '1s/kernel/grains/' all.csv >other.csv
cp other.csv before.csv
expect 1 'other.csv: the header does not match these observations' "$pmanalyze" export --observations --append -o other.csv one
cmp other.csv before.csv || complain "a table with other columns was changed"
printf '%s' "$(cat all.csv)" >cut.csv
cp cut.csv before.csv
expect 1 'cut.csv: the last line is incomplete' "$pmanalyze" export --observations --append -o cut.csv one
cmp cut.csv before.csv || complain "a table that was cut was changed"
head -c 20 all.csv >short.csv
expect 1 'short.csv: the header does not match' "$pmanalyze" export --observations --append -o short.csv one

# no room: an error, and nothing left that looks whole
for form in --perfetto --observations; do
	expect 1 'No space left on device' "$pmanalyze" export $form -o /dev/full one
	expect 1 'No such file or directory' "$pmanalyze" export $form -o no/such/folder one
	expect 1 'No space left on device' sh -c 'exec "$@" >/dev/full' sh "$pmanalyze" export $form one
done
ln -s /dev/full full.json.gz
expect 1 'No space left on device' "$pmanalyze" export --perfetto -o full.json.gz three
[ -L full.json.gz ] || complain "what is not a file was removed"
expect 1 'File too large' sh -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' sh "$pmanalyze" export --perfetto -o large.json three
[ ! -e large.json ] || complain "half a trace was left"
while [ "$(wc -c <parts.csv)" -lt 7900 ]; do
	"$pmanalyze" export --observations --append -o parts.csv one
done
cp parts.csv before.csv
expect 1 'File too large' sh -c 'trap "" XFSZ; ulimit -f 16; exec "$@"' sh "$pmanalyze" export --observations --append -o parts.csv one one one one
cmp parts.csv before.csv || complain "part of the rows was left"

# wrong usage, and runs without iterations
mkdir none
head -c 3000 one/program.0.pmtrace >none/program.0.pmtrace
expect 2 'choose a format: --perfetto, --kineto, --observations or --times' "$pmanalyze" export one
expect 2 'no run given' "$pmanalyze" export --perfetto
expect 2 'exactly one run' "$pmanalyze" export --perfetto one three
expect 2 '--append needs' "$pmanalyze" export --observations --append one
expect 2 '--skip' "$pmanalyze" export --observations --skip -1 one
expect 2 'unknown option' "$pmanalyze" export --frobnicate one
expect 1 '' "$pmanalyze" export --perfetto nothing
expect 1 'no iterations found' "$pmanalyze" export --observations -o left.csv none one
[ "$(wc -l <left.csv)" = 2 ] || complain "the run with iterations has no row"
expect 0 '' "$pmanalyze" export --perfetto -o trace.json none
"$python3" "$here/check_export.py" "$pmanalyze" none trace.json || bad=1
exit $bad
