/* Rules of the reconstruction, each by a step that goes wrong without it (fixture.h). */
#include "check.h"
#include "fixture.h"
#include "fixture_net.h"

#include <string.h>

/* An update in the midst of a step. */
#define CLIMB \
	"kernel climb_update w1 g1 m1 = u conv1\n" \
	"kernel climb_update w2 g2 m2 = u conv2\n" \
	"kernel climb_update w3 g3 m3 = u conv3\n" \
	"kernel climb_update w4 g4 m4 = u conv4\n"

/* Parameters made on the device, two of them zero, and a step that updates all at once. */
#define MADE \
	"kernel fill w1\n" \
	"set b1 24\n" \
	"kernel fill w2\n" \
	"set b2 64\n" \
	"kernel fill w3\n" \
	"kernel fill w4\n"
#define MADE_STEP(update, first) \
	"step\n" INPUT "conv x w1 a = f conv1\n" \
	"kernel shift h a b1 = f layer1\n" \
	"conv h w2 b = f conv2\n" \
	"kernel shift i b b2 = f layer2\n" \
	"conv i w3 c = f conv3\n" \
	"conv c w4 d = f conv4\n" LOSS SEED "wgrad c e g4 = b conv4\n" \
	"dgrad w4 e f = b conv4\n" \
	"wgrad i f g3 = b conv3\n" \
	"dgrad w3 f e = b conv3\n" \
	"kernel shift_back gb2 e = b layer2\n" \
	"wgrad h e g2 = b conv2\n" \
	"dgrad w2 e f = b conv2\n" \
	"kernel shift_back gb1 f = b layer1\n" \
	"wgrad x f g1 = b conv1\n" \
	"kernel " update " w1 b1 w2 b2 w3 w4 _ g1 gb1 g2 gb2 g3 g4 _ m1 mb1 m2 mb2 m3 m4 = u " first "\n"

/* Of TensorFlow's, with what is called for it. */
#define OPERATION(name, calls) "enter " name " TSL\n" calls "leave\n"

static const struct {
	const char *rule, *text;
} fixtures[] = {
	{"iteration_user", /* else each half is found */
		"at one\n"
		"every 2\n"
		"step\n"
		"kernel one a = -\n"
		"kernel two b = -\n"
		"kernel one c = -\n"
		"kernel two d = -\n"},
	{"every", /* two that are not alike make one */
		"every 2\n"
		"step\n"
		"kernel one a = -\n"
		"enter Optimizer.step#SGD.step\n"
		"kernel two b = u\n"
		"leave\n"
		"kernel three c = -\n"
		"kernel four d = -\n"
		"enter Optimizer.step#SGD.step\n"
		"kernel two b = u\n"
		"leave\n"},
	{"REPEATS_LEAST", /* of a range */
		"step\n"
		"enter batch loop\n"
		"kernel one a = -\n"
		"kernel two b = -\n"
		"kernel three c = -\n"
		"leave\n"},
	{"iteration_optimizer", /* too few calls for anything that repeats */
		"step\n"
		"kernel one a = -\n"
		"kernel two b = -\n"
		"enter Optimizer.step#SGD.step\n"
		"kernel three c = u\n"
		"leave\n"},
	{"iteration_variables", /* two nets in turns, updates within the backward pass, a metric after the
				   last */
		"step\n" OPERATION("x:_Arg", "kernel take a = -\n") OPERATION(
			"good/a/MatMul:MatMul", "kernel one b = f good/a\n") OPERATION("good/b/MatMul:MatMul",
			"kernel two c = f good/b\n") OPERATION("gradient_tape/good/b/MatMul:MatMul",
			"kernel one d = b good/b\n") OPERATION("sgd/AssignVariableOp:AssignVariableOp",
			"kernel two e = u\n") OPERATION("gradient_tape/good/a/MatMul:MatMul",
			"kernel one f = b good/a\n") OPERATION("sgd/AssignVariableOp_1:AssignVariableOp",
			"kernel two g = u\n") OPERATION("bad/a/MatMul:MatMul", "kernel one b = f bad/a\n")
			OPERATION("gradient_tape/bad/a/MatMul:MatMul", "kernel two c = b bad/a\n")
				OPERATION("sgd/AssignVariableOp_2:AssignVariableOp", "kernel one d = u\n")
					OPERATION("sum/AssignAddVariableOp:AssignAddVariableOp",
						"kernel two e = -\n")},
	{"no layer of a call that the framework has given to another", /* pooling has no weights */
		WEIGHTS "step\n" INPUT OPERATION("net/c/Conv2D:Conv2D", "conv x w1 a = f net/c\n") OPERATION(
			"net/p/MaxPool:MaxPool", "pool a b = f net/c\n") OPERATION("net/d/Conv2D:Conv2D",
			"conv b w2 c = f net/d\n") OPERATION("gradient_tape/net/d/Conv2D:Conv2DBackpropFilter",
			"wgrad b c g2 = b net/d\n") OPERATION("gradient_tape/net/d/Conv2D:Conv2DBackpropInput",
			"dgrad w2 c e = b net/d\n") OPERATION("gradient_tape/net/p/MaxPool:MaxPoolGrad",
			"unpool b e a f = b net/c\n")
			OPERATION(
				"gradient_tape/net/c/Conv2D:Conv2DBackpropFilter", "wgrad x f g1 = b net/c\n")
				OPERATION("sgd/AssignSubVariableOp:AssignSubVariableOp", "axpy g1 w1 = u\n")
					OPERATION("sgd/AssignSubVariableOp_1:AssignSubVariableOp",
						"axpy g2 w2 = u\n")},
	{"libraries", /* pooling is a layer of its own where it is known what it works on alone */
		WEIGHTS "step\n" INPUT "kernel scale x = f conv1\n"
			"conv x w1 a = f conv1\n"
			"pool a p = f pool1\n"
			"conv p w2 b = f conv2\n"
			"conv b w3 c = f conv3\n"
			"conv c w4 d = f conv4\n"
			"kernel loss_back e d = b conv4\n"
			"wgrad c e g4 = b conv4\n"
			"dgrad w4 e f = b conv4\n"
			"wgrad b f g3 = b conv3\n"
			"dgrad w3 f e = b conv3\n"
			"wgrad p e g2 = b conv2\n"
			"dgrad w2 e f = b conv2\n"
			"unpool p f a h = b pool1\n"
			"wgrad x h g1 = b conv1\n" LIBRARY_UPDATE},
	{"start_thread", WEIGHTS "step\n" INPUT FORWARD LOSS "kernel fill z = f conv4\n"
				 "kernel fill s = b conv4\n"
				 "@2 kernel loss_back e d x s = b conv4\n"
				 "@2 wgrad c e g4 = b conv4\n"
				 "@2 dgrad w4 e f = b conv4\n"
				 "@2 wgrad b f g3 = b conv3\n"
				 "@2 dgrad w3 f e = b conv3\n"
				 "@2 wgrad a e g2 = b conv2\n"
				 "@2 dgrad w2 e f = b conv2\n"
				 "@2 wgrad x f g1 = b conv1\n" UPDATE},
	{"start_made", WEIGHTS "step\n" INPUT FORWARD LOSS "kernel range s = b conv4\n"
			       "kernel loss_back e d x s = b conv4\n" BACKWARD UPDATE},
	{"start_compared", WEIGHTS "step\n" INPUT FORWARD "kernel scale h d = f conv4\n"
				   "kernel mean i h = f conv4\n"
				   "kernel loss l i x = f conv4\n"
				   "kernel loss_back e d x = b conv4\n" BACKWARD UPDATE},
	{"start_received", WEIGHTS "step\n" INPUT FORWARD "kernel scale h d = f conv4\n"
				   "kernel mean i h = f conv4\n"
				   "kernel deviation j h = f conv4\n"
				   "receive e = c conv4\n" BACKWARD UPDATE},
	{"evaluations", WEIGHTS "step\n" INPUT "conv x w1 A = -\n"
				"conv A w2 B = -\n"
				"conv B w3 C = -\n"
				"conv C w4 D = -\n"
				"down D 4096 = -\n" FORWARD LOSS SEED BACKWARD UPDATE},
	{"group_modules", "%net.one up w1\n"
			  "%net.one up b1 256\n"
			  "%net.two up w2\n"
			  "%net.three up w3\n"
			  "%net.four up w4\n"
			  "step\n" INPUT "conv x w1 a = f net.one\n"
			  "kernel shift h a b1 t = f net.one\n"
			  "conv h w2 b = f net.two\n"
			  "conv b w3 c = f net.three\n"
			  "conv c w4 d = f net.four\n"
			  "kernel loss l d x = f net.four\n"
			  "kernel fill s = b net.four\n"
			  "kernel loss_back e d x s = b net.four\n"
			  "wgrad c e g4 = b net.four\n"
			  "dgrad w4 e f = b net.four\n"
			  "wgrad b f g3 = b net.three\n"
			  "dgrad w3 f e = b net.three\n"
			  "wgrad h e g2 = b net.two\n"
			  "dgrad w2 e f = b net.two\n"
			  "kernel shift_back p f q = b net.one\n"
			  "wgrad x f g1 = b net.one\n"
			  "kernel sgd_update b1 q mb = u net.one\n"
			  "kernel sgd_update w1 g1 m1 = u net.one\n"
			  "kernel sgd_update w2 g2 m2 = u net.two\n"
			  "kernel sgd_update w3 g3 m3 = u net.three\n"
			  "kernel sgd_update w4 g4 m4 = u net.four\n"},
	{"touch_state",
		WEIGHTS "up s1 256\n"
			"module s1 net.norm\n"
			"module n1 net.norm\n"
			"step\n" INPUT "conv x w1 a = f conv1\n"
			"kernel count n1 = f net.norm\n"
			"kernel statistics t a = f net.norm\n"
			"kernel normalize h a t s1 = f net.norm\n"
			"conv h w2 b = f conv2\n"
			"conv b w3 c = f conv3\n"
			"conv c w4 d = f conv4\n" LOSS SEED "wgrad c e g4 = b conv4\n"
			"dgrad w4 e f = b conv4\n"
			"wgrad b f g3 = b conv3\n"
			"dgrad w3 f e = b conv3\n"
			"wgrad h e g2 = b conv2\n"
			"dgrad w2 e f = b conv2\n"
			"kernel normalize_back f t s1 gs = b net.norm\n"
			"wgrad x f g1 = b conv1\n" UPDATE "kernel sgd_update s1 gs ms = u net.norm\n"},
	{"touch_partner",
		WEIGHTS "step\n" INPUT FORWARD LOSS SEED BACKWARD "kernel sgd_update w2 g2 m2 = u conv2\n"
			"kernel sgd_update w3 g3 m3 = u conv3\n"
			"kernel sgd_update w4 g4 m4 = u conv4\n"},
	{"touch_reduction", WEIGHTS "step\n" INPUT FORWARD LOSS SEED "wgrad c e g4 = b conv4\n"
				    "dgrad w4 e f = b conv4\n"
				    "wgrad b f g3 = b conv3\n"
				    "dgrad w3 f e = b conv3\n"
				    "kernel reduce_kernel q f = b conv3\n"
				    "wgrad a e g2 = b conv2\n"
				    "dgrad w2 e f = b conv2\n"
				    "wgrad x f g1 = b conv1\n" UPDATE},
	{"outside_exchanges", WEIGHTS "step\n" INPUT "kernel pack q n = -\n"
				      "reduce q q 4096 = c\n"
				      "kernel unpack n q = -\n" FORWARD LOSS SEED BACKWARD UPDATE},
	{"turn_thread", "up w1\n"
			"up w2\n"
			"step\n" INPUT "conv x w1 a = f conv1\n"
			"kernel fill z = f conv2\n"
			"conv a w2 b = f conv2\n"
			"kernel loss l b x = f conv2\n"
			"kernel fill s = b conv2\n"
			"@2 kernel loss_back e b x s = b conv2\n"
			"@2 wgrad a e g2 = b conv2\n"
			"@2 dgrad w2 e f = b conv2\n"
			"@2 wgrad x f g1 = b conv1\n"
			"kernel sgd_update w1 g1 m1 = u conv1\n"
			"kernel sgd_update w2 g2 m2 = u conv2\n"},
	{"forward_source", WEIGHTS "step\n" INPUT "conv x w1 a = f conv1\n"
				   "conv a w2 b = f conv2\n"
				   "act a h = f conv1\n"
				   "conv b w3 c = f conv3\n"
				   "conv c w4 d = f conv4\n" BACKWARD LIBRARY_UPDATE},
	{"forward_module", /* a norm counts batches before it reads its weights */
		WEIGHTS "module w1 net.conv\n"
			"module n1 net.norm\n"
			"module w2 net.norm\n"
			"step\n" INPUT "conv x w1 a = f net.conv\n"
			"kernel count n1 = f net.norm\n"
			"conv a w2 b = f net.norm\n"
			"conv b w3 c = f conv3\n"
			"conv c w4 d = f conv4\n"
			"wgrad c e g4 = b conv4\n"
			"dgrad w4 e f = b conv4\n"
			"wgrad b f g3 = b conv3\n"
			"dgrad w3 f e = b conv3\n"
			"wgrad a e g2 = b net.norm\n"
			"dgrad w2 e f = b net.norm\n"
			"wgrad x f g1 = b net.conv\n"
			"axpy g1 w1 = u net.conv\n"
			"axpy g2 w2 = u net.norm\n"
			"axpy g3 w3 = u conv3\n"
			"axpy g4 w4 = u conv4\n"},
	{"backward_unmatched", WEIGHTS "step\n" INPUT "conv x w1 a = f conv1\n"
				       "drop a h = f dropout1\n"
				       "conv h w2 b = f conv2\n"
				       "conv b w3 c = f conv3\n"
				       "conv c w4 d = f conv4\n"
				       "wgrad c e g4 = b conv4\n"
				       "dgrad w4 e f = b conv4\n"
				       "wgrad b f g3 = b conv3\n"
				       "dgrad w3 f e = b conv3\n"
				       "wgrad h e g2 = b conv2\n"
				       "undrop q f = b dropout1\n"
				       "wgrad x f g1 = b conv1\n" LIBRARY_UPDATE},
	{"updated_rows", "kernel fill w1\n"
			 "kernel fill w2\n"
			 "kernel fill w3\n"
			 "kernel fill w4\n"
			 "kernel fill b1\n"
			 "step\n" INPUT "conv x w1 a = f conv1\n"
			 "kernel shift h a b1 t = f layer1\n"
			 "conv h w2 b = f conv2\n"
			 "conv b w3 c = f conv3\n"
			 "conv c w4 d = f conv4\n" LOSS SEED "wgrad c e g4 = b conv4\n"
			 "dgrad w4 e f = b conv4\n"
			 "wgrad b f g3 = b conv3\n"
			 "dgrad w3 f e = b conv3\n"
			 "wgrad h e g2 = b conv2\n"
			 "dgrad w2 e f = b conv2\n"
			 "kernel shift_back gb f = b layer1\n"
			 "wgrad x f g1 = b conv1\n"
			 "kernel sgd_update w1 b1 w2 w3 w4 _ g1 gb g2 g3 g4 = u conv1\n"},
	/* memory that was used before: seeds were copied to it; the kernel that updates has no telling name
	 */
	{"overwritten", "up b1 8\n"
			"up b2 8\n" MADE MADE_STEP("apply", "layer2") "size conv1 -\n"},
	{"set_sizes", MADE MADE_STEP("sgd_update", "layer2") "size layer1 6\n"
							     "size layer2 16\n"},
	{"state_sizes", MADE "set mb1 24\n"
			     "set m1 600\n"
			     "set m2 9600\n" MADE_STEP("sgd_update", "conv2") "size conv1 150\n"
									      "size layer1 6\n"
									      "size conv2 2400\n"
									      "size conv3 -\n"},
	{"state of another size beside one parameter says nothing of others",
		MADE "set mb1 24\n"
		     "set mb2 128\n"
		     "set m1 1200\n" MADE_STEP("sgd_update", "layer2") "size conv1 -\n"
								       "size layer1 6\n"},
	{"without an update that is known kernels may read more parameters than libraries do",
		"kernel fill w1\n"
		"kernel fill w2\n"
		"kernel fill w3\n"
		"kernel fill w4\n"
		"step\n" INPUT FORWARD "kernel loss l d x = b conv4\n" BACKWARD "kernel mix g1 g2 = u\n"
		"size conv1 -\n"
		"size conv4 -\n"},
	/* threads that launch what is ready: a gradient among the updates, as another operation would be */
	{"moved", WEIGHTS "step\n" INPUT FORWARD LOSS SEED "wgrad c e g4 = b conv4\n"
			  "~ kernel sum_rows p e = b conv4\n"
			  "dgrad w4 e f = b conv4\n"
			  "wgrad b f g3 = b conv3\n"
			  "dgrad w3 f e = b conv3\n"
			  "wgrad a e g2 = b conv2\n"
			  "dgrad w2 e f = b conv2\n"
			  "wgrad x f g1 = b conv1\n"
			  "kernel sgd_update w1 g1 m1 = u conv1\n"
			  "kernel sgd_update w2 g2 m2 = u conv2\n"
			  "kernel sgd_update w3 g3 m3 = u conv3\n"
			  "kernel sgd_update w4 g4 m4 = u conv4\n"},
	{"turn_lone", "up w1\n"
		      "step\n" INPUT "conv x w1 a = f conv1\n"
		      "kernel loss l a x = f conv1\n"
		      "kernel fill s = b conv1\n"
		      "kernel loss_back e a x s = b conv1\n"
		      "wgrad x e g1 = b conv1\n"
		      "kernel sgd_update w1 g1 m1 = u conv1\n"},
	{"start_seed", WEIGHTS "step\n" INPUT FORWARD "kernel scale h d = f conv4\n"
			       "kernel mean i h = f conv4\n"
			       "kernel deviation j h = f conv4\n"
			       "kernel fill s = b conv4\n"
			       "kernel deviation_back e j s = b conv4\n" BACKWARD UPDATE},
	{"start_returned", WEIGHTS "step\n" INPUT FORWARD "down d 4096 = f conv4\n"
				   "up e 2048 = h\n"
				   "kernel square e q = b conv4\n"
				   "kernel square e q = b conv4\n"
				   "kernel square e q = b conv4\n"
				   "kernel square e q = b conv4\n" BACKWARD UPDATE},
	{"gradient_state", WEIGHTS "up b1 256\n"
				   "step\n" INPUT "conv x w1 a = f conv1\n"
				   "kernel shift h a b1 t = f layer1\n"
				   "conv h w2 b = f conv2\n"
				   "conv b w3 c = f conv3\n"
				   "conv c w4 d = f conv4\n" LOSS SEED "wgrad c e g4 = b conv4\n"
				   "dgrad w4 e f = b conv4\n"
				   "wgrad b f g3 = b conv3\n"
				   "dgrad w3 f e = b conv3\n"
				   "wgrad h e g2 = b conv2\n"
				   "dgrad w2 e f = b conv2\n"
				   "kernel shift_back gb f = b layer1\n"
				   "wgrad x f g1 = b conv1\n"
				   "kernel adam_mean m1 g1 = u\n"
				   "kernel adam_mean m2 g2 = u\n"
				   "kernel adam_mean m3 g3 = u\n"
				   "kernel adam_mean m4 g4 = u\n"
				   "kernel adam_mean mb gb = u\n"
				   "kernel adam_update w1 m1 = u conv1\n"
				   "kernel adam_update w2 m2 = u conv2\n"
				   "kernel adam_update w3 m3 = u conv3\n"
				   "kernel adam_update w4 m4 = u conv4\n"
				   "kernel adam_update b1 mb = u layer1\n"},
	{"touch_previous", WEIGHTS "step\n" INPUT FORWARD LOSS SEED "wgrad c e g4 = b conv4\n"
				   "dgrad w4 e f = b conv4\n"
				   "wgrad b f g3 = b conv3\n"
				   "dgrad w3 f e = b conv3\n"
				   "kernel count q = b conv3\n"
				   "wgrad a e g2 = b conv2\n"
				   "dgrad w2 e f = b conv2\n"
				   "wgrad x f g1 = b conv1\n" UPDATE},
	{"touch_copy", WEIGHTS "step\n" INPUT "conv x w1 a = f conv1\n"
			       "conv a w2 b = f conv2\n"
			       "kernel copy_kernel h b = f conv3\n"
			       "conv h w3 c = f conv3\n"
			       "conv c w4 d = f conv4\n" LOSS SEED "wgrad c e g4 = b conv4\n"
			       "dgrad w4 e f = b conv4\n"
			       "wgrad h f g3 = b conv3\n"
			       "dgrad w3 f e = b conv3\n"
			       "wgrad a e g2 = b conv2\n"
			       "dgrad w2 e f = b conv2\n"
			       "wgrad x f g1 = b conv1\n" UPDATE},
	{"NEAR_CALLS", /* of two copies one is far from its product */
		WEIGHTS "step\n" INPUT "conv x w1 a = f conv1\n"
			"kernel copy_kernel i a = f conv1\n"
			"kernel count a = f conv1\n"
			"kernel count a = f conv1\n"
			"kernel count a = f conv1\n"
			"kernel count a = f conv1\n"
			"kernel count a = f conv1\n"
			"kernel count a = f conv1\n"
			"kernel count a = f conv1\n"
			"conv i w2 b = f conv2\n"
			"kernel copy_kernel h b = f conv3\n"
			"kernel count b = f conv2\n"
			"kernel count b = f conv2\n"
			"kernel count b = f conv2\n"
			"conv h w3 c = f conv3\n"
			"conv c w4 d = f conv4\n" LOSS SEED "wgrad c e g4 = b conv4\n"
			"dgrad w4 e f = b conv4\n"
			"wgrad h f g3 = b conv3\n"
			"dgrad w3 f e = b conv3\n"
			"wgrad i e g2 = b conv2\n"
			"dgrad w2 e f = b conv2\n"
			"wgrad x f g1 = b conv1\n" UPDATE},
	{"LAYER_MOST_PARAMETERS", /* four are of one layer, eight of the model */
		WEIGHTS "up wi\n"
			"up wh\n"
			"up bi 256\n"
			"up bh 256\n"
			"step\n" INPUT "kernel penalty p w1 w2 w3 w4 wi wh bi bh = f conv1\n"
			"conv x w1 a = f conv1\n"
			"kernel cell h a wi wh bi bh = f layer1\n"
			"conv h w2 b = f conv2\n"
			"conv b w3 c = f conv3\n"
			"conv c w4 d = f conv4\n" LOSS SEED "wgrad c e g4 = b conv4\n"
			"dgrad w4 e f = b conv4\n"
			"wgrad b f g3 = b conv3\n"
			"dgrad w3 f e = b conv3\n"
			"wgrad h e g2 = b conv2\n"
			"dgrad w2 e f = b conv2\n"
			"kernel cell_back f a gi gh gbi gbh = b layer1\n"
			"wgrad x f g1 = b conv1\n" UPDATE "kernel sgd_update wi gi mi = u layer1\n"
			"kernel sgd_update wh gh mh = u layer1\n"
			"kernel sgd_update bi gbi mbi = u layer1\n"
			"kernel sgd_update bh gbh mbh = u layer1\n"},
	{"NEAR_CALLS of siblings", /* with other work between the two */
		WEIGHTS "step\n" INPUT FORWARD LOSS SEED "wgrad c e g4 = b conv4\n"
			"dgrad w4 e f = b conv4\n"
			"wgrad b f g3 = b conv3\n"
			"dgrad w3 f e = b conv3\n"
			"kernel count q = b conv3\n"
			"kernel count q = b conv3\n"
			"kernel reduce_kernel r f = b conv3\n"
			"wgrad a e g2 = b conv2\n"
			"dgrad w2 e f = b conv2\n"
			"wgrad x f g1 = b conv1\n" UPDATE},
	{"block_touches", /* of gradients, in memory that the loss had before */
		"up w1\n"
		"up w2\n"
		"up p 256\n"
		"up p+256 256\n"
		"up p+512 256\n"
		"up w3\n"
		"step\n" INPUT "conv x w1 a = f conv1\n"
		"conv a w2 b = f conv2\n"
		"rnn b 768 p c = f rnn1\n"
		"conv c w3 d = f conv3\n"
		"kernel loss l d x = f conv3\n"
		"kernel fill s = b conv3\n"
		"kernel loss_back q+256 d x s = b conv3\n"
		"kernel spread e q+256 = b conv3\n"
		"wgrad c e g3 = b conv3\n"
		"dgrad w3 e f = b conv3\n"
		"dgrad p f h = b rnn1\n"
		"rnn_wgrad b f 768 q = b rnn1\n"
		"wgrad a h g2 = b conv2\n"
		"dgrad w2 h e = b conv2\n"
		"wgrad x e g1 = b conv1\n"
		"kernel sgd_update w1 w2 p p+256 p+512 w3 _ g1 g2 q q+256 q+512 g3 = u conv1\n"},
	{"block_touches", /* a product that reads weights of two parameters at once */
		"up w1\n"
		"up w2\n"
		"up v 128\n"
		"up v+128 128\n"
		"up w4\n"
		"step\n"
		"up x 512 = h\n"
		"conv x w1 a = f conv1\n"
		"times v a b = f fc1\n"
		"conv b w2 c = f conv2\n"
		"conv c w4 d = f conv3\n"
		"kernel loss l d x = f conv3\n"
		"kernel fill s = b conv3\n"
		"kernel loss_back e d x s = b conv3\n"
		"wgrad c e g4 = b conv3\n"
		"dgrad w4 e f = b conv3\n"
		"wgrad b f g2 = b conv2\n"
		"dgrad w2 f e = b conv2\n"
		"times v e f = b fc1\n"
		"times a e gv = b fc1\n"
		"wgrad x f g1 = b conv1\n"
		"kernel sgd_update w1 g1 m1 = u conv1\n"
		"kernel sgd_update v gv mv = u fc1\n"
		"kernel sgd_update v+128 gv+128 mu = u fc1\n"
		"kernel sgd_update w2 g2 m2 = u conv2\n"
		"kernel sgd_update w4 g4 m4 = u conv3\n"},
	{"updates_caller", /* counts steps, in the function that updates */
		"at begin\n" WEIGHTS "step\n"
		"kernel begin x = f conv1\n" INPUT FORWARD LOSS SEED BACKWARD
		"^Trainer.apply kernel count q = u\n"
		"^Trainer.apply kernel climb_update w1 g1 m1 = u conv1\n"
		"^Trainer.apply kernel climb_update w2 g2 m2 = u conv2\n"
		"^Trainer.apply kernel climb_update w3 g3 m3 = u conv3\n"
		"^Trainer.apply kernel climb_update w4 g4 m4 = u conv4\n" FORWARD LOSS SEED BACKWARD UPDATE},
	{"updates_last_passes", /* as LBFGS evaluates once more */
		"at begin\n" WEIGHTS "step\n"
		"kernel begin x = f conv1\n" INPUT FORWARD LOSS SEED BACKWARD CLIMB FORWARD LOSS SEED BACKWARD
			UPDATE FORWARD LOSS SEED BACKWARD},
	{"updates_spread", /* of two parameters; the others are frozen */
		WEIGHTS "step\n" INPUT FORWARD LOSS SEED "wgrad c e g4 = b conv4\n"
			"kernel sgd_update w4 g4 m4 = u conv4\n"
			"dgrad w4 e f = b conv4\n"
			"wgrad b f g3 = b conv3\n"
			"kernel sgd_update w3 g3 m3 = u conv3\n"},
	{"touch_units", /* two layers' parameters are gathered together */
		"up s1 1024\n"
		"up s2 1024\n"
		"up s3 1024\n"
		"up s4 1024\n"
		"step\n"
		"up x 512 = h\n"
		"kernel pack S S+1024 s1 s2 = f conv1\n"
		"gather S G 2048 = c\n"
		"table T 64 P1 P2 G G+1024 = f conv1\n"
		"kernel place T = f conv1\n"
		"conv x P1 a = f conv1\n"
		"conv a P2 b = f conv2\n"
		"kernel pack S S+1024 s3 s4 = f conv3\n"
		"gather S G 2048 = c\n"
		"table T 64 P3 P4 G G+1024 = f conv3\n"
		"kernel place T = f conv3\n"
		"conv b P3 c = f conv3\n"
		"conv c P4 d = f conv4\n"
		"kernel loss l d x = f conv4\n"
		"kernel fill s = b conv4\n"
		"kernel loss_back e d x s = b conv4\n"
		"wgrad c e g4 = b conv4\n"
		"dgrad P4 e f = b conv4\n"
		"wgrad b f g3 = b conv3\n"
		"dgrad P3 f e = b conv3\n"
		"kernel pack_gradients R R+1024 g3 g4 = b conv3\n"
		"scatter R r3 2048 = c\n"
		"kernel pack S S+1024 s1 s2 = b conv1\n"
		"gather S G 2048 = c\n"
		"table T+64 64 P1 P2 G G+1024 = b conv1\n"
		"kernel place T+64 = b conv1\n"
		"wgrad a e g2 = b conv2\n"
		"dgrad P2 e f = b conv2\n"
		"wgrad x f g1 = b conv1\n"
		"kernel pack_gradients R R+1024 g1 g2 = b conv1\n"
		"scatter R r1 2048 = c\n"
		"kernel sgd_update s1 r1 m1 = u conv1\n"
		"kernel sgd_update s2 r1+1024 m2 = u conv2\n"
		"kernel sgd_update s3 r3 m3 = u conv3\n"
		"kernel sgd_update s4 r3+1024 m4 = u conv4\n"},
};

int main(int argument_count, char **arguments)
{
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(*fixtures); i++)
		if (argument_count < 2 || strcmp(arguments[1], fixtures[i].rule) == 0)
			CHECK(fixture_check(fixtures[i].rule, fixtures[i].text) == 0, "%s", fixtures[i].rule);
	return check_end();
}
