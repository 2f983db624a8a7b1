#!/bin/sh
# PMHOOK_COST=measure: forty stretches with recording and without take turns; what is recorded are the calls of the former, and the
# report says what was measured. A program that ends before is told so in its trace.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export PMHOOK_STRICT=on PMHOOK_DEVICE=none PMHOOK_COST=measure

. "$SOURCE/tests/complain.sh"

mkdir short long
PMHOOK_OUT=$SCRATCH/short with_hook "$bin/turns_host" 1 >/dev/null || complain "short: ends with $?"
"$bin/pmanalyze" dump short/*.pmtrace | grep -q 'warning: PMHOOK_COST=measure: the program ended before' || complain "short: not said"
PMHOOK_OUT=$SCRATCH/long with_hook "$bin/turns_host" 16 >long.out || complain "long: ends with $?"
"$bin/pmanalyze" dump --json long/*.pmtrace >long.json
"$bin/pmanalyze" report long/*.pmtrace 2>/dev/null | tr -s ' \n' ' ' | grep -q 'Recording overhead: .* measured in this run: stretches with' ||
	complain "the report does not say it"
python3 - long.out long.json <<'END' || bad=1
import json, sys
made = int(open(sys.argv[1]).read().split()[1])
dump = json.load(open(sys.argv[2]))
turns = dump["turns"]
recorded = dump["records"]
wrong = []
if len(turns) != 40:
    wrong.append("%d stretches" % len(turns))
if any(turn["recorded"] != ("no" if i % 2 else "yes") for i, turn in enumerate(turns)):
    wrong.append("they do not take turns")
if any(not 0.2e9 < turn["ns"] < 3e9 or turn["calls"] < 100 for turn in turns):
    wrong.append("lengths: %s" % turns[:4])
# what is not recorded are the calls of the other stretches, and those until the next look
let_through = sum(turn["calls"] for turn in turns if turn["recorded"] == "no")
if not let_through <= made - recorded <= let_through + 40 * 200:
    wrong.append("%d calls, %d recorded, %d let through" % (made, recorded, let_through))
if wrong:
    print("not ok: " + "; ".join(wrong))
sys.exit(bool(wrong))
END
exit $bad
