"""Error and coverage by distance beyond the data: see coverage.sh. coverage.py PMFIT FITDATA REPRO SCRATCH"""
import collections
import csv
import glob
import json
import math
import os
import random
import subprocess
import sys

PMFIT, FITDATA, REPRO, SCRATCH = sys.argv[1:]
ASKED = os.environ.get("SETS", "").split()
HEAD = ["gpus", "nodes", "local_bsz", "step_time"]
COLUMNS = {"inside": None, "batch": 2, "gpus": 0, "nodes": 1}
LEAST_CONFIGURATIONS = 6
DRAWS = 3  # of a third of the rows
LEAST_ROWS = 20  # of a table that is split
BUCKETS = (1, 2, 3, math.inf)  # doublings


def read(path):
    with open(path, encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def pollux(job):
    folder = f"{FITDATA}/pollux/{job}"
    rows = [(sum(map(int, r["placement"])), len(r["placement"]), r["local_bsz"], r["step_time"]) for r in read(f"{folder}/placements.csv")]
    return rows + [(r["num_replicas"], r["num_nodes"], r["local_bsz"], r["step_time"]) for r in read(f"{folder}/scalability.csv")]


def pollux_jobs():
    return sorted(os.listdir(f"{FITDATA}/pollux")) if os.path.isdir(f"{FITDATA}/pollux") else []


def gavel():
    """A table for each GPU and model; unconsolidated: each worker on a node of its own. Steps of all workers are counted."""
    found = collections.defaultdict(list)
    for row in read(f"{FITDATA}/gavel/derived-single-job.csv"):
        if float(row["steps_per_s"]) > 0 and row["batch"]:
            nodes = row["gpus"] if row["unconsolidated"] == "1" else "1"
            found[f"gavel {row['gpu']} {row['model']}"].append((row["gpus"], nodes, row["batch"], float(row["gpus"]) / float(row["steps_per_s"])))
    return found


def repro():
    """Tables that have a step's columns; pieces of one table (X-batch-tr, X-batch-te) are put together."""
    found = collections.defaultdict(dict)
    for path in sorted(glob.glob(f"{REPRO}/*.csv")):
        rows, name = read(path), os.path.basename(path)[:-4]
        if name.endswith(("-tr", "-te")):
            name = name.split("-")[0]
        time = next((c for c in ("step_time", "iteration_ms") if rows and c in rows[0]), None)
        batch = next((c for c in ("local_bsz", "batch") if rows and c in rows[0]), None)
        if not time or not batch or not {"gpus", "nodes"} <= rows[0].keys() or len(rows[0]) > 4:
            continue
        for k, row in enumerate(rows):
            key = (row["gpus"], row["nodes"], row[batch], row[time])
            try:
                if all(0 < number < math.inf for number in map(float, key)):
                    found[name][key] = key
            except ValueError:
                pass
    return {name: list(rows.values()) for name, rows in found.items()}


def tables():
    found = {job: pollux(job) for job in pollux_jobs()}
    found.update(gavel() if os.path.isdir(f"{FITDATA}/gavel") else {})
    found.update(repro() if os.path.isdir(REPRO) else {})
    for name, rows in found.items():
        rows = [tuple(map(float, row)) for row in rows]
        if len(rows) >= LEAST_ROWS and (not ASKED or name in ASKED):
            yield name, rows


def splits(rows, column):
    """What is fitted: the lowest half, third, quarter of a column's values, or two thirds of the rows at random."""
    if column is None:
        for seed in range(DRAWS):
            draw = random.Random(1 + seed)
            yield [draw.random() < 2 / 3 for _ in rows]
        return
    values = sorted({row[column] for row in rows})
    kept = {math.ceil(len(values) / part) for part in (2, 3, 4)}
    for count in sorted(kept):
        if 2 <= count < len(values):
            yield [row[column] <= values[count - 1] for row in rows]


def write(name, rows):
    with open(f"{SCRATCH}/{name}.csv", "w", encoding="utf-8") as file:
        csv.writer(file).writerows([HEAD, *rows])
    return f"{SCRATCH}/{name}.csv"


def run(*command):
    return subprocess.run([PMFIT, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def ask(train, test, column):
    """(doublings, error, in its interval, width, is validated) of each answered row; the verdict's own error and words."""
    model = f"{SCRATCH}/model.json"
    if len({row[:3] for row in train}) < LEAST_CONFIGURATIONS:
        return [], None
    said = run("auto", "--json", "--time", "step_time,s", "--batch-is", "local", "-o", model, write("train", train))
    if said.returncode:
        return [], None
    verdicts = {e["where"]: e for e in reversed(json.loads(said.stdout)["errors"])}
    predicted = run("predict", "--json", "--time", "step_time", model, write("test", test))
    answers = json.loads(predicted.stdout)["rows"] if predicted.returncode == 0 else []
    edge = max(row[column] for row in train) if column is not None else 0
    found = []
    for row, answer in zip(test, answers):
        if answer["predicted"] is not None:
            away = math.log2(row[column] / edge) if column is not None else 0
            held = answer["low"] is not None and answer["low"] <= row[3] <= answer["high"]
            width = math.log(answer["high"] / answer["low"]) if answer["low"] else math.inf
            found.append((away, abs(answer["predicted"] / row[3] - 1), held, width, not answer["not_validated"]))
    return found, verdicts


def cell(rows):
    if not rows:
        return f"{'-':>24}"
    return (f"{len(rows):6}{100 * sum(r[1] for r in rows) / len(rows):7.1f}{100 * sum(r[2] for r in rows) / len(rows):6.0f}"
            f"{sum(r[3] for r in rows) / len(rows):5.2f}")


def source(name):
    """Tables of one source are measured, or made, alike."""
    return "pollux" if name in pollux_jobs() else name.split()[0] if name.startswith("gavel") else name if name in ("azcifar", "yolo") else "made"


def write_splits(path):
    """What bench_constants reads."""
    with open(path, "w", encoding="utf-8") as file:
        for name, rows in tables():
            for where, column in COLUMNS.items():
                for taken in splits(rows, column):
                    if len({row[:3] for row, yes in zip(rows, taken) if yes}) < LEAST_CONFIGURATIONS:
                        continue
                    file.write(f"= {source(name)} {name.replace(' ', '-')} {where}\n")
                    file.writelines(f"{'fit' if yes else 'ask'} {' '.join(map(repr, row))}\n" for row, yes in zip(rows, taken))


def main():
    if os.environ.get("SPLITS"):
        write_splits(os.environ["SPLITS"])
        return
    believed, low, total, whole, everything_total = [], [], 0, 0, 0
    print(f"{'table':24}{'beyond':8}" + "".join(f"{'up to x%d' % 2 ** b if b < 9 else 'farther':>24}" for b in BUCKETS) + f"{'all':>24}")
    print("rows, error %, % in 95% intervals, width (log of high over low)")
    everything, unsaid = collections.defaultdict(list), collections.defaultdict(list)
    for name, rows in tables():
        for where, column in COLUMNS.items():
            found = []
            for taken in splits(rows, column):
                train, test = ([row for row, yes in zip(rows, taken) if yes is kept] for kept in (True, False))
                answers, verdicts = ask(train, test, column)
                found += answers
                verdict = (verdicts or {}).get(where)
                if answers and verdict and verdict["verdict"].startswith("believe"):
                    tried = float(verdict.get("tried") or math.inf)
                    near = [a for a in answers if 2 ** a[0] <= tried * (1 + 1e-9)]
                    if near:
                        believed.append((name, where, verdict["mape"], 100 * sum(a[1] for a in near) / len(near),
                                         sum(a[2] for a in near) / len(near)))
            if not found:
                continue
            everything[where] += found
            everything_total += 1
            whole += sum(a[2] for a in found) >= 0.9 * len(found)
            said = [a for a in found if a[4]]
            total += bool(said)
            if sum(a[2] for a in said) < 0.9 * len(said):
                low.append(f"{name} {where} ({100 * sum(a[2] for a in said) / len(said):.0f}% of {len(said)})")
            unsaid[where] += [a for a in found if not a[4]]
            parts = [[a for a in found if (0 if i == 0 else BUCKETS[i - 1]) < max(a[0], 1e-9) <= bucket] for i, bucket in enumerate(BUCKETS)]
            print(f"{name:24}{where:8}" + "".join(map(cell, parts + [found])), flush=True)
    for where, found in everything.items():
        parts = [[a for a in found if (0 if i == 0 else BUCKETS[i - 1]) < max(a[0], 1e-9) <= bucket] for i, bucket in enumerate(BUCKETS)]
        print(f"{'all':24}{where:8}" + "".join(map(cell, parts + [found])))
    print(f"\nAt least 90% of the rows whose intervals are said to be validated lie in them: {total - len(low)} of {total}" + (f"; not: {', '.join(low)}" if low else ""))
    print(f"Of all rows, validated or not: {whole} of {everything_total} pairs")
    for where, found in unsaid.items():
        if found:
            print(f"'not validated' {where}: {len(found)} rows, {100 * sum(a[2] for a in found) / len(found):.0f}% in their intervals")
    for where in COLUMNS:
        ratios = sorted((was / max(says, 0.1), was, says, name) for name, w, says, was, _ in believed if w == where)
        if ratios:
            middle = ratios[len(ratios) // 2]
            print(f"'believe' {where}, as far as was tried: {len(ratios)} times; the error over that stated: median {middle[0]:.1f}, "
                  f"greatest {ratios[-1][0]:.1f} ({ratios[-1][3]}: stated {ratios[-1][2]:.1f}%, was {ratios[-1][1]:.1f}%); "
                  f"least coverage {100 * min(c for _, w, _, _, c in believed if w == where):.0f}%")


main()
