#!/usr/bin/env python3
"""Checks that each option in the help of each command is taken by it, and that the help fits terminals from 60 columns on and
then has the same words: options.py DOCS PROGRAM... A program without commands has its options itself."""
import os
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
from completions import options_of  # noqa: E402
from man_pages import commands_of, help_of  # noqa: E402
from on_terminal import on_terminal  # noqa: E402

# Arguments of all kinds: an option that refuses one may take another
VALUES = ["1", "gpus", "iterations", "include", "a=2", "1=others", "0,1"]

failed = False


def complain(text):
    global failed
    failed = True
    print(text)


def help_at(columns, *command):
    """What --help prints on a terminal of so many columns."""
    status, text = on_terminal(columns, *command, "--help")
    if status != 0:
        complain(f"{command}: exit status {status} on a terminal")
    return text.decode().replace("\r\n", "\n")


def check_command(program, *command):
    text = help_of(program, *command)
    command_name = " ".join([os.path.basename(program), *command])
    options = [option for option in options_of(text) if option.name != "--help"]
    for option in options:
        for name in filter(None, (option.short, option.name)):
            for value in VALUES if option.argument else [None]:
                words = [program, *command, name] + ([value] if value else [])
                said = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stderr
                if "defect" in said or "unknown option" in said or "an argument" in said:
                    complain(f"{command_name} {name}: {said}")
                if option.name not in said:
                    break
    for columns in (60, 79, 200):
        narrow = help_at(columns, program, *command)
        if narrow.split() != text.split():
            complain(f"{command_name} --help: other words at {columns} columns")
        for line in narrow.split("\n"):
            # the forms of the usage are one line each
            if len(line) > columns and f" {command_name} " not in line:
                complain(f"{command_name} --help: longer than {columns}: {line}")
    if command and subprocess.run([program, "help", *command], capture_output=True, text=True, check=True, timeout=60).stdout != text:
        complain(f"{command_name}: its help is not what help prints")
    said = [subprocess.run([program, *words, "--version"], capture_output=True, text=True, timeout=60).stdout for words in ([], command)]
    if not said[0] or said[0] != said[1]:
        complain(f"{command_name} --version: {said[1]}")
    names = {option.name for option in options}
    if {"--json", "--csv"} <= names:
        done = subprocess.run([program, *command, "--json", "--csv", "x"], capture_output=True, text=True, timeout=60)
        if done.returncode != 2 or "--json and --csv" not in done.stderr:
            complain(f"{command_name} --json --csv: {done.returncode}: {done.stderr}")
    return len(options)


def main():
    for program in sys.argv[2:]:
        commands = [[name] for name, _ in commands_of(os.path.basename(program), help_of(program))] or [[]]
        count = sum(check_command(program, *command) for command in commands)
        print(f"{os.path.basename(program)}: {len(commands)} commands, {count} options")
        if count < len(commands):
            complain(f"{program}: options are not found in the help")
    sys.exit(failed)


if __name__ == "__main__":
    main()
