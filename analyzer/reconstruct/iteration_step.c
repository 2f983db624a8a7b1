/* Iterations by the program's own marks, and how far they are those that the calls alone tell. */
#include "iteration_find.h"

#include <stdlib.h>
#include <string.h>

bool iteration_cut_steps(struct iteration_finder *finder)
{
	const struct timeline *timeline = finder->timeline;
	const struct timeline_process *process = &timeline->processes[finder->worker->process];
	const struct worker *worker = finder->worker;

	for (uint32_t i = 0; i < process->step_count; i++) {
		const struct timeline_step *step = &timeline->steps[process->first_step + i];
		size_t first = worker_find(timeline, worker->calls, worker->call_count, step->begin_ns);
		size_t end = worker_find(timeline, worker->calls, worker->call_count, step->end_ns);
		bool any = false;

		for (size_t j = first; j < end && !any; j++)
			any = iteration_is_core(finder, j);
		if (any)
			*MEM_PUSH(finder->pieces, finder->piece_count, finder->piece_room) =
				(struct iteration_piece){.first = first,
					.start = first,
					.end = end,
					.begin_ns = step->begin_ns,
					.end_ns = step->end_ns};
	}
	return finder->piece_count > 0;
}

/* The piece of each call, + 1; 0: of none. */
static uint32_t *pieces_by_call(const struct iteration_finder *finder)
{
	uint32_t *pieces = mem_alloc(finder->worker->call_count, sizeof(*pieces));

	for (size_t i = 0; i < finder->piece_count; i++)
		for (size_t j = finder->pieces[i].start; j < finder->pieces[i].end; j++)
			pieces[j] = (uint32_t)i + 1;
	return pieces;
}

double iteration_agreement(const struct iteration_finder *finder, const struct iteration_finder *other)
{
	uint32_t *others = pieces_by_call(other);
	bool *taken = mem_alloc(other->piece_count + 1, sizeof(*taken));
	size_t all = 0, common = 0;

	for (size_t i = 0; i < finder->piece_count; i++) {
		const struct iteration_piece *piece = &finder->pieces[i];
		size_t best = 0, run = 0;
		uint32_t best_piece = 0;

		/* Both are in order, so what is shared with a piece lies together. */
		for (size_t j = piece->start; j < piece->end; j++) {
			run = j > piece->start && others[j] == others[j - 1] ? run : 0;
			if (!iteration_is_core(finder, j))
				continue;
			all++;
			run++;
			if (others[j] && run > best) {
				best = run;
				best_piece = others[j];
			}
		}
		common += taken[best_piece] ? 0 : best;
		taken[best_piece] = best_piece > 0;
	}
	free(others);
	free(taken);
	return all ? (double)common / (double)all : 0;
}

void iteration_compare_steps(struct iteration_finder *finder, struct iteration_list *list)
{
	struct iteration_finder sequence = *finder;

	sequence.pieces = NULL;
	sequence.piece_count = sequence.piece_room = 0;
	sequence.usual_piece = 0;
	iteration_cut_sequence(&sequence);
	list->sequence = sequence.piece_count ? sequence.source : ITERATION_BY_NOTHING;
	list->sequence_count = sequence.piece_count;
	list->agreement = iteration_agreement(finder, &sequence);
	list->candidates = sequence.candidates;
	finder->framework = sequence.framework; /* which is read once */
	free(sequence.marks);
	free(sequence.pieces);
}

int64_t iteration_step_begin(
	const struct iteration_finder *finder, const struct iteration_piece *piece, size_t position)
{
	while (position-- > 0)
		if (iteration_is_core(finder, position)) {
			int64_t done_ns = timeline_call_end(finder->timeline,
				TIMELINE_CALL(finder->timeline, finder->worker->calls[position]));

			return done_ns > piece->begin_ns ? done_ns : piece->begin_ns;
		}
	return piece->begin_ns;
}
