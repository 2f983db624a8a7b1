#!/bin/sh
# Reading a Python interpreter whose structures have wrong bytes ends well: no crash, no endless loop, no text without end.
set -eu
. "$SOURCE/tests/preload.sh"
. "$SOURCE/tests/hook/python/find_python.sh"
export PYTHONDONTWRITEBYTECODE=1
tried=0
for python in ${PYTHONS:-python3}; do
	find_python "$python" || continue
	tried=$((tried + 1))
	LD_PRELOAD=$(sanitizer_runtime) ASAN_OPTIONS=detect_leaks=0 "$python" "$SOURCE/tests/hook/python/corrupt.py" \
		"$BUILD/lib/libcorrupt.so" "${LOOKS:-2000}"
done
[ $tried -gt 0 ] || {
	echo "no Python 3.8 to 3.14"
	exit 77
}
