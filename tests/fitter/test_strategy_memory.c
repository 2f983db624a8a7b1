/*
 * Memory of a worker under each strategy.
 */
#include "../analyzer/check.h"
#include "advise/strategy.h"

/* As cuDNN counts: (places + 2 pad - dilation (window - 1) - 1) / stride + 1, rounded down. */
static void check_outputs(void)
{
	static const struct {
		const char *kind, *sizes, *input;
		double numbers;
	} cases[] = {
		{"conv1", "7x7x3->64 s2 p3", "16x3x224x224", 64 * 112 * 112},
		{"conv2", "3x3x1->32 s1 p1 g32", "4x32x16x16", 32 * 16 * 16},
		{"conv3", "3x1x8->16 s2x1 p1x0", "4x8x9x7", 16 * 5 * 7},
		{"conv4", "3x3x8->16 s1 p2 d2", "4x8x10x10", 16 * 10 * 10},
		{"conv5", "3x3x3x4->8 s2 p1", "2x4x9x9x9", 8 * 5 * 5 * 5},
		{"conv6", "5x5x4->8 s1 p0", "2x4x3x3", 0},
		{"pool1", "max 3x3 s2 p1", "16x64x112x112", 64 * 56 * 56},
		{"pool2", "avg 7x7 s7", "16x512x7x7", 512},
		{"fc1", "784->10", "64x784", 10},
		{"norm1", "64", "16x64x32x32", 64 * 32 * 32},
		{"add1", "", "16x64x32x32", 64 * 32 * 32},
		{"lstm1", "784->256", "", 0},
		{"norm2", "64", "16xy", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double found = strategy_output_numbers(cases[i].kind, cases[i].sizes, cases[i].input);

		CHECK(found == cases[i].numbers, "%s %s of %s: %g", cases[i].kind, cases[i].sizes,
			cases[i].input, found);
	}
}

int main(void)
{
	check_outputs();
	return check_end();
}
