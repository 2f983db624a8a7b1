#!/bin/sh
# NVTX ranges, pushed as header-only NVTX does it, are in the trace as they were pushed: nested, by domain, wide, registered,
# overlapping, in a child after fork, and begun before the process records; what is pushed without end is bounded and counted.
# Where another tool has NVTX, where ranges are switched off, and in programs without the hook, nobody attaches.
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on PMHOOK_DEVICE=none PMHOOK_OUT="$SCRATCH"
unset NVTX_INJECTION64_PATH
. "$SOURCE/tests/complain.sh"
host() { # HOW...: what it says is in `said`, the ranges of its traces in `seen`
	rm -f ./*.pmtrace
	with_hook "$BUILD/bin/nvtx_host" "$@" >said
	for trace in ./*.pmtrace; do
		[ -e "$trace" ] && "$BUILD/bin/nvtx_look" "$trace"
	done >seen || :
}
check() { # what was expected is on standard input
	cat >expected
	diff -u expected seen || complain "$1: ranges"
	[ "$(cat said)" = "a tool" ] || complain "$1: $(cat said)"
}

host nested
check nested <<'END'
thread 1
<run
  <iteration # of #
    <forward
      work
    >
    work
    <layer1, sizes
    >
  >
  <iteration # of #
    work
  >
  <in a pass
  >
>
work
END

# XLA's numbers are names, however many there are; texts that it registers leave room for those of ranges.
host xla
awk '/^ *<Thunk:#hlo_op=fusion[.][0-9]*#$/ { count++ } /fusion[.]4999#|XlaModule/ { print } END { print count, "launches" }' seen >some
mv some seen
check xla <<'END'
<XlaModule:#hlo_module=jit_step,program_id=29#
  <Thunk:#hlo_op=fusion.4999#
<XlaModule:#hlo_module=gemm_fusion.1#
5000 launches
END

host domains
check domains <<'END'
thread 1
work
<library b: red ffff0000
  <library a: red ffff0000
    <library b: Straße 中 😀
      work
    >
  >
  <Straße 中 😀
    work
  >
  work
>
<wide #
  <library a: registered #
    work
  >
>
work
END

host loose
check loose <<'END'
thread 1
work
first # 1
second 2
<in both
  work
  end of 1
>
thread 2
<other thread
  work
  end of 2
>
END

host forks
check forks <<'END'
thread 1
<outer
  work
>
work
thread 1
<outer
  <child
    work
  >
>
work
END

# TensorFlow's operations: its switch is turned on once, whether the process records by then or not yet, and the trace says so.
operations() { # WHAT SAID NOTE
	echo "a tool
switched on: $2" | cmp -s - said || complain "$1: $(cat said)"
	"$BUILD/bin/pmanalyze" dump ./*.pmtrace >dump
	if [ -n "$3" ]; then
		grep -q "tensorflow: $3" dump || complain "$1: no note"
	else
		! grep -q "tensorflow:" dump || complain "$1: a note"
	fi
}
host tensorflow
operations "no library" -1 ""
LD_LIBRARY_PATH=$BUILD/framework:$BUILD/softgpu
host tensorflow
operations operations 1 "operations are recorded"
[ "$(grep -c '^<TSL: net/dense_[0-9]*/MatMul:MatMul$' seen)" = 94 ] || complain "numbers of operations: $(cat seen)"
grep '^<' seen | tail -n 6 >some
cat >expected <<'END'
<TSL: net/dense/MatMul:MatMul
<TSL: net/dense_17/Add #:Add
<TSL: x/_2:_Send
<TSL: aten::mm
<TSL: gradient_tape/net/block_3/attention/query/einsum/Einsum/MatMul/batch_matmul_2:BatchMatMulV2
<TSL: net/encoder_block_with_a_name_that_is_long_11/attention_12/query_13/einsum_14/Einsum/MatM:BatchMatMulV2
END
diff -u expected some || complain "operations"
host tensorflow late
operations "recording before" 1 "operations are recorded"
export PMHOOK_FRAMEWORK=off
host tensorflow
operations off 0 ""
unset PMHOOK_FRAMEWORK
mkdir other && cp "$BUILD/lib/libnvtx_tool.so" other/libtensorflow_framework.so.2
LD_LIBRARY_PATH=$PWD/other:$BUILD/softgpu
host tensorflow
operations "no switch" -1 "operations are not recorded: the library has no switch"
LD_LIBRARY_PATH=$BUILD/softgpu

host many
[ "$(grep -c '^<iter[0-9]' seen)" = 64 ] && [ "$(grep -c '^<iter#' seen)" = 9936 ] || complain "many: numbers in words"
[ "$(grep -c '^<[a-t][a-j]\{3\}$' seen)" -gt 16000 ] && [ "$(grep -c '^<' seen)" -lt 27000 ] || complain "many: distinct texts"
[ "$(grep -c '^ *<deep' seen)" = 64 ] && grep -q '^<shallow' seen || complain "many: depth"
"$BUILD/bin/pmanalyze" dump ./*.pmtrace | grep -q 'ranges' || complain "many: no word of the loss"

# nobody is to attach
silent() { # WHAT, NOTE
	[ "$(cat said)" = "$3" ] || complain "$1: $(cat said)"
	! grep -q '<' seen || complain "$1: ranges"
	"$BUILD/bin/pmanalyze" dump ./*.pmtrace >dump
	[ -z "$2" ] || grep -q "$2" dump || complain "$1: no note"
}
NVTX_INJECTION64_PATH=$BUILD/lib/libnvtx_tool.so && export NVTX_INJECTION64_PATH
host nested
silent "another tool" "nvtx: ranges are not recorded" "a tool"
unset NVTX_INJECTION64_PATH
for value in off no; do
	export PMHOOK_NVTX=$value
	host nested
	silent $value "" "no tool"
done
unset PMHOOK_NVTX
host nested bare
[ "$(cat said)" = "a tool
no tool" ] || complain "a child without the hook: $(cat said)"
host nested child
[ "$(grep -c '^<run' seen)" = 1 ] || complain "a child with the hook"
exit $bad
