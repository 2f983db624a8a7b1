#!/bin/sh
# What a report says of small PyTorch programs whose trouble is known (conclusions.py): the finding, the line of the program, and how sure it
# is. The device's times are modelled, and as long beside the host's as makes its calls matter on a busy machine, too. PM_TORCH as in find_torch.sh.
set -eu
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
. "$SOURCE/tests/pytorch/find_torch.sh"
bad=0
for name in copies item rollout loader workers; do
	case $name in copies | loader | workers) scale=1 ;; item) scale=10 ;; *) scale=200 ;; esac
	SOFTGPU_TIME_SCALE=$scale "$BUILD/bin/pmrun" -q -o run.$name --softgpu=$GPU -- "$PYTHON" "$SOURCE/tests/pytorch/conclusions.py" $name >out 2>&1 || { cat out && exit 1; }
	"$BUILD/bin/pmanalyze" report run.$name >report
	"$BUILD/bin/pmanalyze" report --json run.$name >report.json
	python3 - $name "$SOURCE/tests/pytorch/conclusions.py" <<-'END' || bad=1
	import json, re, sys
	name, source = sys.argv[1:]
	report, text = json.load(open("report.json")), " ".join(open("report").read().split())
	here = {case: number for number, line in enumerate(open(source), 1) for case in re.findall(r"# HERE: (\w+)", line)}
	found = report["findings"]
	wrong = []

	def one(kind, words, strength):
	    for finding in found:
	        if finding["kind"] == kind and words in finding["title"] + ": " + finding["text"]:
	            return finding["strength"] == strength or wrong.append(f"{kind}: {finding['strength']}, not {strength}")
	    return wrong.append(f"no {kind} with \"{words}\"")

	at = f"(conclusions.py:{here.get(name)})"
	if name in here:  # not where set-up makes the call, too
	    if name == "copies":  # how long the calls block beyond the work is the machine's
	        one("input", "Input: the GPUs wait for the batch", "strong")
	    place = next(row["place"] for row in report["host_calls"] if row["call"] == "cudaStreamSynchronize")
	    if at not in (place or ""):
	        wrong.append(f"cudaStreamSynchronize is called from {place}")
	    wrong += [finding["text"] for finding in found if finding["subject"] == "cudaStreamSynchronize" and at not in finding["text"]]
	elif name == "rollout":
	    one("evaluation", "Rollouts take", "likely")
	else:
	    iterator, remedy = {"loader": ("_SingleProcessDataLoaderIter", "num_workers"), "workers": ("_MultiProcessingDataLoaderIter", "prefetch_factor")}[name]
	    one("input", iterator, "strong")
	    if found[0]["kind"] != "input" or remedy not in found[0]["advice"]:
	        wrong.append(f"the first finding is {found[0]['kind']}: try {found[0]['advice']}")
	    waited = float(re.search("waited ms (.*)", open("out").read())[1])
	    input_ms = next(row["busy_ns"] for row in report["phases"] if row["phase"] == "io") / 1e6
	    if abs(input_ms / waited - 1) > 0.1:
	        wrong.append(f"input {input_ms:.3f} ms a step, by the program's clock {waited:.3f}")
	never = {"copies": ["make (", "Straggler"], "item": ["make (", "Input: ", "cudaMemcpyAsync"], "rollout": ["Evaluation takes", "evaluate less often", "make ("]}
	wrong += [f"\"{words}\" is said" for words in never.get(name, ["make ("]) for finding in found
	          if words in " ".join((finding["title"], finding["text"], finding["advice"]))]
	if name == "rollout" and "evaluation" in text.lower():
	    wrong.append("there is an evaluation")
	if wrong:
	    print(f"not ok: {name}: {'; '.join(wrong)}:\n{text[:3000]}")
	sys.exit(bool(wrong))
	END
done
exit $bad
