# however slow the machine is, what is new is described
export PMHOOK_NEW_SHARE=100

# A sanitizer's runtime must come before the hook; leaks of the host are not ours to judge here.
sanitizer_runtime() {
	case ${PM_SANITIZE:-} in
	*address*) "$CC" -print-file-name=libasan.so ;;
	*thread*) "$CC" -print-file-name=libtsan.so ;;
	esac
}

# with_hook COMMAND...: runs a command with the hook preloaded.
with_hook() {
	runtime=$(sanitizer_runtime)
	env LD_PRELOAD="${runtime:+$runtime:}$HOOK" ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" "$@"
}
