#!/usr/bin/env python3
"""monitoring.py PMANALYZE DOCS: what docs/monitoring/ has for Grafana, Prometheus, Kubernetes and systemd names series, labels and
options that `pmanalyze agent` has, and is of the form that those read."""
import json
import os
import re
import shutil
import subprocess
import sys

pmanalyze, folder = os.path.realpath(sys.argv[1]), os.path.join(os.path.realpath(sys.argv[2]), "monitoring")
source = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../analyzer/output/exposition.c")
bad = 0


def complain(text):
    global bad
    print("not ok:", text)
    bad = 1


def text_of(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


code = open(source, encoding="utf-8").read()
series = {"pmhook_" + name for name in re.findall(r'"([a-z]+(?:_[a-z]+)*)",\s*"(?:gauge|counter)"', code)}
series |= {"pmhook_" + name for name in re.findall(r'single\(w, "([a-z_]+)"', code)}
labels = set(re.findall(r'(?:%s)*([a-z]+)=\\"', code)) | {"instance", "value"}


def check_expression(where, text):
    """Names of series and, in braces and `by`, of labels."""
    for name in re.findall(r"pmhook_[a-z_]+", text):
        if name not in series:
            complain(f"{where}: no series {name}")
    for name in re.findall(r"[{,]([a-z]+)=", text) + re.findall(r"\{\{ ?\$?(?:labels\.)?([a-z]+) ?\}\}", text):
        if name not in labels:
            complain(f"{where}: no label {name}")
    for group in re.findall(r"\b(?:by|on) \(([a-z, ]+)\)", text):
        for name in group.split(", "):
            if name not in labels:
                complain(f"{where}: no label {name}")


# Grafana's: the members that a dashboard's schema asks for, and panels that do not overlap.
board = json.loads(text_of("grafana.json"))
for member, kind in (("title", str), ("uid", str), ("schemaVersion", int), ("panels", list), ("time", dict), ("templating", dict)):
    if not isinstance(board.get(member), kind):
        complain(f"grafana: {member}")
variables = {v["name"] for v in board["templating"]["list"]}
taken = {}
for panel in board["panels"]:
    where = f"grafana: {panel['title']}"
    place = panel["gridPos"]
    if panel["type"] not in ("timeseries", "stat", "table") or place["x"] + place["w"] > 24 or not panel["targets"]:
        complain(where)
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            if taken.setdefault((x, y), panel["id"]) != panel["id"]:
                complain(f"{where}: overlaps")
    for target in panel["targets"]:
        check_expression(where, target["expr"] + " " + target["legendFormat"])
        if set(re.findall(r"\$\{?([a-z]+)", target["expr"])) - variables:
            complain(f"{where}: variables")
        if target["expr"].count("(") != target["expr"].count(")"):
            complain(f"{where}: {target['expr']}")

check_expression("rules", text_of("rules.yaml"))
help_text = subprocess.run([pmanalyze, "agent", "--help"], capture_output=True, text=True, check=True).stdout
for name in "daemonset.yaml", "pmhook-agent@.service":
    for option in re.findall(r"(?<=[\s\"])--[a-z-]+", text_of(name)):
        if option + " " not in help_text:
            complain(f"{name}: no option {option}")
try:
    import yaml

    rules = [rule for group in yaml.safe_load(text_of("rules.yaml"))["groups"] for rule in group["rules"]]
    if any("expr" not in rule or "alert" not in rule for rule in rules):
        complain("rules")
    daemon = yaml.safe_load(text_of("daemonset.yaml"))
    pod = daemon["spec"]["template"]["spec"]
    mounts = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
    if daemon["kind"] != "DaemonSet" or mounts != {volume["name"] for volume in pod["volumes"]}:
        complain("daemonset: volumes")
    if daemon["spec"]["selector"]["matchLabels"] != daemon["spec"]["template"]["metadata"]["labels"]:
        complain("daemonset: labels")
except ImportError:
    print("no PyYAML: the YAML files were not parsed")
for tool, name in (("promtool", "rules.yaml"), ("systemd-analyze", "pmhook-agent@.service")):
    if shutil.which(tool):
        arguments = ["check", "rules"] if tool == "promtool" else ["verify"]
        done = subprocess.run([tool, *arguments, os.path.join(folder, name)], capture_output=True, text=True)
        wrong = [line for line in (done.stdout + done.stderr).splitlines() if name in line and "not executable" not in line]
        if done.returncode and wrong:
            complain(f"{tool}: {done.stdout}{done.stderr}")
sys.exit(bad)
