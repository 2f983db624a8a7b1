#!/bin/sh
# The names of modules that the hook reads from a Python interpreter are those that the program itself knows. Where they
# cannot be had the program runs as ever and the trace says why. PYTHONS: the interpreters to try, by default python3.
set -eu
. "$SOURCE/tests/preload.sh"
. "$SOURCE/tests/hook/python/find_python.sh"
cases=$SOURCE/tests/hook/python/names.py
# device times and files are no part of it, nor what threads the stand-in's arithmetic may have
export PMHOOK_STRICT=on PMHOOK_DEVICE=none PMHOOK_FILES=off PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1
export LD_LIBRARY_PATH="$BUILD/softgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# any library does, by this name
mkdir torch
cp "$BUILD/lib/libother_version.so" torch/_C.so

# trace COMMAND...: what it leaves in `names` and `notes`
trace() {
	rm -rf traces
	mkdir traces
	PMHOOK_OUT="$SCRATCH/traces" "$@" "$python" -W ignore "$cases" run expected
	"$BUILD/bin/print_names" traces/*.pmtrace >names 2>notes
}

# nameless WORDS COMMAND...: run so there are no names; the note on Python has these words, without words there is none
nameless() {
	words=$1
	shift
	trace "$@"
	[ -s names ] || fail "$*: no operations"
	[ "$(cut -f 2 names | sort -u)" = - ] || fail "$*: names"
	if [ "$words" ]; then
		grep -q "$words" notes || fail "$*: $(cat notes) instead of $words"
	else
		[ ! -s notes ] || fail "$*: $(cat notes)"
	fi
}

. "$SOURCE/tests/complain.sh"

says_version='import ctypes; f = ctypes.pythonapi.Py_GetVersion; f.restype = ctypes.c_char_p; print(f().decode())'
tried=0
for python in ${PYTHONS:-python3}; do
	find_python "$python" || continue
	tried=$((tried + 1))
	trace with_hook
	"$python" "$cases" check expected <names
	grep -q 'module names are recorded' notes
	# an interpreter that has libpython in itself says its own version
	hook=$HOOK
	HOOK=$BUILD/lib/libother_version.so:$hook
	if with_hook "$python" -c "$says_version" | grep -q '^3.99'; then
		nameless 'python: 3.99, .*: unknown version' with_hook
	fi
	HOOK=$hook
	nameless 'python: .*denies a process access to its own memory' with_hook "$BUILD/bin/refuse_reads"
	nameless '' with_hook env PMHOOK_PYTHON=off
done
[ $tried -gt 0 ] || {
	echo "no Python 3.8 to 3.14"
	exit 77
}
