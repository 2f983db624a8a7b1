/*
 * A loss is made of results, and not only of the last: of what layers in the middle make too, as that of an
 * autoencoder's distribution or of a style. What it works on does not tell that. But it is made after the
 * last layer, and goes back before that does.
 */
#include "layer_flow_assign.h"

/* The last step of the forward half that has a parameter; FLOW_NOWHERE: none has. */
static uint32_t last_layer(const struct flow_assigning *a)
{
	for (uint32_t i = a->pass->turn; i-- > a->pass->begin;)
		if (a->fixed[i])
			return i;
	return FLOW_NOWHERE;
}

void flow_place_loss(struct flow_assigning *a, uint32_t end)
{
	const uint32_t layer = last_layer(a);
	const uint32_t begin = end == a->pass->turn ? layer + 1 : a->pass->turn;

	for (uint32_t i = begin; layer != FLOW_NOWHERE && i < end && !a->fixed[i]; i++) {
		if (a->groups[i] != FLOW_NOWHERE &&
			flow_group(a->work, a->groups[i]) == flow_group(a->work, a->groups[layer]))
			continue;
		a->groups[i] = a->groups[layer];
		flow_by(a, i, LAYER_WHY_LOSS, FLOW_NOWHERE, layer);
	}
}
