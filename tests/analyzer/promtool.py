#!/usr/bin/env python3
"""promtool.py PMANALYZE MAKE_TRACE: promtool (of the package prometheus, or PROMTOOL) reads pmanalyze metrics, and the rules of
docs/monitoring.md raise an alarm when they should."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

pmanalyze, make_trace = map(os.path.realpath, sys.argv[1:3])
promtool = os.environ.get("PROMTOOL") or shutil.which("promtool")
if not promtool:
    print("no promtool (package prometheus): PROMTOOL names one")
    sys.exit(77)
page = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../docs/monitoring.md")
with open(page, encoding="utf-8") as file:
    rules = re.search("```yaml\n(.*?)```", file.read(), re.S)[1]
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
bad = 0


def run(*command, **options):
    global bad
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        print(f"not ok: {command}: {done.stdout}{done.stderr}")
        bad = 1
    return done.stdout


for name in "one", "three", "two_gpus", "killed", 'quo"te':
    os.mkdir(name)
    run(make_trace, name, name if name.isidentifier() else "one")
    text = run(pmanalyze, "metrics", name)
    if text.count("\n") < 30:
        print(f"not ok: {name}: {text}")
        bad = 1
    run(promtool, "check", "metrics", input=text)

with open("rules.yml", "w", encoding="utf-8") as file:
    file.write(rules)
LABELS = 'instance="n", run="r", rank="%d", device="0"'
with open("test.yml", "w", encoding="utf-8") as file:
    file.write("rule_files: [rules.yml]\ntests:\n  - interval: 1m\n    input_series:\n")
    for series, values in (("pmhook_compute_imbalance{instance=\"n\", run=\"r\"}", "1.1x20 1.3x20"),
                           ("pmhook_iterations{" + LABELS % 0 + "}", "0+10x20 200x40"),
                           ("pmhook_iterations{" + LABELS % 1 + "}", "200x60"),
                           ("pmhook_ended{instance=\"n\", run=\"r\", rank=\"0\"}", "0x60"),
                           ("pmhook_ended{instance=\"n\", run=\"r\", rank=\"1\"}", "1x60")):
        file.write(f"      - {{series: '{series}', values: '{values}'}}\n")
    file.write("    alert_rule_test:\n")
    for minutes, alert, labels in ((20, "Straggler", None), (30, "Straggler", 'instance: n, run: r'),
                                   (20, "StandsStill", None), (40, "StandsStill", LABELS.replace("=", ": ") % 0)):
        alerts = "[]" if labels is None else f"[{{exp_labels: {{{labels}}}}}]"
        file.write(f"      - {{eval_time: {minutes}m, alertname: {alert}, exp_alerts: {alerts}}}\n")
run(promtool, "test", "rules", "test.yml")
sys.exit(bad)
