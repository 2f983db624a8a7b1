/* libcudart's own header: its functions as rows (calls/shell.h), with a twin or without. */
#ifndef CUDART_PRIVATE_H
#define CUDART_PRIVATE_H

#include "calls/calls.h"
#include "calls/shell.h"

#define RUNTIME(name, pairs, fault, call) SG_SHELL(cudaError_t, name, pairs, SG_ENTER(fault), sg_result(call))
#define RUNTIME_PTSZ(name, pairs, fault, call) \
	RUNTIME(name, pairs, fault, call) \
	SG_PER_THREAD(cudaError_t, name, _ptsz, pairs)
#define RUNTIME_PTDS(name, pairs, fault, call) \
	RUNTIME(name, pairs, fault, call) \
	SG_PER_THREAD(cudaError_t, name, _ptds, pairs)

#endif
