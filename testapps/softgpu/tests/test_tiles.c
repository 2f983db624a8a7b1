/* Checks the time of products and convolutions against closed forms, and the reading of curves. */
#include <math.h>
#include <string.h>

#include "core/tiles.h"
#include "test_common.h"

#define NEAR(a, b) CHECK(fabs((double)(a) - (double)(b)) <= 1e-6 * fabs((double)(b)))

/* 100 multiprocessors of 1000 operations a ns each, and a memory that is never what binds. */
static const struct sg_tile_device device = {100, 100000, 1e6, 0};
static const struct sg_tile_device scalar = {100, 100000, 1e6, 1};
/* Nothing but the arithmetic. */
static const struct sg_curve ideal = {.efficiency = 0.5,
	.memory = 1,
	.unaligned = 0.1,
	.padded = 0.2,
	.direct = 0.25,
	.narrow = 0.05,
	.channel_step = 1};

static struct sg_geometry product(double m, double n, double k)
{
	return (struct sg_geometry){.is_known = 1,
		.work = SG_PRODUCT,
		.element_bytes = 2,
		.alignment = 16,
		.count = 1,
		.m = m,
		.n = n,
		.k = k};
}

static struct sg_geometry convolution(enum sg_work_kind work, int is_channels_last, double taps)
{
	return (struct sg_geometry){.is_known = 1,
		.work = work,
		.element_bytes = 4,
		.alignment = 16,
		.count = 1,
		.images = 10,
		.channels = 64,
		.pixels = 1024,
		.filters = 64,
		.out_pixels = 1024,
		.taps = taps,
		.stride = 1,
		.is_channels_last = is_channels_last};
}

static double time_of(const struct sg_curve *curve, const struct sg_geometry *geometry)
{
	struct sg_part parts[SG_PARTS];
	int count = sg_tile_parts(curve, &device, geometry, parts);
	double sum = 0;

	CHECK(count > 0 && count <= SG_PARTS);
	for (int i = 0; i < count; i++) {
		CHECK(parts[i].ns > 0);
		sum += parts[i].ns;
	}
	return sum;
}

static void test_waves(void)
{
	struct sg_curve curve = ideal;
	/* 10 x 10 tiles of 128 x 128 or 256 x 64: one wave */
	struct sg_geometry whole = product(1280, 1280, 4096);
	/* 128 tiles of 128 x 128 in two waves; 64 x 64 has 6 waves of a quarter */
	struct sg_geometry more = product(2048, 1024, 4096);

	NEAR(time_of(&curve, &whole), 2.0 * 1280 * 1280 * 4096 / (100000 * 0.5));
	CHECK(time_of(&curve, &more) > 2.0 * 2048 * 1024 * 4096 / (100000 * 0.5));
	/* Tiles of sides a, b reach 1 / (1 + half (1/a + 1/b)): the largest are chosen, 128 x 128 in one
	 * wave. */
	curve.tile_half = 64;
	CHECK(time_of(&curve, &whole) <= 2.0 * 1280 * 1280 * 4096 / (100000 * 0.5) * 2 * (1 + 1e-9));
	/* A batch fills what one product leaves idle. */
	more = product(32, 32, 4096);
	whole = more;
	whole.count = 50;
	curve.split_ns = 1e9;
	NEAR(time_of(&curve, &more), time_of(&curve, &whole));
}

static void test_split(void)
{
	struct sg_curve curve = ideal;
	struct sg_geometry few = product(32, 32, 1 << 20);
	struct sg_part parts[SG_PARTS];

	/* One tile: cutting the sum is 96 times as fast, less what is added up. */
	CHECK(sg_tile_parts(&curve, &device, &few, parts) == 2);
	CHECK(parts[0].name == NULL && strcmp(parts[1].name, "splitKreduce_kernel") == 0);
	CHECK(parts[0].ns < 2.0 * 32 * 32 * (1 << 20) / (1000 * 0.5) / 90);
	curve.split_ns = 1e12;
	CHECK(sg_tile_parts(&curve, &device, &few, parts) == 1);
	NEAR(parts[0].ns, 2.0 * 32 * 32 * (1 << 20) / (1000 * 0.5));
	/* The least time of a step of 32. */
	curve.step_ns = 1e6;
	NEAR(time_of(&curve, &few), 1e6 * (1 << 20) / 32);
}

static void test_alignment(void)
{
	struct sg_geometry odd = product(1280, 1280, 4096);
	double aligned_ns = time_of(&ideal, &odd);

	odd.alignment = 2;
	NEAR(time_of(&ideal, &odd), aligned_ns * 5);
	odd.alignment = 4;
	NEAR(time_of(&ideal, &odd), aligned_ns * 5 / pow(2, 0.4));
	CHECK(sg_alignment(2, 4096, 64) == 16 && sg_alignment(2, 4095, 64) == 2);
	CHECK(sg_alignment(4, 6, 64) == 8 && sg_alignment(4, 7, 0) == 4 && sg_alignment(8, 1, 1) == 8);
}

static int names(const struct sg_part *parts, int count, const char *wanted)
{
	char text[256] = "";

	for (int i = 0; i < count; i++) {
		strcat(text, parts[i].name != NULL ? parts[i].name : "*");
		strcat(text, " ");
	}
	if (strcmp(text, wanted) != 0)
		fprintf(stderr, "found '%s'\n", text);
	return strcmp(text, wanted) == 0;
}

/* What a library launches around a convolution. */
static void test_parts(void)
{
	struct sg_part parts[SG_PARTS];
	struct sg_geometry g = convolution(SG_FORWARD, 0, 9);
	struct sg_curve curve = ideal;

	curve.split_ns = 1e12;
	CHECK(names(parts, sg_tile_parts(&curve, &device, &g, parts),
		"nchwToNhwcKernel nchwToNhwcKernel memset * nhwcToNchwKernel "));
	CHECK(parts[2].is_set && !parts[3].is_set);
	/* 10 images of 2 x 32 patches: 1500 ns and a patch's least time on one of 100 multiprocessors. */
	NEAR(parts[0].ns, 1500 + 640 * 185.0 / 100);
	g.work = SG_BACKWARD_FILTER;
	CHECK(names(parts, sg_tile_parts(&curve, &device, &g, parts),
		"nchwToNhwcKernel nchwToNhwcKernel init_device_workspace_kernel * nhwcToNchwKernel "));
	g = convolution(SG_BACKWARD_DATA, 1, 9);
	CHECK(names(parts, sg_tile_parts(&curve, &device, &g, parts), "memset * "));
	g.channels = 3;
	g.alignment = 4;
	CHECK(names(parts, sg_tile_parts(&curve, &device, &g, parts), "memset * nhwcAddPaddingKernel "));
	/* 1x1 needs no other layout. */
	g = convolution(SG_FORWARD, 0, 1);
	CHECK(names(parts, sg_tile_parts(&curve, &device, &g, parts), "* "));
	/* Nor does anything where the matrix unit is not used. */
	g.taps = 9;
	curve.direct = 0.5;
	CHECK(names(parts, sg_tile_parts(&curve, &scalar, &g, parts), "* "));
	curve.direct = ideal.direct;
	g.taps = 1;
	g.stride = 4;
	CHECK(sg_tile_parts(&curve, &device, &g, parts) == 5);
}

/* The three directions of a convolution are the same products in ideal conditions. */
static void test_directions(void)
{
	struct sg_part parts[SG_PARTS];
	double ns[3];

	for (int i = 0; i < 3; i++) {
		struct sg_geometry g = convolution((enum sg_work_kind)(SG_FORWARD + i), 1, 9);

		g.images = 100;
		CHECK(sg_tile_parts(&ideal, &device, &g, parts) >= 2);
		ns[i] = parts[1].ns;
		/* within the last wave */
		CHECK(ns[i] >= 2.0 * 100 * 1024 * 64 * 64 * 9 / (100000 * 0.5) * 0.999);
		CHECK(ns[i] < 2.0 * 100 * 1024 * 64 * 64 * 9 / (100000 * 0.5) * 1.3);
	}
	NEAR(ns[0], ns[1]);
}

static void test_attention(void)
{
	struct sg_geometry g = {.is_known = 1,
		.work = SG_ATTENTION,
		.element_bytes = 2,
		.alignment = 16,
		.count = 200,
		.m = 1024,
		.n = 1024,
		.k = 64,
		.flops = 1e9};
	struct sg_curve curve = ideal;
	struct sg_part parts[SG_PARTS];

	curve.tile_ns = 1000;
	CHECK(names(parts, sg_tile_parts(&curve, &device, &g, parts), "memset * "));
	NEAR(parts[1].ns, 1e9 / (100000 * 0.5) + 200 * 8 / 100.0 * 1000);
	g.work = SG_ATTENTION_BACKWARD;
	CHECK(names(parts, sg_tile_parts(&curve, &device, &g, parts),
		"memset compute_dot_do_o * convert_dq_to_16bits "));
}

static void test_neighbours(void)
{
	struct sg_geometry g = product(1024, 1024, 1024), far = product(8, 8, 8);
	struct sg_neighbour row = {.log_ratio = log(2)};
	double at[SG_PLACES];

	sg_place(&g, row.at);
	sg_place(&g, at);
	/* One neighbour against a quarter of nobody. */
	NEAR(sg_neighbour_factor(&row, 1, at), pow(2, 1 / 1.25));
	NEAR(sg_neighbour_factor(&row, 0, at), 1);
	sg_place(&far, at);
	NEAR(sg_neighbour_factor(&row, 1, at), 1);
}

#define HEAD \
	"work type efficiency tile_half tile_ns step_ns floor_ns memory split_ns unaligned unaligned_step_ns " \
	"unaligned_ns padded direct narrow channel_step\n"
#define VALUES " 0.5 1 2 3 4 0.9 5 0.1 6 7 0.2 0.3 0.4 8\n"

/* Reads a table; the sentence has to hold `wanted`, NULL: none. */
static void read_table(struct sg_curves *curves, const char *text, const char *wanted)
{
	char error[4500] = "";
	FILE *file = fopen("./table.curves", "w");
	int failed;

	CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
	failed = sg_curves_read(curves, "./table.curves", error, sizeof(error));
	if (failed != (wanted != NULL ? -1 : 0) || (wanted != NULL && strstr(error, wanted) == NULL)) {
		fprintf(stderr, "'%s' where '%s' was expected\n", error, wanted != NULL ? wanted : "nothing");
		exit(1);
	}
	remove("./table.curves");
}

static void test_reading(void)
{
	struct sg_curves curves = {0};
	char error[4500];

	read_table(&curves,
		"# a comment\n" HEAD "product fp16" VALUES "\nnear product fp16 1 2 3 4 5 6 7 8 -0.5\n",
		NULL);
	CHECK(curves.of[SG_PRODUCT][2].efficiency == 0.5 && curves.of[SG_PRODUCT][2].channel_step == 8);
	CHECK(curves.of[SG_FORWARD][2].efficiency == 0);
	CHECK(curves.near[SG_PRODUCT][2].count == 1 && curves.near[SG_PRODUCT][2].rows[0].log_ratio == -0.5);
	free(curves.near[SG_PRODUCT][2].rows);
	memset(&curves, 0, sizeof(curves));
	read_table(&curves, HEAD "product fp8" VALUES,
		"table.curves:2: found 'fp8', expected fp32, tf32 or fp16");
	read_table(
		&curves, "prodct fp16" VALUES, ":1: found 'prodct', expected near, work, or a kind of work");
	read_table(&curves, "product fp16 1 2 3\n", "as many words in each line");
	read_table(&curves, "product fp16 0 1 2 3 4 0.9 5 0.1 6 7 0.2 0.3 0.4 8\n", "expected rates above 0");
	read_table(&curves, "product fp16 0.5 1 2 3 4 nan 5 0.1 6 7 0.2 0.3 0.4 8\n", "found 'nan'");
	read_table(&curves, "near product fp16 1 2 3\n", "eight places and a logarithm");
	read_table(&curves, "work type efficiency rate\n", "found 'rate', expected the columns");
	CHECK(sg_curves_read(&curves, "./none.curves", error, sizeof(error)) == -1);
	CHECK(strstr(error, "none.curves: No such file or directory; expected a table of curves") != NULL);
}

int main(void)
{
	test_waves();
	test_split();
	test_alignment();
	test_parts();
	test_directions();
	test_attention();
	test_neighbours();
	test_reading();
	return 0;
}
