#!/usr/bin/env python3
"""Every command that a page shows is one that the programs take: doc_commands.py SOURCE PROGRAM...

Of each pmrun, pmanalyze and pmfit in an indented line or in backquotes of README.md, CONTRIBUTING.md, docs/ and the folders'
README.md: the command exists, and so does each of its long options, also one that is shortened."""
import glob
import os
import re
import sys

source = sys.argv[1]
sys.path.insert(0, os.path.join(source, "docs"))
from completions import options_of  # noqa: E402
from man_pages import commands_of, help_of  # noqa: E402


def long_options(*command):
    return {option.name for option in options_of(help_of(*command))} | {"--version"}


options = {}  # program: {command, "" without one: its long options}
for path in sys.argv[2:]:
    program = os.path.basename(path)
    options[program] = {"": long_options(path)}
    options[program] |= {command: long_options(path, command) for command, _ in commands_of(program, help_of(path))}

# up to what ends a command of the shell
COMMAND = re.compile(rf"(?<![\w./-])({'|'.join(sorted(options, key=len, reverse=True))})((?: +[^\s|;&<>()`]+)*)")
wrong, checked = [], 0


def check(where, program, words):
    """The options up to the program that pmrun starts."""
    global checked
    command = ""
    if len(options[program]) > 1 and words and re.fullmatch("[a-z]+", words[0]):
        command = words.pop(0)
        if command not in options[program] and command != "help":
            wrong.append(f"{where}: {program} has no command '{command}'")
            return
    checked += 1
    for i, word in enumerate(words):
        if word == "--" or program == "pmrun" and not word.startswith("-") and (i == 0 or not re.fullmatch("--?[a-z-]+", words[i - 1])):
            return
        option = re.match(r"--[a-z][a-z-]*", word)
        if option and not any(name.startswith(option[0]) for name in options[program].get(command, {"--help"})):
            wrong.append(f"{where}: {program} {command} has no option '{option[0]}'")


def pieces_of(line):
    if line.startswith("    "):
        return [re.sub(r"(^|\s)#.*", "", line)]
    return re.findall(r"`([^`]+)`", line)


for page in ["README.md", "CONTRIBUTING.md", *glob.glob("docs/*.md", root_dir=source), *glob.glob("*/README.md", root_dir=source)]:
    with open(os.path.join(source, page), encoding="utf-8") as file:
        for number, line in enumerate(file.read().replace("\\\n", " ").split("\n"), 1):
            for piece in pieces_of(line):
                for program, arguments in COMMAND.findall(piece):
                    check(f"{page}: line {number}", program, arguments.split())
print(*wrong, sep="\n")
print(f"{checked} commands")
sys.exit(bool(wrong) or checked < 300)
