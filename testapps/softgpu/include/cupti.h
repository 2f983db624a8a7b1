/* CUPTI as far as this project calls it. */
#ifndef SOFTGPU_CUPTI_H
#define SOFTGPU_CUPTI_H

#include "pm_cupti.h"

#define PM_PROTOTYPE(name, parameters) CUptiResult name parameters;
PM_CUPTI_FUNCTIONS(PM_PROTOTYPE)
#undef PM_PROTOTYPE

/* What PyTorch's profiler calls besides. */
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
	CUpti_CallbackDomain domain, CUpti_CallbackId callback);
CUptiResult cuptiEnableDomain(
	uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain);

#endif
