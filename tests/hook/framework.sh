#!/bin/sh
# What PyTorch says of a program, in ranges of the trace: a library that has PyTorch's callbacks and nothing else, and a host that states
# what it expects. Nesting, operators within nodes, other threads, texts with counters, layouts and versions that are not known, fork,
# windows, exit.
set -eu
. "$SOURCE/tests/preload.sh"
here=$SOURCE/tests/hook
export PMHOOK_STRICT=on PMHOOK_DEVICE=none PMHOOK_FLOW=all

. "$SOURCE/tests/complain.sh"

# library NAME [VERSION]: a folder with one of that version
library() {
	mkdir -p "$1/lib"
	cp "$BUILD/framework/libtorch_cpu.so" "$1/lib"
	[ $# -eq 1 ] || echo "__version__ = '$2+cu0'" >"$1/version.py"
}
library known 2.11.0
library new 9.1.0
library none

# check CASE LIBRARY NOTE [SETTING]...: the ranges, and what is said of PyTorch
check() {
	case=$1 folder=$2 note=$3
	shift 3
	rm -rf run && mkdir run
	env "$@" LD_LIBRARY_PATH="$SCRATCH/$folder/lib" PMHOOK_OUT="$SCRATCH/run" sh -c '. "$SOURCE/tests/preload.sh"; with_hook "$BUILD/bin/framework_host" '"$case" >expected ||
		complain "$case, $folder: ends with $?"
	python3 "$here/framework.py" run/*.pmtrace | grep -v '^op none' >found || true
	[ -z "$note" ] && : >expected
	diff expected found >differences || { complain "$case, $folder" && head -20 differences; }
	python3 "$here/framework.py" --notes run/*.pmtrace >notes
	if [ -n "$note" ]; then
		grep -q "$note" notes || { complain "$case, $folder: not said: $note" && cat notes; }
	else
		[ ! -s notes ] || [ "$(cat notes)" = "" ] || complain "$case, $folder: something is said"
	fi
}
check nest known '2.11, operators are recorded$'
check counters known '2.11, operators are recorded$'
check moved known '2.11, operators are not recorded: the values read'
check moved new '9.1, operators are not recorded: the values read'
check moved none 'of unknown version, operators are not recorded'
check unknown new '9.1, operators are recorded if'
check unknown none 'of unknown version, operators are recorded if'
check fork known 'are recorded$'
check window known 'are recorded$' PMHOOK_WINDOW=profiler
check exit known 'are recorded$'
check nest known '' PMHOOK_FRAMEWORK=off
exit $bad
