#!/bin/sh
# Checks pmanalyze model on made-up traces: model_cmd.sh PMANALYZE MAKE_TRACE PYTHON3. What the figures are is checked by the unit tests; here
# is what is said of runs side by side, in each form, and of wrong command lines.
set -eu
pmanalyze=$(realpath "$1") make_trace=$(realpath "$2") python3=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

. "$(dirname "$0")/../complain.sh"

# expect STATUS SENTENCE ARGUMENT...: exit status of pmanalyze model, and a part of what it says, line breaks being blanks
expect() {
	expected=$1 sentence=$2 status=0
	shift 2
	"$pmanalyze" model "$@" >out 2>err || status=$?
	[ "$status" = "$expected" ] || complain "exit status $status, expected $expected: $*"
	cat out err | tr '\n' ' ' | tr -s ' ' | grep -qFe "$sentence" || complain "'$sentence' is not printed by: $*: $(cat out err)"
}

for name in one three overlap two_gpus cost killed host_only odd graph windows recompute causes; do
	mkdir "$name"
	"$make_trace" "$name" "$name"
done

expect 0 "The run matches: nothing overlaps, phases run one after another" one
expect 0 "The run matches: nothing overlaps, gradients are aggregated after the whole backward pass" three
expect 0 "The run matches: gradients are aggregated layer by layer, during the backward pass" overlap
# the error that the sentence has is the one of the table, on the page as well
for name in three overlap; do
	"$pmanalyze" html -o $name.html $name >/dev/null 2>&1
	"$python3" - $name.html "$("$pmanalyze" model --json $name 2>/dev/null)" "$("$pmanalyze" model $name 2>/dev/null)" <<-'END' || complain "$name: another error"
		import json, re, sys
		best, = [row for row in json.loads(sys.argv[2])["predictions"] if row["best"]]
		error = f"{100 * best['with_rest_error']:+.1f}%"
		expected = f"With the rest its error is {error} of the mean iteration"
		page = " ".join(open(sys.argv[1], encoding="utf-8").read().split())
		for where, text in (("text", " ".join(sys.argv[3].split())), ("page", page)):
		    assert expected in text, f"{where}: no '{expected}'"
		assert re.search(rf"✓.*?<td[^>]*>{re.escape(error)}</td>", page), "the page's table"
	END
done
expect 0 "Warning: " killed
expect 0 "No fit: 3 coefficients need at least 3 rows" --rows runs one three
expect 0 "The iterations of a run are not independent" --rows iterations one three
expect 0 "gpus is 3 in all rows: its coefficient is indistinguishable from the intercept" three overlap causes
expect 0 "inverse_gpus is a linear combination of the terms before it" --terms gpus,inverse_gpus --rows iterations one three
expect 0 "t_iter is the same in all rows" one one one
expect 0 "As many coefficients as rows" one cost three
mkdir other
LC_ALL=C sed 's/program/another/' one/program.0.pmtrace >other/program.0.pmtrace
expect 0 "different programs" --terms gpus one cost three other
expect 0 "Regression (3.9) of another No fit" --by-program --terms gpus --rows runs one cost three other
expect 0 "Regression (3.9) of program over 3 runs" --by-program --terms gpus --rows runs one cost three other
expect 0 "Load imbalance factor (3.8) by layer" --layers three
expect 0 "99% intervals" --confidence 99 --terms gpus one cost three
expect 0 "over 3 runs by medians" --median --terms lif one cost three
expect 0 "Rows of the regression" --residuals --terms lif one cost three
for name in host_only graph windows recompute odd; do
	expect 0 "Rest (in none of the equations)" "$name"
done

# wrong command lines
expect 2 "no run given"
expect 2 "--terms gpu: unknown term 'gpu', known terms are gpus, lif" --terms gpu one
expect 2 "the term 'lif' is given twice" --terms lif,lif one
expect 2 "unknown term ''" --terms "" one
expect 2 "expected one of runs, iterations" --rows columns one
expect 2 "--batch 0: expected a number of samples" --batch 0 one
expect 2 "expected a percentage between 0 and 100" --confidence 0 one
expect 2 "expected a percentage between 0 and 100" --confidence 95% one
expect 2 "expected a percentage between 0 and 100" --confidence nan one
expect 2 "unknown option '--frobnicate'" --term gpus --json --frobnicate one
expect 1 "nowhere: No such file" nowhere
mkdir empty
expect 1 "empty" empty
printf 'no trace\n' >text.pmtrace
expect 1 "text.pmtrace" text.pmtrace

"$pmanalyze" model --json one cost three overlap causes >runs.json
"$pmanalyze" model --json --rows iterations one cost three overlap causes >iterations.json
"$pmanalyze" model --json --median --terms lif one cost three >medians.json
mkdir again
LC_ALL=C sed 's/program/another/' cost/program.0.pmtrace >again/program.0.pmtrace
"$pmanalyze" model --json --by-program --rows iterations one other cost again three >programs.json
"$pmanalyze" model --json --rows iterations one cost three >some.json
"$pmanalyze" model --json --rows iterations other again >others.json
"$pmanalyze" model --csv --by-program --rows iterations one other cost again three >programs.csv 2>/dev/null
"$pmanalyze" model --csv one cost three overlap causes >runs.csv 2>/dev/null
"$python3" - <<-'END' || complain "JSON or CSV is not what it should be"
	import csv, json, math

	def near(a, b, relative=1e-9):
	    return abs(a - b) <= relative * max(abs(a), abs(b))

	def solve(rows, values):  # normal equations, exactly
	    from fractions import Fraction as F
	    n = len(rows[0])
	    a = [[sum(F(r[i]) * F(r[j]) for r in rows) for j in range(n)] + [sum(F(r[i]) * F(v) for r, v in zip(rows, values))]
	         for i in range(n)]
	    for k in range(n):
	        a[k] = [v / a[k][k] for v in a[k]]
	        for i in range(n):
	            if i != k:
	                a[i] = [v - a[i][k] * w for v, w in zip(a[i], a[k])]
	    return [float(r[n]) for r in a]

	data = json.load(open("runs.json"))
	assert list(data) == ["runs", "phases", "predictions", "scaling", "imbalance", "layers", "regression"], list(data)
	runs = {r["run"]: r for r in data["runs"]}
	assert [runs[n]["behaviour"] for n in ("one", "three", "overlap")] == ["imbalance", "after", "layers"], runs
	assert [runs[n]["gpus"] for n in ("one", "cost", "three")] == [1, 2, 3]
	for name, run in runs.items():
	    phases = [p for p in data["phases"] if p["run"] == name]
	    assert near(sum(p["exclusive_ns"] for p in phases if p["phase"] != "iteration"), run["t_iter_ns"]), name
	    mine = [p for p in data["predictions"] if p["run"] == name]
	    best = [p for p in mine if p["best"]]
	    assert len(best) == 1 and best[0]["behaviour"] and best[0]["off"] == min(p["off"] for p in mine if p["behaviour"]), name
	    for p in mine:
	        assert near(p["error"], p["predicted_ns"] / run["t_iter_ns"] - 1, 1e-6) or abs(p["error"]) < 1e-6, p
	        if p["assumption"] in ("series", "imbalance", "input", "bound"):  # the others take the slowest rank's
	            assert near(p["with_rest_ns"] - p["predicted_ns"], run["rest_ns"], 1e-6), p
	    scaling = [s for s in data["scaling"] if s["run"] == name][0]
	    work = scaling["samples"] / data["scaling"][0]["samples"]
	    assert near(scaling["speedup"], work * runs["one"]["t_iter_ns"] / run["t_iter_ns"]), scaling
	    assert near(scaling["efficiency"], scaling["speedup"] / run["gpus"]), scaling
	# rank 2 of 3 computes 1.5 times as long: 3 x 1.5 / 3.5, in each phase and layer
	three = [i for i in data["imbalance"] if i["run"] == "three"][0]
	for key in ("computing", "forward", "backward", "update", "layer_lif"):
	    assert near(three[key], 4.5 / 3.5), (key, three)
	worst = [i for i in data["imbalance"] if i["run"] == "causes"][0]
	assert worst["layer"] == "conv2" and near(worst["layer_lif"], 12 / 6), worst
	assert all(near(l["lif"], 4.5 / 3.5) and l["slowest"] == "rank 2" for l in data["layers"] if l["run"] == "three")

	count = sum(r["iterations"] for r in data["runs"])
	for name, expected in ("runs.json", 5), ("iterations.json", count):
	    fit = json.load(open(name))["regression"]
	    assert fit["row_count"] == expected == len(fit["rows"]), (name, fit["row_count"])
	    rows = [[1, r["gpus"], r["lif"]] for r in fit["rows"]]
	    times = [r["t_iter_ns"] for r in fit["rows"]]
	    answer = solve(rows, times)
	    for c, a in zip(fit["coefficients"], answer):
	        assert near(c["estimate_ns"], a, 1e-8), (name, c, a)
	        assert near(c["t"], c["estimate_ns"] / c["standard_error_ns"], 1e-8)
	        assert c["low_ns"] < c["estimate_ns"] < c["high_ns"]
	    mean = sum(times) / len(times)
	    left = sum((t - sum(a * x for a, x in zip(answer, r))) ** 2 for t, r in zip(times, rows))
	    assert near(fit["r2"], 1 - left / sum((t - mean) ** 2 for t in times), 1e-7), (name, fit["r2"])
	    assert [c["term"] for c in fit["coefficients"]] == ["intercept", "gpus", "lif"]

	medians = json.load(open("medians.json"))["regression"]
	assert medians["median"] and not json.load(open("runs.json"))["regression"]["median"]
	# an iteration of the program takes one of a few times; the mean of seven is none of them
	assert medians["rows"][0]["t_iter_ns"] != runs["one"]["t_iter_ns"] and medians["rows"][0]["t_iter_ns"] % 100 == 0

	# each program's regression is that of its runs alone
	several = json.load(open("programs.json"))
	assert "regression" not in several and [r["program"] for r in several["regressions"]] == ["program", "another"]
	for regression, alone in zip(several["regressions"], ("some.json", "others.json")):
	    alone = json.load(open(alone))["regression"]
	    assert all(regression[key] == alone[key] for key in alone if key != "coefficients"), (regression, alone)
	    assert [{k: v for k, v in c.items() if k != "program"} for c in regression["coefficients"]] == alone["coefficients"]
	    assert all(c["program"] == regression["program"] for c in regression["coefficients"])
	assert [l.split(",")[0] for l in open("programs.csv") if ",intercept," in l] == ["program", "another"]

	tables = [list(csv.reader(t.splitlines())) for t in open("runs.csv").read().split("\n\n")]
	assert len(tables) == 7 and all(len(r) == len(t[0]) for t in tables for r in t), [t[0] for t in tables]
	assert [t[0][1] for t in tables] == ["phase", "assumption", "gpus", "gpus", "gpus", "state", "iteration"]
	END

exit $bad
