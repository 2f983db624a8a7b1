/*
 * Peak rates of devices: see device_peak.h.
 *
 * Figures are dense ones (without structured sparsity) at boost clock. Sources, by row:
 *   Kepler      Tesla K40 data sheet (2013): at base clock, as boost is off until the user sets it;
 *               Tesla K80 data sheet (2014): one of its two GPUs
 *   Maxwell     Tesla M60 data sheet (2015): one of its two GPUs
 *   Pascal      Tesla P100 data sheet (2016); GeForce GTX 1080 Ti, by its reference clock
 *   Volta       Tesla V100 data sheet (2018)
 *   Turing      Turing GPU Architecture Whitepaper WP-09183; T4 data sheet; reference clocks.
 *               Tensor rates with sums in FP32, as training has them: on GeForce half of those in FP16
 *   Ampere      A100 data sheet (2021); A10, A30, A40 data sheets; GA102 Whitepaper V2 (RTX 3080, 3090)
 *   Ada         L4, L40, L40S data sheets; Ada Whitepaper V2 (RTX 4080, 4090)
 *   Hopper      H100 data sheet; H200 data sheet (their tensor rates are with sparsity: here halved)
 *   CDNA        AMD Instinct MI250X (2021; one of its two GPUs), MI300X (2023), MI325X (2024) data sheets
 */
#include "device_peak.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TERA 1e12
#define GIGA 1e9

/* FP32, TF32, FP16, BF16, FP64, INT8 in 10^12 operations a second, 0: no unit for it; memory in GB/s. The
 * first name that is found in the device's counts. */
static const struct {
	const char *name;
	double tera[WORK_TYPE_COUNT];
	double giga_bytes;
} rows[] = {
	{"K40m", {4.29, 0, 0, 0, 1.43, 0}, 288},
	{"K40c", {4.29, 0, 0, 0, 1.43, 0}, 288},
	{"K40s", {4.29, 0, 0, 0, 1.43, 0}, 288},
	{"K40", {4.29, 0, 0, 0, 1.43, 0}, 288},
	{"K80", {4.37, 0, 0, 0, 1.46, 0}, 240},
	{"M60", {4.83, 0, 0, 0, 0.151, 0}, 160},
	{"GTX 1080 Ti", {11.34, 0, 0, 0, 0.354, 0}, 484},
	{"P100-PCIE-12GB", {9.3, 0, 18.7, 0, 4.7, 0}, 549},
	{"P100-PCIE", {9.3, 0, 18.7, 0, 4.7, 0}, 732},
	{"P100", {10.6, 0, 21.2, 0, 5.3, 0}, 732},
	{"V100-PCIE", {14, 0, 112, 0, 7, 0}, 900},
	{"V100S", {16.4, 0, 130, 0, 8.2, 0}, 1134},
	{"V100", {15.7, 0, 125, 0, 7.8, 0}, 900},
	{"Tesla T4", {8.1, 0, 65, 0, 0, 130}, 320},
	{"RTX 2080 Ti", {13.4, 0, 53.8, 0, 0.42, 215.2}, 616},
	{"RTX 2080", {10.1, 0, 40.3, 0, 0.315, 161.1}, 448},
	{"A100-SXM4-80GB", {19.5, 156, 312, 312, 19.5, 624}, 2039},
	{"A100-SXM-80GB", {19.5, 156, 312, 312, 19.5, 624}, 2039},
	{"A100 80GB PCIe", {19.5, 156, 312, 312, 19.5, 624}, 1935},
	{"A100", {19.5, 156, 312, 312, 19.5, 624}, 1555},
	{"A10", {31.2, 62.5, 125, 125, 0, 250}, 600},
	{"A30", {10.3, 82, 165, 165, 10.3, 330}, 933},
	{"A40", {37.4, 74.8, 149.7, 149.7, 0, 299.3}, 696},
	{"RTX 3080", {29.8, 29.8, 59.5, 59.5, 0, 238}, 760},
	{"RTX 3090", {35.6, 35.6, 71, 71, 0, 284}, 936},
	{"L40S", {91.6, 183, 362, 362, 0, 733}, 864},
	{"L40", {90.5, 90.5, 181, 181, 0, 362}, 864},
	{"L4", {30.3, 60, 121, 121, 0, 242.5}, 300},
	{"RTX 4080", {48.7, 48.7, 97.5, 97.5, 0, 389.9}, 716.8},
	{"RTX 4090", {82.6, 82.6, 165.2, 165.2, 0, 660.6}, 1008},
	{"H100 PCIe", {51, 378, 756, 756, 51, 1513}, 2000},
	{"H100 NVL", {60, 417.5, 835.5, 835.5, 60, 1670.5}, 3900},
	{"H100", {67, 494.5, 989.5, 989.5, 67, 1979}, 3350},
	{"H200 NVL", {60, 417.5, 835.5, 835.5, 60, 1670.5}, 4800},
	{"MI250X", {23.9, 23.9, 191.5, 191.5, 23.9, 191.5}, 1638},
	{"MI300X", {163.4, 653.7, 1307.4, 1307.4, 81.7, 2614.9}, 5300},
	{"MI325X", {163.4, 653.7, 1307.4, 1307.4, 81.7, 2614.9}, 6000},
	{"H200", {67, 494.5, 989.5, 989.5, 67, 1979}, 4800},
};

/* Words after a name that make it another device. */
static const char *const other_devices[] = {
	" Ti", " SUPER", " D", " with Max-Q", " Laptop", " Mobile", "-PG", " MIG"};

static bool is_device(const char *name, const char *row)
{
	const char *found = strstr(name, row);

	if (!found || isalnum((unsigned char)found[strlen(row)]) ||
		(found > name && isalnum((unsigned char)found[-1])))
		return false;
	found += strlen(row);
	for (size_t i = 0; i < sizeof(other_devices) / sizeof(*other_devices); i++)
		if (strncmp(found, other_devices[i], strlen(other_devices[i])) == 0)
			return false;
	return true;
}

/* What a device has no unit for is done as floats are; doubles at a 64th where nothing else is said. */
static void fill_up(struct device_peak *peak)
{
	for (int type = 0; type < WORK_TYPE_COUNT; type++)
		if (peak->flops[type] == 0)
			peak->flops[type] = peak->flops[WORK_F32] / (type == WORK_F64 ? 64 : 1);
}

struct device_peak device_peak_named(const char *name)
{
	struct device_peak peak = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!is_device(name, rows[i].name))
			continue;
		peak.source = "its data sheet";
		peak.bandwidth = rows[i].giga_bytes * GIGA;
		for (int type = 0; type < WORK_TYPE_COUNT; type++)
			peak.flops[type] = rows[i].tera[type] * TERA;
		fill_up(&peak);
		break;
	}
	return peak;
}

/* FP32 units of a multiprocessor: CUDA C++ Programming Guide, "Compute Capabilities", arithmetic throughput.
 */
static int units_of(int64_t major, int64_t minor)
{
	if (major == 6)
		return minor == 0 ? 64 : 128;
	if (major == 7)
		return 64;
	if (major == 8)
		return minor == 0 ? 64 : 128;
	return major >= 9 && major <= 12 ? 128 : 0;
}

struct device_peak device_peak(const struct timeline_device *device)
{
	struct device_peak peak = {0};

	if (!device)
		return peak;
	peak = device_peak_named(device->name);
	if (peak.source)
		return peak;
	/* a multiplication and an addition a clock; memory moves data at both edges of its clock */
	peak.flops[WORK_F32] = 2.0 * units_of(device->capability_major, device->capability_minor) *
			       (double)device->multiprocessors * (double)device->clock_khz * 1e3;
	peak.bandwidth = 2.0 * (double)device->memory_clock_khz * 1e3 * (double)device->memory_bus_bits / 8;
	if (!(peak.flops[WORK_F32] > 0) || !(peak.bandwidth > 0))
		return (struct device_peak){0};
	peak.source = "its clocks and units, without its matrix units";
	fill_up(&peak);
	return peak;
}

double device_peak_rate(const char *text)
{
	static const char prefixes[] = "kMGTP";
	const char *prefix;
	char *end;
	double rate = strtod(text, &end), factor = 1000;

	if (end == text || !(rate > 0) || rate > 1e30)
		return -1;
	while (*end == ' ')
		end++;
	prefix = *end ? strchr(prefixes, *end) : NULL;
	if (prefix) {
		for (const char *at = prefixes; at < prefix; at++)
			factor *= 1000;
		rate *= factor;
		end++;
	}
	if (*end && strcmp(end, "B/s") != 0 && strcmp(end, "FLOP/s") != 0 && strcmp(end, "FLOPS") != 0)
		return -1;
	return rate;
}

void device_peak_override(struct device_peak *peak, double flops, double bandwidth)
{
	if (flops > 0)
		for (int type = 0; type < WORK_TYPE_COUNT; type++)
			peak->flops[type] = flops;
	if (bandwidth > 0)
		peak->bandwidth = bandwidth;
	if (flops > 0 && bandwidth > 0)
		peak->source = "the options";
	else if ((flops > 0 || bandwidth > 0) && peak->source)
		peak->source = "the options and the device description";
}
