"""Would a test notice that a rule or a constant of the analyzer is wrong?

mutation.py BUILD [--only REGEX] [--sample COUNT [--seed N]] [--inputs FOLDER...] [--quick] [--least PERCENT] [--jobs N]

BUILD is of the preset `mutation`, where rules are switched off and constants moved by the environment. Each rule of
analyzer/reconstruct/rule.h is switched off, each constant of analyzer/timeline/constants.h and thresholds.h is halved and doubled, and the
tests that need neither PyTorch nor a GPU are run until one fails: the unit tests (but for those of damaged files, where any answer is
right), then the recorded cases, then scripts (SCRIPTS).
A test is left out where none of the sources that name the rule or constant is linked into it. What noticed the change the last time
(kept in BUILD/mutation.json), or another one of the same source, comes first; a rule's own test before all, and it is complained
about where it does not fail. A test that fails without any change is complained about when it is first asked, and ends the run.
Prints what nobody noticed, and the share noticed; 1: it is less than PERCENT (95). --inputs: traces that are kept, whose
answers are compared with those without a change; that a change shows there alone is printed, and counts for nothing.
--sample: so many of the changes, chosen by chance, where there is no time for all.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW = re.compile(r'^\tX\((\w+), "(\w+)", .*?\\\n.*?"(none|[\w ]+)"\)', re.MULTILINE)
CONSTANT = re.compile(r"^\tX\((?:double|uint32_t|int64_t), (\w+),", re.MULTILINE)
TABLES = ("analyzer/timeline/constants.h", "analyzer/timeline/thresholds.h")
DEFINE = {*TABLES, "analyzer/timeline/mutation.c", "analyzer/reconstruct/rule.h"}
# by ctest's name: of which sources it shows what is concluded. They take seconds.
SCRIPTS = {
    "analyzer_baseline": "/analyses/compare/",
    "gate": "/analyses/compare/",
    "analyzer_flight": "/analyses/hang/",
    "hang_ranks": "/analyses/hang/",
    "analyzer_top": "/analyses/fleet/",
    "live_ranks": "/analyses/fleet/",
    "analyzer_slow_links": "/analyses/(slow_link|comm)",
    "analyzer_conclusions": "/analyses/",
    "analyzer_findings": "/analyses/",
    "analyzer_golden": "",
}
# what the recorded cases show is settled before these are asked
ABOVE_LAYERS = re.compile("analyzer/(analyses|output|cmds)/")
LONG_S = 3  # such a test is asked as late as the scripts
PATIENCE_S = 60  # and ten times what the test takes without a change: a change that makes it endless is noticed


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


Mutation = collections.namedtuple("Mutation", "name mutate own sources")  # own: a rule's test, or None


def sources_by_name():
    """The sources and headers of the analyzer by the names in capitals that their code has."""
    sources = collections.defaultdict(set)
    for folder, _, files in os.walk(f"{SOURCE}/analyzer"):
        for path in (os.path.relpath(f"{folder}/{file}", SOURCE) for file in files if file.endswith((".c", ".h"))):
            if path not in DEFINE:
                code = re.sub(r"/\*.*?\*/", "", read(path), flags=re.DOTALL)
                for name in set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", code)):
                    sources[name].add(path)
    return sources


def mutations():
    sources = sources_by_name()
    for rule, key, test in ROW.findall(read("analyzer/reconstruct/rule.h")):
        yield Mutation(f"rule {key}", f"rule {key}", test, sources["RULE_" + rule])
    for name in [name for table in TABLES for name in CONSTANT.findall(read(table))]:
        for factor in ("0.5", "2"):
            yield Mutation(f"{name} x {factor}", f"constant {name} {factor}", None, sources[name])


class Broken(Exception):
    """A test fails without any change, so that a change says nothing."""


class Test:
    """A command that fails where it notices something."""

    def __init__(self, name, command, environment=(), folder=None):
        self.name, self.command, self.folder = name, command, folder
        self.environment = dict(pair.split("=", 1) for pair in environment)
        self.lock = threading.Lock()
        self.seconds = None  # without a change; None: not run so far

    def passes(self, scratch, mutate, seconds):
        environment = {**os.environ, **self.environment, **({"PM_MUTATE": mutate} if mutate else {})}
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            try:  # 77: it cannot run here
                return subprocess.run(self.command, env=environment, cwd=self.folder or folder, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, timeout=seconds, check=False).returncode in (0, 77)
            except subprocess.TimeoutExpired:
                return False

    def refuse_broken(self, scratch):
        """Where something is wrong without a change, a change says nothing."""
        with self.lock:
            if self.seconds is None:
                start = time.monotonic()
                if not self.passes(scratch, None, 10 * PATIENCE_S):
                    raise Broken(self.name)
                self.seconds = time.monotonic() - start

    def fails(self, scratch, mutate):
        self.refuse_broken(scratch)
        return not self.passes(scratch, mutate, PATIENCE_S + 10 * self.seconds)


def linked(program):
    """The names of the sources that a program is linked of, without their folders."""
    symbols = subprocess.run(["nm", "-a", program], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" a (\S+\.c)$", symbols, re.MULTILINE))


class Recorded:
    """Cases of flow_host under the hook (tests/analyzer/flow_cases.txt), recorded when the first is asked for."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        self.cases = read("tests/analyzer/flow_cases.txt").split()
        self.lock = threading.Lock()
        self.prints = {}

    def record(self):
        environment = dict(os.environ, LD_LIBRARY_PATH=self.build + "/softgpu", SOFTGPU_PROFILE="a100", SOFTGPU_NUMERICS="off",
                           PMHOOK_STRICT="on", PMHOOK_NEW_SHARE="100", LD_PRELOAD=self.build + "/lib/libpmhook.so")
        with self.lock:
            for case in self.cases if not self.prints else []:
                with open(f"{self.scratch}/{case}.truth", "w", encoding="utf-8") as truth:
                    subprocess.run([self.build + "/bin/flow_host", case], stdout=truth, stderr=subprocess.DEVNULL, check=True,
                                   env=dict(environment, PMHOOK_OUT=f"{self.scratch}/{case}"))
                self.prints[case] = self.answer(f"{self.scratch}/{case}", None)

    def answer(self, path, mutate):
        """What is found in a trace, as a number that stands for it."""
        environment = dict(os.environ, PM_MUTATE=mutate) if mutate else os.environ
        found = hashlib.sha256()
        for what in (["layers", "--why", "--json"], ["report", "--json"]):
            found.update(subprocess.run([self.build + "/bin/pmanalyze", *what, path], env=environment, capture_output=True, check=False).stdout)
        return found.hexdigest()

    def changed(self, case, mutate):
        """Where what is printed is as without a change, its test need not be run."""
        self.record()
        return self.answer(f"{self.scratch}/{case}", mutate) != self.prints[case]


class Checks:
    """Tests by name: "test_layer" as its program, "flow CASE", and scripts as ctest names them."""

    def __init__(self, build, scratch, inputs=(), quick=False):
        self.build, self.scratch, self.inputs = build, scratch, inputs
        os.environ["SOURCE"] = SOURCE  # as ctest has it, for scripts
        self.recorded = Recorded(build, scratch)
        self.cases = self.recorded.cases
        self.tests, self.linked = {}, {}
        self.add_ctests(quick)
        for case in self.cases:
            command = ["sh", SOURCE + "/tests/analyzer/flow_case.sh", build + "/bin/pmanalyze", case]
            self.tests[f"flow {case}"] = Test(f"flow {case}", command, folder=scratch)
        self.kept_path = build + "/mutation.json"
        self.noticed_by, self.seconds = {}, {}  # of earlier runs
        if os.path.exists(self.kept_path):
            with open(self.kept_path, encoding="utf-8") as file:
                self.noticed_by, self.seconds = json.load(file)
        self.recent = collections.defaultdict(list)  # by source: tests that noticed a change of it, the last first
        self.answers = {path: self.recorded.answer(path, None) for path in inputs}

    def add_ctests(self, quick):
        listed = subprocess.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"], capture_output=True, check=True).stdout
        for test in json.loads(listed)["tests"]:
            properties = {item["name"]: item["value"] for item in test["properties"]}
            command, environment = test.get("command", []), properties.get("ENVIRONMENT", [])
            name = os.path.basename(command[0]) if len(command) == 1 else ""
            if name.startswith("test_") and not name.endswith("hostile") and "long" not in properties.get("LABELS", []):
                self.linked[name] = linked(command[0])
                self.tests[name] = Test(name, command, environment)
            elif command and test["name"] in SCRIPTS and not quick:
                self.tests[test["name"]] = Test(test["name"], command, environment)

    def may_notice(self, name, sources):
        if name in SCRIPTS:
            return any(re.search(SCRIPTS[name], source) for source in sources)
        if name.startswith("flow "):
            return not all(ABOVE_LAYERS.match(source) for source in sources)
        return any(source.endswith(".h") or os.path.basename(source) in self.linked[name] for source in sources)

    def seconds_of(self, name):
        """What it takes without a change, as in an earlier run; a script is known to take long."""
        if name.startswith("test_") and name not in self.seconds:
            self.tests[name].refuse_broken(self.scratch)
            self.seconds[name] = self.tests[name].seconds
        return self.seconds.get(name, 0)

    def order(self, mutation):
        """First what noticed it, or a change of the same source; then what is named like the source; then by time."""
        first = [mutation.own, self.noticed_by.get(mutation.name)]
        first += [name for source in mutation.sources for name in self.recent[source]]

        def rank(name):
            if name in first:
                return -1, first.index(name)
            seconds = self.seconds_of(name)
            alike = any(re.search(f"[/_]{name[len('test_'):]}[/_.]", source) for source in mutation.sources)
            return (3 if name in SCRIPTS or seconds > LONG_S else 2 if name.startswith("flow ") else 0 if alike else 1), seconds

        return sorted((name for name in self.tests if name == mutation.own or self.may_notice(name, mutation.sources)), key=rank)

    def fails(self, name, mutate):
        if name.startswith("flow ") and not self.recorded.changed(name.split()[1], mutate):
            return False
        return self.tests[name].fails(self.scratch, mutate)

    def noticed(self, mutation):
        """The first test that fails, or None; and whether its own does."""
        for name in self.order(mutation):
            if not self.fails(name, mutation.mutate):
                continue
            for source in mutation.sources:
                self.recent[source] = [name] + [other for other in self.recent[source] if other != name]
            self.noticed_by[mutation.name] = name
            return name, name == mutation.own
        return None, False

    def changed(self, mutation):
        return [path for path in self.inputs if self.recorded.answer(path, mutation.mutate) != self.answers[path]]

    def keep(self):
        self.seconds.update((name, round(test.seconds, 2)) for name, test in self.tests.items() if test.seconds is not None)
        with open(self.kept_path + ".new", "w", encoding="utf-8") as file:
            json.dump([dict(self.noticed_by), dict(self.seconds)], file, indent=1)  # copies, as the other jobs add to them
        os.replace(self.kept_path + ".new", self.kept_path)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--only", default="", help="mutations whose name matches (default: all)")
    parser.add_argument("--sample", type=int, help="so many changes, chosen by chance (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of that choice (default: 1)")
    parser.add_argument("--inputs", nargs="*", default=[], help="kept traces (default: none)")
    parser.add_argument("--quick", action="store_true", help="without the scripts, which take seconds: " + ", ".join(SCRIPTS))
    parser.add_argument("--least", type=float, default=95, help="percent that must be noticed (default: 95)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutations at once (default: one a processor)")
    return parser.parse_args()


def run(checks, wanted, jobs):
    """Prints each change with what noticed it. Those that nothing did, and complaints about rules' own tests."""
    unnoticed, untrue = [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for mutation, (by, by_own), inputs in pool.map(lambda m: (m, checks.noticed(m), checks.changed(m)), wanted):
            print(f"{by or 'NOT NOTICED':<22} {mutation.name}" + (f"; changes {', '.join(map(os.path.basename, inputs))}" if inputs else ""),
                  flush=True)
            checks.keep()
            if not by:
                unnoticed.append(mutation.name)
            elif mutation.own and not by_own:
                untrue.append(f"{mutation.name} is noticed by {by}, not by its own test, {mutation.own}")
    return unnoticed, untrue


def main():
    how = arguments()
    wanted = [m for m in mutations() if re.search(how.only, m.name)]
    if not wanted:
        sys.exit(f"no rule and no constant matches {how.only}")
    if how.sample and how.sample < len(wanted):
        wanted = random.Random(how.seed).sample(wanted, how.sample)
    with tempfile.TemporaryDirectory() as scratch:
        checks = Checks(os.path.abspath(how.build), scratch, how.inputs, how.quick)
        try:
            unnoticed, untrue = run(checks, wanted, how.jobs)
        except Broken as broken:
            sys.exit(f"without any change this fails: {broken}")
    share = 100 * (1 - len(unnoticed) / len(wanted))
    print("\n".join(untrue))
    print(f"{share:.1f}% of {len(wanted)} changes noticed; not: {', '.join(unnoticed) or '-'}")
    return share < how.least


if __name__ == "__main__":
    sys.exit(main())
