/*
 * SOFTGPU_DISTURB: what is made slower, where and by how much. Shared by the model clock and by the library
 * that delays input, so it needs nothing else of softgpu.
 */
#ifndef SG_RULES_H
#define SG_RULES_H

#include <stddef.h>

#define SG_RULE_RANKS 512
#define SG_RULE_NAME 96
#define SG_LINK_ANY -1
#define SG_LINK_NONE -2

/* Selectors that a rule does not name hold for all. Times are nanoseconds, unscaled. */
struct sg_rule {
	int ranks[SG_RULE_RANKS], rank_count;                            /* 0: all ranks */
	int device;                                                      /* -1: all */
	char layer[SG_RULE_NAME], phase[SG_RULE_NAME], op[SG_RULE_NAME]; /* patterns, "": all */
	int link[2]; /* ranks, SG_LINK_ANY; both SG_LINK_NONE: not given */
	double slow; /* factor of durations */
	double add_ns, launch_ns, latency_ns, input_ns;
	double bandwidth; /* factor of a link's */
	double jitter;
	unsigned long seed;
};

/*
 * Reads rules from a text ("RULE; RULE", or @FILE with a rule a line and # comments). A rank that the run
 * does not have, as far as that is known, is a mistake like others. Returns how many, -1 with one sentence in
 * error, which has room for a path. *rules is the caller's to free.
 */
int sg_rules_read(const char *text, struct sg_rule **rules, char *error, size_t error_bytes);

/* The process's rank: RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID, else 0. */
int sg_rules_rank(void);
/* How many ranks there are, as whoever started them says (WORLD_SIZE, OMPI_COMM_WORLD_SIZE, SLURM_NTASKS); 0:
 * nobody does. */
int sg_rules_world(void);
int sg_rule_has_rank(const struct sg_rule *rule, int rank);

#endif
