/* CUPTI as far as this project calls it. */
#ifndef SOFTGPU_CUPTI_H
#define SOFTGPU_CUPTI_H

#include "pm_cupti.h"

#define PM_PROTOTYPE(name, parameters) CUptiResult name parameters;
PM_CUPTI_FUNCTIONS(PM_PROTOTYPE)
#undef PM_PROTOTYPE

#endif
