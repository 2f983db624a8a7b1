"""The rules of the reconstruction stand in one list, and tables of the driver's apply them.

rule_tables.py: each row of analyzer/reconstruct/rule.h is applied by a table, or alone, by the driver (rule_driver.h), which nobody goes
around; in a search the surer rules come first; the order of a table is that of the rows.
"""
import glob
import os
import re
import sys

SOURCE = os.environ.get("SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(SOURCE, "analyzer", "reconstruct")
STRENGTHS = ["SURE", "LIKELY", "WEAK"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


rows = re.findall(r'^\tX\((\w+), "(\w+)", (\w+), (\w+), (\w+),', read(os.path.join(FOLDER, "rule.h")), re.MULTILINE)
order = {row[0]: i for i, row in enumerate(rows)}
strength = {row[0]: STRENGTHS.index(row[4]) for row in rows}
wrong, applied = [], set()

for name, key, *_ in rows:
    if key != name.lower():
        wrong.append(f"{name}: its key is {key}")
for path in sorted(glob.glob(FOLDER + "/*.[ch]")):
    text, file = read(path), os.path.basename(path)
    searches = re.findall(r"^RULE_SEARCH\((\w+),", text, re.MULTILINE)
    if "rule_is_on(" in text and file not in ("rule.h", "rule.c", "rule_driver.h"):
        wrong.append(f"{file}: asks rule_is_on() itself")
    for stem, table, body in re.findall(r"^\t?static const struct (\w+)_rule (\w+)(?:\[\])? = \{(.*?)\};", text, re.MULTILINE | re.DOTALL):
        names = re.findall(r"RULE_(\w+),", body)
        applied.update(names)
        for first, second in zip(names, names[1:]):
            if order[first] > order[second]:
                wrong.append(f"{file}: {table} has {first} before {second}, rule.h after it")
            if stem in searches and strength[first] > strength[second]:
                wrong.append(f"{file}: {table} asks {first}, which is {STRENGTHS[strength[first]]}, before {second}, {STRENGTHS[strength[second]]}")
wrong += [f"{name}: no table applies it" for name in order if name not in applied]
print(f"{len(rows)} rules")
if wrong:
    sys.exit("\n".join(wrong))
