/*
 * Checks the networks' parameter counts, layer counts and output shapes against the published ones, and where
 * they may be cut. Needs no GPU.
 *
 * The counts for 1000 classes are those that torchvision's documentation states for its weights (resnet18,
 * resnet50, resnet152, vgg11, vgg16, mobilenet_v2). The small ones with a source are those of the usual
 * CIFAR-10 variants; the others follow from them by the parameters of the layers that differ, written out
 * here.
 */
#include <stdio.h>
#include <string.h>

#include "models.h"

static int failures;

static void check(const char *model, const char *what, long long found, long long expected)
{
	if (found == expected)
		return;
	printf("%s: %lld %s, %lld expected\n", model, found, what, expected);
	failures++;
}

static void resnet18(struct nn *nn)
{
	model_resnet(nn, 18);
}

static void resnet50(struct nn *nn)
{
	model_resnet(nn, 50);
}

static void resnet152(struct nn *nn)
{
	model_resnet(nn, 152);
}

static void vgg11(struct nn *nn)
{
	model_vgg(nn, 11);
}

static void vgg16(struct nn *nn)
{
	model_vgg(nn, 16);
}

static void resattnet(struct nn *nn)
{
	model_resattnet(nn, &(struct model_resattnet){64, 3, 2, 0, NN_RELU});
}

static const struct {
	const char *name;
	void (*build)(struct nn *nn);
	int classes, channels, depth, side;
	long long parameters;
	int weighted;     /* convolutions and dense layers */
	int maps, places; /* before the dense layers: maps, and the side of each */
} models[] = {
	{"shallow, mnist", model_shallow, 10, 1, 1, 28, 431080, 4, 50, 4}, /* 800 numbers, 500, 10 */
	{"resnet-18, imagenet", resnet18, 1000, 3, 1, 224, 11689512, 21, 512, 1},
	{"resnet-50, imagenet", resnet50, 1000, 3, 1, 224, 25557032, 54, 2048, 1},
	{"resnet-152, imagenet", resnet152, 1000, 3, 1, 224, 60192808, 156, 2048, 1},
	{"vgg-11, imagenet", vgg11, 1000, 3, 1, 224, 132863336, 11, 512, 7},
	{"vgg-16, imagenet", vgg16, 1000, 3, 1, 224, 138357544, 16, 512, 7},
	{"mobilenet, imagenet", model_mobilenet, 1000, 3, 1, 224, 3504872, 53, 1280, 1},
	/* Nothing but sums over places sees the size. */
	{"resnet-18, highres", resnet18, 1000, 3, 1, 512, 11689512, 21, 512, 1},
	{"resnet-50, highres", resnet50, 1000, 3, 1, 512, 25557032, 54, 2048, 1},
	{"resnet-152, highres", resnet152, 1000, 3, 1, 512, 60192808, 156, 2048, 1},
	{"vgg-11, highres", vgg11, 1000, 3, 1, 512, 132863336, 11, 512, 7},
	{"vgg-16, highres", vgg16, 1000, 3, 1, 512, 138357544, 16, 512, 7},
	{"mobilenet, highres", model_mobilenet, 1000, 3, 1, 512, 3504872, 53, 1280, 1},
	/* Ten classes instead of 1000, and 3x3 kernels instead of 7x7 at first. */
	{"resnet-18, cifar-10", resnet18, 10, 3, 1, 32, 11689512 - 513 * 990 - 64 * 3 * (49 - 9), 21, 512, 1},
	{"resnet-50, cifar-10", resnet50, 10, 3, 1, 32, 25557032 - 2049 * 990 - 64 * 3 * (49 - 9), 54, 2048,
		1},
	{"resnet-152, cifar-10", resnet152, 10, 3, 1, 32, 60192808 - 2049 * 990 - 64 * 3 * (49 - 9), 156,
		2048, 1},
	{"mobilenet, cifar-10", model_mobilenet, 10, 3, 1, 32, 3504872 - 1281 * 990, 53, 1280, 1},
	/* Dense layers of 512, 512 and 10 on 512 numbers instead of 4096, 4096 and 1000 on 25088. */
	{"vgg-11, cifar-10", vgg11, 10, 3, 1, 32, 132863336 - 123642856 + 2 * 513 * 512 + 5130, 11, 512, 1},
	{"vgg-16, cifar-10", vgg16, 10, 3, 1, 32, 138357544 - 123642856 + 2 * 513 * 512 + 5130, 16, 512, 1},
	/* One channel instead of three. */
	{"resnet-18, mnist", resnet18, 10, 1, 1, 28, 11173962 - 64 * 9 * 2, 21, 512, 1},
	{"resnet-50, mnist", resnet50, 10, 1, 1, 28, 23520842 - 64 * 9 * 2, 54, 2048, 1},
	{"resnet-152, mnist", resnet152, 10, 1, 1, 28, 58156618 - 64 * 9 * 2, 156, 2048, 1},
	{"vgg-11, mnist", vgg11, 10, 1, 1, 28, 9750922 - 64 * 9 * 2, 11, 512, 1},
	{"vgg-16, mnist", vgg16, 10, 1, 1, 28, 15245130 - 64 * 9 * 2, 16, 512, 1},
	{"mobilenet, mnist", model_mobilenet, 10, 1, 1, 28, 2236682 - 32 * 9 * 2, 53, 1280, 1},
	/*
	 * First convolution with its normalisation; stage s (64, 128, 256, 512 maps) with convolutions of 27
	 * taps, shortcuts, and two numbers per map and normalisation; attention on c maps: c*c + c for the
	 * values, 2*(c*c/8 + c/8) for queries and keys, one scale; the dense layer.
	 */
	{"resattnet, volumes", resattnet, 2, 1, 64, 64,
		64 * 27 + 128 + 4 * 64 * 64 * 27 + 4 * 128 + (128 * 64 + 3 * 128 * 128) * 27 + 128 * 64 +
			5 * 256 + (256 * 128 + 3 * 256 * 256) * 27 + 256 * 128 + 5 * 512 +
			(512 * 256 + 3 * 512 * 512) * 27 + 512 * 256 + 5 * 1024 +
			(256 * 256 + 2 * 32 * 256 + 1) + (512 * 512 + 2 * 64 * 512 + 1) + 513 * 2,
		17 + 3 + 6 + 1, 512, 1},
};

/* Everything that a list must be, whatever the network. */
static void check_list(const char *name, const struct nn *nn)
{
	size_t end = 0;

	for (int i = 0; i < nn->layer_count; i++) {
		const struct nn_layer *l = &nn->layer[i];

		for (int k = 0; k < i; k++)
			check(name, "layers of one name", !strcmp(l->name, nn->layer[k].name), 0);
		check(name, "layers that read later ones", l->input >= i || l->other >= i || l->third >= i,
			0);
		if (l->param_count) {
			check(name, "overlapping parameters", l->param_at < end, 0);
			end = l->param_at + l->param_count;
		}
	}
}

static void check_models(void)
{
	static struct nn nn;

	for (size_t m = 0; m < sizeof(models) / sizeof(models[0]); m++) {
		const char *name = models[m].name;
		const struct nn_layer *before = NULL;
		int weighted = 0, first_dense = -1;

		nn_init(&nn, 4, 2, models[m].channels, models[m].depth, models[m].side, models[m].side);
		nn.classes = models[m].classes;
		models[m].build(&nn);
		if (nn.error[0]) {
			printf("%s: %s\n", name, nn.error);
			failures++;
			continue;
		}
		for (int i = 0; i < nn.layer_count; i++) {
			weighted += nn.layer[i].kind == NN_CONV || nn.layer[i].kind == NN_DENSE;
			if (nn.layer[i].kind == NN_DENSE && first_dense < 0)
				first_dense = i;
		}
		before = &nn.layer[first_dense];
		check(name, "parameters", (long long)nn_parameters(&nn), models[m].parameters);
		check(name, "weighted layers", weighted, models[m].weighted);
		check(name, "maps before the dense layers", before->in.c, models[m].maps);
		check(name, "rows of these", before->in.h, models[m].places);
		check(name, "outputs", (long long)nn_numel(nn_last(&nn)->out), 2 * models[m].classes);
		check_list(name, &nn);
	}
}

static struct nn_shape out_of(const struct nn *nn, const char *layer)
{
	for (int i = 0; i < nn->layer_count; i++)
		if (!strcmp(nn->layer[i].name, layer))
			return nn->layer[i].out;
	return (struct nn_shape){0};
}

/* Sizes on the way, from the papers' tables: ResNet's stages of 56, 28, 14 and 7, MobileNetV2's of 112 to 7.
 */
static void check_shapes(void)
{
	static const struct {
		void (*build)(struct nn *nn);
		const char *layer;
		int c, side;
	} shapes[] = {
		{resnet18, "bn1", 64, 112},
		{resnet18, "pool1", 64, 56},
		{resnet18, "add2", 64, 56},
		{resnet18, "add4", 128, 28},
		{resnet18, "add6", 256, 14},
		{resnet18, "add8", 512, 7},
		{resnet50, "add3", 256, 56},
		{resnet50, "add7", 512, 28},
		{resnet50, "add13", 1024, 14},
		{resnet50, "add16", 2048, 7},
		{resnet152, "add3", 256, 56},
		{resnet152, "add11", 512, 28},
		{resnet152, "add47", 1024, 14},
		{resnet152, "add50", 2048, 7},
		{vgg16, "pool1", 64, 112},
		{vgg16, "pool5", 512, 7},
		{model_mobilenet, "bn1", 32, 112},
		{model_mobilenet, "bn3", 16, 112},
		{model_mobilenet, "add1", 24, 56},
		{model_mobilenet, "add3", 32, 28},
		{model_mobilenet, "add6", 64, 14},
		{model_mobilenet, "add8", 96, 14},
		{model_mobilenet, "add10", 160, 7},
		{model_mobilenet, "bn52", 1280, 7},
	};
	static struct nn nn;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct nn_shape out;

		nn_init(&nn, 1, 1, 3, 1, 224, 224);
		nn.classes = 1000;
		shapes[i].build(&nn);
		out = out_of(&nn, shapes[i].layer);
		check(shapes[i].layer, "maps", out.c, shapes[i].c);
		check(shapes[i].layer, "rows", out.h, shapes[i].side);
		check(shapes[i].layer, "columns", out.w, shapes[i].side);
	}
}

/* A network may be cut after a sum and nowhere inside a block. */
static void check_cuts(void)
{
	static struct nn nn;
	int add = 0;

	nn_init(&nn, 1, 1, 3, 1, 32, 32);
	resnet18(&nn);
	while (nn.layer[add].kind != NN_ADD)
		add++;
	check("cut", "before everything", nn_cut_ok(&nn, 0), 0);
	check("cut", "after everything", nn_cut_ok(&nn, nn.layer_count), 0);
	check("cut", "after the first convolution", nn_cut_ok(&nn, 1), 1);
	check("cut", "before the first block", nn_cut_ok(&nn, 2), 1);
	for (int i = 3; i <= add; i++)
		check("cut", nn.layer[i].name, nn_cut_ok(&nn, i), 0);
	check("cut", "after the first block", nn_cut_ok(&nn, add + 1), 1);
	check("cut", "before the loss", nn_cut_ok(&nn, nn.layer_count - 1), 1);
}

/* The published counts of operations, a multiply-add being two: torchvision
 * states 1.81, 4.09, 11.51, 7.61, 15.47 and 0.30 thousand million multiply-adds. */
static void check_flops(void)
{
	static const struct {
		const char *name;
		void (*build)(struct nn *nn);
		double giga;
	} flops[] = {{"resnet-18", resnet18, 1.814}, {"resnet-50", resnet50, 4.089},
		{"resnet-152", resnet152, 11.514}, {"vgg-11", vgg11, 7.609}, {"vgg-16", vgg16, 15.470},
		{"mobilenet", model_mobilenet, 0.301}};
	static struct nn nn;

	for (size_t m = 0; m < sizeof(flops) / sizeof(flops[0]); m++) {
		double sum = 0;

		nn_init(&nn, 1, 1, 3, 1, 224, 224);
		nn.classes = 1000;
		flops[m].build(&nn);
		for (int i = 0; i < nn.layer_count; i++)
			if (nn.layer[i].kind == NN_CONV || nn.layer[i].kind == NN_DENSE)
				sum += nn_flops(&nn, i) / 2e9;
		if (sum < 0.99 * flops[m].giga || sum > 1.01 * flops[m].giga) {
			printf("%s: %.3f thousand million multiply-adds, %.3f expected\n", flops[m].name, sum,
				flops[m].giga);
			failures++;
		}
	}
}

/* Every choice of 3D-ResAttNet's options fits together; what cannot be has its sentence. */
static void check_options(void)
{
	static struct nn nn;

	for (int kernel = 2; kernel <= 5; kernel++)
		for (int stride = 1; stride <= 3; stride++)
			for (int side = 64; side <= 71; side++)
				for (int valid = 0; valid <= 1; valid++) {
					nn_init(&nn, 1, 1, 1, side, side + 1, side + 2);
					model_resattnet(&nn, &(struct model_resattnet){
								     16, kernel, stride, valid, NN_TANH});
					if (!nn.error[0])
						continue;
					printf("kernel %d, stride %d, side %d: %s\n", kernel, stride, side,
						nn.error);
					failures++;
				}
	nn_init(&nn, 1, 1, 1, 1, 28, 28);
	resattnet(&nn);
	check("resattnet", "wrong sentences",
		strcmp(nn.error, "volumes expected, images of 28x28 found") != 0, 0);
	nn_init(&nn, 1, 1, 1, 8, 9, 10);
	resnet18(&nn);
	check("resnet", "wrong sentences", strcmp(nn.error, "images expected, volumes of 8x9x10 found") != 0,
		0);
	nn_init(&nn, 1, 1, 3, 1, 8, 8);
	nn_conv(&nn, 4, 3, 1, 1, NN_RELU);
	nn_conv(&nn, 5, 3, 1, 1, NN_RELU);
	nn_add(&nn, 0, NN_LINEAR);
	check("add", "wrong sentences",
		strcmp(nn.error, "add1: 4 maps of 1x8x8 from conv1, 5 of 1x8x8 expected") != 0, 0);
}

/* The largest batches of large images that the libraries can count, and one sample more. */
static void check_sizes(void)
{
	static struct nn nn;

	for (int share = 127; share <= 128; share++) {
		nn_init(&nn, share, share, 3, 1, 512, 512);
		model_vgg(&nn, 11);
		check("vgg", "samples refused", nn_check(&nn) != 0, share > 127);
	}
	check("vgg", "wrong sentences",
		strcmp(nn.error, "conv1: 2147483648 numbers at a time, the maximum is 2147483647") != 0, 0);
	for (int outputs = 32767; outputs <= 32768; outputs++) {
		nn_init(&nn, 1, 1, 1, 1, 256, 256);
		nn_dense(&nn, outputs, NN_LINEAR);
		check("dense layer", "weights refused", nn_check(&nn) != 0, outputs > 32767);
	}
	for (int side = 215; side <= 216; side++) {
		nn_init(&nn, 1, 1, 8, 6, 36, side);
		nn_self_attention(&nn);
		check("attention", "places refused", nn_check(&nn) != 0, side > 214);
	}
}

int main(void)
{
	check_models();
	check_shapes();
	check_cuts();
	check_flops();
	check_options();
	check_sizes();
	return failures ? 1 : 0;
}
