/* Checks what the model clock says of bad settings and files, and that good ones are read. */
#include <locale.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "test_clock.h"

static void test_nothing(void)
{
	kernel(NULL, 1 * MS);
}

static void write_bytes(const char *name, const char *bytes, size_t count)
{
	FILE *file = fopen(test_path(name), "w");

	CHECK(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

/* The first use comes after the file is written. */
static void bad_profile(const char *text)
{
	write_text("bad.profile", text);
	setenv("SOFTGPU_PROFILE", test_path("bad.profile"), 1);
	test_nothing();
}

static void test_bad_key(void)
{
	bad_profile("name X\n# comment\nmemory_gob 3\n");
}
static void test_bad_number(void)
{
	bad_profile("name X\nmemory_gib 3x\n");
}
static void test_bad_range(void)
{
	bad_profile("name X\n\n\nmemory_gib -3\n");
}
static void test_bad_alone(void)
{
	bad_profile("name X\nmemory_gib\n");
}
static void test_bad_twice(void)
{
	bad_profile("name X\nmemory_gib 3\nmemory_gib 3\n");
}
static void test_bad_end(void)
{
	bad_profile("name X\nmemory_gib 3\n");
}

static void test_bad_name_twice(void)
{
	bad_profile("name X\nmemory_gib 3\nname Y\n");
}
static void test_bad_empty(void)
{
	bad_profile("");
}
static void test_bad_binary(void)
{
	static const char text[] = "name X\nmemory_gib 3\0 5\n";

	write_bytes("bad.profile", text, sizeof(text) - 1);
	setenv("SOFTGPU_PROFILE", test_path("bad.profile"), 1);
	test_nothing();
}
static void test_bad_long(void)
{
	static char text[2000] = "name X\nmemory_gib ";

	memset(text + 18, '3', sizeof(text) - 20);
	bad_profile(text);
}
static void test_profile_folder(void)
{
	setenv("SOFTGPU_PROFILE", test_path(""), 1);
	test_nothing();
}

static void use_rules(const char *text, size_t count)
{
	char value[600];

	write_bytes("rules", text, count);
	snprintf(value, sizeof(value), "@%s", test_path("rules"));
	setenv("SOFTGPU_DISTURB", value, 1);
}
static void test_rules_line(void)
{
	static const char text[] = "# a comment; slow=2\nslow=2; add=1ms\nslow=2; sluw=2\n";

	use_rules(text, sizeof(text) - 1);
	test_nothing();
}
static void test_rules_binary(void)
{
	static const char text[] = "slow=2\n\0slow=2\n";

	use_rules(text, sizeof(text) - 1);
	test_nothing();
}
static void test_rules_large(void)
{
	static char text[300000];

	memset(text, '#', sizeof(text));
	use_rules(text, sizeof(text));
	test_nothing();
}

/* A program's language writes numbers with a comma; the profile's and the rules' are with a point. */
static void test_comma(void)
{
	static const char *const languages[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8"};

	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
		if (setlocale(LC_ALL, languages[i]) != NULL)
			break;
	}
	watch();
	kernel(NULL, 10 * MS);
	OK(cudaDeviceSynchronize());
	CHECK(lasted(seen(0)) == 15 * MS / 2);
}

static void test_rules_file(void)
{
	static const char text[] = "# two rules\nslow=2 # one\n\n  add=1ms;add=1ms\n";

	use_rules(text, sizeof(text) - 1);
	watch();
	kernel(NULL, 10 * MS);
	OK(cudaDeviceSynchronize());
	CHECK(lasted(seen(0)) == 22 * MS);
}

/* The profiles that come with softgpu can be read, and are what they are called. */
static void shipped(const char *name, double least_gib)
{
	struct cudaDeviceProp properties;

	OK(cudaGetDeviceProperties(&properties, 0));
	CHECK(strstr(properties.name, name) != NULL);
	CHECK((double)properties.totalGlobalMem >= least_gib * 1073741824.0);
	kernel(NULL, 1 * MS);
	OK(cudaDeviceSynchronize());
}
static void test_rtx2080(void)
{
	shipped("RTX 2080", 8);
}
static void test_v100(void)
{
	shipped("V100", 16);
}
static void test_a100(void)
{
	shipped("A100", 40);
}
static void test_h200(void)
{
	shipped("H200", 130);
}

/* What computes is loaded late, so that only this can say what is missing. */
static void test_missing_library(void)
{
	void *library = sg_library_open("libm.so.6", "/nowhere/libm.so"), *call;

	CHECK(library != NULL && sg_library_find(library, "cos", &call) == 0 && call != NULL);
	CHECK(sg_library_find(library, "no_such_call", &call) == -1);
	CHECK(sg_library_open("libnone.so.1", "/nowhere/libnone.so") == NULL);
	exit(1);
}

/* What is said of these settings ends nothing; so the case does. */
static void test_wrong_setting(void)
{
	int devices = 0;

	OK(cudaGetDeviceCount(&devices));
	CHECK(devices == 8);
	exit(1);
}

const struct clock_case settings_cases[] = {
	{"devices_none", test_wrong_setting, {"SOFTGPU_DEVICES=0"},
		"SOFTGPU_DEVICES: found '0', expected a number from 1 to "},
	{"devices_word", test_wrong_setting, {"SOFTGPU_DEVICES=8x"}, "SOFTGPU_DEVICES: found '8x'"},
	{"memory_large", test_wrong_setting, {"SOFTGPU_MEMORY=17179869185G"},
		"SOFTGPU_MEMORY: found '17179869185G', expected a number from 1 to 70368744177664"},
	{"fail_when", test_wrong_setting, {"SOFTGPU_FAIL=cudaGetDeviceCount"},
		"SOFTGPU_FAIL: found 'cudaGetDeviceCount', expected name:k"},
	{"fail_second", test_wrong_setting, {"SOFTGPU_FAIL=cudaMalloc:1,cudaGetDeviceCount:x"},
		"SOFTGPU_FAIL: found 'cudaGetDeviceCount:x', expected name:k"},
	{"missing_library", test_missing_library, {NULL},
		"softgpu: libnone.so.1: /nowhere/libnone.so: cannot open shared object file"},
	{"rules_file", test_rules_file, {NULL}, NULL},
	{"bad_word", test_nothing, {DISTURB("slow=2; sluw=2")},
		"rule 2: found 'sluw=', expected one of rank=, device=, "},
	{"bad_value", test_nothing, {DISTURB("add=5")}, "rule 1: found 'add=5', expected a time such as 5ms"},
	{"bad_factor", test_nothing, {DISTURB("slow=0")},
		"rule 1: found 'slow=0', expected a factor above 0"},
	{"bad_link", test_nothing, {DISTURB("link=1 latency=1us")},
		"rule 1: found 'link=1', expected two ranks"},
	{"bad_twice_word", test_nothing, {DISTURB("slow=2 rank=1 slow=3")}, "rule 1: duplicate 'slow='"},
	{"bad_ranks", test_nothing, {DISTURB("rank=1, slow=2")}, "rule 1: found 'rank=1,', expected a rank"},
	{"absent_rank", test_nothing, {DISTURB("slow=2; rank=1,4 slow=3"), "RANK=1", "WORLD_SIZE=4"},
		"rule 2: found 'rank=4', but the run's ranks are 0 to 3"},
	{"absent_rank_mpi", test_nothing, {DISTURB("rank=2 add=1ms"), "OMPI_COMM_WORLD_SIZE=2"},
		"rule 1: found 'rank=2', but the run's ranks are 0 to 1"},
	{"absent_device", test_nothing, {DISTURB("device=8 slow=2")},
		"rule 1: found 'device=8', but the devices are 0 to 7"},
	{"bad_device", test_nothing, {DISTURB("device=4294967296 slow=2")},
		"found 'device=4294967296', expected a device number"},
	{"bad_seed", test_nothing, {DISTURB("jitter=0.1 seed=-1")}, "found 'seed=-1', expected an integer"},
	{"bad_nan", test_nothing, {DISTURB("slow=nan")}, "found 'slow=nan', expected a factor above 0"},
	{"bad_time", test_nothing, {DISTURB("add=-5ms")}, "found 'add=-5ms', expected a time"},
	{"bad_jitter", test_nothing, {DISTURB("jitter=1.5")}, "found 'jitter=1.5', expected a fraction"},
	{"slow_link", test_nothing, {DISTURB("link=0-1 slow=4")},
		"rule 1: found slow= with link=, expected with it only rank=, device=, layer=, phase=, op="},
	{"layer_latency", test_nothing, {DISTURB("layer=a latency=4us")},
		"rule 1: found latency= with layer=, expected with it only rank=, link="},
	{"no_effect", test_nothing, {DISTURB("rank=1")}, "rule 1: found no effect"},
	{"no_clock", test_nothing, {DISTURB("slow=2"), "SOFTGPU_PROFILE="}, "expected SOFTGPU_PROFILE"},
	{"no_rules_file", test_nothing, {DISTURB("@/nowhere/rules")}, "/nowhere/rules: No such file"},
	{"rules_folder", test_nothing, {DISTURB("@/")}, "/: Is a directory; expected a text of rules"},
	{"rules_line", test_rules_line, {NULL}, "rules:3: found 'sluw=', expected one of rank="},
	{"rules_binary", test_rules_binary, {NULL},
		"rules: byte 7: found a byte 0, expected a text of rules"},
	{"rules_large", test_rules_large, {NULL}, "rules: found 256 KiB or more, expected"},
	{"comma", test_comma, {DISTURB("slow=0.75")}, NULL},
	{"scale_nan", test_nothing, {"SOFTGPU_TIME_SCALE=nan"}, "found 'nan', expected a number from 0.001"},
	{"bad_scale_unused", test_nothing, {"SOFTGPU_TIME_SCALE=2x", "SOFTGPU_PROFILE="},
		"SOFTGPU_TIME_SCALE: found '2x'"},
	{"bad_scale", test_nothing, {"SOFTGPU_TIME_SCALE=0"}, "expected a number from 0.001"},
	{"bad_numerics", test_nothing, {"SOFTGPU_NUMERICS=yes"}, "found 'yes', expected on or off"},
	{"no_profile", test_nothing, {"SOFTGPU_PROFILE=none"},
		"profiles/none.profile: No such file or directory; expected a path with a '/' in it, or one of "
		"a100 b200 h100 h200 l40s mi300x rtx2080 rtx4090 v100"},
	{"profile_folder", test_profile_folder, {NULL}, "Is a directory; expected a device profile"},
	{"bad_name_twice", test_bad_name_twice, {NULL}, "bad.profile:3: duplicate 'name'"},
	{"bad_empty", test_bad_empty, {NULL}, "bad.profile:0: found the end, expected a line 'name'"},
	{"bad_binary", test_bad_binary, {NULL},
		"bad.profile: byte 19: found a byte 0, expected a device profile"},
	{"bad_long", test_bad_long, {NULL}, "bad.profile:2: found '333"},
	{"bad_key", test_bad_key, {NULL}, "bad.profile:3: found 'memory_gob', expected the name of a value"},
	{"bad_number", test_bad_number, {NULL},
		"bad.profile:2: found '3x' for memory_gib, expected a number"},
	{"bad_range", test_bad_range, {NULL}, "bad.profile:4: found '-3' for memory_gib"},
	{"bad_alone", test_bad_alone, {NULL}, "bad.profile:2: found 'memory_gib' without a value"},
	{"bad_twice", test_bad_twice, {NULL}, "bad.profile:3: duplicate 'memory_gib'"},
	{"bad_end", test_bad_end, {NULL}, "bad.profile:2: found the end, expected a line 'multiprocessors'"},
	{"rtx2080", test_rtx2080, {"SOFTGPU_PROFILE=rtx2080"}, NULL},
	{"v100", test_v100, {"SOFTGPU_PROFILE=v100"}, NULL},
	{"a100", test_a100, {"SOFTGPU_PROFILE=a100"}, NULL},
	{"h200", test_h200, {"SOFTGPU_PROFILE=h200"}, NULL},
	{NULL, NULL, {NULL}, NULL},
};
