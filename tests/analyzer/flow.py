"""Compares phases and layers of calls (pmanalyze export --perfetto) with what the program said of them.

flow.py TRUTH EXPORT: lines "iteration phase layer" in order of the calls; "-" and -1: either may be. A layer of
pmanalyze's is right where it is the one that most calls of the true layer have.
"""
import collections
import json
import sys

FIRST = 2  # iterations before it may be warm-up

truth = [line.split() for line in open(sys.argv[1])]
events = json.load(open(sys.argv[2]))["traceEvents"]
calls = sorted(
    (e for e in events if e.get("ph") == "X" and e.get("cat") == "host"
     and e["name"] in ("cudaLaunchKernel", "cublasSgemm_v2", "cublasSaxpy_v2", "cudnnAddTensor", "cudaMemcpyAsync", "cudaMemsetAsync")),
    key=lambda e: e["ts"])
if len(calls) != len(truth):
    sys.exit("%d calls, the program made %d" % (len(calls), len(truth)))
last = int(truth[-1][0])
pairs = [(t, c["args"]) for t, c in zip(truth, calls) if FIRST <= int(t[0]) < last]
votes = collections.defaultdict(collections.Counter)
for (_, _, layer), args in pairs:
    if layer != "-1":
        votes[layer][args.get("layer")] += 1
name = {layer: v.most_common(1)[0][0] for layer, v in votes.items()}
wrong = collections.Counter()
for (_, phase, layer), args in pairs:
    if phase != "-" and args.get("phase") != phase:
        wrong["phase %s is %s" % (phase, args.get("phase"))] += 1
    elif layer != "-1" and args.get("layer") != name[layer]:
        wrong["layer %s (%s) is %s in %s" % (layer, name[layer], args.get("layer"), phase)] += 1
print("%d of %d calls right" % (len(pairs) - sum(wrong.values()), len(pairs)))
if len(set(name.values())) != len(name) or None in name.values():
    sys.exit("layers are not told apart: %s" % name)
if wrong:
    sys.exit("\n".join("%d: %s" % (n, what) for what, n in wrong.most_common(8)))
