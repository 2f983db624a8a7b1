/*
 * A training step in a few lines of text, and what is found of it: a fixture of one rule. Each line is a
 * call:
 *
 *     [@THREAD] [~] [%MODULE] [^FUNCTION] WHAT ARGUMENT... [= PHASE [LAYER]]
 *
 * WHAT   up TO [BYTES], down FROM, move FROM TO [BYTES]     copies from the host, to it, on the device
 *        set TO [BYTES]                                     memory to a value
 *        table TO BYTES ADDRESS...                          up, of addresses that are known
 *        kernel NAME ADDRESS...                             a launch; '_': a word that is no address
 *        conv X W Y, dgrad W DY DX, wgrad X DY DW           a convolution and its gradients
 *        pool X Y, unpool Y DY X DX, act X Y, unact Y DY X DX, drop X Y, undrop DY DX, axpy X Y, read FILE
 *        times A B C                                        a product of 8 x 8 matrices of 256 bytes each
 *        reduce FROM TO BYTES, gather FROM TO BYTES, scatter FROM TO BYTES, send FROM BYTES, receive TO BYTES
 *        enter RANGE, leave                                 of the framework, as "Optimizer.step#SGD.step"
 *        enter RANGE DOMAIN, leave                          of NVTX
 * ADDRESS a name, each of which has a block of its own; NAME+BYTES is after its start
 * PHASE  f b c u h m i -: forward, backward, communication, update, host to device, batch split, input, none
 *
 * "size LAYER COUNT" says how many parameters the layer must have, "-": not known.
 * FUNCTION, of Python's, calls it. A line with ~ comes before the last one in iteration FIXTURE_LATE, which
 * must have the phases of the one before. "at REGEX" and "every N" are a user's rule for iterations. "module
 * ADDRESS NAME" says in which module launches had the address. Lines before "step" are the set-up; those
 * after it are an iteration, of which there are STEPS.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "analyses/why.h"

#define FIXTURE_STEPS 5
#define FIXTURE_LATE 3

/* Compares what is found with what the text says; `name` is printed with what differs. How much does. */
int fixture_check(const char *name, const char *text);

#endif
