/*
 * FORWARD(number, name): a function that jumps, with all its parameters as they are, to where
 * sg_targets[number] says.
 *
 * The one idea: the targets are looked up in the newer library itself, when this one is loaded, and not by
 * the linker: it would find what intercepts that library's functions, and that may come here for the real
 * one.
 */
#ifndef SG_FORWARD_H
#define SG_FORWARD_H

#if defined(__x86_64__)
#define SG_JUMP(number) "jmp *sg_targets+8*" #number "(%rip)\n"
#elif defined(__aarch64__)
#define SG_JUMP(number) \
	"adrp x16, sg_targets+8*" #number "\n" \
	"ldr x16, [x16, :lo12:sg_targets+8*" #number "]\n" \
	"br x16\n"
#else
#error "no jump for this processor"
#endif

#define FORWARD(number, name) \
	__asm__(".text\n" \
		".globl " #name "\n" \
		".type " #name ", %function\n" \
		".balign 16\n" #name ":\n" SG_JUMP(number) ".size " #name ", .-" #name "\n");

/* Of the source that forward.cmake makes. */
extern __attribute__((visibility("hidden"))) void *sg_targets[];
extern __attribute__((visibility("hidden"))) const char *const sg_target_names[]; /* NULL ends them */
extern __attribute__((visibility("hidden"))) const char sg_target_library[];

#endif
