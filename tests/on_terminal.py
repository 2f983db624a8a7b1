#!/usr/bin/env python3
"""Runs a program on a terminal and passes on what it writes there: on_terminal.py COLUMNS COMMAND...

The terminal is kept open, and all is read once a mark arrives that is written after the program's end: a terminal that is closed
may lose what was not read yet. Exit status: the program's. The settings of the terminal must be as before."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading

MARK = b"\0end\0"
LINES = 50


def on_terminal(columns, *command, lines=LINES, answers=None, **options):
    """The exit status and what was written, with the terminal's line ends; options are subprocess.Popen's.

    answers: pairs of what the program writes and what is done then, in this order: bytes are keys, else it is called with the
    program. The program is then the terminal's own, so that Ctrl-C reaches it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    before = termios.tcgetattr(theirs)
    if answers is not None:
        options |= {"stdin": theirs, "start_new_session": True,
                    "preexec_fn": lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)}
    options.setdefault("stdin", subprocess.DEVNULL)
    program = subprocess.Popen(command, stdout=theirs, **options)

    def mark_end():
        program.wait()
        os.write(theirs, MARK)

    end = threading.Thread(target=mark_end)
    end.start()
    text, seen, answers = b"", 0, list(answers or ())
    while MARK not in text[-2 * 65536:]:
        text += os.read(ours, 65536)
        while answers and answers[0][0] in text[seen:]:
            awaited, answer = answers.pop(0)
            seen = text.index(awaited, seen) + len(awaited)
            if callable(answer):
                answer(program)
            else:
                os.write(ours, answer)
    end.join()
    if termios.tcgetattr(theirs) != before:
        text = b"the terminal is not as before\n" + text
    os.close(ours)
    os.close(theirs)
    return program.returncode, text[:text.index(MARK)]


if __name__ == "__main__":
    status, written = on_terminal(int(sys.argv[1]), *sys.argv[2:], stderr=sys.stderr)
    sys.stdout.buffer.write(written)
    sys.exit(status)
