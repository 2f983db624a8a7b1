#!/bin/sh
# pmrun --hang-after keeps where a rank that makes no call is in Python beside its trace: for a reader whom the system does not let read
# the process, with the line that the program itself has told; no longer than that is so; and nothing where pmrun may not read it either.
set -eu
command -v python3 >/dev/null || { echo "no python3" && exit 77; }
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "lines are read of Python 3.11 and newer" && exit 77; }
cat >program.py <<'END'
import ctypes
import os
import signal
import sys

library = ctypes.PyDLL(sys.argv[1])
stop = []


def train():
    for _ in range(1000):
        library.launch(1)


def compute():
    with open("told.new", "w") as told:
        print(os.getpid(), sys._getframe().f_lineno + 2, file=told)
    os.rename("told.new", "told")
    while not stop: pass


signal.signal(signal.SIGUSR1, lambda *_: stop.append(1))
train()
compute()
train()
END
bad=0
complain() {
	echo "not ok: $1"
	bad=1
}
start() { # COMMAND...: that starts pmrun
	rm -rf run told
	LD_PRELOAD="$BUILD/tests/libnull.so" "$@" "$BUILD/bin/pmrun" -q -o run --hang-after 1 -- \
		python3 program.py "$BUILD/lib/liblines_host.so" 2>said &
	pmrun=$!
	until [ -s told ]; do
		kill -0 $pmrun
		sleep 0.1
	done
	read -r pid line <told
}
trap 'kill $pid $pmrun 2>/dev/null || true' EXIT

start
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	! ls run/*.stacks >/dev/null 2>&1 || break
	sleep 0.5
done
if ! ls run/*.stacks >/dev/null 2>&1; then
	"$BUILD/bin/pmrun" --stacks "$pid" >/dev/null 2>said || { grep -Eq 'not permitted|denied|built otherwise' said && exit 77; }
	echo "not ok: nothing is kept"
	exit 1
fi
"$BUILD/bin/refuse_reads" "$BUILD/bin/pmanalyze" hang --after 0 run >report || true
tr -s ' \n' '  ' <report | grep -q "was in Python at compute (program.py:$line) < <module> (program.py:[0-9]*), as its pmrun read [0-9.]* m\?s ago" ||
	complain "line $line is not named: $(cat report)"
# what was read before its last call is not where it is now
cp -r run before
sed -i 's/ at [0-9]*$/ at 1000000000/' before/*.stacks
"$BUILD/bin/refuse_reads" "$BUILD/bin/pmanalyze" hang --after 0 before >report || true
! grep -q 'In Python' report || complain "it is named by what was read before its last call"
# it goes on, and ends in order: what was kept is not of its end
kill -USR1 "$pid"
wait $pmrun || complain "pmrun ended with $?"
! ls run/*.stacks >/dev/null 2>&1 || complain "it is kept of a process that has ended in order"

# of a process that was ended while it made no call it stays, and is no one's that made calls since
start
for _ in 1 2 3 4 5 6 7 8 9 10; do
	! ls run/*.stacks >/dev/null 2>&1 || break
	sleep 0.5
done
kill -KILL "$pid"
wait $pmrun || true
ls run/*.stacks >/dev/null 2>&1 || complain "it is not kept of a process that was killed"

# pmrun may not read the process either
if start "$BUILD/bin/refuse_reads" && sleep 2; then
	[ -z "$(find run -name '*.stacks')" ] || complain "something was kept of a process that cannot be read"
	kill -USR1 "$pid"
	wait $pmrun || complain "where nothing can be read pmrun ended with $?"
fi
exit $bad
