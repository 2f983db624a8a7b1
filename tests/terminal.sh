#!/bin/sh
# Checks that no control character reaches the terminal: from contents, paths and words of the command line, on standard output and
# standard error, of pmanalyze and pmfit; that text in UTF-8 stays; and that JSON and HTML stay well-formed.
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C
. "$SOURCE/tests/complain.sh"
# clean COMMAND...: runs it, whatever it answers; its output may have newlines and tabs, and is UTF-8 without C0 and C1
clean() {
	"$@" >out 2>errors </dev/null || true
	cat out errors >both
	if tr -d '\000-\010\013-\037\177' <both | cmp -s - both && iconv -f UTF-8 -t UTF-8 both >/dev/null 2>&1 &&
		! iconv -f UTF-8 -t UCS-4BE both | od -An -v -tx4 --endian=big -w4 | grep -q '^ 000000[89]'; then
		return
	fi
	complain "$*: $(head -c 400 both | od -c | head -n 8)"
}
escape=$(printf '\033[31m')
evil="${escape}a$(printf '\302\233b\377c\177\r')\\u00e4ü"
name="$(printf '\033]0;x\007\302\2332Jü').json"
cat >"$name" <<END
{"deviceProperties": [{"id": 0, "name": "${evil}"}], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9, "ts": 0, "dur": 500},
{"ph": "X", "cat": "cuda_runtime", "name": "cuda${evil}", "pid": 9, "tid": 9, "ts": 10, "dur": 5, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "nccl${evil}\\u001b[2J\\u009b", "pid": 0, "tid": 7, "ts": 30, "dur": 9, "args": {"device": 0, "stream": 7, "correlation": 1}},
{"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "${evil}"}}]}
END
for command in report layers balance comm path whatif model roofline compare arrivals window; do
	clean pmanalyze $command "$name"
	clean pmanalyze $command --json "$name"
	clean pmanalyze $command --csv "$name"
done
clean pmanalyze report "$name"
grep -q 'ü' both || complain "UTF-8 does not stay: $(head -n 2 both)"
clean pmanalyze report "no$name"
grep -q '\\x1b\]0;x\\x07' both || complain "an escape is not spelled out: $(cat both)"
clean pmanalyze slowdown "$name"
clean pmanalyze "$evil"
clean pmanalyze report "--$evil"
clean pmanalyze report --skip "$evil" "$name"
clean pmanalyze html -o - "$name"
clean pmanalyze export --perfetto "$name"
clean pmanalyze export --observations "$name"
clean pmanalyze dump "$name"

evil="${escape}a$(printf '\302\233b\377c\177')ü" # a carriage return ends a line there
printf 'batch,%s,ms\n8,%s,9\n16,%s,17\n32,%s,33\n8,b,8\n16,b,16\n32,b,31\n64,b,60\n' "$evil" "$evil" "$evil" "$evil" >"t$name"
printf 'time time s\nintrinsic s1ze\nextrinsi\033 gpus\n' >"d$name"
clean pmfit fit -d "d$name" "t$name"
grep -q 'extrinsi\\x1b' both || complain "a word of a description is not spelled out: $(cat both)"
clean pmfit fit -q --seeds 1 --time ms --intrinsic batch --categorical "$evil" "t$name"
clean pmfit fit -q --seeds 1 --time ms --intrinsic batch --categorical "$evil" --json "t$name"
clean pmfit fit -q --seeds 1 --time ms --intrinsic batch --categorical "$evil" -o "m$name" "t$name"
tr -d '\000-\010\013-\037\177' <"m$name" | cmp -s - "m$name" || complain "a model has raw control characters"
clean pmfit html -q -o - "m$name"
clean pmfit predict "m$name" "t$name"
clean pmfit predict --json "m$name" "t$name"
clean pmfit sweep -o x.csv "d$name"
clean pmfit "$evil"
clean pmfit fit "--$evil"
for command in "pmanalyze report --json" "pmfit fit -q --seeds 1 --time ms --intrinsic batch --json"; do
	case $command in pmfit*) file="t$name" ;; *) file=$name ;; esac
	$command "$file" 2>/dev/null | "$PYTHON" -c 'import json, sys; json.loads(sys.stdin.buffer.read().decode())' ||
		complain "$command: no JSON"
done
exit $bad
