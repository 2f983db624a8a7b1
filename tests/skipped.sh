#!/bin/sh
# skipped.sh BUILD: which tests the last run of ctest in that folder skipped, and why: the last line that each has printed. ctest calls it
# itself after its tests, when its log has not yet the name that it will have. Exit status 1: a test does not say why.
set -eu
cd "$1/Testing/Temporary"
[ -e LastTestsDisabled.log ] || exit 0
log=LastTest.log
[ ! -e $log.tmp ] || log=$log.tmp
status=0
awk '
	FILENAME != text { skipped[substr($0, index($0, ":") + 1)]; next }
	/^[0-9]+\/[0-9]+ Test: / { name = $3; reason = ""; output = 0 }
	/^Output:$/ { output = 1; getline; next }
	/^<end of output>$/ && output {
		output = 0
		if (!(name in skipped))
			next
		if (reason == "") {
			reason = "does not say why"
			silent = 1
		}
		if (!(reason in names))
			order[++reasons] = reason
		names[reason] = names[reason] " " name
	}
	output && NF { reason = $0; sub(/^skipped:? */, "", reason) }
	END {
		if (reasons)
			print "\nSkipped, and why:"
		for (i = 1; i <= reasons; i++)
			printf "\t%s:%s\n", order[i], names[order[i]]
		exit silent
	}' text=$log LastTestsDisabled.log $log || status=$?
# a run that skips nothing leaves the list of the run before
rm LastTestsDisabled.log
exit $status
