#!/bin/sh
# What a report says of small PyTorch programs whose trouble is known (conclusions.py): the finding, the line of the program, and how sure it
# is. The device's times are modelled, and long beside the host's, so that a busy machine changes nothing. PM_TORCH as in find_torch.sh.
set -eu
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 SOFTGPU_TIME_SCALE=200
. "$SOURCE/tests/pytorch/find_torch.sh"
bad=0
for name in copies item rollout; do
	"$BUILD/bin/pmrun" -q -o run.$name --softgpu=$GPU -- "$PYTHON" "$SOURCE/tests/pytorch/conclusions.py" $name >out 2>&1 || { cat out && exit 1; }
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
	if name == "copies":  # the batch is waited for, and the copy's own call, which set-up makes too, is at the step's line
	    one("input", "Input: the GPUs wait for the batch", "strong")
	    one("blocking_call", at, "strong")
	elif name == "item":
	    one("blocking_call", "100% of it in calls made from", "strong")
	    one("blocking_call", at, "strong")
	else:
	    one("evaluation", "Rollouts take", "likely")
	never = {"copies": ["make (", "Straggler"], "item": ["make (", "Input: "], "rollout": ["Evaluation takes", "evaluate less often", "make ("]}
	wrong += [f"\"{words}\" is said" for words in never[name] for finding in found
	          if words in " ".join((finding["title"], finding["text"], finding["advice"]))]
	if wrong:
	    print(f"not ok: {name}: {'; '.join(wrong)}:\n{text[:3000]}")
	sys.exit(bool(wrong))
	END
done
exit $bad
