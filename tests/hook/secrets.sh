#!/bin/sh
# What a trace has of the command: the program's name and the script's; with PMHOOK_ARGUMENTS=on the arguments, but no value whose name
# says that it is a secret. The environment, the names of files that are read and the folders of programs are in no trace.
set -eu
. "$SOURCE/tests/preload.sh"
. "$SOURCE/tests/hook/python/find_python.sh"
export PMHOOK_STRICT=on PMHOOK_DEVICE=none LD_LIBRARY_PATH="$BUILD/softgpu" PYTHONDONTWRITEBYTECODE=1

. "$SOURCE/tests/complain.sh"

# names EXPECTED COMMAND...: runs it, and compares the note; nothing of a trace has the text hunter2, and none its environment
names() {
	expected="command: $1"
	shift
	mkdir traces
	PMHOOK_OUT="$SCRATCH/traces" SOME_VARIABLE=xhunter2 with_hook "$@" >out 2>&1 || complain "$*: ends with $?: $(cat out)"
	note=$("$BUILD/bin/trace_look" traces/*.pmtrace | sed -n 's/^note \(command: .*\)/\1/p')
	[ "$note" = "$expected" ] || complain "$*: '$note' instead of '$expected'"
	! grep -qaF -e hunter2 -e SOME_VARIABLE traces/*.pmtrace || complain "$*: a secret is in the trace"
	! "$BUILD/bin/pmanalyze" dump traces/*.pmtrace | grep -F hunter2 || complain "$*: a secret is printed"
	"$BUILD/bin/pmanalyze" dump --json traces/*.pmtrace | grep -qF "\"$(echo "$note" | sed 's/"/\\"/g')\"" || complain "$*: dump --json has another"
	rm -rf traces
}

mkdir hunter2folder
cp "$BUILD/bin/invisible_host" hunter2folder/host
names host hunter2folder/host threads
names host hunter2folder/host threads --api-key=hunter2 --password hunter2 hunter2

# on request, without what is secret
export PMHOOK_ARGUMENTS=on
host=$BUILD/bin/invisible_host
names "$host threads --lr 0.1 -v data=x" "$host" threads --lr 0.1 -v data=x
names "$host threads --api-key=*** --password *** --lr 0.1" "$host" threads --api-key=hunter2 --password hunter2 --lr 0.1
names "$host threads --tokens *** *** --lr 0.1" "$host" threads --tokens hunter2 hunter2x --lr 0.1
names "$host threads --Pass *** -x" "$host" threads --Pass -hunter2 -x
names "$host threads --use-auth *** ***" "$host" threads --use-auth --password hunter2
names "$host threads logger.API_KEY=*** -DHF_TOKEN=***" "$host" threads logger.API_KEY=hunter2 -DHF_TOKEN=hunter2
names "$host threads --header Authorization:***" "$host" threads --header 'Authorization: Bearer hunter2'
names "$host threads {\"a\": 1, \"secret\":***" "$host" threads '{"a": 1, "secret": "hunter2"}'
names "$host threads --db=pg://me:***@there/x http://there/?a=1&sig=***" \
	"$host" threads --db=pg://me:hunter2@there/x 'http://there/?a=1&sig=hunter2'
names "$host threads http://me:***@there/?token=***" "$host" threads 'http://me:hunter2@there/?token=hunter2'
# more of them than the note has room for
many=$(i=0; while [ $i -lt 900 ]; do echo "--token=hunter2 --x"; i=$((i + 1)); done)
mkdir traces
# shellcheck disable=SC2086
PMHOOK_OUT="$SCRATCH/traces" with_hook "$host" threads $many >out 2>&1 || complain "many arguments: $(cat out)"
"$BUILD/bin/trace_look" traces/*.pmtrace | grep -q '^note command: .*--token=\*\*\*' || complain "many arguments: no note"
! grep -qaF hunter2 traces/*.pmtrace || complain "many arguments: a secret is in the trace"
rm -rf traces
unset PMHOOK_ARGUMENTS

# Python: the script or the module, whatever options come before, and not what files are read
find_python python3 || exit $bad
name=$("$python" -c 'import os; print(os.path.basename(os.path.realpath("/proc/self/exe")))')
HOOK=$HOOK:$BUILD/tests/libnull.so # before what the program loads, so that the hook finds it
echo secret >hunter2folder/hunter2.data
cat >hunter2folder/train.py <<END
import ctypes
with open('$SCRATCH/hunter2folder/hunter2.data') as file:
    file.read()
ctypes.CDLL(None).cudaDeviceSynchronize()
END
export PYTHONPATH="$SCRATCH/hunter2folder"
secrets='--api-key=hunter2 --password hunter2'
# shellcheck disable=SC2086
{
	names "$name train.py" "$python" hunter2folder/train.py $secrets
	names "$name train.py" "$python" -u -W ignore -Xutf8 -X no_debug_ranges hunter2folder/train.py $secrets
	names "$name -m train" "$python" -um train $secrets
	names "$name -m train" "$python" -W ignore -mtrain $secrets
	names "$name -c" "$python" -c 'import train; hunter2 = 0' $secrets
	names "$name -c" "$python" -Bc 'import train; hunter2 = 0' $secrets
	names "$name train.py" "$python" --check-hash-based-pycs never -- hunter2folder/train.py $secrets
	names "$name -" "$python" - $secrets <hunter2folder/train.py
}
exit $bad
