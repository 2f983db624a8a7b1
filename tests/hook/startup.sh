#!/bin/sh
# What the library costs each process that has it preloaded, before it makes a call: pages that relocation writes to are copied, and a symbol
# that is searched for in all libraries takes as long as a page. Counted, not timed: tables of text have no pointers, and our own
# functions are found when the library is linked.
set -eu
if [ -n "${PM_SANITIZE:-}" ] || ! command -v readelf >/dev/null; then
	echo "counted without sanitizers alone, by readelf"
	exit 77
fi
bad=0
written=$(readelf -SW "$HOOK" | sed 's/\[ */[/' | awk '$2 == ".data.rel.ro" { print $6 }')
written=$((0x${written:-0}))
[ $written -gt 0 ] && [ $written -le 16384 ] || { echo "not ok: $written bytes are written to at load" && bad=1; }
searched=$(readelf -rW "$HOOK" | grep -cE 'R_X86_64_64|R_AARCH64_ABS64' || true)
[ "$searched" -le 8 ] || { echo "not ok: $searched addresses of functions are searched for at load" && bad=1; }
echo "$written bytes written, $searched addresses searched for"
exit $bad
