#!/bin/sh
# A program that polls does not fill the disk: of 200,000 questions in a row with the same answer there is one record, which is as long as
# all of them, and the footer counts them all.
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on PMHOOK_OUT="$SCRATCH"
bad=0
for device in events none; do
	PMHOOK_DEVICE=$device with_hook "$BUILD/bin/poll_host" >said
	grep -qx '600000 unready 3 ready' said || { echo "not ok: $(cat said)" && bad=1; }
	"$BUILD/bin/pmanalyze" dump --records --csv ./*.pmtrace | grep ',cudaEventQuery$' | awk -F, '{ print $7 }' | tr '\n' ' ' >seen
	[ "$(cat seen)" = "600 0 600 0 600 0 " ] || { echo "not ok: $device: results of the records: $(cat seen)" && bad=1; }
	"$BUILD/bin/pmanalyze" dump ./*.pmtrace | grep -q ' 6000[0-9][0-9] calls' || { echo "not ok: $device: the footer counts otherwise" && bad=1; }
	rm ./*.pmtrace
done
exit $bad
