#!/usr/bin/env python3
"""Manual pages from what the programs print for --help: one for each program and one for each of its commands.

usage: man_pages.py VERSION FOLDER PROGRAM...

The help has the parts of a page already; here they are found by their layout and written in man(7). Lines in capitals are sections,
"What to write:" before indented lines is a subsection, "TERM  text" with a hanging indent is an entry of a list, other indented
lines stay as they are, and the rest is filled.
"""
import itertools
import os
import re
import subprocess
import sys

HEADING = re.compile(r"[A-Z][A-Z0-9 ,-]+$")
ITEM = re.compile(r"(\S+(?: \S+)*?)  +(?=\S)")
# terms whose text begins in the next line
LONG_TERM = re.compile(r"(--?\w|PM\w*_)")


def indent_of(line):
    return len(line) - len(line.lstrip(" "))


def dedent(lines):
    least = min((indent_of(line) for line in lines if line), default=0)
    return [line[least:] for line in lines]


def escape(text):
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<!\w)-+(?=\w)", lambda found: found.group().replace("-", "\\-"), text)
    text = re.sub(r"(\\-\\-\w+(?:-\w+)*)", lambda found: re.sub(r"(?<!\\)-", r"\\-", found.group()), text)
    return "\\&" + text if text[:1] in (".", "'") else text


def as_it_is(lines):
    return [".EX"] + [escape(line).replace("  -", "  \\-") for line in lines] + [".EE"]


def term_of(text):
    """Options and environment variables are bold, what stands for a value is in italics."""
    words = []
    for word in re.split(r"([ =\[\],]+)", text):
        if re.match(r"--?\w|PM\w*_|SOFTGPU_", word):
            words.append(f"\\fB{escape(word)}\\fP")
        elif re.fullmatch(r"[A-Z][A-Z0-9.]*", word):
            words.append(f"\\fI{word}\\fP")
        else:
            words.append(escape(word))
    term = "".join(words)
    return "\\&" + term if term[:1] in (".", "'") else term


def list_item(lines, i, column):
    """The item at line i as term, first text and column of the text, or None; other items' texts are in `column`."""
    line = lines[i]
    found = ITEM.match(line)
    if found:
        return found.group(1), line[found.end() :], found.end()
    following = lines[i + 1] if i + 1 < len(lines) else ""
    # a term as long as its column leaves one blank
    if column and line[column - 1 : column] == " " and line[column : column + 1].strip():
        if " " not in line[: column - 1] or indent_of(following) == column:
            return line[: column - 1], line[column:], column
    if (LONG_TERM.match(line) and indent_of(following) >= 4) or (column and indent_of(following) == column):
        return line, "", indent_of(following)
    return None


def has_items(lines):
    lines = dedent(lines)
    return any(line and line[0] != " " and list_item(lines, i, None) for i, line in enumerate(lines))


def block(lines, is_filled):
    """Dedented lines that may have lists in them."""
    out, column, i = [], None, 0
    lines = dedent(lines)
    # options without a letter stand below the others' words
    if any(re.match(r"-\w, --", line) for line in lines):
        lines = [line[4:] if line.startswith("    --") else line for line in lines]
    while i < len(lines):
        if not lines[i]:
            column = None
            i += 1
            continue
        end = i + 1
        item = list_item(lines, i, column)
        if item:
            term, first, column = item
            while end < len(lines) and indent_of(lines[end]) > 0:
                end += 1
            text = list(itertools.takewhile(lambda line: indent_of(line) >= min(column, 8), lines[i + 1 : end]))
            inner = lines[i + 1 + len(text) : end]
            out += [".TP", term_of(term)] + [escape(line.strip()) for line in [first] + text if line]
            if inner:
                out += [".RS"] + block(inner, False) + [".RE"]
        elif lines[i][0] == " " or not is_filled:
            while end < len(lines) and (lines[end][:1] == " " or (not is_filled and lines[end])):
                end += 1
            out += [".PP"] + as_it_is(lines[i:end])
        else:
            while end < len(lines) and lines[end] and lines[end][0] != " " and not list_item(lines, end, column):
                end += 1
            if end - i > 1 and all(re.match(r"\w+: ", line) for line in lines[i:end]):
                for line in lines[i:end]:
                    term, text = line.split(": ", 1)
                    out += [".TP", escape(term), escape(text)]
            else:
                out += [".PP"] + [escape(line) for line in lines[i:end]]
        i = end
    return out


def body(lines):
    """What follows the synopsis: paragraphs at the margin, headings, and what is indented below them."""
    out, i, section = [], 0, ""
    if lines and not HEADING.match(lines[0]):
        out = [".SH DESCRIPTION"]
    while i < len(lines):
        line = lines[i]
        end = i + 1
        if not line:
            pass
        elif line[0] == " ":
            while end < len(lines) and lines[end][:1] in (" ", ""):
                end += 1
            if section == "EXAMPLES":
                out += [".PP"] + as_it_is(dedent([text for text in lines[i:end] if text]))
            else:
                out += block(lines[i:end], section or has_items(lines[i:end]))
        elif HEADING.match(line):
            section = line
            out.append(f".SH {line}")
        elif re.match(r"(Examples?|Exit status|Environment|Options):", line, re.I):
            section, text = line.split(":", 1)
            section = section.upper() + ("S" if section.lower() == "example" else "")
            out.append(f".SH {section}")
            while text.strip() and end < len(lines) and lines[end][:1] not in (" ", ""):
                text += "\n" + lines[end]
                end += 1
            out += [escape(text.strip()) for text in text.split("\n") if text]
        elif line.endswith(":") and lines[end : end + 1] and lines[end].startswith("  "):
            out.append(f".SS {escape(line[:-1])}")
        else:
            while end < len(lines) and lines[end][:1] not in (" ", ""):
                end += 1
            out += [".PP"] + [escape(text) for text in lines[i:end]]
        i = end
    return out


def without_name(lines):
    """(summary, synopsis lines, the rest) of a help text: a page with its sections, "name - summary", or "Usage:" first."""
    if lines[0] == "NAME":
        rest = lines.index("SYNOPSIS")
        following = next(i for i in range(rest + 1, len(lines)) if HEADING.match(lines[i]))
        return lines[1].split(" - ", 1)[1], dedent([line for line in lines[rest + 1 : following] if line]), lines[following:]
    usage = next(i for i, line in enumerate(lines) if line.lower().startswith("usage:"))
    end = usage + 1
    while lines[end].startswith(" "):
        end += 1
    synopsis = [line[len("usage:") :].strip() for line in lines[usage : usage + 1]] + [line.strip() for line in lines[usage + 1 : end]]
    if usage > 0:
        summary = re.split(r" - |: ", " ".join(line for line in lines[:usage] if line), maxsplit=1)[1]
    else:
        summary = lines[end][0].lower() + lines[end][1:].rstrip(".")
    return summary, synopsis, lines[end:]


def page(name, help_text, version, see_also):
    summary, synopsis, rest = without_name([line.rstrip() for line in help_text.rstrip("\n").split("\n")])
    while rest and not rest[0]:
        rest = rest[1:]
    title = name.replace("-", "\\-")
    out = [f'.TH "{title.upper()}" 1 "" "pmhook {version}" "pmhook"', ".SH NAME", f"{title} \\- {escape(summary)}", ".SH SYNOPSIS", ".nf"]
    out += [re.sub(r"^\S+", r"\\fB\g<0>\\fP", escape(line)) for line in synopsis] + [".fi"]
    out += body(rest)
    if see_also:
        out += [".SH SEE ALSO", ".nh"] + [",\n".join(f".BR {other.replace('-', chr(92) + '-')} (1)" for other in see_also)]
    return "\n".join(out) + "\n"


def help_of(*command):
    return subprocess.run([*command, "--help"], check=True, capture_output=True, text=True, timeout=60).stdout


def commands_of(name, text):
    """The commands that a program's help lists, each with its line."""
    if not re.search(rf"^usage: {name} COMMAND", text, re.I | re.M):
        return []
    return re.findall(r"^  ([a-z]+) +(\S.*)", text.split("COMMAND --help")[0], re.M)


def main():
    version, folder, *programs = sys.argv[1:]
    names = [os.path.basename(program) for program in programs]
    tools = [name for name in names if name.startswith("pm")]
    os.makedirs(folder, exist_ok=True)
    pages = {}
    for program, name in zip(programs, names):
        text = help_of(program)
        commands = [command for command, _ in commands_of(name, text)]
        for command in commands:
            pages[f"{name}-{command}"] = (help_of(program, command), [name])
        others = [other for other in tools if other != name] if name in tools else ["pmrun"]
        pages[name] = (text, [f"{name}-{command}" for command in commands] + others)
    for name, (text, see_also) in pages.items():
        with open(os.path.join(folder, f"{name}.1"), "w", encoding="utf-8") as file:
            file.write(page(name, text, version, see_also))


if __name__ == "__main__":
    main()
