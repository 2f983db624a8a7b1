#!/bin/sh
# The line of Python that a launch is made in is part of its operation's identity: code that is made anew makes no new
# operations, other threads and what is not in Python are distinguished, and nothing that frames do harms the program. PYTHONS: the
# interpreters to try, by default python3.
set -eu
. "$SOURCE/tests/preload.sh"
. "$SOURCE/tests/hook/python/find_python.sh"
case=$SOURCE/tests/hook/python/lines.py
export PMHOOK_STRICT=on PMHOOK_DEVICE=none PMHOOK_FILES=off PYTHONDONTWRITEBYTECODE=1
HOOK=$HOOK:$BUILD/tests/libnull.so # before what the program loads, so that the hook finds it
tried=0
for python in ${PYTHONS:-python3}; do
	find_python "$python" || continue
	tried=$((tried + 1))
	rm -rf traces
	mkdir traces
	PMHOOK_OUT="$SCRATCH/traces" with_hook "$python" -W ignore "$case" run "$BUILD/lib/liblines_host.so" expected >pid || {
		echo "not ok: $python: the program ends with $?"
		exit 1
	}
	trace=$(find traces -name "*pid$(cat pid).pmtrace")
	"$BUILD/bin/pmanalyze" dump --ops --json "$trace" | "$python" "$case" check expected || {
		echo "not ok: $python"
		exit 1
	}
done
[ $tried -gt 0 ] || {
	echo "no Python 3.8 to 3.14"
	exit 77
}
