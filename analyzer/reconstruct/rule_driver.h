/*
 * The driver of the rules. A stage is a table of rules, each with what applies it, in the order of the rows
 * of rule.h; it is of one of two kinds.
 *
 * RULE_SEARCH(stem, result, nothing, type, at): ways to find one thing, the strongest first.
 *
 *     struct STEM_rule { enum rule rule; result (*apply)(type *context); };
 *     result STEM_first(RULE_TABLE(rules), context);  what the first answers that finds it; else `nothing`
 *     result STEM_apply(&rule, context);              the same of one rule
 *
 * RULE_SEQUENCE(stem, type, at): rules for many things, each for what those before it have left open.
 *
 *     struct STEM_rule { enum rule rule; void (*apply)(type *context); };
 *     void STEM_each(RULE_TABLE(rules), context);
 *
 * A rule that is switched off (tests/mutation) is passed over. The one that is at work is noted in `at`, an
 * expression with `context` in it: what it proposes carries its name (layer_by, layer_pass_by), which `layers
 * --why` prints.
 */
#ifndef RECONSTRUCT_RULE_DRIVER_H
#define RECONSTRUCT_RULE_DRIVER_H

#include "rule.h"

#include <stddef.h>

#define RULE_TABLE(rules) (rules), sizeof(rules) / sizeof(*(rules))

#define RULE_SEARCH(stem, result, nothing, type, at) \
	struct stem##_rule { \
		enum rule rule; \
		result (*apply)(type *context); \
	}; \
\
	__attribute__((unused)) static result stem##_apply(const struct stem##_rule *rule, type *context) \
	{ \
		const enum rule outer = (at); \
		result found; \
\
		if (!rule_is_on(rule->rule)) \
			return nothing; \
		(at) = rule->rule; \
		found = rule->apply(context); \
		(at) = outer; \
		return found; \
	} \
\
	__attribute__((unused)) static result stem##_first( \
		const struct stem##_rule *rules, size_t count, type *context) \
	{ \
		result found = nothing; \
\
		for (size_t i = 0; i < count && found == nothing; i++) \
			found = stem##_apply(&rules[i], context); \
		return found; \
	}

#define RULE_SEQUENCE(stem, type, at) \
	struct stem##_rule { \
		enum rule rule; \
		void (*apply)(type *context); \
	}; \
\
	static void stem##_each(const struct stem##_rule *rules, size_t count, type *context) \
	{ \
		const enum rule outer = (at); \
\
		for (size_t i = 0; i < count; i++) { \
			(at) = rules[i].rule; \
			if (rule_is_on(rules[i].rule)) \
				rules[i].apply(context); \
		} \
		(at) = outer; \
	}

#endif
