"""The splits, pmfit and its peers: see predict.sh. predict.py PMFIT POLLUX SCRATCH"""
import csv
import json
import math
import os
import random
import subprocess
import sys

try:
    import numpy
    import scipy.optimize
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR
    PEERS = ["forest", "boosting", "svr", "pollux"]
except ImportError:
    PEERS = []

PMFIT, POLLUX, SCRATCH = sys.argv[1:]
OURS = os.environ.get("METHODS", "step step+parts search fit").split()
SETS = os.environ.get("SETS", "imagenet ncf bert cifar10 yolov3 deepspeech2").split()
ROLES = "time step_time s\nintrinsic local_bsz\nextrinsic gpus nodes\n"


def load(job):
    rows = []
    with open(f"{POLLUX}/{job}/placements.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.append((sum(map(int, row["placement"])), len(row["placement"]), float(row["local_bsz"]),
                         float(row["step_time"]), float(row["sync_time"])))
    with open(f"{POLLUX}/{job}/scalability.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.append((int(row["num_replicas"]), int(row["num_nodes"]), float(row["local_bsz"]),
                         float(row["step_time"]), float(row["sync_time"])))
    return rows


def splits(rows):
    batches = sorted({row[2] for row in rows})
    third = batches[max(3, math.ceil(len(batches) / 3)) - 1]
    nodes = max(row[1] for row in rows)
    few = batches[-1] / 3 if batches[2] <= batches[-1] / 3 else third
    draw = random.Random(1)
    drawn = [draw.random() < 2 / 3 for _ in rows]
    yield "gpus", [row[0] <= 4 for row in rows]
    yield "batch", [row[2] <= few for row in rows]
    yield "third", [row[2] <= third for row in rows]
    yield "nodes", [row[1] <= nodes / 4 for row in rows]
    yield "inter", drawn


def write(path, rows, parts):
    with open(path, "w", encoding="utf-8") as file:
        file.write("gpus,nodes,local_bsz,step_time" + (",sync_time" if parts else "") + "\n")
        for row in rows:
            file.write(",".join(repr(x) for x in row[:5 if parts else 4]) + "\n")


def pmfit(method, train, test):
    """MAPE, coverage, its lowest over node counts with 50 rows, and the intervals' mean width: log of high over low."""
    parts = method == "step+parts"
    table, questions, model = f"{SCRATCH}/train.csv", f"{SCRATCH}/test.csv", f"{SCRATCH}/model.json"
    write(table, train, parts)
    write(questions, test, False)
    with open(f"{SCRATCH}/roles.txt", "w", encoding="utf-8") as file:
        file.write(ROLES)
    if method.startswith("step"):
        command = [PMFIT, "step", "--time", "step_time,s", "--batch-is", "local", "-o", model, table]
    elif method == "search":
        command = [PMFIT, "search", "-q", "--work", "5", "-d", f"{SCRATCH}/roles.txt", "-o", model, table]
    else:
        command = [PMFIT, "fit", "-q", "--seeds", "3", "-d", f"{SCRATCH}/roles.txt", "-o", model, table]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = subprocess.run([PMFIT, "predict", "--json", "--time", "step_time", model, questions], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    errors, held, wide, by_nodes = [], [], [], {}
    for row, asked in zip(json.loads(out)["rows"], test):
        if row["predicted"] is None:
            continue
        errors.append(abs(row["predicted"] / asked[3] - 1))
        held.append(row["low"] is not None and row["low"] <= asked[3] <= row["high"])
        wide.append(math.log(row["high"] / row["low"]) if row["low"] else math.inf)
        by_nodes.setdefault(asked[1], []).append(held[-1])
    least = min((sum(h) / len(h) for h in by_nodes.values() if len(h) >= 50), default=math.nan)
    return 100 * sum(errors) / len(errors), sum(held) / len(held), least, sum(wide) / len(wide)


def pollux_form(x, rows):
    """Pollux's model of throughput (OSDI 2021): compute, an exchange with two terms in a node and among nodes, overlap."""
    gpus, nodes, batch = rows.T
    compute = x[0] + x[1] * batch
    sync = numpy.where(gpus <= 1, 0, numpy.where(nodes <= 1, x[2] + x[3] * numpy.maximum(gpus - 2, 0),
                                                 x[4] + x[5] * numpy.maximum(gpus - 2, 0)))
    longer, shorter = numpy.maximum(compute, sync), numpy.minimum(compute, sync)
    return longer * (1 + (shorter / longer) ** x[6]) ** (1 / x[6])


def fit_pollux(rows, times):
    best = None
    for start in (1.2, 2, 5):
        x = numpy.array([times.min() / 2, times.min() / rows[:, 2].max()] + [times.min() / 4, 1e-4] * 2 + [start])
        bounds = [(1e-8, None)] * 6 + [(1, 10)]
        found = scipy.optimize.minimize(lambda x: numpy.mean((numpy.log(pollux_form(x, rows)) - numpy.log(times)) ** 2),
                                        x, bounds=bounds, method="L-BFGS-B")
        if best is None or found.fun < best.fun:
            best = found
    return best.x


def peer(method, train, test):
    x, y = numpy.array([row[:3] for row in train], float), numpy.array([row[3] for row in train])
    asked, truth = numpy.array([row[:3] for row in test], float), numpy.array([row[3] for row in test])
    if method == "pollux":
        predicted = pollux_form(fit_pollux(x, y), asked)
    else:
        learner = {"forest": RandomForestRegressor(random_state=1), "boosting": GradientBoostingRegressor(random_state=1),
                   "svr": make_pipeline(StandardScaler(), SVR(C=10, epsilon=0.01))}[method]
        predicted = numpy.exp(learner.fit(numpy.log2(x), numpy.log(y)).predict(numpy.log2(asked)))
    return 100 * float(numpy.mean(numpy.abs(predicted / truth - 1)))


print(f"{'split':6}{'set':10}{'rows':>6}" + "".join(f"{m:>23}" for m in OURS) + "".join(f"{m:>10}" for m in PEERS))
print("      MAPE %, then the share in the 95% interval, its lowest among node counts with 50 rows, the interval's mean log width")
logs = {}
for job in [j for j in SETS if os.path.isdir(f"{POLLUX}/{j}")]:
    rows = load(job)
    for name, taken in splits(rows):
        train = [row for row, yes in zip(rows, taken) if yes]
        test = [row for row, yes in zip(rows, taken) if not yes]
        line = f"{name:6}{job:10}{len(test):6}"
        for method in OURS:
            error, covered, least, width = pmfit(method, train, test)
            logs.setdefault((name, method), []).append(math.log(error))
            line += f"{error:8.1f} {covered:.2f} " + (f"{least:.2f}" if least == least else "   -") + f" {width:4.2f}"
        for method in PEERS:
            error = peer(method, train, test)
            logs.setdefault((name, method), []).append(math.log(error))
            line += f"{error:10.1f}"
        print(line, flush=True)
print("\ngeometric mean of MAPE")
for name in ("gpus", "batch", "third", "nodes", "inter"):
    print(f"{name:22}" + "".join(f"{math.exp(sum(logs[name, m]) / len(logs[name, m])):{23 if m in OURS else 10}.1f}"
                                 for m in OURS + PEERS))
