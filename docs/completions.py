#!/usr/bin/env python3
"""Completion of commands and options for bash, zsh and fish, from what the programs print for --help.

usage: completions.py FOLDER PROGRAM...        writes FOLDER/bash/NAME, FOLDER/zsh/_NAME and FOLDER/fish/NAME.fish
"""
import os
import re
import sys

from man_pages import commands_of, help_of

# "  -n, --ranks N   text", "  --json   text", "      --softgpu[=GPU]  text"; the text may begin in the next line
OPTION = re.compile(r"^ +(?:(-\w), )?(--[a-z][a-z-]*)(\[?=?[A-Z][^ ]*| [A-Z][^ ]*| [a-z][a-z0-9]*(?:\|[a-z][a-z0-9]*)+)?(?:  +(\S.*))?$")


class Option:
    def __init__(self, short, name, argument, text):
        self.short, self.name, self.argument, self.text = short, name, argument, text


def options_of(text):
    """The options that a help text describes, each once, --help among them."""
    found = {}
    for line in text.split("\n"):
        match = OPTION.match(line)
        if match:
            short, name, argument, description = match.groups()
            if name not in found:
                found[name] = Option(short, name, (argument or "").strip(" =[]"), (description or "").rstrip("."))
    found.setdefault("--help", Option(None, "--help", "", "help"))
    return list(found.values())


def words(options):
    return " ".join(word for option in options for word in (option.short, option.name) if word)


def bash(name, commands, options):
    function = "_" + name
    lines = [f"# {name}: made from --help", f"{function}()", "{", "\tlocal word=${COMP_WORDS[COMP_CWORD]} words", "\tcase ${COMP_WORDS[1]} in"]
    for command, _, own in commands:
        lines.append(f'\t{command}) words="{words(own)}" ;;')
    listed = " ".join([command for command, _, _ in commands] + [words(options)])
    lines.append(f'\t*) words="{listed}" ;;')
    lines += ["\tesac"]
    if commands:
        lines += [f'\t[ "$COMP_CWORD" = 1 ] && words="{listed}"']
        lines += ['\tif [ "$COMP_CWORD" = 1 ] || [[ $word == -* ]]; then']
    else:
        lines += ["\tif [[ $word == -* ]]; then"]
    lines += ['\t\tmapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")', "\tfi", "}", f"complete -o default -F {function} {name}"]
    return "\n".join(lines) + "\n"


def zsh_quoted(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_options(options, indent):
    lines = []
    for option in options:
        spec = f"{option.name}{'=' if option.argument else ''}[{zsh_quoted(option.text)}]"
        spec += f":{zsh_quoted(option.argument)}:_files" if option.argument else ""
        lines.append(f"{indent}'{spec}' \\")
    return lines + [f"{indent}'*:file:_files'"]


def zsh(name, commands, options):
    lines = [f"#compdef {name}", f"# {name}: made from --help"]
    if commands:
        lines += ["local -a commands=("] + [f"\t'{command}:{zsh_quoted(text)}'" for command, text, _ in commands] + [")"]
        lines += ["if (( CURRENT == 2 )); then", "\t_describe command commands", "\treturn", "fi", "case $words[2] in"]
        for command, _, own in commands:
            lines += [f"{command})", "\t_arguments \\"] + zsh_options(own, "\t\t") + ["\t;;"]
        return "\n".join(lines + ["esac"]) + "\n"
    return "\n".join(lines + ["_arguments \\"] + zsh_options(options, "\t")) + "\n"


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(name, commands, options):
    def complete(condition, option):
        short = f" -s {option.short[1:]}" if option.short else ""
        return f"complete -c {name}{condition}{short} -l {option.name[2:]}{' -r' if option.argument else ''} -d {fish_quoted(option.text)}"

    lines = [f"# {name}: made from --help"]
    first = " -n __fish_use_subcommand" if commands else ""
    lines += [f"complete -c {name}{first} -a {command} -d {fish_quoted(text)}" for command, text, _ in commands]
    lines += [complete(first, option) for option in options]
    for command, _, own in commands:
        lines += [complete(f" -n '__fish_seen_subcommand_from {command}'", option) for option in own]
    return "\n".join(lines) + "\n"


def main():
    folder, *programs = sys.argv[1:]
    for program in programs:
        name = os.path.basename(program)
        text = help_of(program)
        commands = [(command, line, options_of(help_of(program, command))) for command, line in commands_of(name, text)]
        options = options_of(text)
        for shell, file, make in (("bash", name, bash), ("zsh", "_" + name, zsh), ("fish", name + ".fish", fish)):
            os.makedirs(os.path.join(folder, shell), exist_ok=True)
            with open(os.path.join(folder, shell, file), "w", encoding="utf-8") as out:
                out.write(make(name, commands, options))


if __name__ == "__main__":
    main()
