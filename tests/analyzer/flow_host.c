/*
 * A network whose element-wise work, norms, loss and optimizer are kernels of its own, as llm.c's and
 * PyTorch's are: blocks of a norm, a product with bias, an activation and a residual sum. Nothing is
 * computed; which memory each call works on is what a training of it would have. Prints for each call that
 * does work where it belongs: iteration, phase, layer.
 *
 *     flow_host CASE [BLOCKS [ITERATIONS]]
 *
 * CASE says how parameters are updated. each: by a launch for each; block: they lie in one block and have one
 * launch; kinds: the same, but in the block all of a kind are together, and each kind has a launch; list: by
 * one launch with a list by value; cast: as each, and products read copies of the weights in another type.
 * stale: list and cast, but each copy is made where the one before was, and the list's words after its end
 * are left from another list; words of a bias's kernel, and of an activation's in all iterations but one,
 * which going backward is the first and has one call more, are left from another launch. batches: list and
 * cast, and three batches make a step, whose gradients are added up. mean: list, and after the update
 * another launch with a running mean of all parameters. copies: list, gradients are copied on the device
 * between two layers, and all of them are cleared before the batch. turns: list, and four batches make a
 * step, which begin before others have gone back: forward, forward, backward, forward, backward, forward,
 * backward, backward. twice: list, and a step goes through the model twice: after the first time parameters
 * are moved along their gradients by a launch for each. graph: list, and from the fourth step on passes and
 * update are one CUDA graph, captured then; for its launches nothing is printed. pieces: each, and parameters
 * lie in one block that is copied in pieces, of which the first ends within them. images: products alone,
 * made for each image by itself as darknet does, then normalized, with biases added in place; no kernel's
 * name says that it updates, the gradients that a layer will add to are cleared as it goes forward, a single
 * kernel compares with the target, and the loss is copied to the host after it; two batches make a step.
 * host: the same, but the loss and its gradient are made on the host. norms: each, and before the update a
 * norm of all gradients is made where the loss was, and copied to the host. zero: each, but the optimizer
 * works on a copy of the parameters' block, from which the block is made again, and gathered from all ranks.
 * saxpy: each, by a function of cuBLAS. middle: each, and the loss reads the result of a block in the middle
 * too, after the last one. lazy: each, but parameters are copied to the device when the first
 * step needs them, and biases are added by a function of cuDNN.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <err.h>
#include <nccl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../called.h"

#define EXPORTED __attribute__((visibility("default")))
#define WIDTH 64
#define ROWS 32
#define BLOCKS_MOST 32
#define KINDS 4 /* of parameters in a block: the norm's scale and shift, the product's weights and bias */
#define PARAMETERS_MOST (KINDS * BLOCKS_MOST)
#define PIECE (1 << 20)       /* bytes of a block that are copied at once, where it is copied in pieces */
#define FRONT (PIECE - 40000) /* of a table that nothing reads, in front of parameters in pieces */
#define IMAGES 8

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFunction(void **image, const char *host_function, char *device_function, const char *name,
	int thread_limit, void *thread_id, void *block_id, void *block_size, void *grid_size, int *warp_size);

/* Kernels, with the sizes of their arguments by which softgpu answers where they are. */
struct update_list {
	void *parameters[PARAMETERS_MOST], *gradients[PARAMETERS_MOST], *means[PARAMETERS_MOST];
};
#define KERNELS(X) \
	X(norm_forward, 8, 8, 8, 8) \
	X(add_bias, 8, 8, 8, 8) \
	X(activate, 8, 8, 8) \
	X(sum, 8, 8, 8) \
	X(loss, 8, 8, 8) \
	X(cast, 8, 8, 4) \
	X(loss_back, 8, 8, 8) \
	X(activate_back, 8, 8, 8, 8) \
	X(bias_back, 8, 8) \
	X(norm_back, 8, 8, 8, 8, 8) \
	X(climb, 8, 8) \
	X(update, 8, 8, 8, 4) \
	X(fill, 8) \
	X(normalize, 8) \
	X(add_in_place, 8, 8) \
	X(activate_in_place, 8) \
	X(slope_in_place, 8, 8) \
	X(axpy, 8, 8) \
	X(scale, 8) \
	X(squares, 8, 8) \
	X(update_all, sizeof(struct update_list), 4) X(update_average, sizeof(struct update_list), 4)
#define KERNEL(name, ...) \
	static char name; \
	EXPORTED void sg_twin_##name(dim3 grid, dim3 block, void **args); \
	void sg_twin_##name(dim3 grid, dim3 block, void **args) \
	{ \
		(void)grid, (void)block, (void)args; \
	} \
	EXPORTED extern const size_t sg_twin_##name##_args[]; \
	const size_t sg_twin_##name##_args[] = {__VA_ARGS__, 0};
KERNELS(KERNEL)

static int iteration = -1;
static cublasHandle_t handle;
static cudaStream_t stream;
static int blocks = 6;
static bool is_list, is_block, is_cast, is_stale, is_batches, is_mean, is_copies, is_turns, is_graph,
	is_kinds, is_twice, is_pieces, is_images, is_norms, is_host, is_zero, is_soon, is_saxpy, is_lazy,
	is_middle;
static bool is_again; /* the same batch */
static int under_way; /* of two batches, which */

static struct parameter {
	char *data, *gradient, *mean, *running;
} parameters[PARAMETERS_MOST];
static char *copies[BLOCKS_MOST], *memory, *batch, *target;

/* Where the next call belongs. */
static void belongs(const char *phase, int layer)
{
	printf("%d %s %d\n", iteration, phase, layer);
}

static unsigned grid = 8; /* of launches */

static void launch(const void *kernel, void *a, void *b, void *c, void *d, void *e)
{
	void *args[] = {&a, &b, &c, &d, &e};

	CHECK(cudaLaunchKernel(kernel, (dim3){grid, 1, 1}, (dim3){64, 1, 1}, args, 0, stream));
}

static void product_of(int rows, char *a, char *b, char *c, cublasOperation_t of_a, cublasOperation_t of_b)
{
	static const float one = 1, zero;

	CHECK(cublasSgemm(handle, of_a, of_b, WIDTH, of_b == CUBLAS_OP_T ? WIDTH : rows, WIDTH, &one,
		(float *)(void *)a, WIDTH, (float *)(void *)b, WIDTH, is_images ? &one : &zero,
		(float *)(void *)c, WIDTH));
}

static void product(char *a, char *b, char *c, cublasOperation_t of_a, cublasOperation_t of_b)
{
	product_of(ROWS, a, b, c, of_a, of_b);
}

/* Activations, and later what is their gradient, in memory that is used again, in another order each time. */
static char *activation(int number)
{
	if (number < 5 * BLOCKS_MOST)
		number += under_way * 5 * blocks;
	return memory + (size_t)((number + iteration % 3) % (6 * BLOCKS_MOST)) * WIDTH * WIDTH * 4;
}

static char *loss_room(void)
{
	return is_norms ? copies[0] : activation(5 * blocks);
}

static char *weights_of(int block)
{
	return is_cast ? copies[block] : parameters[KINDS * block + 2].data;
}

static void add_bias_by_cudnn(char *rows, char *bias)
{
	static cudnnHandle_t cudnn;
	static cudnnTensorDescriptor_t of_rows, of_bias;
	const float one = 1;

	if (!cudnn) {
		CHECK(cudnnCreate(&cudnn));
		CHECK(cudnnSetStream(cudnn, stream));
		CHECK(cudnnCreateTensorDescriptor(&of_rows));
		CHECK(cudnnCreateTensorDescriptor(&of_bias));
		CHECK(cudnnSetTensor4dDescriptor(
			of_rows, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, ROWS, WIDTH, 1, 1));
		CHECK(cudnnSetTensor4dDescriptor(
			of_bias, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, WIDTH, 1, 1));
	}
	CHECK(cudnnAddTensor(cudnn, &one, of_bias, bias, &one, of_rows, rows));
}

static size_t bytes_of(int number)
{
	return number % KINDS == 2 ? WIDTH * WIDTH * 4 : WIDTH * 4;
}

static float values[PARAMETERS_MOST * WIDTH * WIDTH];

static void copy_parameter(int number)
{
	CHECK(cudaMemcpy(parameters[number].data, values, bytes_of(number), cudaMemcpyHostToDevice));
}

static void forward(void)
{
	for (int b = 0; b < blocks; b++) {
		struct parameter *p = &parameters[KINDS * b];
		char *in = b ? activation(5 * b - 1) : batch;

		for (int i = 0; i < KINDS && is_lazy && iteration == 0; i++)
			copy_parameter(KINDS * b + i);
		belongs("t_f", 2 * b);
		launch(&norm_forward, activation(5 * b), in, p[0].data, p[1].data, NULL);
		if (is_cast) {
			belongs("t_f", 2 * b + 1);
			launch(&cast, copies[b], p[2].data, NULL, NULL, NULL);
		}
		belongs("t_f", 2 * b + 1);
		product(weights_of(b), activation(5 * b), activation(5 * b + 1), CUBLAS_OP_N, CUBLAS_OP_N);
		belongs("t_f", 2 * b + 1);
		if (is_lazy)
			add_bias_by_cudnn(activation(5 * b + 1), p[3].data);
		else
			launch(&add_bias, activation(5 * b + 1), activation(5 * b + 1), p[3].data,
				is_stale ? activation(5 * b + 3) : NULL, NULL);
		belongs("t_f", 2 * b + 1);
		launch(&activate, activation(5 * b + 2), activation(5 * b + 1),
			is_stale && iteration != 2 ? parameters[0].data : NULL, NULL, NULL);
		belongs("t_f", 2 * b + 1);
		launch(&sum, activation(5 * b + 4), activation(5 * b + 2), in, NULL, NULL);
	}
}

/* Gradients of activations lie after the activations. */
static char *slope(int number)
{
	return activation(5 * BLOCKS_MOST + number % 8);
}

/* The parameter's gradient is made, and used no more. */
static void update_soon(const struct parameter *parameter)
{
	int one = 1;

	if (!is_soon)
		return;
	belongs("t_u", -1);
	launch(&update, parameter->data, parameter->gradient, parameter->mean, &one, NULL);
}

static void backward(void)
{
	for (int b = blocks; b-- > 0;) {
		struct parameter *p = &parameters[KINDS * b];
		char *copied = activation(5 * BLOCKS_MOST + 12 + b % 16);
		char *in = b ? activation(5 * b - 1) : batch;

		if (is_middle && b == blocks / 2 - 1) {
			belongs("t_b", -1);
			launch(&add_in_place, slope(0), slope(3), NULL, NULL, NULL);
		}
		belongs("t_b", 2 * b + 1);
		launch(&activate_back, slope(1), slope(0), activation(5 * b + 1),
			is_stale && iteration ? parameters[0].data : NULL, NULL);
		belongs("t_b", 2 * b + 1);
		launch(&bias_back, p[3].gradient, slope(1), NULL, NULL, NULL);
		update_soon(&p[3]);
		belongs("t_b", 2 * b + 1);
		product(activation(5 * b), slope(1), p[2].gradient, CUBLAS_OP_N, CUBLAS_OP_T);
		if (is_stale) {
			belongs("t_b", 2 * b + 1);
			launch(&cast, copies[b], p[2].data, NULL, NULL, NULL);
		}
		belongs("t_b", 2 * b + 1);
		product(weights_of(b), slope(1), slope(2), CUBLAS_OP_T, CUBLAS_OP_N);
		update_soon(&p[2]);
		if (is_copies) {
			belongs("t_b", 2 * b);
			CHECK(cudaMemcpyAsync(
				copied, slope(2), ROWS * WIDTH * 4, cudaMemcpyDeviceToDevice, NULL));
		}
		belongs("t_b", 2 * b);
		launch(&norm_back, slope(0), is_copies ? copied : slope(2), in, p[0].data, p[0].gradient);
		update_soon(&p[0]);
		update_soon(&p[1]);
	}
}

static float batch_values[ROWS * WIDTH];

static void copy_batch(void)
{
	belongs("t_h2d", -1);
	CHECK(cudaMemcpyAsync(batch, batch_values, sizeof(batch_values), cudaMemcpyHostToDevice, stream));
	if (is_host)
		return;
	belongs("t_h2d", -1);
	CHECK(cudaMemcpyAsync(target, batch_values, ROWS * 4, cudaMemcpyHostToDevice, stream));
}

/* ---- image by image ---- */

static char *results[BLOCKS_MOST + 1], *slopes[BLOCKS_MOST + 1]; /* of each layer, and of the loss */

static char *image_of(char *rows, int image)
{
	return rows + (size_t)image * ROWS / IMAGES * WIDTH * 4;
}

static void forward_images(void)
{
	for (int b = 0; b < blocks; b++) {
		const struct parameter *p = &parameters[KINDS * b];

		belongs("t_f", -1);
		grid = 8 + (unsigned)b;
		launch(&fill, slopes[b], NULL, NULL, NULL, NULL);
		grid = 8;
		belongs("t_f", -1);
		launch(&fill, results[b], NULL, NULL, NULL, NULL);
		for (int i = 0; i < IMAGES; i++) {
			belongs("t_f", 2 * b);
			product_of(ROWS / IMAGES, p[2].data, image_of(b ? results[b - 1] : batch, i),
				image_of(results[b], i), CUBLAS_OP_N, CUBLAS_OP_N);
		}
		belongs("t_f", 2 * b);
		launch(&normalize, results[b], NULL, NULL, NULL, NULL);
		belongs("t_f", 2 * b + 1);
		launch(&add_in_place, results[b], p[3].data, NULL, NULL, NULL);
		belongs("t_f", 2 * b + 1);
		launch(&activate_in_place, results[b], NULL, NULL, NULL, NULL);
	}
	belongs("t_f", -1);
	launch(&fill, slopes[blocks], NULL, NULL, NULL, NULL);
	if (is_host)
		return;
	belongs("t_f", -1);
	launch(&loss, slopes[blocks], results[blocks - 1], target, NULL, NULL);
}

static float lost[ROWS * WIDTH];

/* The loss to the host; or the results, and back what it makes of them. */
static void fetch_loss(void)
{
	belongs("t_f", -1);
	CHECK(cudaMemcpyAsync(lost, is_host ? results[blocks - 1] : slopes[blocks],
		is_host ? sizeof(lost) : sizeof(*lost), cudaMemcpyDeviceToHost, stream));
	if (!is_host)
		return;
	belongs("-", -1);
	CHECK(cudaMemcpyAsync(slopes[blocks], lost, sizeof(lost), cudaMemcpyHostToDevice, stream));
}

static void backward_images(void)
{
	belongs("t_b", -1);
	launch(&axpy, slopes[blocks], slopes[blocks - 1], NULL, NULL, NULL);
	for (int b = blocks; b-- > 0;) {
		const struct parameter *p = &parameters[KINDS * b];

		belongs("t_b", -1);
		launch(&slope_in_place, slopes[b], results[b], NULL, NULL, NULL);
		belongs("t_b", -1);
		launch(&bias_back, p[3].gradient, slopes[b], NULL, NULL, NULL);
		for (int i = 0; i < IMAGES; i++) {
			belongs("t_b", 2 * b);
			product_of(ROWS / IMAGES, image_of(b ? results[b - 1] : batch, i),
				image_of(slopes[b], i), p[2].gradient, CUBLAS_OP_N, CUBLAS_OP_T);
			if (b == 0)
				continue;
			belongs("t_b", 2 * b);
			product_of(ROWS / IMAGES, p[2].data, image_of(slopes[b], i),
				image_of(slopes[b - 1], i), CUBLAS_OP_T, CUBLAS_OP_N);
		}
	}
}

static void update_images(void)
{
	for (int i = 0; i < KINDS * blocks; i++) {
		const struct parameter *p = &parameters[i];

		if (i % KINDS < 2)
			continue;
		belongs("t_u", -1);
		launch(&axpy, p->data, p->gradient, NULL, NULL, NULL);
		belongs("t_u", -1);
		launch(&axpy, p->gradient, p->data, NULL, NULL, NULL);
		belongs("t_u", -1);
		launch(&scale, p->gradient, NULL, NULL, NULL, NULL);
	}
}

static void train_images(void)
{
	for (int i = 0; i < 2; i++) {
		copy_batch();
		forward_images();
		fetch_loss();
		backward_images();
	}
	update_images();
}

/* ---- updates ---- */

/* In the loss's room, which is no more in use. */
static void make_norms(void)
{
	char *room = loss_room();

	belongs("t_u", -1);
	CHECK(cudaMemsetAsync(room, 0, 4, stream));
	for (int i = 0; i < KINDS * blocks; i++) {
		belongs("t_u", -1);
		launch(&squares, room, parameters[i].gradient, NULL, NULL, NULL);
	}
	belongs("-", -1);
	CHECK(cudaMemcpyAsync(lost, room, sizeof(*lost), cudaMemcpyDeviceToHost, stream));
}

/* Gradients come first, and after their end stand parameters, beside gradients of others. */
static void leave_words(struct update_list *list)
{
	const int count = KINDS * blocks;

	for (int i = 0; i < count; i++) {
		list->parameters[i] = parameters[i].gradient;
		list->gradients[i] = parameters[i].data;
	}
	for (int i = KINDS; i < count; i++)
		list->parameters[count + i - KINDS] = parameters[i].data;
}

static ncclComm_t communicator;
static char *part, *flat, *state; /* the optimizer's: of the block, of its gradients; and its state */
static size_t block_bytes;

/* One rank has all of them. */
static void update_part(void)
{
	for (int i = 0; i < KINDS * blocks; i++) {
		belongs("-", -1);
		launch(&axpy, parameters[i].gradient, flat, NULL, NULL, NULL);
	}
	belongs("t_u", -1);
	launch(&update, part, flat, state, &block_bytes, NULL);
	belongs("-", -1);
	launch(&cast, parameters[0].data, part, NULL, NULL, NULL);
	CHECK(ncclAllGather(
		parameters[0].data, parameters[0].data, block_bytes / 4, ncclFloat32, communicator, stream));
}

static void descend(int number)
{
	static const float rate = -0.1f;

	CHECK(cublasSaxpy(handle, (int)(bytes_of(number) / sizeof(float)), &rate,
		(float *)(void *)parameters[number].gradient, 1, (float *)(void *)parameters[number].data,
		1));
}

static void update_parameters(void)
{
	static struct update_list list;
	int one = 1;
	void *args[] = {&list, &one};

	for (int k = 0; k < (is_kinds ? KINDS : is_block ? 1 : 0); k++) {
		belongs("t_u", -1);
		launch(&update, parameters[k].data, parameters[k].gradient, parameters[k].mean, &one, NULL);
	}
	if (is_block)
		return;
	for (int i = 0; i < KINDS * blocks; i++) {
		list.parameters[i] = parameters[i].data;
		list.gradients[i] = parameters[i].gradient;
		list.means[i] = parameters[i].mean;
		if (is_list)
			continue;
		belongs("t_u", -1);
		if (is_saxpy)
			descend(i);
		else
			launch(&update, parameters[i].data, parameters[i].gradient, parameters[i].mean, &one,
				NULL);
	}
	if (!is_list)
		return;
	if (is_stale)
		leave_words(&list);
	belongs("t_u", -1);
	CHECK(cudaLaunchKernel(&update_all, (dim3){8, 1, 1}, (dim3){64, 1, 1}, args, 0, stream));
	if (!is_mean)
		return;
	for (int i = 0; i < KINDS * blocks; i++) {
		list.gradients[i] = NULL;
		list.means[i] = parameters[i].running;
	}
	belongs("t_u", -1);
	CHECK(cudaLaunchKernel(&update_average, (dim3){8, 1, 1}, (dim3){64, 1, 1}, args, 0, stream));
}

static void go_forward(void)
{
	if (!is_graph && !is_again)
		copy_batch();
	forward();
	if (is_stale && iteration == 0) {
		belongs("t_h2d", -1);
		CHECK(cudaMemcpyAsync(target, batch_values, ROWS * 4, cudaMemcpyHostToDevice, stream));
	}
	belongs("-", -1);
	launch(&loss, loss_room(), activation(5 * blocks - 1), target, NULL, NULL);
	if (is_middle) {
		belongs("t_f", 2 * blocks - 1);
		launch(&loss, activation(5 * blocks + 1), activation(5 * (blocks / 2) - 1), NULL, NULL, NULL);
	}
}

static void go_back(void)
{
	if (is_middle) {
		belongs("t_b", -1);
		launch(&fill, slope(7), NULL, NULL, NULL, NULL);
		belongs("t_b", 2 * blocks - 1);
		launch(&loss_back, slope(3), activation(5 * (blocks / 2) - 1), NULL, NULL, NULL);
	}
	belongs("t_b", -1);
	launch(&loss_back, slope(0), activation(5 * blocks - 1), target, NULL, NULL);
	backward();
}

/* But for those of a norm's shift, which nothing makes. */
static void clear_gradients(void)
{
	for (int i = 0; i < KINDS * blocks; i++) {
		if (i % KINDS == 1)
			continue;
		belongs("other", -1);
		CHECK(cudaMemsetAsync(parameters[i].gradient, 0, WIDTH * 4, stream));
	}
}

static void take_turns(void)
{
	static const struct {
		int batch;
		void (*go)(void);
	} order[] = {{0, go_forward}, {1, go_forward}, {0, go_back}, {2, go_forward}, {1, go_back},
		{3, go_forward}, {2, go_back}, {3, go_back}};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		under_way = order[i].batch % 2;
		order[i].go();
	}
}

static void train_twice(void)
{
	go_forward();
	go_back();
	for (int i = 0; i < KINDS * blocks; i++) {
		belongs("t_u", -1);
		launch(&climb, parameters[i].data, parameters[i].gradient, NULL, NULL, NULL);
	}
	is_again = true;
	go_forward();
	go_back();
	is_again = false;
	update_parameters();
}

static void train_graph(void)
{
	static cudaGraphExec_t executable;
	cudaGraph_t graph;

	if (iteration >= 3 && executable == NULL) {
		CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
		go_forward();
		go_back();
		update_parameters();
		CHECK(cudaStreamEndCapture(stream, &graph));
		CHECK(cudaGraphInstantiate(&executable, graph, 0));
	}
	copy_batch();
	if (executable != NULL) {
		CHECK(cudaGraphLaunch(executable, stream));
		return;
	}
	go_forward();
	go_back();
	update_parameters();
}

static void train(void)
{
	if (is_graph || is_twice || is_images) {
		(is_graph ? train_graph : is_twice ? train_twice : train_images)();
		return;
	}
	if (is_copies)
		clear_gradients();
	if (is_turns) {
		take_turns();
	} else {
		for (int i = 0; i < (is_batches ? 3 : 1); i++) {
			go_forward();
			go_back();
		}
	}
	if (is_norms)
		make_norms();
	if (!is_soon)
		(is_zero ? update_part : update_parameters)();
}

static char *allocate(size_t byte_count)
{
	void *data;

	CHECK(cudaMalloc(&data, byte_count));
	return data;
}

/* In blocks of their own, or one after another. */
static void lay_out(size_t offset_of_member)
{
	char *block = NULL;
	size_t all = 0;

	for (int i = 0; i < KINDS * blocks; i++)
		all += bytes_of(i);
	if (is_block || (is_zero && offset_of_member == offsetof(struct parameter, data)))
		block = allocate(all);
	if (is_pieces && offset_of_member == offsetof(struct parameter, data))
		block = allocate(FRONT + all) + FRONT;
	for (int n = 0; n < KINDS * blocks; n++) {
		const int i = is_kinds ? n % blocks * KINDS + n / blocks : n;
		char *data = block ? block : allocate(bytes_of(i));

		memcpy((char *)&parameters[i] + offset_of_member, &data, sizeof(data));
		block = block ? block + bytes_of(i) : NULL;
	}
}

static void set_up(void)
{
	size_t all = 0;

	lay_out(offsetof(struct parameter, data));
	lay_out(offsetof(struct parameter, gradient));
	lay_out(offsetof(struct parameter, mean));
	if (is_mean)
		lay_out(offsetof(struct parameter, running));
	memory = allocate((size_t)6 * BLOCKS_MOST * WIDTH * WIDTH * 4);
	batch = allocate(ROWS * WIDTH * 4);
	target = allocate(ROWS * 4);
	for (int b = 0; b < blocks; b++)
		copies[b] = is_stale && b ? copies[0] : allocate(WIDTH * WIDTH * 2);
	for (int i = 0; i < KINDS * blocks; i++) {
		all += bytes_of(i);
		if (!is_block && !is_pieces && !is_zero && !is_lazy)
			copy_parameter(i);
		if (is_mean)
			CHECK(cudaMemcpy(parameters[i].running, parameters[i].data, bytes_of(i),
				cudaMemcpyDeviceToDevice));
	}
	if (is_block)
		CHECK(cudaMemcpy(parameters[0].data, values, all, cudaMemcpyHostToDevice));
	for (size_t from = 0; is_pieces && from < FRONT + all; from += PIECE)
		CHECK(cudaMemcpy(parameters[0].data - FRONT + from, values,
			FRONT + all - from < PIECE ? FRONT + all - from : PIECE, cudaMemcpyHostToDevice));
	for (int b = 0; is_images && b <= blocks; b++) {
		results[b] = allocate(ROWS * WIDTH * 4);
		slopes[b] = allocate(ROWS * WIDTH * 4);
	}
	if (is_zero) {
		const int device = 0;

		block_bytes = all;
		part = allocate(all);
		flat = allocate(all);
		state = allocate(all);
		CHECK(cudaMemcpy(part, values, all, cudaMemcpyHostToDevice));
		CHECK(ncclCommInitAll(&communicator, 1, &device));
	}
	CHECK(cublasCreate(&handle));
	if (is_graph) {
		CHECK(cudaStreamCreate(&stream));
		CHECK(cublasSetStream(handle, stream));
	}
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const int iterations = argc > 3 ? atoi(argv[3]) : 12;
	static char names[] =
#define NAME(name, ...) #name "\0"
		KERNELS(NAME);
	static char *const kernels[] = {
#define ADDRESS(name, ...) &name,
		KERNELS(ADDRESS)};
	void **image = __cudaRegisterFatBinary(NULL);
	char *at = names;

	blocks = argc > 2 ? atoi(argv[2]) : blocks;
	is_stale = strcmp(name, "stale") == 0;
	is_batches = strcmp(name, "batches") == 0;
	is_mean = strcmp(name, "mean") == 0;
	is_copies = strcmp(name, "copies") == 0;
	is_turns = strcmp(name, "turns") == 0;
	is_graph = strcmp(name, "graph") == 0;
	is_twice = strcmp(name, "twice") == 0;
	is_pieces = strcmp(name, "pieces") == 0;
	is_host = strcmp(name, "host") == 0;
	is_images = is_host || strcmp(name, "images") == 0;
	is_norms = strcmp(name, "norms") == 0;
	is_zero = strcmp(name, "zero") == 0;
	is_soon = strcmp(name, "soon") == 0;
	is_saxpy = strcmp(name, "saxpy") == 0;
	is_lazy = strcmp(name, "lazy") == 0;
	is_middle = strcmp(name, "middle") == 0;
	is_list = is_graph || is_twice || is_stale || is_batches || is_mean || is_copies || is_turns ||
		  strcmp(name, "list") == 0;
	is_kinds = strcmp(name, "kinds") == 0;
	is_block = is_kinds || strcmp(name, "block") == 0;
	is_cast = is_stale || is_batches || strcmp(name, "cast") == 0;
	if (blocks < 1 || blocks > BLOCKS_MOST ||
		!(is_list || is_block || is_cast || is_pieces || is_images || is_norms || is_zero ||
			is_soon || is_saxpy || is_lazy || is_middle || strcmp(name, "each") == 0))
		errx(1, "usage: flow_host each|list|block|kinds|cast|stale|batches|mean|copies|turns|twice|graph|pieces|"
			"images|host|norms|zero|soon|saxpy|lazy [BLOCKS [ITERATIONS]]");
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++, at += strlen(at) + 1)
		__cudaRegisterFunction(image, kernels[i], at, at, -1, NULL, NULL, NULL, NULL, NULL);
	CHECK(cudaFree(NULL)); /* starts the runtime */
	set_up();
	for (iteration = 0; iteration < iterations; iteration++)
		train();
	CHECK(cudaDeviceSynchronize());
	return 0;
}
