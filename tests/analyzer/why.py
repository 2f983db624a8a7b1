"""Holds the rules of `pmanalyze layers --why --json` against what flow_host's kernels are.

why.py CASE JSON: each kernel of a pass has its layer by the one rule that can tell it; a call that another one's layer was told by
is of that layer, and before it or after it as the rule says; the shares of the rules add up to the time of all calls.
"""
import collections
import json
import math
import sys

case, path = sys.argv[1:]
worker, = json.load(open(path))["workers"]
calls, rules = worker["calls"], worker["rules"]
PRODUCT = "cast" if case in ("cast", "stale", "batches") else "parameter"
TOLD = {
    ("norm_forward", "forward"): "parameter", ("add_bias", "forward"): "parameter", ("cast", "forward"): "parameter",
    ("activate", "forward"): "source", ("sum", "forward"): "source", ("cublasSgemm_v2", "forward"): PRODUCT,
    ("cudnnAddTensor", "forward"): "parameter",
    ("activate_back", "backward"): "sink", ("bias_back", "backward"): "gradient", ("norm_back", "backward"): "parameter",
    ("update", "update"): "serves", ("update_all", "update"): "serves", ("update_average", "update"): "serves",
}
STRENGTHS = {"parameter": "sure", "cast": "sure", "serves": "likely", "source": "likely", "sink": "likely", "sibling": "likely",
             "direction": "sure", "turn": "likely", "window": "likely", "next": "weak", "previous": "weak"}
PHASES = {"forward": "turn", "backward": "turn", "update": "window", "h2d": "direction"}
wrong = collections.Counter()


def expect(what, found, wanted):
    if found != wanted:
        wrong["%s: %s, not %s" % (what, found, wanted)] += 1


seen = collections.Counter()
for call in calls:
    key = call["call"], call["phase"]
    seen[key] += 1
    if call["phase"] in PHASES:
        expect("phase of %s" % call["call"], call["phase_by"], PHASES[call["phase"]])
    if key in TOLD:
        expect("%s, %s" % key, call["layer_by"], TOLD[key])
    if call["layer_by"] in ("parameter", "cast", "gradient"):
        expect("%s names its parameter" % call["call"], call["parameter"] is not None, True)
    if call["layer_by"] in ("source", "sink", "sibling"):
        other = calls[call["of_row"] - 1]
        expect("layer of the row that %s names" % call["call"], other["layer"], call["layer"])
        if call["layer_by"] != "sibling":
            expect("%s is told by an earlier call" % call["call"], call["of_row"] < call["row"], call["layer_by"] == "source")
for rule in rules:
    if rule["rule"] in STRENGTHS:
        expect("strength of %s" % rule["rule"], rule["strength"], STRENGTHS[rule["rule"]])
    expect("%s has evidence" % rule["rule"], rule["evidence"] is None, rule["rule"] == "none")
blocks = seen["norm_forward", "forward"]
# the gradients of a product's weights and of its input: one reads the weights, the other's layer follows from that
backward = collections.Counter(c["layer_by"] for c in calls if c["call"] == "cublasSgemm_v2" and c["phase"] == "backward")
expect("rules of backward products", dict(backward), {PRODUCT: blocks, "sibling": blocks})
if blocks < 6:
    wrong["%d blocks" % blocks] += 1
all_ns = math.fsum(c["time_ns"] for c in calls)
for decides in ("phase", "layer"):
    mine = [r for r in rules if r["decides"] == decides]
    expect("calls by %s" % decides, sum(r["calls"] for r in mine), len(calls))
    expect("time by %s" % decides, round(sum(r["time_ns"] for r in mine)), round(all_ns))
    expect("shares by %s" % decides, round(sum(r["share"] for r in mine), 6), 1)
print("%s: %d calls by %s" % (case, len(calls), ", ".join(sorted({r["rule"] for r in rules}))))
if wrong:
    sys.exit("\n".join("%d: %s" % (n, what) for what, n in wrong.most_common(8)))
