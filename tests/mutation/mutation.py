"""Would a test notice that a rule or a constant of the reconstruction is wrong?

mutation.py BUILD [--only REGEX] [--sample COUNT [--seed N]] [--inputs FOLDER...] [--quick] [--least PERCENT] [--jobs N]

BUILD is of the preset `mutation`, where rules are switched off and constants moved by the environment. Each rule of
analyzer/reconstruct/rule.h is switched off, each constant of analyzer/timeline/constants.h and thresholds.h is halved and doubled, and the
tests that need neither PyTorch nor a GPU are run until one fails. A rule's own test comes first, and is complained about where it does not fail.
Prints what nobody noticed, and the share noticed; 1: it is less than PERCENT (95). --inputs: traces that are kept, whose
answers are compared with those without a change; that a change shows there alone is printed, and counts for nothing.
--sample: so many of the changes, chosen by chance, where there is no time for all.
"""
import argparse
import concurrent.futures
import hashlib
import os
import random
import re
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNITS = ["rules", "threads", "iteration", "layer", "stage", "replay", "framework", "layer_framework", "given", "marker", "phase", "timeline",
         "balance", "cause", "cause_limits", "comm", "compare", "effect", "finding", "kernels", "offload", "path", "recent", "roofline",
         "slow_input", "slow_link", "slowdown", "standing", "summaries", "sequence", "pace", "stretch", "limits", "align"]
SLOW = ["golden", "test_spans", "test_search"]
ROW = re.compile(r'^\tX\((\w+), "(\w+)", .*?\\\n.*?"(none|[\w ]+)"\)', re.MULTILINE)
CONSTANT = re.compile(r"^\tX\((?:double|uint32_t|int64_t), (\w+),", re.MULTILINE)
TABLES = ("analyzer/timeline/constants.h", "analyzer/timeline/thresholds.h")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def mutations():
    """(name, PM_MUTATE, own test or None)"""
    for _, key, test in ROW.findall(read("analyzer/reconstruct/rule.h")):
        yield f"rule {key}", f"rule {key}", test
    for name in [name for table in TABLES for name in CONSTANT.findall(read(table))]:
        for factor in ("0.5", "2"):
            yield f"{name} x {factor}", f"constant {name} {factor}", None


class Checks:
    """Tests by name, "test_layer", "flow CASE" and "golden"; those that noticed something last come first."""

    def __init__(self, build, scratch, inputs, quick):
        self.build, self.scratch, self.inputs = build, scratch, inputs
        self.cases = read("tests/analyzer/flow_cases.txt").split()
        self.order = [f"test_{unit}" for unit in UNITS if os.path.exists(f"{build}/bin/test_{unit}")]
        self.order += [f"flow {case}" for case in self.cases] + SLOW
        if quick:
            self.order = [name for name in self.order if name not in SLOW]
        self.prints = {}
        self.answers = {}
        os.environ["SOURCE"] = SOURCE  # as ctest has it, for scripts

    def record(self):
        environment = dict(os.environ, LD_LIBRARY_PATH=self.build + "/softgpu", SOFTGPU_PROFILE="a100", SOFTGPU_NUMERICS="off",
                           PMHOOK_STRICT="on", PMHOOK_NEW_SHARE="100", LD_PRELOAD=self.build + "/lib/libpmhook.so")
        for case in self.cases:
            with open(f"{self.scratch}/{case}.truth", "w", encoding="utf-8") as truth:
                subprocess.run([self.build + "/bin/flow_host", case], stdout=truth, stderr=subprocess.DEVNULL, check=True,
                               env=dict(environment, PMHOOK_OUT=f"{self.scratch}/{case}"))

    def command(self, name):
        pmanalyze = self.build + "/bin/pmanalyze"
        if name == "golden":
            return ["sh", SOURCE + "/tests/analyzer/golden.sh", pmanalyze, self.build + "/bin/make_trace"]
        if name.startswith("flow "):
            return ["sh", SOURCE + "/tests/analyzer/flow_case.sh", pmanalyze, name.split()[1]]
        return [f"{self.build}/bin/{name}"]

    def fails(self, name, mutate):
        environment = dict(os.environ, PM_MUTATE=mutate) if mutate else os.environ
        if name in self.prints and mutate and self.printed(name, mutate) == self.prints[name]:
            return False
        folder = self.scratch if name.startswith("flow ") else tempfile.mkdtemp(dir=self.scratch)
        try:
            return subprocess.run(self.command(name), env=environment, cwd=folder, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=120, check=False).returncode != 0
        except subprocess.TimeoutExpired:
            return True

    def refuse_broken(self, names):
        """Where something is wrong without a change, a change says nothing."""
        broken = [name for name in names if self.fails(name, None)]
        if broken:
            sys.exit("without any change these fail: " + ", ".join(broken))

    def printed(self, name, mutate):
        """What is printed of a recorded case; where that is as without a change, its test need not be run."""
        path = f"{self.scratch}/{name.split()[1]}"
        return self.answer(path, mutate)

    def noticed(self, mutate, own):
        """The first test that fails, or None; and whether its own does."""
        if own in self.order and self.fails(own, mutate):
            return own, True
        for name in list(self.order):
            if name != own and self.fails(name, mutate):
                self.order.remove(name)
                self.order.insert(0, name)
                return name, False
        return None, False

    def answer(self, path, mutate):
        """What is found in a kept trace, as a number that stands for it."""
        environment = dict(os.environ, PM_MUTATE=mutate) if mutate else os.environ
        found = hashlib.sha256()
        for what in (["layers", "--why", "--json"], ["report", "--json"]):
            found.update(subprocess.run([self.build + "/bin/pmanalyze", *what, path], env=environment, capture_output=True, check=False).stdout)
        return found.hexdigest()

    def changed(self, mutate):
        return [path for path in self.inputs if self.answer(path, mutate) != self.answers[path]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--only", default="", help="mutations whose name matches (default: all)")
    parser.add_argument("--sample", type=int, help="so many changes, chosen by chance (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of that choice (default: 1)")
    parser.add_argument("--inputs", nargs="*", default=[], help="kept traces (default: none)")
    parser.add_argument("--quick", action="store_true", help="without the tests that take seconds: " + ", ".join(SLOW))
    parser.add_argument("--least", type=float, default=95, help="percent that must be noticed (default: 95)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutations at once (default: one a processor)")
    how = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        checks = Checks(os.path.abspath(how.build), scratch, how.inputs, how.quick)
        checks.record()
        checks.refuse_broken(checks.order)
        checks.prints = {name: checks.printed(name, None) for name in checks.order if name.startswith("flow ")}
        checks.answers = {path: checks.answer(path, None) for path in how.inputs}
        wanted = [m for m in mutations() if re.search(how.only, m[0])]
        if not wanted:
            sys.exit(f"no rule and no constant matches {how.only}")
        if how.sample and how.sample < len(wanted):
            wanted = random.Random(how.seed).sample(wanted, how.sample)
        unnoticed, untrue = [], []
        with concurrent.futures.ThreadPoolExecutor(how.jobs) as pool:
            results = pool.map(lambda m: (*m, *checks.noticed(m[1], m[2]), checks.changed(m[1])), wanted)
            for name, _, own, by, by_own, inputs in results:
                print(f"{by or 'NOT NOTICED':<22} {name}" + (f"; changes {', '.join(map(os.path.basename, inputs))}" if inputs else ""), flush=True)
                if not by:
                    unnoticed.append(name)
                elif own and not by_own:
                    untrue.append(f"{name} is noticed by {by}, not by its own test, {own}")
    share = 100 * (1 - len(unnoticed) / len(wanted))
    print("\n".join(untrue))
    print(f"{share:.1f}% of {len(wanted)} changes noticed; not: {', '.join(unnoticed) or '-'}")
    return share < how.least


if __name__ == "__main__":
    sys.exit(main())
