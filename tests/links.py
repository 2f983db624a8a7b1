#!/usr/bin/env python3
"""What the pages name exists: every link to a file and every path in backquotes, in README.md, CONTRIBUTING.md and docs/."""
import glob
import os
import re
import sys

source = os.environ["SOURCE"]
LINK = re.compile(r"\]\(([^)#:\s]+)\)")
PATH = re.compile(r"`((?:preload|analyzer|fitter|testapps|tests|docs|\.ci)/[\w./-]+)`")

missing = []
pages = [source + "/README.md", source + "/CONTRIBUTING.md"] + sorted(glob.glob(source + "/docs/*.md"))
for page in pages:
    with open(page, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            named = [os.path.join(os.path.dirname(page), link) for link in LINK.findall(line)]
            named += [os.path.join(source, path) for path in PATH.findall(line) if not re.search("LIBRARY|COMMAND", path)]
            missing += [f"{page}:{number}: {path} does not exist" for path in named if not os.path.exists(path)]
print("\n".join(missing))
sys.exit(1 if missing else 0)
