/*
 * A host that does what hosts do and hooks do not expect:
 *
 *     guest_host descriptors ROUNDS    closes every descriptor above 2 and opens its own, while threads make
 * calls
 *     guest_host depth WHAT            prints how many bytes of stack WHAT took
 *     guest_host stack thread|signal BYTES
 *     guest_host fork COUNT fork|raw   children of all moments, while threads make calls of all kinds
 *     guest_host left HOW              leaves a call without a return, then makes 1000 more
 *     guest_host rounds calls|reads recording|undecided   threads that make calls at their end
 *     guest_host cancel COUNT          cancels threads at any instruction
 *     guest_host limited size|memory|user|root   takes its trace out of its reach
 *     guest_host race                  threads that make calls and have a race of the host's own
 *     guest_host handler inside|alternate|anywhere   a signal's handler makes calls
 *     guest_host confined first|later|inherited|not   under a filter of system calls
 */
#include "guest_host.h"

#include <err.h>
#include <stdatomic.h>
#include <string.h>

void new_call(void)
{
	static _Atomic size_t size;

	cudaMemsetAsync(NULL, 0, atomic_fetch_add(&size, 1) + 1, NULL);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		int argument_count;
		int (*run)(char **);
	} commands[] = {
		{"descriptors", 1, run_descriptors},
		{"depth", 1, run_depth},
		{"stack", 2, run_stack},
		{"fork", 2, run_fork},
		{"left", 1, run_left},
		{"rounds", 2, run_rounds},
		{"cancel", 1, run_cancel},
		{"handler", 1, run_handler},
		{"confined", 1, run_confined},
		{"race", 0, run_race},
		{"limited", 1, run_limited},
	};

	for (size_t i = 0; count > 1 && i < sizeof commands / sizeof commands[0]; i++)
		if (strcmp(arguments[1], commands[i].name) == 0 && count - 2 == commands[i].argument_count)
			return commands[i].run(arguments + 2);
	errx(2, "usage: guest_host descriptors|depth|stack|fork|left|rounds|cancel|confined|handler|limited|race ARGUMENT...");
}
