"""The analyzer knows what a function does by its row of the hook's table, not by its name: check_names.py SOURCE NAMES, a file with
the hooked functions' names. Complains of string literals in the analyzer that are a part of one."""
import os
import re
import sys

# Folders that read other programs' names, and files that write names or give advice on calls whoever recorded them.
ELSEWHERE = ("base", "import")
EXCEPTIONS = {
    "analyses/host_habit.c": "advice on a call by its name, of which other profilers know no more",
    "output/export/kineto.c": "writes the names that Kineto writes",
    "output/export/times.c": "leaves the vendor's prefix out of what it prints",
    "output/html/head.c": "a heading",
}
LITERAL = re.compile(r'"([A-Za-z_0-9]{4,})"')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def files(root):
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith((".c", ".h")) and not path.startswith(ELSEWHERE) and path not in EXCEPTIONS:
                yield path


def main():
    root = os.path.join(sys.argv[1], "analyzer")
    with open(sys.argv[2], encoding="utf-8") as file:
        hooked = "\n".join(word for word in file.read().split() if re.search("[A-Z]", word))
    found = False
    for path in files(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            code = COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), file.read())
        for number, line in enumerate(code.split("\n"), 1):
            for word in LITERAL.findall(line):
                if re.search("[A-Z]", word) and word in hooked:
                    print(f'analyzer/{path}:{number}: "{word}" is part of a hooked function\'s name: what it does is a column of pm_hooks.def')
                    found = True
    return found


sys.exit(main())
