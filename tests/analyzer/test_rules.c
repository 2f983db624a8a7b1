/* Rules of the reconstruction, each by a step that goes wrong without it (fixture.h). */
#include "check.h"
#include "fixture.h"

static const struct {
	const char *rule, *text;
} fixtures[] = {
	{"start_thread",
		"up w1\nup w2\nup w3\nup w4\n"
		"step\n"
		"up x 512 = h\n"
		"conv x w1 a = f conv1\n"
		"conv a w2 b = f conv2\n"
		"conv b w3 c = f conv3\n"
		"conv c w4 d = f conv4\n"
		"kernel loss l d x = f conv4\n"
		"kernel fill s = b conv4\n"
		"@2 kernel loss_back e d x s = b conv4\n"
		"@2 wgrad c e g4 = b conv4\n"
		"@2 dgrad w4 e f = b conv4\n"
		"@2 wgrad b f g3 = b conv3\n"
		"@2 dgrad w3 f e = b conv3\n"
		"@2 wgrad a e g2 = b conv2\n"
		"@2 dgrad w2 e f = b conv2\n"
		"@2 wgrad x f g1 = b conv1\n"
		"kernel sgd_update w1 g1 m1 = u conv1\n"
		"kernel sgd_update w2 g2 m2 = u conv2\n"
		"kernel sgd_update w3 g3 m3 = u conv3\n"
		"kernel sgd_update w4 g4 m4 = u conv4\n"},
};

int main(void)
{
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(*fixtures); i++)
		CHECK(fixture_check(fixtures[i].rule, fixtures[i].text) == 0, "%s", fixtures[i].rule);
	return check_end();
}
