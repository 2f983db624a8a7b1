/* The usual sequence of a worker's pieces, and what a piece has in front of it: see iteration_find.h. */
#include "iteration_find.h"

#include <stdlib.h>
#include <string.h>

static uint64_t key_at(const struct iteration_finder *finder, size_t position)
{
	return iteration_operation_at(finder, position)->key;
}

static uint64_t manner_at(const struct iteration_finder *finder, size_t position)
{
	return flow_manner(finder->timeline, &finder->timeline->operations[finder->operations[position]]);
}

bool iteration_is_more_than_forward(const struct iteration_finder *finder, size_t first, size_t end)
{
	const struct worker_model *model = finder->model;
	uint64_t *manners = mem_alloc(model->parameter_count, sizeof(*manners));
	bool more = false;

	for (size_t i = first; i < end && !more; i++) {
		const struct worker_role *role = &model->roles[finder->operations[i]];

		more = role->flags & (WORKER_BACKWARD | WORKER_UPDATES);
		for (uint32_t j = 0; j < role->parameter_count && !more; j++) {
			uint64_t *manner = &manners[model->touched[role->first_parameter + j]];
			uint64_t here = 1 + manner_at(finder, i);

			more = *manner && *manner != here;
			*manner = here;
		}
	}
	free(manners);
	return more;
}

static void hash_piece(const struct iteration_finder *finder, struct iteration_piece *piece)
{
	piece->structure = MEM_HASH_START;
	piece->core_count = 0;
	for (size_t i = piece->start; i < piece->end; i++) {
		const struct iteration_operation *operation = iteration_operation_at(finder, i);

		if (!(operation->flags & WORKER_CORE))
			continue;
		piece->structure = mem_hash(piece->structure, operation->key);
		piece->core_count++;
	}
}

static int compare_pieces(const void *left, const void *right)
{
	const struct iteration_piece *a = left, *b = right;

	if (a->structure != b->structure)
		return a->structure < b->structure ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/*
 * The most frequent sequence; of equally frequent ones the shortest, which has nothing in front of it. One
 * that may lack its start counts for as little as can be.
 */
static void find_usual(struct iteration_finder *finder)
{
	struct iteration_piece *sorted;
	size_t best = 0, best_length = 0;
	bool best_cut = true;

	if (finder->piece_count == 0)
		return;
	sorted = mem_alloc(finder->piece_count, sizeof(*sorted));
	memcpy(sorted, finder->pieces, finder->piece_count * sizeof(*sorted));
	for (size_t i = 0; i < finder->piece_count && finder->judged; i++)
		sorted[i].cut |= !sorted[i].alike;
	qsort(sorted, finder->piece_count, sizeof(*sorted), compare_pieces);
	for (size_t i = 0, end; i < finder->piece_count; i = end) {
		bool cut = true;

		for (end = i; end < finder->piece_count && sorted[end].structure == sorted[i].structure;
			end++)
			cut &= sorted[end].cut;
		if ((best_cut && !cut) ||
			(best_cut == cut && (end - i > best || (end - i == best && sorted[i].core_count <
											   best_length)))) {
			best = end - i;
			best_cut = cut;
			best_length = sorted[i].core_count;
			finder->usual = sorted[i].structure;
		}
	}
	free(sorted);
	for (size_t i = finder->piece_count; i-- > 0;)
		if (finder->pieces[i].structure == finder->usual)
			finder->usual_piece = i;
}

/* Does the longer piece end with the sequence of the shorter one? Then where that starts in it, else
 * SIZE_MAX. */
static size_t find_suffix(const struct iteration_finder *finder, const struct iteration_piece *longer,
	const struct iteration_piece *shorter)
{
	size_t i = longer->end, j = shorter->end;

	if (longer->core_count <= shorter->core_count)
		return SIZE_MAX;
	for (size_t matched = 0; matched < shorter->core_count; matched++) {
		do
			i--;
		while (!iteration_is_core(finder, i));
		do
			j--;
		while (!iteration_is_core(finder, j));
		if (key_at(finder, i) != key_at(finder, j))
			return SIZE_MAX;
	}
	return i;
}

/*
 * Is forward work of [first, start) done again, in the same manner, in [start, end)? So it is with an
 * evaluation and the iteration after it; not where the calls of one iteration are cut in two.
 */
static bool goes_forward_again(const struct iteration_finder *finder, size_t first, size_t start, size_t end)
{
	for (size_t i = first; i < start; i++)
		for (size_t j = start; j < end && (iteration_operation_at(finder, i)->flags & WORKER_READS);
			j++)
			if (key_at(finder, i) == key_at(finder, j) &&
				manner_at(finder, i) == manner_at(finder, j))
				return true;
	return false;
}

/*
 * Where an evaluation comes before every iteration but the first, the usual sequence is that of the first. A
 * pipeline's last iterations, which only go backward, are none.
 */
static void shorten_usual(struct iteration_finder *finder)
{
	for (size_t i = 0; i < finder->piece_count; i++) {
		const struct iteration_piece *usual = &finder->pieces[finder->usual_piece],
					     *piece = &finder->pieces[i];
		size_t start;

		if (piece->structure == finder->usual || piece->core_count == 0 || piece->cut)
			continue;
		start = find_suffix(finder, usual, piece);
		if (start != SIZE_MAX && !iteration_is_more_than_forward(finder, usual->start, start) &&
			goes_forward_again(finder, usual->start, start, usual->end)) {
			finder->usual = piece->structure;
			finder->usual_piece = i;
		}
	}
}

/* What comes before the usual sequence does not belong to the piece. */
static void strip(struct iteration_finder *finder, struct iteration_piece *piece)
{
	size_t start = find_suffix(finder, piece, &finder->pieces[finder->usual_piece]);

	if (start == SIZE_MAX)
		return;
	piece->start = start;
	hash_piece(finder, piece);
}

/* A piece does not reach over a time that was not recorded: what lies before it was broken off. */
static void respect_windows(struct iteration_finder *finder)
{
	const struct timeline_process *process = &finder->timeline->processes[finder->worker->process];
	size_t kept = 0;

	for (size_t i = 0; i < finder->piece_count; i++) {
		struct iteration_piece piece = finder->pieces[i];
		bool any = false;

		for (size_t gap; piece.end > piece.first && (gap = iteration_gap_in(finder, piece.first + 1,
								     piece.end - 1)) != SIZE_MAX;)
			piece.first = piece.start = gap;
		piece.cut = iteration_gap_in(finder, piece.first, piece.first) != SIZE_MAX ||
			    (i == 0 && process->window_count > 0);
		for (size_t j = piece.first; j < piece.end && !any; j++)
			any = iteration_is_core(finder, j);
		if (any)
			finder->pieces[kept++] = piece;
	}
	finder->piece_count = kept;
}

double iteration_usual_share(const struct iteration_finder *finder)
{
	size_t usual = 0, all = 0;

	for (size_t i = 0; i < finder->piece_count; i++) {
		all += finder->pieces[i].core_count;
		usual += finder->pieces[i].structure == finder->usual ? finder->pieces[i].core_count : 0;
	}
	return all ? (double)usual / (double)all : 0;
}

void iteration_find_usual(struct iteration_finder *finder)
{
	for (size_t i = 0; i < finder->piece_count; i++)
		hash_piece(finder, &finder->pieces[i]);
	find_usual(finder);
}

/* Finds the usual sequence of the pieces, and strips off what comes before it where no search has done so. */
void iteration_settle_pieces(struct iteration_finder *finder)
{
	respect_windows(finder);
	for (size_t i = 0; i < finder->piece_count; i++)
		hash_piece(finder, &finder->pieces[i]);
	find_usual(finder);
	if (finder->judged || finder->piece_count == 0)
		return;
	if (finder->source != ITERATION_BY_OPTIMIZER &&
		finder->source != ITERATION_BY_RANGES) /* whose pieces are whole steps */
		shorten_usual(finder);
	for (size_t i = 0; i < finder->piece_count; i++)
		strip(finder, &finder->pieces[i]);
}
