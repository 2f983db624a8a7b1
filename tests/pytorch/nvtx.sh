#!/bin/sh
# NVTX ranges of a PyTorch program, on two versions of PyTorch: the program's own, with what they launch, in the report and in the
# export; and those of emit_nvtx, an operator each, with the counters cut off. PM_TORCH and PM_TORCH_OLDER as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
unset NVTX_INJECTION64_PATH
check() { # PYTHON, GPU
	"$BUILD/bin/pmrun" -q -o run --softgpu="$2" -- "$1" "$SOURCE/tests/pytorch/nvtx.py" >out 2>&1 || { cat out && exit 1; }
	"$BUILD/bin/pmrun" -q -o emitted --softgpu="$2" -- "$1" "$SOURCE/tests/pytorch/nvtx.py" emit >out 2>&1 || { cat out && exit 1; }
	"$BUILD/bin/pmanalyze" report --ranges run | grep -q '^ *iteration # .* 1, in each$' || { echo "not ok: $1: no marker in the table" && exit 1; }
	"$BUILD/bin/pmanalyze" export --perfetto -o run.json run
	"$BUILD/bin/pmanalyze" report --json run >report.json
	"$BUILD/bin/pmanalyze" report --json emitted >emitted.json
	python3 - "$1" <<-'END'
	import json, sys
	bad = 0

	def check(right, what):
	    global bad
	    if not right:
	        print(f"not ok: {sys.argv[1]}: {what}")
	        bad = 1

	def rows(file, domain=None):
	    return {row["name"]: row for row in json.load(open(file))["ranges"] if row["domain"] == domain}

	own = rows("report.json")
	parts = ["forward", "backward", "optimizer"]
	check(set(own) == {"training", "iteration #", *parts}, f"ranges {sorted(own)}")
	check(all(own[name]["count"] == 12 for name in ["iteration #", *parts]), "not 12 of each")
	# an iteration ends when its work has, on the device: what the host does just then may be the next one's
	check(all(own[name]["marks_iterations"] for name in ["iteration #", "backward"]), "not one in each iteration")
	check(all(0.8 < own[name]["per_iteration"] < 1.2 for name in parts), "not one to an iteration")
	check(not own["training"]["marks_iterations"], "the whole run is a marker")
	device = sum(own[name]["device_ns"] for name in parts)
	check(all(own[name]["device_ns"] > 0 for name in parts), "a part launches nothing")
	check(device == own["training"]["device_ns"] == own["iteration #"]["device_ns"], "the parts' GPU time is not the whole's")
	check(0.9 < own["iteration #"]["share"] <= 1, f"an iteration's share is {own['iteration #']['share']}")
	check("Optimizer.step#SGD.step" in rows("report.json", "PyTorch"), "PyTorch's own ranges are not there")
	slices = [event for event in json.load(open("run.json"))["traceEvents"] if event.get("cat") == "range"]
	check(sum(event["args"]["by"] == "NVTX" for event in slices) == 1 + 4 * 12, "slices of the export")
	check(all(event["ts"] >= 0 and event["dur"] >= 0 for event in slices), "times of the export")
	operators = rows("emitted.json")
	check({"aten::linear", "aten::mm", "iteration #", "AddmmBackward0"} <= set(operators), "emit_nvtx: operators are missing")
	check(not any("seq" in name or "," in name for name in operators), "emit_nvtx: attributes are not cut off")
	check(operators["aten::linear"]["count"] == 24 and operators["forward"]["count"] == 12, "emit_nvtx: counts")
	sys.exit(bad)
	END
	rm -r run emitted
}
check "$PYTHON" a100
older=${PM_TORCH_OLDER:-}
[ ! -d "$older" ] || older=$older/bin/python
[ -z "$older" ] || check "$older" h200
