#!/bin/sh
# A range of NVTX that repeats once an iteration marks iterations where no optimizer's steps do (markers.py): it makes surer what the
# calls alone tell, and tells what they do not, and how far it is to be trusted; one that is less than an iteration does not. On two
# versions of PyTorch and two GPUs. PM_TORCH and PM_TORCH_OLDER as in find_torch.sh.
set -eu
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
unset NVTX_INJECTION64_PATH
bad=0
found() { # HOW...: what the report says of the iterations
	rm -rf run
	"$BUILD/bin/pmrun" -q -o run --softgpu=$GPU -- "$PYTHON" "$SOURCE/tests/pytorch/markers.py" "$@" >out 2>&1 || { cat out && exit 1; }
	"$BUILD/bin/pmanalyze" report --json run >report.json
	python3 - "$PYTHON" "$@" <<-'END' || bad=1
	import json, sys
	report, how = json.load(open("report.json")), " ".join(sys.argv[2:])
	said = [report.get(key) for key in ("found_by", "iteration_range", "iteration_range_agrees")]
	expected = {"train": ["range", "iteration #", True], "train bare": ["period", None, None],
	            "requests": ["range", "request", False]}.get(how)
	right = not expected or said == expected
	if how == "requests":  # right, but nothing confirms it
	    right &= report["iterations_found"] == 12 and 0.5 < report["confidence"] <= 0.9
	elif how == "train":
	    right &= report["iterations_found"] == 12 and report["confidence"] > 0.98
	elif how == "requests bare":
	    right &= report["found_by"] != "range"
	if not right:
	    print(f"not ok: {sys.argv[1]}: {how}: {said}, {report.get('iterations_found')} iterations, confidence {report['confidence']}")
	sys.exit(not right)
	END
}
for OLDER in "" 1; do
	. "$SOURCE/tests/pytorch/find_torch.sh"
	found train
	found train bare
	found requests
	found requests bare
done
exit $bad
