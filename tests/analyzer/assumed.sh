#!/bin/sh
# How much of the device time is a modelled device's assumption: report and kernels say what softgpu's own log has, with CUPTI and with
# pairs of events; and what pmhook_note takes from a program stands in its trace.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on

. "$SOURCE/tests/complain.sh"

for device in cupti events; do
	mkdir $device
	# slower, so that what pairs of events hold of the host beside a kernel is small
	PMHOOK_DEVICE=$device PMHOOK_OUT=$SCRATCH/$device SOFTGPU_PROFILE=a100 SOFTGPU_TIME_SCALE=50 SOFTGPU_TRUTH=$device.truth \
		with_hook "$bin/flow_host" list >/dev/null || complain "$device: ends with $?"
	"$bin/pmanalyze" report $device >$device.report
	"$bin/pmanalyze" report --json $device >$device.json
	"$bin/pmanalyze" kernels --json $device >$device.kernels
	grep -q '^Modelled durations: [0-9.]*% of the device time is an assumption, of 10 kernels$' $device.report || complain "$device: report"
	# the log has set-up and the first iteration too, and pairs of events round
	python3 - $device.truth $device.json $device.kernels <<'END' || complain "$device: shares"
import csv, json, sys
rows = [row for row in csv.DictReader(open(sys.argv[1])) if row["kind"] in ("kernel", "copy", "set")]
assumed = [row for row in rows if row["source"] == "threads"]
time = lambda rows: sum(int(row["end_ns"]) - int(row["begin_ns"]) for row in rows)
wanted = time(assumed) / time(rows)
found = json.load(open(sys.argv[2]))["assumed_durations"]
kernels = json.load(open(sys.argv[3]))["runs"][0]["assumed_share"]
names = {row["kernel"] for row in assumed}
if found["kernels"] != len(names) or found["most"] not in names or abs(found["share"] - wanted) > 0.03 or abs(kernels - found["share"]) > 1e-6:
    sys.exit(f"found {found} and {kernels}, expected {wanted:.3f} of {len(names)} kernels")
END
done

# whose times they are, at the head of each report, in JSON and on the page; and no share of the GPU's rates from scaled ones
mkdir plain
PMHOOK_OUT=$SCRATCH/plain SOFTGPU_PROFILE=a100 with_hook "$bin/flow_host" list >/dev/null || complain "plain: ends with $?"
scaled='Device: modelled NVIDIA A100-SXM4-40GB, times x 50; host times unscaled.'
for command in report layers kernels balance roofline path whatif model; do
	"$bin/pmanalyze" $command cupti | sed 3q | grep -q "^$scaled\$" || complain "$command does not begin with the device"
	"$bin/pmanalyze" $command plain | sed 3q | grep -q '^Device: modelled NVIDIA A100-SXM4-40GB\.$' || complain "$command, not scaled"
	"$bin/pmanalyze" $command --json cupti | python3 -c '
import json, sys
found = json.load(sys.stdin)
found = found["runs"][0] if "runs" in found else found
device = found.get("modelled") or found["device"]
sys.exit((device, found["time_scale"]) != ("modelled NVIDIA A100-SXM4-40GB, times x 50", 50) and f"{device}")' || complain "$command --json"
done
"$bin/pmanalyze" compare cupti plain >compare.text
grep -q "^cupti: $scaled" compare.text && grep -q '^plain: Device: modelled NVIDIA A100-SXM4-40GB\.$' compare.text &&
	grep -q '^Warning: device times are scaled by 1 to 50:' compare.text || complain "compare"
"$bin/pmanalyze" report cupti plain | grep -q "^cupti: $scaled" || complain "report of two runs"
"$bin/pmanalyze" html -o page.html cupti >/dev/null
grep -q '<strong>modelled NVIDIA A100-SXM4-40GB, times x 50</strong>' page.html || complain "html"
for run in cupti:true plain:false; do
	"$bin/pmanalyze" roofline --json ${run%:*} >${run%:*}.roof
	python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))
sys.exit((found["peak"] is None) != (sys.argv[2] == "true"))' ${run%:*}.roof ${run#*:} || complain "roof of ${run%:*}"
done
"$bin/pmanalyze" roofline cupti | tr '\n' ' ' | grep -q '(MFU): - (times x 50)' || complain "MFU of scaled times"

# on real results nothing is assumed
mkdir real
PMHOOK_OUT=$SCRATCH/real with_hook "$bin/flow_host" list >/dev/null || complain "real: ends with $?"
"$bin/pmanalyze" report real >real.report
if grep -q 'Modelled durations' real.report; then complain "assumptions without a model"; fi
if grep -q '^Device:' real.report; then complain "a modelled device without a model"; fi

[ -n "${PM_SANITIZE:-}" ] && exit $bad # Python's own leaks and stacks
mkdir notes
PMHOOK_OUT=$SCRATCH/notes with_hook python3 - <<'END' || complain "notes: ends with $?"
import ctypes
note = ctypes.CDLL(None).pmhook_note
assert note(b"commit", b"too early") == -1
assert ctypes.CDLL("libcudart.so.13").cudaFree(None) == 0
assert note(b"commit", b"1a2b3c") == 0
assert note(b"warning", b"x" * 8191) == 0
for key, text in ((b"", b"x"), (b"Commit", b"x"), (b"a b", b"x"), (b"k" * 32, b"x"), (None, b"x"), (b"commit", None), (b"commit", b"x" * 8192)):
    assert note(key, text) == -1, (key, text)
END
"$bin/pmanalyze" dump --json notes/*.pmtrace | python3 -c '
import json, sys
notes = [n for n in json.load(sys.stdin)["notes"] if n.startswith(("commit", "warning"))]
sys.exit(notes != ["commit: 1a2b3c", "warning: " + "x" * 8191] and f"notes {notes}")' || complain "notes"
exit $bad
