/* What the parts of guest_host share: a host whose calls are checked by itself, on guest_cudart.c. */
#ifndef GUEST_HOST_H
#define GUEST_HOST_H

#include <stddef.h>

int cudaMalloc(void **p, size_t size);
int cudaMemsetAsync(void *p, int value, size_t size, void *stream);
int cudaStreamSynchronize(void *stream);
int cudaLaunchHostFunc(void *stream, void (*f)(void *), void *data);

/* A call that differs from all others, so that the hook has to describe it. */
void new_call(void);

/* Each takes the arguments after the command's name, prints what it saw, and returns the exit status. */
int run_descriptors(char **arguments);
int run_depth(char **arguments);
int run_stack(char **arguments);
int run_fork(char **arguments);
int run_left(char **arguments);
int run_rounds(char **arguments);
int run_cancel(char **arguments);
int run_handler(char **arguments);
int run_confined(char **arguments);
int run_race(char **arguments);
int run_limited(char **arguments);

#endif
