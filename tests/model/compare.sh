#!/bin/sh
# Runs on softgpu's model clock between which one disturbance is the only difference: pmanalyze compare must name what is disturbed and
# nothing else. Then its forms, and what it says to careless users.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
. "$SOURCE/tests/undisturbed.sh"
bad=0
export SOFTGPU_PROFILE=v100
# Hosts share processors: what they lose to each other must be small beside an iteration.
export SOFTGPU_TIME_SCALE=50

# train NAME DISTURBANCE [OPTION]...
train() {
	name=$1 disturb=$2
	shift 2
	rm -rf "$name"
	SOFTGPU_DISTURB=$disturb "$bin/pmrun" -q -n 2 -o "$name" --softgpu -- "$bin/train_cnn" --synthetic --batch 768 --iterations 16 \
		--print 0 "$@" >"$name.out" 2>&1
}

# expect NAME EXPRESSION OPTION...: the expression, of the comparison `d` in JSON, holds. layers: those that are surely slower or
# faster in computation; odd: those that are not surely the same.
expect() {
	name=$1 expression=$2
	shift 2
	"$bin/pmanalyze" compare --json "$@" >out.json
	if python3 -c '
import json, sys
d = json.load(open("out.json"))
rows = d["pairs"][0]["rows"]
words = ". ".join(d["pairs"][0]["sentences"])
sure = lambda row: row["verdict"] in ("faster", "slower")
layers = [r["layer"] + " " + r["verdict"] for r in rows if r["kind"] == "layer" and sure(r)]
odd = [r["layer"] for r in rows if r["kind"] == "layer" and r["verdict"] != "same"]
verdict = {(r["kind"], r["key"]): r["verdict"] for r in rows if r["kind"] in ("whole", "exclusive", "busy")}
change = {(r["kind"], r["key"]): r["change"] for r in rows if r["kind"] in ("whole", "exclusive", "busy")}
diff = [(i["what"], i["function"], i["layer"]) for i in d.get("diff", []) if i["what"] != "same"]
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$expression"; then
		echo "ok $name"
	else
		echo "not ok $name: $expression"
		"$bin/pmanalyze" compare "$@"
		bad=1
	fi
}

# refused STATUS TEXT OPTION...
refused() {
	status=0
	wanted=$1 text=$2
	shift 2
	"$bin/pmanalyze" compare "$@" >refused.out 2>&1 || status=$?
	if [ "$status" != "$wanted" ] || ! grep -q -- "$text" refused.out; then
		echo "not ok compare $*: status $status, $(cat refused.out)"
		bad=1
	fi
}

the_runs() {
	bad=0
	train first ""
	train again ""
	train layer "layer=conv2 slow=3"
	train fast "layer=fc1 slow=0.5"
	train link "link=0-1 bandwidth=0.02"
	train one_rank "rank=1 slow=1.5"
	train fused "" --aggregate fused
	expect nothing 'layers == [] and odd == []' first again
	expect layer 'layers == ["conv2 slower"] and odd == ["conv2"] and "in layer conv2" in words and verdict["whole", "t_iter"] == "slower" and
		"Cause: layer conv2" in words' first layer
	expect other_base 'layers == ["conv2 faster"] and odd == ["conv2"] and verdict["whole", "t_iter"] == "faster"' --base 2 first layer
	expect faster 'layers == ["fc1 faster"] and odd == ["fc1"] and
		(verdict["whole", "t_iter"] != "faster" or "Cause: layer fc1" in words)' first fast
	expect link 'odd == [] and verdict["exclusive", "communication"] == "slower" and verdict["exclusive", "forward"] == "same" and
		"Cause: Communication" in words' first link
	# The factor of one of two ranks, 1.5 / ((1 + 1.5) / 2) = 1.2 of (3.8); means over both ranks are 1.25 times as long.
	# Pooling and softmax differ by less than counts.
	expect one_rank '{"conv1 slower", "conv2 slower", "fc1 slower", "fc2 slower", "fc3 slower"} <= set(layers) and
		all("slower" in l for l in layers) and verdict["whole", "lif"] == "worse" and abs(change["whole", "lif"] - 0.2) < 0.001 and
		abs(change["whole", "computing"] - 0.25) < 0.001 and "Cause: Straggler rank 1: slower throughout" in words' first one_rank
	expect diff 'sorted(i[2] for i in diff if i[1].startswith("cudnnConvolution")) == ["conv2"] * 4 and
		all(i[0] == "time" for i in diff if i[1].startswith("cudnn"))' --diff first layer
	expect diff_fused 'any(i[0] == "only other" and i[1] == "cudaMemcpyAsync" for i in diff) and
		not any(i[1].startswith("cudnn") for i in diff)' --diff first fused
	expect groups 'layers == ["conv2 slower"] and d["sides"][0]["runs"] == 2' --group A=first,again --group B=layer,layer
	expect three 'len(d["pairs"]) == 2 and d["pairs"][1]["other"] == "layer"' first again layer
	return $bad
}
undisturbed the_runs || bad=1

# what is exchanged of several layers at once is one box of the flame graph, not a slice in each layer's
train bucket "" --aggregate fused --cycle-ms 200
"$bin/pmanalyze" html -o bucket.html bucket >/dev/null
grep -q '<title>communication: .*% of GPU time' bucket.html && grep -q '<title>conv1 to fc3, 5 layers: ' bucket.html || {
	echo "not ok: no box for a bucket: $(grep -o 'class="box".*<title>[^:]*: [0-9.]* [mu]s a step' bucket.html)"
	bad=1
}

refused 2 "at least two runs" first
refused 2 "--base 9" first again --base 9
refused 2 "--margin" --margin 200% first again
refused 2 "--group nothing" --group nothing first
refused 2 "--diff needs exactly two" --diff first again layer
refused 1 "No such file" first none
refused 2 "--fail-if-slower" --fail-if-slower 5 first layer
refused 3 "layer fails: slower than first by more than the 5% allowed: by device time" --fail-if-slower 5% first layer
refused 3 "layer fails" --fail-if-slower 5% --json first again layer
refused 0 "again passes" --fail-if-slower 5% --gate-by device first again
refused 2 "expected auto, device or step" --fail-if-slower 5% --gate-by cpu first again
"$bin/pmanalyze" compare --json --fail-if-slower 5% first layer 2>/dev/null | python3 -c '
import json, sys
gate = json.load(sys.stdin)["gates"][0]
assert gate["answer"] == "slower" and gate["device"]["low"] > gate["allowed"] == 0.05, gate' || bad=1
[ "$("$bin/pmanalyze" compare --csv first layer | grep -c '^first,layer,layer,computing,')" = 8 ] || {
	echo "not ok csv"
	bad=1
}

# The report: the same sentences, and a waterfall that ends where the iteration's own bar does.
"$bin/pmanalyze" html -o both.html first layer >/dev/null
if ! python3 - <<'END'; then
import xml.etree.ElementTree as tree
words = lambda element: "".join(element.itertext())
section = next(s for s in tree.parse("both.html").iter("section") if any(words(h) == "layer against first" for h in s.iter("h2")))
assert "slower than first" in words(section) and "in layer conv2" in words(section), words(section)[:400]
rows = [list(row) for row in next(section.iter("table")).iter("tr")][1:]
assert len(rows) > 6, len(rows)
rows = [row for row in rows if row[4].find(".//rect") is not None]  # what does not differ has no bar
bar = lambda cell: [tuple(float(r.get(k).rstrip("%")) for k in ("x", "width")) for r in cell.iter("rect")][0]
pieces = [bar(row[4]) for row in rows]
assert len(pieces) > 2 and max(x + wide for x, wide in pieces) <= 100.001, pieces
end, last = sum(pieces[-1]), pieces[-2]
assert end > 50 and min(abs(last[0] - end), abs(sum(last) - end)) < 0.5, pieces
for before, row in zip(rows, rows[1:]):
    if "backward" in words(row[0]) and "forward" in words(before[0]):
        assert abs(sum(bar(before[4])) - bar(row[4])[0]) < 0.01, (bar(before[4]), bar(row[4]))
END
	echo "not ok html"
	bad=1
fi
exit $bad
