/*
 * Texts of ranges as the trace has them. Programs put counters into them, and each iteration would be a range of its
 * own; so, in this order:
 *
 *     from ", name =" on, a list of attributes, the text is cut: "aten::mm, seq = 12, op_id = 7" is "aten::mm"
 *     a number that is a word of its own becomes #: "step 17 of 200" is "step # of #", "loss=0.5" is "loss=#". One that
 *         is part of a word is a name: "conv1", "layers.0.attn", "layer_3", "3x3"
 *     beyond the first PMH_TEXT_VARIANTS texts that differ in such numbers alone, these become # too: "iter4711" is
 *         "iter#" (nvtx_name.c)
 *
 * XLA's numbers are names: of its range around a run of a program "XlaModule:#hlo_module=jit_step,program_id=13#" is kept, of
 * that around a launch "Thunk:#hlo_op=loop_add_fusion.2#", which is one of the program's instructions (hlo.h).
 *
 * So are those of TensorFlow's operations, "sequential/dense_1/MatMul:MatMul#from=x", without the arguments; of one that is too
 * long the functions that call it are left out, "StatefulPartitionedCall/", then the end of its path.
 *
 * Control characters are spaces, and what is longer than PMH_TEXT_BYTES is cut between characters of UTF-8.
 */
#ifndef NVTX_TEXT_H
#define NVTX_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#define PMH_TEXT_BYTES 104 /* with the zero */
#define PMH_TEXT_VARIANTS 64u

/* Makes it of a program's text. Returns its length. Any thread. */
size_t pmh_nvtx_text(char out[PMH_TEXT_BYTES], const char *text);

/* The same of wide characters: invalid ones are question marks. */
size_t pmh_nvtx_wide_text(char out[PMH_TEXT_BYTES], const wchar_t *text);

/* Is it such a text of XLA's or TensorFlow's, whose numbers are never #? */
bool pmh_nvtx_is_exact(const char *text);

/* Of such a text, with each remaining number as #. False: there is none, it is the same. */
bool pmh_nvtx_stem(char out[PMH_TEXT_BYTES], const char *text);

#endif
