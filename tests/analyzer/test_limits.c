/* How far what the reconstruction goes by reaches: steps on either side, with what is to be found
 * (fixture.h). */
#include "check.h"
#include "fixture.h"
#include "fixture_net.h"

#include <string.h>

static const struct {
	const char *what, *text;
} fixtures[] = {
	{"two hundred numbers are a message, four hundred are not",
		WEIGHTS "step\n" INPUT FORWARD LOSS SEED BACKWARD "reduce q q 800 = -\n"
			"reduce r r 1600 = c\n" UPDATE},
	{"a parameter in pieces of a megabyte is one, what is beside another is not",
		"up w1 1048576\n"
		"up w1+1048576 1048576\n"
		"up w2 1572864\n"
		"up w2+1572864 1572864\n"
		"up w3\n"
		"up w4\n"
		"step\n" INPUT FORWARD LOSS SEED BACKWARD UPDATE "size conv1 524288\n"
		"size conv2 393216\n"},
	{"three copies are blocks with parameters inside", "up w1 8192\n"
							   "up w2 8192\n"
							   "up w3 8192\n"
							   "step\n"
							   "up x 512 = h\n"
							   "conv x w1 a = f conv1\n"
							   "kernel shift h a w1+4096 t = f layer1\n"
							   "conv h w2 b = f conv2\n"
							   "kernel shift i b w2+4096 t = f layer2\n"
							   "conv i w3 c = f conv3\n"
							   "kernel loss l c x = f conv3\n"
							   "kernel fill s = b conv3\n"
							   "kernel loss_back e c x s = b conv3\n"
							   "wgrad i e g3 = b conv3\n"
							   "dgrad w3 e f = b conv3\n"
							   "kernel shift_back gb2 f = b layer2\n"
							   "wgrad h f g2 = b conv2\n"
							   "dgrad w2 f e = b conv2\n"
							   "kernel shift_back gb1 e = b layer1\n"
							   "wgrad x e g1 = b conv1\n"
							   "kernel sgd_update w1 g1 m1 = u conv1\n"
							   "kernel sgd_update w2 g2 m2 = u conv2\n"
							   "kernel sgd_update w3 g3 m3 = u conv3\n"
							   "kernel sgd_update w1+4096 gb1 mb1 = u layer1\n"
							   "kernel sgd_update w2+4096 gb2 mb2 = u layer2\n"},
	{"of three parameters copied in one module each may be a layer",
		"%net.block up w1\n"
		"%net.block up w2\n"
		"%net.block up w3\n"
		"%net.last up w4\n"
		"step\n"
		"up x 512 = h\n"
		"%net.a conv x w1 a = f net.a\n"
		"%net.b conv a w2 b = f net.b\n"
		"%net.c conv b w3 c = f net.c\n"
		"conv c w4 d = f net.last\n"
		"wgrad c e g4 = b net.last\n"
		"dgrad w4 e f = b net.last\n"
		"wgrad b f g3 = b net.c\n"
		"dgrad w3 f e = b net.c\n"
		"wgrad a e g2 = b net.b\n"
		"dgrad w2 e f = b net.b\n"
		"wgrad x f g1 = b net.a\n"
		"kernel sgd_update w1 g1 m1 = u net.a\n"
		"kernel sgd_update w2 g2 m2 = u net.b\n"
		"kernel sgd_update w3 g3 m3 = u net.c\n"
		"kernel sgd_update w4 g4 m4 = u net.last\n"},
	{"a copy has twice the bytes of its parameter; where more is read, a bias was added",
		"up w1 144\n"
		"up b2 100\n"
		"up w2\n"
		"up w3\n"
		"up w4 256\n"
		"step\n"
		"up x 512 = h\n"
		"kernel copy_kernel k w1 = f fc1\n"
		"times k x a = f fc1\n"
		"conv a w2 b = f conv1\n"
		"kernel normalize b = f conv1\n"
		"kernel add b b2 = f layer1\n"
		"times w4 b c = f fc2\n"
		"conv c w3 d = f conv2\n"
		"kernel loss l d x = f conv2\n"
		"kernel fill s = b conv2\n"
		"kernel loss_back e d x s = b conv2\n"
		"wgrad c e g3 = b conv2\n"
		"dgrad w3 e f = b conv2\n"
		"times f b g4 = b fc2\n"
		"times w4 f e = b fc2\n"
		"kernel sum gb2 e = b layer1\n"
		"wgrad a e g2 = b conv1\n"
		"dgrad w2 e f = b conv1\n"
		"times x f g1 = b fc1\n"
		"kernel sgd_update w1 g1 m1 = u fc1\n"
		"kernel sgd_update b2 gb2 m2 = u layer1\n"
		"kernel sgd_update w2 g2 m3 = u conv1\n"
		"kernel sgd_update w3 g3 m4 = u conv2\n"
		"kernel sgd_update w4 g4 m5 = u fc2\n"},
	{"going through the model again in an order of its own is not backward", "up w1 256\n"
										 "up w2 256\n"
										 "up w3 256\n"
										 "up w4 256\n"
										 "up w5 256\n"
										 "up w6 256\n"
										 "step\n"
										 "up x 512 = h\n"
										 "times w1 x a = f fc1\n"
										 "times w2 a b = f fc2\n"
										 "times w3 b c = f fc3\n"
										 "times w4 c d = f fc4\n"
										 "times w5 d e = f fc5\n"
										 "times w6 e f = f fc6\n"
										 "times w4 f i = f fc4\n"
										 "times w6 i j = f fc6\n"
										 "times w5 j k = f fc5\n"
										 "times w1 k l = f fc1\n"
										 "times w3 l m = f fc3\n"
										 "times w2 m n = f fc2\n"
										 "kernel loss q n x = f fc2\n"
										 "axpy g1 w1 = u fc1\n"
										 "axpy g2 w2 = u fc2\n"
										 "axpy g3 w3 = u fc3\n"
										 "axpy g4 w4 = u fc4\n"
										 "axpy g5 w5 = u fc5\n"
										 "axpy g6 w6 = u fc6\n"},
};

int main(int argument_count, char **arguments)
{
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(*fixtures); i++)
		if (argument_count < 2 || strcmp(arguments[1], fixtures[i].what) == 0)
			CHECK(fixture_check(fixtures[i].what, fixtures[i].text) == 0, "%s", fixtures[i].what);
	return check_end();
}
