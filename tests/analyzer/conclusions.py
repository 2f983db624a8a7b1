#!/usr/bin/env python3
"""What is said of jobs whose trouble is known: conclusions.py PMANALYZE REPORT.md [--write]. Each case is a made-up job (jobs.py) of the
shape of a public report, with the words that its first finding must have, those that must not appear at all, and how sure the finding may
be. REPORT.md has examples, each after a line "Example: CASE."; they must be what is printed (--write: are made so), and all kinds of
findings and of causes must be among them.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import jobs
import pipelines
import walk

PMANALYZE = os.path.abspath(sys.argv[1])
ANALYSES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../analyzer/analyses")


def quiet(_rank, _step):
    """Nothing disturbs the job."""
    return []


def host(duration):
    """In no call, and nothing says where."""
    def pause(rank):
        rank.host += duration
    return pause


def frame(name, duration, category="python_function"):
    return lambda rank: rank.pause(name, duration, category)


def retry(rank):
    """PyTorch's allocator finds no memory, gives back what it keeps, and asks again."""
    begin = rank.host
    rank.call("cudaFree", 12000)
    rank.call("cudaMalloc", 7500)
    rank.operator("aten::empty_strided", begin)


def items(rank):
    for _ in range(3):
        rank.synchronize("aten::item")
        rank.host += 1500


def on(which, place, what, steps=lambda step: True):
    return lambda rank, step: [(place, what)] if rank == which and steps(step) else []


def fetch(rank):
    rank.copy("HtoD", 200_000_000, 8000)


def model(rank):
    for _ in range(6):
        rank.copy("HtoD", 500_000_000, 2500)


def batch(rank):
    rank.copy("HtoD", 1_200_000_000, 6000)


def teacher(rank):
    """Records no gradients: its operators have no numbers."""
    for _ in range(8):
        begin = rank.host
        rank.kernel("ampere_sgemm_128x64_tn", 900)
        rank.operator("aten::addmm", begin)


def evaluate(rank):
    """Forward, in a function that is called so."""
    begin = rank.host
    for _ in range(12):
        teacher(rank)
    rank.synchronize("aten::item")
    rank.event("python_function", "train.py(40): evaluate", begin, rank.host - begin, 1)


def lag(duration):
    """The device has work and does not start it."""
    def wait(rank):
        rank.compute += duration
    return wait


def give_back(rank):
    rank.copy("DtoH", 200_000_000, 8000)


def give_back(rank):
    rank.copy("DtoH", 200_000_000, 8000)


COLLECT = "<built-in function collect>"
SAVE = "torch/serialization.py(800): save"
ITEM = "dataset.py(31): __getitem__"
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7]]
NEVER = ["launch-bound", "CPU affinity"]

# name, disturbance (None: another job), what else the job has ("serve": it only goes forward, for so many requests; "make": what writes it;
# "head": words above the findings, in this order; "among": words of one of the findings, which then is the example), words of the first finding in this order, words nowhere, its
# strength
CASES = [
    ("nothing", lambda rank, step: [], {}, ["Communication is not hidden"], ["Straggler", "Ranks wait"], "Strong"),
    ("allocator retries on one rank", on(1, "backward", retry), {},
     ["Straggler rank 1: the host is blocked in", "cudaFree", "aten::empty_strided", "expandable_segments"],
     NEVER + ["slow input"], "Strong"),
    ("the same before the first computation", on(1, "copied", retry), {},
     ["Straggler rank 1: the host is blocked in", "cudaFree", "expandable_segments"], NEVER + ["slow input"], "Strong"),
    ("allocator retries alone", on(0, "backward", retry), {"ranks": 1},
     ["The host is blocked in cudaMalloc", "expandable_segments"], NEVER, "Strong"),
    ("allocator retries on all ranks", lambda rank, step: [("backward", retry)], {},
     ["The host is blocked in cudaMalloc", "expandable_segments"], NEVER + ["Straggler"], "Strong"),
    ("garbage collection on one rank", on(2, "forward", frame(COLLECT, 9000)), {},
     ["Straggler rank 2: the host pauses: garbage collection", "gc.disable()"], NEVER, "Strong"),
    ("the profiler's own word for it", on(2, "forward", frame("Python GC", 9000, "user_annotation")), {},
     ["Straggler rank 2: the host pauses: garbage collection", "Python GC"], NEVER, "Strong"),
    ("garbage collection in turn", lambda rank, step: [("forward", frame(COLLECT, 40000))] if step * 7 % 4 == rank else [], {},
     ["no persistent straggler", "garbage collection", "gc.disable()"], NEVER, "Likely"),
    ("garbage collection on all ranks", lambda rank, step: [("forward", frame(COLLECT, 9000))], {},
     ["The hosts pause: garbage collection", "gc.disable()"], NEVER, "Strong"),
    ("a pause that nothing names", on(2, "forward", host(9000)), {},
     ["Straggler rank 2: the host pauses", "with_stack=True"], ["launch-bound", "garbage"], "Strong"),
    ("a slow loader", on(3, "load", frame(ITEM, 15000)), {},
     ["Straggler rank 3: slow input", ITEM, "num_workers"], NEVER, "Strong"),
    ("a slow loader behind the update", on(3, "updated", frame(ITEM, 15000)), {},
     ["Straggler rank 3: slow input", ITEM, "num_workers"], NEVER, "Strong"),
    ("the same without frames", on(3, "updated", host(15000)), {},
     ["Straggler rank 3: slow input", "the trace does not tell which"], NEVER, "Likely"),
    ("a checkpoint each step", on(0, "updated", frame(SAVE, 15000)), {},
     ["Straggler rank 0: the host pauses: saving a checkpoint", SAVE, "async_save"], NEVER + ["slow input"], "Strong"),
    ("a checkpoint each sixth step", on(0, "updated", frame(SAVE, 150000), lambda step: step % 6 == 5), {},
     ["Most of it for rank 0", "saving a checkpoint", "async_save"], NEVER, "Likely"),
    ("a checkpoint in one step of fourteen", on(0, "updated", frame(SAVE, 150000), lambda step: step == 7), {"steps": 14},
     ["of 13 iterations take over", "the other ranks wait for rank 0", "saving a checkpoint", "async_save"], NEVER, "Likely"),
    ("late launches on one rank", lambda rank, step: [("layer", host(2000)), ("gradient", host(2000))] if rank == 1 else [], {},
     ["Straggler rank 1: launch-bound: the host enqueues late", "late launches vs 0"], ["pauses", "blocked", "slow input"], "Strong"),
    ("weights in the host's memory", lambda rank, step: [("layer", fetch), ("gradient", give_back)], {},
     ["weights or optimizer state that the host keeps (offload)", "take 48.200 ms a step and copies back 48", "keep on the GPU"],
     ["Input"], "Strong"),
    ("weights that are only read", lambda rank, step: [("layer", fetch)], {},
     ["weights or optimizer state that the host keeps (offload)", "copies back 2.000 us"], ["Input"], "Likely"),
    ("weights that are read before the step computes", lambda rank, step: [("copied", model)], {},
     ["weights or optimizer state that the host keeps (offload)", "3 GB in 7 copies, the same in each step"], ["Input"], "Likely"),
    ("a large batch", lambda rank, step: [("copied", batch)], {}, ["Input: the GPUs wait for the batch"], ["offload"], "Strong"),
    ("a teacher before the step", lambda rank, step: [("copied", teacher)], {"among": "Forward work without gradients takes 60% of the "
     "forward work. 7.2"}, ["Communication is not hidden"], ["Evaluation"], "Strong"),
    (".item() on one rank", on(1, "forward", items), {},
     ["Straggler rank 1: the host waits for its device more often, in cudaStreamSynchronize", "aten::item", "item()) later"],
     NEVER, "Likely"),
    ("a slow link between two ranks", lambda rank, step: [], {"ranks": 8, "groups": PAIRS, "network": lambda step: 100.0,
     "group_time": lambda group: 900.0 if group == [4, 5] else 300.0},
     ["Slow link between rank 4 and rank 5", "13.3 GB/s", "40 GB/s", "each slow one has both"], NEVER + ["Straggler"], "Strong"),
    ("the links of one rank", lambda rank, step: [], {"ranks": 8, "groups": PAIRS + [[0, 2], [1, 3], [4, 6], [5, 7]],
     "network": lambda step: 100.0, "group_time": lambda group: 900.0 if 5 in group else 300.0},
     ["Slow link of rank 5", "2 communicators are slow"], NEVER + ["Straggler"], "Strong"),
    ("an evaluation on rank 0 alone", on(0, "updated", evaluate, lambda step: step % 4 == 3), {},
     ["of 8 iterations take over", "the other ranks wait for rank 0", "86.400 ms of forward work without gradients", "evaluate on all ranks"],
     NEVER + ["slow input", "layer fc"], "Likely"),
    ("an evaluation on rank 0 alone in each step", on(0, "updated", evaluate), {},
     ["Straggler rank 0: an evaluation", "86.400 ms a step, on other ranks 0 ns"], NEVER + ["slow input", "layer fc"], "Strong"),
    ("inference, one step of which cannot be told from another", None, {"serve": 6, "head": ["Iterations: unknown", "is shown as one",
     "Forward only", "% of the recording", "no iterations are known"]},
     ["of the recording"], ["a step (", "iterations,"], "Weak"),
    ("inference in which nothing repeats", None, {"serve": 1, "most": 1, "head": ["Iterations: none found, as nothing repeats",
     "is shown as one", "% of the recording", "no iterations are known"]}, ["of the recording"], ["a step (", "iterations,"], "Weak"),
    # of the step before: the device has not waited for input
    ("results that one rank fetches after its update", on(1, "updated", give_back), {},
     ["Straggler rank 1: cause not identified", 'what it has more of is "other", 8.7'], ["slow input"], "Weak"),
    (".item() in a step that the device fills", on(0, "forward", lambda rank: rank.synchronize("aten::item")), {"ranks": 1, "among": "The GPUs compute for"},
     ["Input: the GPUs wait for the batch: at most 250.000 us a step (1.7%)"],
     NEVER + ["Straggler", "blocked"], "Strong"),
    ("a slow network", lambda rank, step: [], {"network": lambda step: 9000}, ["Communication is not hidden by computing", "overlap gradient aggregation"],
     NEVER + ["Straggler", "slow link", "no persistent straggler"], "Strong"),
    ("a network that stalls in every fifth step", lambda rank, step: [], {"network": lambda step: 90000 if step % 5 == 3 else 300, "steps": 22},
     ["of 21 iterations take over 1.5×", "\"communication\" takes", "more each"], NEVER + ["Straggler", "the other ranks wait"], "Strong"),
    ("one rank's file of four", on(1, "backward", retry), {"only": {0}}, ["Communication is not hidden by computing", "waits for ranks without a trace is unknown"],
     NEVER + ["Straggler"], "Weak"),
    ("the blocked rank's own file", on(1, "backward", retry), {"only": {1}}, ["The host is blocked in cudaMalloc", "expandable_segments"], NEVER + ["Straggler"], "Likely"),
    ("a slow loader on all ranks", lambda rank, step: [("load", frame(ITEM, 15000))], {}, ["The hosts pause: loading input", ITEM, "num_workers"], ["launch-bound", "CPU affinity", "Straggler"], "Strong"),
    ("two ranks with a cause each", lambda rank, step: [("backward", retry)] if rank == 1 else [("forward", frame(COLLECT, 9000))] if rank == 2 else [], {},
     ["Straggler rank 1: the host is blocked in", "expandable_segments"], NEVER, "Strong"),
    ("a slower GPU", quiet, {"slower": lambda rank, layer: 1.25 if rank == 2 else 1.0},
     ["Straggler rank 2: slower throughout", "1.25× the time, in all layers", "clocks"], ["more work", "slower layer"], "Strong"),
    ("a slower GPU with the smaller batch", quiet, {"slower": lambda rank, layer: 1.25 if rank == 2 else 1.0, "rows": lambda rank: 48 if rank == 2 else 64},
     ["Straggler rank 2: slower throughout", "clocks"], ["more work"], "Strong"),
    ("a larger batch on one rank", quiet, {"slower": lambda rank, layer: 1.5 if rank == 1 else 1.0, "rows": lambda rank: 96 if rank == 1 else 64},
     ["Straggler rank 1: more work", "their input is 1.50× as large", "96x512, on other ranks 64x512", "divide the batch evenly"],
     ["slower throughout", "clocks"], "Likely"),
    ("a slower layer", quiet, {"slower": lambda rank, layer: 3.0 if rank == 2 and layer == 1 else 1.0},
     ["Straggler rank 2: slower layer fc2", "3.00× the time, those of other layers 1.00×"], ["slower throughout", "more work", "Jitter"], "Strong"),
    ("one layer slow, and two a little", quiet, {"slower": lambda rank, layer: {1: 3.0, 3: 1.25, 5: 1.25}.get(layer, 1.0) if rank == 2 else 1.0,
     "among": "Straggler rank 2: several slower layers"}, ["Straggler rank 2: slower layer fc2"], ["slower throughout", "more work"], "Strong"),
    ("a device that starts late, for no reason that is recorded", on(1, "backward", lag(3000)), {},
     ["Straggler rank 1: cause not identified: at most 3.3", "what it has more of is \"idle: queue\", 3.00"], NEVER + ["slower"], "Weak"),
    ("work that waits in queues", lambda rank, step: [("gradient", lag(700))], {},
     ["The GPUs have work enqueued but do not start it: at most 4.2", "cannot tell"], NEVER + ["Straggler"], "Weak"),
    ("late launches on all ranks", lambda rank, step: [("layer", host(2000))], {},
     ["Launch-bound: the host enqueues work too late", "no call blocks the host"], ["Straggler", "Jitter", "blocked in"], "Strong"),
    ("a pipeline without a slow stage", None, {"make": lambda folder: pipelines.write(folder, 4, 8, 200)},
     ["Communication is not hidden by computing", "in the pipeline's bubble"], ["Straggler", "Imbalance"], "Strong"),
    ("a slow stage of a pipeline", None, {"make": lambda folder: pipelines.write(folder, 4, 8, 200, slower=lambda stage: 1.5 if stage == 2 else 1.0)},
     ["Straggler rank 2: pipeline stage with more work, or a slower GPU", "move layers from that stage"], ["slower throughout", "slow link"], "Likely"),
    ("a slow link of a pipeline", None, {"make": lambda folder: pipelines.write(folder, 4, 8, 200, link=lambda source, target: 4.0
     if {source, target} == {1, 2} else 1.0), "among": "slow link to rank 2"},
     ["Communication is not hidden by computing", "in the pipeline's bubble"], ["slower throughout", "more work", "rank 0", "rank 3"], "Strong"),
    ("a slow stage in labels", None, {"make": lambda folder: pipelines.write_log(folder, [10, 10, 15, 10], [20, 20, 30, 20])},
     ["Imbalance: stage imbalance", "stage 2 takes 1.50× the computing time", "indistinguishable from a slow worker"], ["Straggler", "Communication"], "Strong"),
]

# Files that are not part of this repository: environment variable of their folder, set, words of the report's findings in this order, words in
# none of them, and how many findings there are at most (None: any).
FILES = [
    ("PM_REPRO", "c01-fsdp-exposed", ["1. Communication is not hidden by computing", "Strong", "gather parameters"], ["Straggler", "launch-bound"], 2),
    ("PM_REPRO", "c03-allreduce-jitter", ["1. 3 of 19 iterations take over 1.5×", "\"communication\" takes"], ["Straggler", "launch-bound"], 3),
    ("PM_REPRO", "c04-item-sync", ["1. The GPUs compute for 100% of a step"], ["blocked", "Launch-bound", "Straggler"], 1),
    ("PM_REPRO", "c12-gc-rotating", ["1. Jitter: no persistent straggler", "the host is in no call", "Likely"], ["launch-bound", "slow input"], 3),
    ("PM_REPRO", "c18-input-one-rank", ["1. Straggler rank 3: slow input", "Strong"], ["launch-bound", "CPU affinity", "Jitter"], 3),
    ("PM_REPRO", "c21-jax-trace", ["1. Communication is not hidden by computing", "1 rank"], ["Straggler"], 2),
    ("PM_REPRO", "c22-ascend", ["1. Communication is not hidden by computing", "1 rank"], ["Straggler"], 2),
    ("PM_REPRO", "c27-xpu", ["1. Communication is not hidden by computing", "Strong"], ["Straggler", "launch-bound"], 3),
    ("PM_TRACES", "bytedance-straggler-AR", ["1. Imbalance: slow worker", "dp0/pp0", "Strong"], ["stage imbalance", "Stage imbalance"], 1),
    ("PM_TRACES", "bytedance-straggler-ST", ["1. Imbalance: stage imbalance", "stage 3, the last", "Strong"], ["slow worker"], 2),
    ("PM_TRACES", "kineto-resnet50-v100-workers0", ["1. Input: the GPUs wait for the batch", "Strong"], ["Straggler"], None),
    ("PM_TRACES", "hta-torchrec-a100-r0of16", ["cudaMemcpyAsync", "Weak"], ["Straggler", "Strong"], None),
    ("PM_TRACES", "tracelens-resnet18-mi300-nomarkers", ["1. The host is blocked in hipFree", "Likely"], ["Straggler", "launch-bound"], None),
]


def findings(text):
    """The findings, each in one line."""
    found = []
    for line in text[text.index("\nFindings, "):re.search("\n(Mean t|T)ime of", text).start()].split("\n")[2:]:
        if line[:1].isdigit():
            found.append(line)
        elif found and line.startswith("  "):
            found[-1] += "\n" + line
    return found


def in_order(text, words):
    for word in words:
        if word not in text:
            return word
        text = text[text.index(word) + len(word):]
    return None


def make(case, folder):
    more = {key: value for key, value in case[2].items() if key not in ("serve", "head", "among", "make")}
    if "serve" in case[2]:
        jobs.serve(folder, case[2]["serve"], **more)
    elif "make" in case[2]:
        case[2]["make"](folder)
    else:
        jobs.write(folder, disturb=case[1], **more)


def judge(case, folder, printed):
    """What is wrong; the finding that it is about goes to `printed`, as it is on a screen, with its kind and cause."""
    name, _, more, words, never, strength = case
    make(case, folder)
    result = subprocess.run([PMANALYZE, "report", folder], capture_output=True, check=False, text=True)
    if result.returncode != 0:
        return [f"{name}: exit status {result.returncode}: {result.stderr}"]
    found = findings(result.stdout)
    lines = found
    found = [" ".join(line.split()) for line in found]
    about = next((i for i, line in enumerate(found) if more.get("among", "") in line), 0)
    printed[name] = (lines[about] if lines else "", folder, about)
    first = found[0] if found else ""
    missing = in_order(first, words)
    wrong = [f"{name}: no \"{missing}\" in: {first}"] if missing else []
    if "among" in more and more["among"] not in " ".join(found):
        wrong.append(f"{name}: no finding has \"{more['among']}\": {found}")
    missing = in_order(" ".join(result.stdout.split()), more.get("head", []))
    wrong += [f"{name}: no \"{missing}\" in its head"] if missing else []
    shares = [float(share) for line in found for share in re.findall(r"a step \((\d+\.\d)%\)", line)[:1]]
    waits = [float(share) for line in found for share in re.findall(r"(\d+\.\d)% of (?:its|their) time", line)]
    if shares != sorted(shares, reverse=True) or max(shares + waits, default=0) > 100:
        wrong.append(f"{name}: shares {shares}, waiting {waits}")
    wrong += [f"{name}: \"{word}\" in: {line}" for word in never for line in found if word in line]
    wrong += walk.walk(PMANALYZE, folder)
    return wrong + ([] if f". {strength}: " in first else [f"{name}: not {strength}: {first}"])


EXAMPLE = re.compile(r"Example: (.+)\.\n\n((?: {4}.*\n)+)")


def check_examples(path, printed, write):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    wrong = []

    def replaced(example):
        name, shown = example.group(1), example.group(2)
        made = "".join(f"    {line}\n" for line in printed.get(name, ("no such case",))[0].split("\n"))
        if made != shown:
            wrong.append(f"{path}: the example of \"{name}\" is now:\n{made}")
        return f"Example: {name}.\n\n{made}"
    changed = EXAMPLE.sub(replaced, text)
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)
    return [] if write else wrong


def rows_of(header, table):
    """Keys of a table of the analyzer's: the second column."""
    with open(os.path.join(ANALYSES, header), encoding="utf-8") as file:
        rows = re.search(rf"#define {table}\(X\)(.*?)\n\n", file.read(), re.DOTALL)
    return set(re.findall(r'X\(\w+, "(\w+)"', rows.group(1)))


def check_kinds(path, printed):
    """Is there an example of each kind of finding, and of each cause of a straggler?"""
    with open(path, encoding="utf-8") as file:
        names = [example.group(1) for example in EXAMPLE.finditer(file.read())]
    left = {"kind": rows_of("finding/finding.h", "FINDING_LIST"), "cause": rows_of("cause/cause.h", "CAUSE_LIST")}
    for name in set(names) & set(printed):
        _, folder, about = printed[name]
        result = subprocess.run([PMANALYZE, "report", "--json", folder], capture_output=True, check=True)
        finding = json.loads(result.stdout)["findings"][about]
        for key, keys in left.items():
            keys.discard(finding.get(key))
    return [f"{path}: no example of the {key} \"{row}\"" for key, keys in left.items() for row in sorted(keys)]


def judge_file(case):
    """None: its folder is not there."""
    variable, name, words, never, most = case
    folder = os.path.join(os.environ.get(variable, ""), name)
    folder = os.path.join(folder, "traces") if variable == "PM_TRACES" else folder
    if not os.environ.get(variable) or not os.path.isdir(folder):
        return None
    result = subprocess.run([PMANALYZE, "report", folder], capture_output=True, check=False, text=True)
    if result.returncode != 0:
        return [f"{name}: exit status {result.returncode}: {result.stderr}"]
    found = [" ".join(line.split()) for line in findings(result.stdout)]
    missing = in_order(" ".join(found), words)
    wrong = [f"{name}: no \"{missing}\" in: {found}"] if missing else []
    wrong += [f"{name}: \"{word}\" in: {line}" for word in never for line in found if word in line]
    if most is not None and len(found) > most:
        wrong.append(f"{name}: {len(found)} findings: {found}")
    return wrong + walk.walk(PMANALYZE, folder)


def main():
    wrong, printed, files = [], {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, case in enumerate(CASES):
            wrong += judge(case, os.path.join(scratch, str(number)), printed)
        wrong += check_examples(sys.argv[2], printed, "--write" in sys.argv)
        wrong += check_kinds(sys.argv[2], printed)
    for case in FILES:
        judged = judge_file(case)
        files += judged is not None
        wrong += judged or []
    left = "" if files == len(FILES) else f" (PM_REPRO and PM_TRACES name the folders of {len(FILES) - files} others)"
    print("\n".join(wrong + [f"{len(CASES)} jobs and {files} sets of files, {len(wrong)} wrong{left}"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
