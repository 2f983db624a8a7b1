"""How far may a constant of the reconstruction move before an answer changes?

room.py BUILD [--only REGEX] [--inputs FOLDER...] [--jobs N] [--write]

BUILD is of the preset `mutation`. Each constant of analyzer/timeline/constants.h is moved away from its value in steps, up to half and
twice, and what is found in the recorded cases (tests/analyzer/flow_cases.txt), in the tests of the reconstruction and in the --inputs is
compared with what is found without a change (the golden texts are left out, as they take seconds). Prints, and with --write keeps in room.txt beside this program: the constant, its
value, the lowest and the highest value that changes nothing, and what the next one changes; * for a bound where the search ended.
Without BUILD: 1 if room.txt has a constant that constants.h has with another value, or not at all.
"""
import argparse
import concurrent.futures
import os
import re
import sys
import tempfile

from mutation import Checks, read

FACTORS = (1.1, 1.25, 1.5, 2)
CONSTANT = re.compile(r"^\tX\((double|uint32_t), (\w+), ([\d.]+),", re.MULTILINE)
UNITS = ("test_rules", "test_limits", "test_threads", "test_sequence", "test_iteration", "test_pace", "test_align", "test_layer", "test_stretch", "test_stage", "test_framework", "test_layer_framework", "test_load", "test_marker")
ROOM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "room.txt")
HEAD = """# Constants of analyzer/timeline/constants.h: value, lowest and highest that change no answer in the recorded cases and the quick tests of
# the reconstruction, and what the next step away changes below and above; *: nothing, at half and at twice the value the search ends.
# The golden texts, which tests/mutation/mutation.py looks at too, are left out.
# Written by room.py --write.
"""


def constants():
    """(name, whole, value)"""
    for kind, name, value in CONSTANT.findall(read("analyzer/timeline/constants.h")):
        yield name, kind == "uint32_t", float(value)


def steps(value, whole, up):
    """Values away from this one, nearest first."""
    values = [value * factor if up else value / factor for factor in FACTORS]
    if not whole:
        return values
    nearest = value + 1 if up else value - 1
    return sorted({nearest, *map(round, values)} - {value}, reverse=not up)


def mutation(name, value, whole, to):
    """PM_MUTATE for it; counts are rounded as timeline/mutation.c does."""
    if whole:
        to += 0.25 if to > value or value <= 1 else -0.25
    return f"constant {name} {to / value:.12g}"


class Room:
    def __init__(self, checks, inputs):
        self.checks, self.inputs = checks, inputs
        self.units = [unit for unit in UNITS if unit in checks.tests]

    def changes(self, mutate):
        """The first input or test with another answer, or None."""
        for name, path in self.inputs.items():
            if self.checks.recorded.answer(path, mutate) != self.checks.answers[path]:
                return name
        return next((unit for unit in self.units if self.checks.fails(unit, mutate)), None)

    def one_side(self, name, whole, value, up):
        """The farthest value that changes nothing, and what the next one changes."""
        reached = value
        for to in steps(value, whole, up):
            changed = self.changes(mutation(name, value, whole, to))
            if changed:
                return reached, changed
            reached = to
        return reached, "*"

    def line(self, constant):
        name, whole, value = constant
        low, below = self.one_side(name, whole, value, False)
        high, above = self.one_side(name, whole, value, True)
        return f"{name:<26} {value:<8.10g} {low:<8.10g} {high:<8.10g} {below:<22} {above}"


def kept_lines():
    """Lines of room.txt by their constant."""
    with open(ROOM, encoding="utf-8") as file:
        return {line.split()[0]: line for line in file if not line.startswith("#")}


def write(lines):
    """The new lines, and of the other constants that there are those that are kept."""
    lines = kept_lines() | lines if os.path.exists(ROOM) else lines
    with open(ROOM, "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(lines[name] for name, _, _ in constants() if name in lines))


def is_current():
    """Are the kept values those of today? Names the constants that were not measured."""
    kept = {name: float(line.split()[1]) for name, line in kept_lines().items()}
    wanted = {name: value for name, _, value in constants()}
    for name, value in kept.items():
        if wanted.get(name) != value:
            print(f"room.txt: {name} is {value:g}, constants.h has {wanted.get(name, 'none')}: room.py --only '^{name}$' --write")
    print("not measured:", ", ".join(name for name in wanted if name not in kept) or "-")
    return kept.items() <= wanted.items()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", nargs="?", help="without it: is room.txt of the constants of today?")
    parser.add_argument("--only", default="", help="constants whose name matches (default: all)")
    parser.add_argument("--inputs", nargs="*", default=[], help="kept traces (default: none)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="constants at once (default: one a processor)")
    parser.add_argument("--write", action="store_true", help="keep the result in room.txt")
    how = parser.parse_args()
    if not how.build:
        return not is_current()
    with tempfile.TemporaryDirectory() as scratch:
        checks = Checks(os.path.abspath(how.build), scratch, quick=True)
        checks.recorded.record()
        for case in checks.cases:
            checks.tests[f"flow {case}"].refuse_broken(scratch)
        inputs = {f"flow_{case}": f"{scratch}/{case}" for case in checks.cases}
        inputs.update((os.path.basename(path), path) for path in how.inputs)
        checks.answers = {path: checks.recorded.answer(path, None) for path in inputs.values()}
        room = Room(checks, inputs)
        lines = {}
        with concurrent.futures.ThreadPoolExecutor(how.jobs) as pool:
            for line in pool.map(room.line, [c for c in constants() if re.search(how.only, c[0])]):
                print(line, flush=True)
                lines[line.split()[0]] = line.rstrip() + "\n"
    if how.write:
        write(lines)
    return False


if __name__ == "__main__":
    sys.exit(main())
