#!/bin/sh
# A parent makes calls between its fork and what the hook does in the child after it: all of them are in its trace, and all of
# the child's in the child's own.
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on PMHOOK_DEVICE=none PMHOOK_OUT="$SCRATCH"
bad=0
with_hook "$BUILD/bin/counting_host" 120000 fork
for trace in ./*.pmtrace; do
	"$BUILD/bin/pmanalyze" dump --ops --csv "$trace" | awk -F, '$4 == "cudaStreamWaitEvent" { n += $2 } END { print n }' >seen
	[ "$(cat seen)" = 120000 ] || { echo "not ok: $trace: $(cat seen) calls, expected 120000" && bad=1; }
done
[ "$(ls ./*.pmtrace | wc -l)" = 2 ] || { echo "not ok: $(ls)" && bad=1; }
exit $bad
