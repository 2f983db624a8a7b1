# with_hook COMMAND...: runs a command with the hook preloaded. A sanitizer's runtime must come before the hook, and leaks of
# the host are not ours to judge here.
with_hook() {
	runtime=
	case ${PM_SANITIZE:-} in
	*address*) runtime=$("$CC" -print-file-name=libasan.so) ;;
	*thread*) runtime=$("$CC" -print-file-name=libtsan.so) ;;
	esac
	env LD_PRELOAD="${runtime:+$runtime:}$HOOK" ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" "$@"
}
