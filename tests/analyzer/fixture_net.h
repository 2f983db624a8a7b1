/* What steps of fixtures have in common: lines of fixture.h, with what is to be found of them. */
#ifndef FIXTURE_NET_H
#define FIXTURE_NET_H

/* Four convolutions, and how they are trained. */
#define WEIGHTS \
	"up w1\n" \
	"up w2\n" \
	"up w3\n" \
	"up w4\n"
#define INPUT "up x 512 = h\n"
#define FORWARD \
	"conv x w1 a = f conv1\n" \
	"conv a w2 b = f conv2\n" \
	"conv b w3 c = f conv3\n" \
	"conv c w4 d = f conv4\n"
#define BACKWARD \
	"wgrad c e g4 = b conv4\n" \
	"dgrad w4 e f = b conv4\n" \
	"wgrad b f g3 = b conv3\n" \
	"dgrad w3 f e = b conv3\n" \
	"wgrad a e g2 = b conv2\n" \
	"dgrad w2 e f = b conv2\n" \
	"wgrad x f g1 = b conv1\n"
#define UPDATE \
	"kernel sgd_update w1 g1 m1 = u conv1\n" \
	"kernel sgd_update w2 g2 m2 = u conv2\n" \
	"kernel sgd_update w3 g3 m3 = u conv3\n" \
	"kernel sgd_update w4 g4 m4 = u conv4\n"
#define LIBRARY_UPDATE \
	"axpy g1 w1 = u conv1\n" \
	"axpy g2 w2 = u conv2\n" \
	"axpy g3 w3 = u conv3\n" \
	"axpy g4 w4 = u conv4\n"
#define LOSS "kernel loss l d x = f conv4\n"
#define SEED \
	"kernel fill s = b conv4\n" \
	"kernel loss_back e d x s = b conv4\n"

#endif
