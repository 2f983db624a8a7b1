#!/bin/sh
# The offsets by which the hook reads Python's structures are those of Python's own headers. PYTHONS: the interpreters to try
# where their headers are installed, by default python3.
set -eu
tried=0
for python in ${PYTHONS:-python3}; do
	# what is called so may be a script that finds the interpreter
	python=$("$python" -c 'import sys; print(sys.executable)') || continue
	version=$("$python" -c 'import sys; print("%d%02d" % sys.version_info[:2])')
	[ "$version" -ge 308 ] && [ "$version" -le 314 ] || continue
	say() { "$python" -c "import sysconfig; print(sysconfig.get_$1)"; }
	include=$(say "path('include')")
	library=$(say "config_var('LIBDIR')")
	[ -e "$include/Python.h" ] || continue
	"$CC" -w -o offsets -I"$include" -I"$include/internal" -I"$SOURCE/preload" "$SOURCE/tests/hook/python/offsets.c" \
		"$SOURCE/preload/python/python_memory.c" "$SOURCE/preload/python/python_object.c" -L"$library" -Wl,-rpath,"$library" -lpython"$(say "config_var('LDVERSION')")" ||
		continue
	tried=$((tried + 1))
	./offsets
	echo "$version: as the headers say"
done
[ $tried -gt 0 ] || {
	echo "no Python 3.8 to 3.14 with its headers and library"
	exit 77
}
