/*
 * How much work an operator of PyTorch is, by its name and the sizes, types and values of its inputs as the
 * profiler records them (record_shapes): as work.h counts it, for traces that have no calls of libraries.
 *
 *   products      2 M N K, batch by batch; a bias or what is added counts as bytes
 *   convolutions  2 for each element of the result and each of the filter that makes it; backward for each of
 * the two gradients that are asked for. The result's sizes follow from stride, padding and dilation, so
 * without recorded values ("Concrete Inputs", PyTorch 2.1) only the backward pass of older versions is known,
 * which is given the result's gradient attention     two products forward, four backward; what a mask leaves
 * out counts others        by the element, as cuDNN's functions of the kind
 */
#ifndef ANALYSES_ROOFLINE_WORK_OPERATOR_H
#define ANALYSES_ROOFLINE_WORK_OPERATOR_H

#include "work.h"

/* `inputs` as in timeline_range.inputs. Not `known`: no formula, or the inputs do not tell. Any thread. */
struct work work_of_operator(const char *name, const char *inputs);

/* "[8, 4] x [4, 2] float", for people; `room` bytes are enough for the longest that is printed. */
#define WORK_SHAPE_BYTES 96
void work_operator_shape(const char *inputs, char room[WORK_SHAPE_BYTES]);

#endif
