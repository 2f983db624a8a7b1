/*
 * NVTX ranges in the trace, without a tool that asks for them.
 */
#ifndef NVTX_H
#define NVTX_H

/* When recording begins: a note where another tool has NVTX. */
void pmh_nvtx_note(void);

/* In a child after fork, once its ranges are forgotten (range.h). */
void pmh_nvtx_forget(void);

#endif
