/*
 * How a row of the backend's tables is written: see struct sg_rule.
 */
#ifndef CUDNN_BACKEND_RULES_H
#define CUDNN_BACKEND_RULES_H

#include "backend.h"

#define NUMBER(role, attribute, kept_type, least, most) \
	[role] = {.name = CUDNN_ATTR_##attribute, .type = (kept_type), .min = (least), .max = (most)}
/* One element that has a value when it was not set. */
#define DEFAULT(role, attribute, kept_type, value) \
	[role] = {.name = CUDNN_ATTR_##attribute, \
		.type = (kept_type), \
		.max = 1, \
		.flags = SG_RULE_FALLBACK, \
		.fallback = (value)}
#define ANSWER(role, attribute, kept_type, most) \
	[role] = {.name = CUDNN_ATTR_##attribute, .type = (kept_type), .max = (most), .flags = SG_RULE_ANSWER}
#define PART(role, attribute, kind, least) \
	[role] = {.name = CUDNN_ATTR_##attribute, \
		.type = CUDNN_TYPE_BACKEND_DESCRIPTOR, \
		.min = (least), \
		.max = 1, \
		.of = CUDNN_BACKEND_##kind##_DESCRIPTOR}
#define PARTS(role, attribute, kind, rule_flags) \
	[role] = {.name = CUDNN_ATTR_##attribute, \
		.type = CUDNN_TYPE_BACKEND_DESCRIPTOR, \
		.max = INT32_MAX, \
		.flags = (rule_flags), \
		.of = CUDNN_BACKEND_##kind##_DESCRIPTOR}
#define READ(role, attribute) PART(role, attribute, TENSOR, 1)
#define MAY_READ(role, attribute) PART(role, attribute, TENSOR, 0)
#define WRITTEN(role, attribute, least) \
	[role] = {.name = CUDNN_ATTR_##attribute, \
		.type = CUDNN_TYPE_BACKEND_DESCRIPTOR, \
		.min = (least), \
		.max = 1, \
		.flags = SG_RULE_OUTPUT, \
		.of = CUDNN_BACKEND_TENSOR_DESCRIPTOR}
#define WRITES(role, attribute) WRITTEN(role, attribute, 1)
#define MAY_WRITE(role, attribute) WRITTEN(role, attribute, 0)

#define INT64 CUDNN_TYPE_INT64
#define DATA_TYPE CUDNN_TYPE_DATA_TYPE
#define BOOLEAN CUDNN_TYPE_BOOLEAN
#define REAL SG_TYPE_REAL
#define WHOLE SG_TYPE_WHOLE

#define KIND(of, rules, ...) \
	{ \
		CUDNN_BACKEND_##of##_DESCRIPTOR, (int)(sizeof(rules) / sizeof((rules)[0])), rules, \
			__VA_ARGS__ \
	}

#endif
