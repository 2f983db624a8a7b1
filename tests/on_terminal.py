#!/usr/bin/env python3
"""Runs a program on a terminal and passes on what it writes there: on_terminal.py COLUMNS COMMAND...

The terminal is kept open, and all is read once a mark arrives that is written after the program's end: a terminal that is closed
may lose what was not read yet. Exit status: the program's."""
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


def on_terminal(columns, *command, **options):
    """The exit status and what was written, with the terminal's line ends; options are subprocess.Popen's."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
    options.setdefault("stdin", subprocess.DEVNULL)
    program = subprocess.Popen(command, stdout=theirs, **options)

    def mark_end():
        program.wait()
        os.write(theirs, MARK)

    end = threading.Thread(target=mark_end)
    end.start()
    text = b""
    while MARK not in text[-2 * 65536:]:
        text += os.read(ours, 65536)
    end.join()
    os.close(ours)
    os.close(theirs)
    return program.returncode, text[:text.index(MARK)]


if __name__ == "__main__":
    status, written = on_terminal(int(sys.argv[1]), *sys.argv[2:], stderr=sys.stderr)
    sys.stdout.buffer.write(written)
    sys.exit(status)
