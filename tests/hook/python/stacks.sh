#!/bin/sh
# pmrun --stacks: where the threads of a Python program are that stand still, with the lines that the program itself has told.
set -eu
command -v python3 >/dev/null || { echo "no python3" && exit 77; }
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "lines are read of Python 3.11 and newer" && exit 77; }
cat >program.py <<'END'
import os
import sys
import threading

lock = threading.Lock()
ends = os.pipe()


def line():
    return sys._getframe(1).f_lineno


def hold():
    with open("told.lock", "w") as told:
        print(threading.get_native_id(), line() + 1, file=told)
    lock.acquire()


def main():
    lock.acquire()
    threading.Thread(target=hold, daemon=True).start()
    with open("told.read", "w") as told:
        print(os.getpid(), line() + 1, file=told)
    os.read(ends[0], 1)


main()
END
python3 program.py &
program=$!
trap 'kill $program 2>/dev/null || true' EXIT
until [ -s told.lock ] && [ -s told.read ]; do
	kill -0 $program
	sleep 0.1
done
sleep 0.2
"$BUILD/bin/pmrun" --stacks $program >stacks 2>said || {
	cat said
	# the system lets nobody read it, or this Python is built otherwise
	grep -Eq 'not permitted|denied|built otherwise' said && exit 77
	exit 1
}
cat stacks
read -r tid line <told.lock
grep -q "^$tid: hold (program.py:$line) < Thread.run " stacks
read -r tid line <told.read
grep -q "^$tid: main (program.py:$line) < <module> (program.py:[0-9]*)\$" stacks
# what is no Python program, and what is not there
! "$BUILD/bin/pmrun" --stacks $$ >/dev/null 2>said || { echo "a shell has no Python"; exit 1; }
grep -q 'cannot be read' said
[ "$("$BUILD/bin/pmrun" --stacks 0 2>&1 | wc -l)" = 2 ]
