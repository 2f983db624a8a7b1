#!/bin/sh
# No address is part of an operation: a loop whose memory never has an address twice has a few, described in its first steps, and with
# addresses as many more as its sample has calls, however long it runs. pmanalyze gives the calls beyond the sample those of sampled ones.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export PMHOOK_STRICT=on PMHOOK_DEVICE=none

. "$SOURCE/tests/complain.sh"

# 20 calls a step, of 7 operations: a copy, a set, products of three sizes, a product of descriptors, a sum
for steps in 2000 20000; do
	mkdir $steps
	PMHOOK_OUT=$SCRATCH/$steps with_hook "$bin/fresh_host" $steps || complain "$steps: ended with $?"
	"$bin/pmanalyze" dump --ops --csv $steps/*.pmtrace >$steps.csv
	python3 - $steps.csv $steps <<'END' || bad=1
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
steps = int(sys.argv[2])
base = [row for row in rows if not row["base"]]
placed = [row for row in rows if row["base"]]
calls = sum(int(row["calls"]) for row in rows)
wrong = []
if calls != 20 * steps:
    wrong.append("%d calls of %d" % (calls, 20 * steps))
if len(base) != 7:
    wrong.append("%d operations: %s" % (len(base), sorted(row["function"] for row in base)))
if any(int(row["calls"]) != 1 for row in placed):
    wrong.append("an address came twice")
# the sample: 8192 calls, and twice those before the last new one; a copy counts once more for the table that it may bring
if not 8192 * 20 / 21 - 3 * 20 <= len(placed) <= 8192 + 3 * 20:
    wrong.append("%d operations with addresses" % len(placed))
if wrong:
    print("not ok: %d steps: %s" % (steps, "; ".join(wrong)))
sys.exit(bool(wrong))
END
	"$bin/pmanalyze" dump $steps/*.pmtrace | grep -q ' 0 calls without their details' || complain "$steps: details are lost"
done
[ "$(wc -l <2000.csv)" = "$(wc -l <20000.csv)" ] || complain "more operations in more steps"
exit $bad
