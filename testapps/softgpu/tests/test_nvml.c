/* Checks what the stand-in management library says of the fabric that devices are in. Argument: the profile's
 * compute capability, major number. */
#include "test_common.h"

#include <string.h>

struct info {
	unsigned version;
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
	unsigned health;
	unsigned char summary;
};

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetGpuFabricInfoV(const void *device, struct info *info);

int main(int argc, char **argv)
{
	int hopper = argc > 1 && atoi(argv[1]) >= 9;
	struct info info;
	void *device;

	CHECK(nvmlInit_v2() == 0);
	CHECK(nvmlDeviceGetHandleByIndex_v2(0, &device) == 0);
	memset(&info, 0xff, sizeof(info));
	info.version = 36 | 2u << 24;
	CHECK(nvmlDeviceGetGpuFabricInfoV(NULL, &info) == 2);
	CHECK(nvmlDeviceGetGpuFabricInfoV(device, NULL) == 2);
	CHECK(nvmlDeviceGetGpuFabricInfoV(device, &info) == (hopper ? 0 : 3));
	if (!hopper) {
		CHECK(info.state == 0xff);
		return 0;
	}
	CHECK(info.state == 3 && info.status == 0 && info.clique == 0 && info.cluster[15] == 0);
	CHECK(info.summary == 0xff); /* not there in this version */
	info.version = 40 | 3u << 24;
	CHECK(nvmlDeviceGetGpuFabricInfoV(device, &info) == 0 && info.summary == 1);
	info.version = 1;
	CHECK(nvmlDeviceGetGpuFabricInfoV(device, &info) == 25);
	return 0;
}
