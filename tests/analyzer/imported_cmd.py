#!/usr/bin/env python3
"""Traces of other profilers through every command that reads runs: what a user sees.

usage: imported_cmd.py PMANALYZE MAKE_TRACE

Makes small traces by the formats' public descriptions (Kineto's JSON, Chrome's trace event format), whose
times are known because they were chosen here, and asks all commands. Each must end as it should, without
empty tables, and say what it cannot tell.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from checking import check, verdict  # noqa: E402
from on_terminal import on_terminal  # noqa: E402

program, make_trace = map(os.path.abspath, sys.argv[1:3])
COMMANDS = ["report", "layers", "balance", "comm", "path", "whatif", "model", "roofline"]


def ask(*arguments):
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60)
    check(result.returncode in (0, 1, 2), f"{arguments} ended with {result.returncode}: {result.stderr[-300:]}")
    return result


def save(folder, name, content):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(content, file)


# An iteration takes 1000 us: a copy of 20, a kernel of 300 for the layer's operator, one of 100 for the
# exchange (150 on rank 0, which comes first), one of 50 for the update.
STEP, STEPS = 1000, 6
PARTS = [("copy", 100, 20), ("gemm", 150, 300), ("exchange", 500, 100), ("adam", 650, 50)]
NAMES = {"cuda": {"copy": "Memcpy HtoD (Pageable -> Device)", "gemm": "volta_sgemm_128x32_nn",
                  "exchange": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
                  "adam": "multi_tensor_apply_kernel<AdamFunctor>"},
         "hip": {"copy": "Memcpy HtoD (Host -> Device)", "gemm": "Cijk_Ailk_Bljk_SB_MT64x64x16",
                 "exchange": "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
                 "adam": "multi_tensor_apply_kernel<AdamFunctor>"}}
CALLS = {"cuda": {"copy": "cudaMemcpyAsync"}, "hip": {"copy": "hipMemcpyWithStream"}}


def events(rank, kind="cuda", stream=7, old=False, marks=True, operators=True, names=None):
    """Events of a rank in Kineto's form. old: the category names of before 2022."""
    names = names or NAMES[kind]
    runtime = "Runtime" if old else "cuda_runtime"
    result, correlation = [], 0
    for step in range(STEPS):
        begin = 10000 + step * STEP
        if marks:
            result.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1,
                           "tid": 1, "ts": begin, "dur": STEP - 10, "args": {}})
        if operators:
            result.append({"ph": "X", "cat": "Operator" if old else "cpu_op", "name": "aten::linear",
                           "pid": 1, "tid": 1, "ts": begin + 90, "dur": 10,
                           "args": {"External id": step * 10 + 1, "Input Dims": [[64, 32], [16, 32], [16]]}})
        for index, (part, offset, duration) in enumerate(PARTS):
            correlation += 1
            if part == "exchange" and rank == 0:
                offset, duration = offset - 50, duration + 50
            call = CALLS[kind].get(part, kind + "LaunchKernel")
            result.append({"ph": "X", "cat": runtime, "name": call, "pid": 1, "tid": 1,
                           "ts": begin + 80 + 12 * index, "dur": 3, "args": {"correlation": correlation}})
            category = ("Memcpy" if old else "gpu_memcpy") if part == "copy" else "Kernel" if old else "kernel"
            result.append({"ph": "X", "cat": category, "name": names[part], "pid": 0, "tid": stream,
                           "ts": begin + offset, "dur": duration,
                           "args": {"device": 0, "stream": stream, "correlation": correlation,
                                    **({"External id": step * 10 + 1} if part == "gemm" else {})}})
    return result


DEVICE = {"id": 0, "name": "Tesla V100-SXM2-32GB", "totalGlobalMem": 34079899648, "computeMajor": 7,
          "computeMinor": 0, "numSms": 80}


def whole(rank, world, **how):
    return {"schemaVersion": 1, "deviceProperties": [DEVICE], "distributedInfo": {"rank": rank, "world_size": world},
            "traceEvents": events(rank, **how)}


def ranges(folder):
    """What the program names, by name: how often, and the GPU's time in it, us."""
    rows = json.loads(ask("report", "--json", folder).stdout).get("ranges", [])
    return {row["name"]: (row["count"], row["device_ns"] / 1000, row["marks_iterations"]) for row in rows}


def busy(folder, phase, *options):
    """Mean busy time of a phase, us, by the report."""
    answer = json.loads(ask("report", "--json", *options, folder).stdout)
    run = answer
    return {row["phase"]: row["busy_ns"] for row in run["phases"]}.get(phase, 0) / 1000


def check_all(what, folder, empty=()):
    """Each command answers and says nothing odd."""
    for command in COMMANDS:
        result = ask(command, folder)
        check(result.returncode == (1 if command in empty else 0),
              f"{what}: {command} ended with {result.returncode}: {result.stdout[-200:]}{result.stderr[-200:]}")
        lines = result.stdout.splitlines()
        check(lines, f"{what}: {command} prints nothing")
        check("nan" not in result.stdout and "inf%" not in result.stdout, f"{what}: {command} prints nan")
        for first, second in zip(lines, lines[1:] + [""]):
            check(not (first.startswith("  layer ") and not second.strip()), f"{what}: {command}: an empty table")
        if command != "roofline":
            json.loads(ask(command, "--json", folder).stdout)
    for command in ("window", "arrivals"):
        ask(command, folder)
    page = os.path.join(os.path.dirname(folder), "page.html")
    result = ask("html", "-o", page, folder)
    check(result.returncode == 0 and os.path.getsize(page) > 10000, f"{what}: html: {result.stderr}")
    for form in ("--perfetto", "--kineto", "--observations"):
        result = ask("export", form, "-o", os.path.join(os.path.dirname(folder), "out" + form), folder)
        check(result.returncode == 0, f"{what}: export {form}: {result.stderr}")


def check_kinds(scratch):
    """CUDA, ROCm, old names, stream 0, arrays, files without rank or metadata: the times are the same."""
    variants = {"cuda": {}, "rocm": {"kind": "hip"}, "stream0": {"stream": 0}, "old": {"old": True},
                "unmarked": {"marks": False}, "kernels-only": {"operators": False}}
    for name, how in variants.items():
        folder = os.path.join(scratch, name, "traces")
        for rank in range(2):
            save(folder, f"rank{rank}.json", whole(rank, 2, **how))
        check_all(name, folder)
        check(abs(busy(folder, "communication") - 125) < 0.01, f"{name}: {busy(folder, 'communication')} us of exchange")
        check(abs(busy(folder, "update") - 50) < 0.01, f"{name}: {busy(folder, 'update')} us of update")
        check(abs(busy(folder, "h2d") - 20) < 0.01, f"{name}: {busy(folder, 'h2d')} us of input")
    for name in ("array", "no-metadata"):
        folder = os.path.join(scratch, name, "traces")
        for rank in range(2):
            items = events(rank)
            save(folder, f"trace_{rank}.json", items if name == "array" else {"traceEvents": items})
        check_all(name, folder)
        check(abs(busy(folder, "communication") - 125) < 0.01, f"{name}: {busy(folder, 'communication')} us")
        check("2 processes, 2 GPUs" in ask("report", folder).stdout, f"{name}: two ranks")


def check_pattern(scratch):
    folder = os.path.join(scratch, "pattern", "traces")
    names = dict(NAMES["cuda"], exchange="my_exchange_kernel<float>")
    for rank in range(2):
        save(folder, f"rank{rank}.json", whole(rank, 2, names=names))
    check(busy(folder, "communication") == 0, "an unknown name is no communication")
    check(abs(busy(folder, "communication", "--comm-pattern", "exchange") - 125) < 0.01, "--comm-pattern")
    for command in COMMANDS:
        result = ask(command, "--comm-pattern", "exchange", folder)
        check(result.returncode == 0, f"{command} --comm-pattern: {result.stderr}")
        check(ask(command, "--comm-pattern", "(", folder).returncode == 2, f"{command} takes a wrong pattern")
        check("--comm-pattern REGEX" in ask(command, "--help").stdout, f"{command} --help is silent")


def check_device(scratch):
    folder = os.path.join(scratch, "cuda", "traces")
    text = ask("roofline", folder).stdout
    check("GPU: Tesla V100-SXM2-32GB" in text, f"roofline does not name the device: {text[:200]}")
    result = ask("slowdown", folder)
    check(result.returncode == 1 and "labelled phases" in result.stderr, f"slowdown takes kernels: {result.stderr}")
    check("Operations and bytes are unknown" in text, "roofline claims operations")
    answer = json.loads(ask("report", "--json", folder).stdout)
    check(answer["device_times"] == "kineto", answer["device_times"])


def check_labels(scratch):
    """Two workers of a pipeline, by labels with begin and end; the second computes twice as long."""
    items = []
    for step in range(6):
        for stage in range(2):
            at = 1000000 + step * 10000
            for name, begin, end in ([("forward-compute", 0, 1000), ("forward-send", 1000, 1010),
                                      ("backward-recv", 5000, 5010), ("backward-compute", 5010, 7010)] if stage == 0
                                     else [("forward-recv", 1000, 1010), ("forward-compute", 1010, 3010),
                                           ("backward-compute", 3010, 5000), ("backward-send", 5000, 5010)]):
                where = {"pid": 0, "tid": f"dp 0 pp {stage} tp 0", "name": name, "args": {"step": step, "micro_batch": 0}}
                items.append({"ph": "B", "ts": at + begin, **where})
                items.append({"ph": "E", "ts": at + end, **where})
    folder = os.path.join(scratch, "labels", "traces")
    save(folder, "timeline.json", items)
    check_all("labels", folder, empty=("path", "whatif"))
    for command in ("report", "balance", "path", "whatif"):
        check("pmanalyze slowdown" in " ".join(ask(command, folder).stdout.split()), f"{command} does not point to slowdown")
    check("slowdown 1." not in ask("balance", folder).stdout, "balance claims a slowdown")
    check("No layers" in ask("layers", folder).stdout, "layers says nothing")
    answer = json.loads(ask("report", "--json", folder).stdout)
    check(answer["device_times"] == "labels", answer["device_times"])
    known = {row["phase"] for row in answer["phases"] if row["exclusive_ns"] is not None}
    check(known == {"forward", "backward", "communication", "idle: unknown", "iteration"},
          f"what has no label is known: {known}")
    check_unlabelled(folder)
    result = ask("arrivals", folder)
    check("24 sends and receives" in result.stderr, f"arrivals is silent about sends: {result.stderr}")


def check_unlabelled(folder):
    """Phases without a label are no 0 where runs are compared, in each form, nor in a rank's balance."""
    other = os.path.join(os.path.dirname(folder), "updates")
    with open(os.path.join(folder, "timeline.json")) as file:
        items = json.load(file)
    save(other, "timeline.json", items + [
        {"ph": phase, "ts": item["ts"] + after, "pid": 0, "tid": item["tid"], "name": "optimizer", "args": item["args"]}
        for item in items if item["name"] == "backward-compute" and item["ph"] == "E"
        for phase, after in (("B", 20), ("E", 520))])
    rows = json.loads(ask("compare", "--json", folder, other).stdout)["pairs"][0]["rows"]
    update = {row["kind"]: row for row in rows if row["key"] == "update"}
    check(set(update) == {"exclusive", "busy"}, f"updates are compared as {sorted(update)}")
    for row in update.values():
        check(row["base"] is None and row["other"] > 0 and row["difference"] is None
              and row["verdict"] == "unknown in base", f"no label, compared: {row}")
    check(not {"input", "host_to_device"} & {row["key"] for row in rows}, "phases that neither run has")
    table = list(csv.DictReader(io.StringIO(ask("compare", "--csv", folder, other).stdout)))
    check([row["base"] for row in table if row["key"] == "update"] == ["", ""], "CSV has a time without a label")
    text = [line.split() for line in ask("compare", folder, other).stdout.split("\n") if line.startswith("  update ")]
    check([line[1:3] for line in text] == [["-", "0.500"], ["-", "1.000"]], f"text: {text}")
    page = os.path.join(os.path.dirname(folder), "compared.html")
    ask("html", "-o", page, folder, other)
    with open(page) as file:
        text = file.read()
    cells = re.findall(r">update</td><td[^>]*>.*?</td><td>([^<]*)</td><td>([^<]*)</td>", text, re.S)
    check(("-", "0.500") in cells, f"the page compares {cells}")
    phases = next(table for table in text.split("<table ") if ">t_u, " in table)
    place = [title.split(">")[-1] for title in phases.split("</th>")].index("t_u, ms")
    sides = {row[0]: row for row in (re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in phases.split("\n")) if row}
    check(sides["traces"][place] == "-" and sides["updates"][place] == "0.500", f"side by side: {sides}")
    check("nan%" not in text, "bars of unknown length")
    balance = json.loads(ask("balance", "--json", folder).stdout)["runs"][0]
    known = {row["phase"] for row in balance["phases"] if row["mean_ns"] is not None}
    check(known == {"computing", "forward", "backward"}, f"balance knows {known}")
    check(all(row["waiting_ns"] is None for row in balance["ranks"]), "waiting without a collective's label")


def check_places(scratch):
    """Between steps the host frees memory for 200 us in an operator, called by a loop in Python: each is named."""
    items = events(0)
    for step in range(STEPS):
        for category, name, offset, duration in (
                ("python_function", "train.py(7): loop", 700, 290), ("cpu_op", "aten::item", 740, 215),
                ("python_function", "<built-in method item of Tensor object at 0x7f00>", 745, 208),
                ("cuda_runtime", "cudaFree", 750, 200)):
            items.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": 10000 + step * STEP + offset,
                          "dur": duration, "args": {"correlation": 0}})
    folder = os.path.join(scratch, "places", "traces")
    save(folder, "rank0.json", {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": items})
    answer = json.loads(ask("report", "--json", folder).stdout)
    rows = {row["call"]: row for row in answer["host_calls"]}
    check(rows["cudaFree"]["idle_ns"] == 200000 and rows["cudaFree"]["place"] == "aten::item"
          and rows["cudaFree"]["place_share"] == 1, f"where memory is freed: {rows['cudaFree']}")
    # From 700 to 750 and from 950 to 990: 10 + 5 in the operator, 40 + 35 in the loop. After the last step no call ends the
    # idle time: it is the thread's that ends it after the others.
    outside = rows["(in no call)"]
    check(outside["place"] == "train.py(7): loop" and abs(outside["place_share"] * outside["idle_ns"] - 75000) < 1,
          f"between calls: {outside}")
    found = [item for item in answer["findings"] if item["subject"] == "cudaFree"]
    check(found and "100% of it in aten::item" in found[0]["text"], f"the finding: {found}")
    check(any("cudaFree" in line and "aten::item" in line for line in ask("report", "--calls", folder).stdout.split("\n")),
          "the table does not say where")
    page = os.path.join(scratch, "places", "page.html")
    ask("html", "-o", page, folder)
    with open(page) as file:
        check("aten::item, 100%" in file.read(), "the page does not say where")


def check_ranges(scratch):
    """The program's annotations, as one row for all steps, with what was launched in them."""
    rows = ranges(os.path.join(scratch, "cuda", "traces"))
    check(rows == {"ProfilerStep#": (12, 6 * (20 + 300 + 150 + 50) + 6 * (20 + 300 + 100 + 50), True)}, f"ranges: {rows}")
    folder = os.path.join(scratch, "unmarked", "traces")
    check(ranges(folder) == {}, f"operators are ranges of the program: {ranges(folder)}")
    check("no ranges" in ask("report", "--ranges", folder).stdout, "without ranges nothing is said")


def check_narrow(scratch):
    """A name longer than the terminal is broken where its parts meet; nothing of it is lost, and no line is too long."""
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    folder = os.path.join(scratch, "narrow", "traces")
    save(folder, "rank0.json", {"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events(0) + [
        {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 10000 + step * STEP + 5, "dur": 60, "args": {}}
        for step in range(STEPS)]})
    status, written = on_terminal(60, program, "report", "--calls", folder, stderr=subprocess.DEVNULL,
                                  env={**os.environ, "NO_COLOR": "1"})
    lines = written.decode().replace("\r", "").split("\n")
    check(status == 0 and max(map(len, lines)) <= 60, f"on a terminal of 60: {[line for line in lines if len(line) > 60]}")
    check(name in "".join(line.strip() for line in lines), "a long name is not whole")
    texts = [found["text"] for found in json.loads(ask("report", "--json", folder).stdout)["findings"] if found["kind"] == "input"]
    check(len(texts) == 1 and f"100% of the reading is in {name}, which waits for worker processes" in texts[0]
          and "splitting" not in texts[0], f"the wait for a data loader: {texts}")


def check_same_names(scratch):
    text = ask("compare", os.path.join(scratch, "cuda", "traces"), os.path.join(scratch, "old", "traces")).stdout
    check("cuda/traces" in text and "old/traces" in text, "folders of the same name look alike")
    long = [os.path.join(scratch, f"resnet50-on-v100-workers{count}") for count in (0, 4)]
    for folder in long:
        save(folder, "rank0.json", whole(0, 1))
    heads = [line.split() for line in ask("compare", *long).stdout.split("\n") if line.rstrip().endswith(" delta  p")]
    check(heads and all({"workers0", "workers4"} < set(words) for words in heads), f"columns of sides that begin alike: {heads}")
    text = ask("report", os.path.join(scratch, "cuda", "traces")).stdout
    check(text.startswith("traces:"), "one folder alone keeps its name")


def check_single(scratch):
    """One iteration: its units count although others would be left out at the start."""
    folder = os.path.join(scratch, "single", "traces")
    for rank in range(2):
        content = whole(rank, 2)
        content["traceEvents"] = [item for item in content["traceEvents"] if item["ts"] < 10000 + STEP]
        for item in [item for item in content["traceEvents"] if item["args"].get("correlation") == 3]:
            again = dict(item, ts=item["ts"] + 250, args=dict(item["args"], correlation=99))
            content["traceEvents"].append(again)
        save(folder, f"rank{rank}.json", content)
    rows = json.loads(ask("comm", "--json", folder).stdout)["runs"][0]["calls"]
    check(len(rows) == 1 and rows[0]["count"] == 2, f"units of an only iteration: {rows}")


def check_counting(scratch):
    """Forward passes alone, without a mark: the one layer of each is the same, not one of its own each time."""
    for name in ("cuda", "unmarked"):
        rows = json.loads(ask("layers", "--json", os.path.join(scratch, name, "traces")).stdout)["layers"]
        check([row["layer"] for row in rows] == ["fc1"] and abs(rows[0]["forward_ns"] - 300000) < 1,
              f"{name}: layers {[(row['layer'], row['forward_ns']) for row in rows]}")
        # weights of 16 x 32 and a bias, which a layer that is only counted does not have
        expected = {"cuda": 16 * 32 + 16, "unmarked": None}[name]
        check(rows[0].get("parameters") == expected, f"{name}: {rows[0].get('parameters')} parameters, not {expected}")


def check_summaries(scratch):
    """Times of the wall clock, as profilers write them, survive the summary."""
    folder, summaries = os.path.join(scratch, "wall", "traces"), os.path.join(scratch, "wall", "summaries")
    for rank in range(2):
        save(folder, f"rank{rank}.json", dict({"baseTimeNanoseconds": 1750000000000000000}, **whole(rank, 2)))
    result = ask("reduce", "-o", summaries, folder)
    check(result.returncode == 0 and "2 summaries" in result.stdout, f"reduce: {result.stdout}{result.stderr}")
    result = ask("report", summaries)
    check(result.returncode == 0 and "recorded by another profiler, 2 processes" in result.stdout,
          f"report of summaries: {result.stdout[:200]}{result.stderr}")
    check(abs(busy(summaries, "update") - 50) < 0.01, "a summary's update")


def check_cut(scratch):
    """Of a file that breaks off, in whatever order its events are, no finding is better than weak."""
    folder = os.path.join(scratch, "cut")
    os.mkdir(folder)
    text = json.dumps(whole(0, 1))
    for name, share in (("whole", 1), ("cut", 0.95)):
        path = os.path.join(folder, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text[:int(len(text) * share)])
        findings = json.loads(ask("report", "--json", path).stdout)["findings"]
        strengths = {finding["strength"] for finding in findings}
        check((strengths == {"weak"}) == (name == "cut") and findings, f"{name}: findings are {strengths}")
        check(("A file is truncated" in ask("report", path).stdout) == (name == "cut"), f"{name}: the head of the report")


def check_beside(scratch):
    """Traces in a folder below one with JSON of other kinds."""
    folder = os.path.join(scratch, "beside")
    save(os.path.join(folder, "traces"), "rank0.json", whole(0, 1))
    save(folder, "results.json", {"steps": [{"traceEvents": 3}], "step_ms": 1.0})
    save(folder, "losses.json", [2.5, 2.25])
    for command in ("report", "kernels", "window"):
        result = ask(command, folder)
        said = " ".join((result.stdout + result.stderr).split())
        check(result.returncode == 0, f"{command} of a folder above the traces: {result.stderr}")
        for other in ("results.json", "losses.json"):
            check(f"{other}: " in said, f"{command} does not name {other}, which is no trace: {said[-300:]}")
    check("truncated" not in ask("report", folder).stdout, "a list of numbers counts as a trace that breaks off")
    alone = os.path.join(scratch, "alone")
    save(alone, "results.json", {"step_ms": 1.0})
    check("results.json" in ask("report", alone).stderr, "the error does not name the only file")


def check_export(scratch):
    """What export --kineto writes has the phases and layers of the run itself, but for what Kineto has not."""
    run, kineto = os.path.join(scratch, "three"), os.path.join(scratch, "kineto")
    os.mkdir(run)
    subprocess.run([make_trace, "three", "three"], check=True, cwd=scratch)
    ask("export", "--kineto", "-o", kineto, run)
    for phase in ("forward", "backward", "communication", "update", "h2d"):
        check(abs(busy(run, phase) - busy(kineto, phase)) < 1e-3,
              f"export: {phase} {busy(run, phase)} us, from Kineto's form {busy(kineto, phase)}")
    check(busy(run, "forward") > 0 and busy(run, "backward") > 0, "export: nothing to compare")
    layers = [{row["layer"]: [row[key + "_ns"] for key in ("forward", "backward", "communication", "update")]
               for row in json.loads(ask("layers", "--json", folder).stdout)["layers"]} for folder in (run, kineto)]
    check(layers[0].keys() == layers[1].keys(), f"export: layers {list(layers[0])} {list(layers[1])}")
    for name in layers[0].keys() & layers[1].keys():
        check(all(abs(one - other) < 1 for one, other in zip(layers[0][name][:2], layers[1][name][:2])),
              f"export: {name} {layers[0][name]} {layers[1][name]}")


with tempfile.TemporaryDirectory() as scratch:
    check_kinds(scratch)
    check_pattern(scratch)
    check_device(scratch)
    check_labels(scratch)
    check_places(scratch)
    check_ranges(scratch)
    check_narrow(scratch)
    check_same_names(scratch)
    check_single(scratch)
    check_counting(scratch)
    check_summaries(scratch)
    check_cut(scratch)
    check_beside(scratch)
    check_export(scratch)
sys.exit(verdict("imported"))
