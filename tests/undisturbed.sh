# Sourced by tests of times on modelled GPUs. Their hosts do not run by the model clock: whatever else runs on the machine delays them, and what was
# delayed is right when it is done again. undisturbed CASE...: the case, a function of the test, is right in one of three tries; wrong ones
# are printed.
undisturbed() {
	for try in 1 2 3; do
		if "$@" >undisturbed.out; then
			cat undisturbed.out
			return 0
		fi
		sed "s/^/try $try: /" undisturbed.out
	done
	return 1
}
