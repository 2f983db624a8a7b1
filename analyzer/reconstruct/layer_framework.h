/* Inside layer_framework*.c: layers by the modules that the framework names. */
#ifndef RECONSTRUCT_LAYER_FRAMEWORK_H
#define RECONSTRUCT_LAYER_FRAMEWORK_H

#include "framework/framework.h"
#include "layer_assign.h"

/* What steps are, for those around them that have no module to tell. */
enum layer_anchor { LAYER_NO_ANCHOR, LAYER_IN_FORWARD, LAYER_IN_BACKWARD, LAYER_IN_UPDATE };
enum layer_anchor layer_anchor_of(const struct framework_word *word);

/* By step, in runs of operators without gradients, some of them with weights: of what kind they are;
 * LAYER_WHY_NONE: in none, or in what a module works out between two operators of its own. next: by step, the
 * next anchor if that is of a forward pass, or GRAPH_NONE. */
void layer_find_evaluations(
	const struct framework_word *words, const uint32_t *next, uint32_t count, enum layer_why *evaluates);

/* The layer of a module that has parameters, of which `step` is a call: a new one where there is none. What data flow took
 * for a layer without a name gets this one. */
uint32_t layer_of_module(struct layer_assign *assign, uint32_t step, const char *module);

/* Does a call's layer rest on weights that it reads, or on what it reads together with a call that reads them? */
bool layer_is_sure(const struct layer_assign *assign, uint32_t step);

/* Layers of calls in compiled code, `compiled` by step, that data flow has guessed against the order of a pass. */
void layer_order_compiled(struct layer_assign *assign, const bool *compiled);

/* What data flow took for several layers of one module is one; the others lose their names, and go with layer_sort. */
void layer_join_modules(struct layer_assign *assign);

/* Where all layers but those with a class's name have the same outermost module, it is theirs too. */
void layer_name_roots(struct layer_list *list);

/* Is it computation, that the shares below are of? */
bool layer_computes(enum pm_kind kind);

/* Is the pass of most of the computing time said, by the framework or by the flow of data in what it
 * compiled? Where all roles are known, the list's shares of time with phase and layer. */
bool layer_is_mostly_said(const struct layer_assign *assign);
void layer_note_said(struct layer_assign *assign);

/* Puts layers in the order in which forward passes come to them. */
void layer_sort(struct layer_assign *assign);

/* Is the outermost module's name that of its class, for want of a variable's? Variables begin with small letters. Two
 * modules of a class may have the same path then. */
bool layer_is_class_name(const char *module);

/* Is the outermost module of both the same variable's? NULL has none. */
bool layer_same_root(const char *module, const char *other);

#endif
