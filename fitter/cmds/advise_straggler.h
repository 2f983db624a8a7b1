/* What of a run's step its stragglers and slow links cost, as 'pmanalyze report --json' tells, and a rank without such. */
#ifndef CMDS_ADVISE_STRAGGLER_H
#define CMDS_ADVISE_STRAGGLER_H

enum { ADVISE_STRAGGLER_RANKS = 64 };

struct advise_stragglers {
	double delay;     /* of a step, in ns: what is lost to the costliest rank; 0: none is sure */
	char *text;       /* "Straggler rank 2: slower layer conv2", the costliest rank's; NULL: none */
	char *ranks[ADVISE_STRAGGLER_RANKS]; /* "rank 2": all that have one */
	int rank_count;
};

/* Findings that are weak do not count. NULL, or what is wrong, as text_file_json's; advise_stragglers_free in
 * either case. */
const char *advise_stragglers_read(struct advise_stragglers *stragglers, const char *path);
void advise_stragglers_free(struct advise_stragglers *stragglers);

/* Leaves in the file, of 'pmanalyze layers --ranks --json', the layers of the first rank without one, as of a
 * run of its own. NULL, or what is wrong. */
const char *advise_stragglers_leave(const struct advise_stragglers *stragglers, const char *path);

#endif
