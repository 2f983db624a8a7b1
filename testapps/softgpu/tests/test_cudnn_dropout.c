/*
 * Checks dropout of the stand-in cuDNN: how many survive, that a seed repeats itself and another does not,
 * that the way back drops the same; and that captured work can be replayed.
 */
#include "test_compute.h"

#define FLOAT CUDNN_DATA_FLOAT

/* Runs dropout twice on ones and backward once; gives what is left after each. */
static void run_dropout(
	enum layout layout, float p, unsigned long long seed, struct tensor *y1, struct tensor *y2)
{
	static const int dim[] = {4, 8, 16, 16};
	struct tensor x = make_tensor(FLOAT, layout, 4, dim);
	struct tensor dx = make_tensor(FLOAT, PACKED, 4, dim);
	cudnnTensorDescriptor_t descriptor = describe(&x), dx_desc = describe(&dx);
	cudnnDropoutDescriptor_t dropout = NULL;
	size_t states_bytes = 0, reserve_bytes = 0;
	void *states = NULL, *reserve = NULL;
	double *first, *second, *back;

	*y1 = make_tensor(FLOAT, layout, 4, dim);
	*y2 = make_tensor(FLOAT, layout, 4, dim);
	for (size_t i = 0; i < x.span; i++)
		x.value[i] = 1;
	upload(&x);
	OK(cudnnDropoutGetStatesSize(handle, &states_bytes));
	OK(cudnnDropoutGetReserveSpaceSize(descriptor, &reserve_bytes));
	CUDA(cudaMalloc(&states, states_bytes));
	CUDA(cudaMalloc(&reserve, reserve_bytes));
	OK(cudnnCreateDropoutDescriptor(&dropout));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnSetDropoutDescriptor(dropout, handle, 2, states, states_bytes, seed));
	close_gate();
	OK(cudnnSetDropoutDescriptor(dropout, handle, p, states, states_bytes, seed));
	OK(cudnnDropoutForward(
		handle, dropout, descriptor, x.device, descriptor, y1->device, reserve, reserve_bytes));
	OK(cudnnDropoutForward(
		handle, dropout, descriptor, x.device, descriptor, y2->device, reserve, reserve_bytes));
	/* The gradient of the second, into another layout. */
	OK(cudnnDropoutBackward(
		handle, dropout, descriptor, x.device, dx_desc, dx.device, reserve, reserve_bytes));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnDropoutForward(handle, dropout, descriptor, x.device,
						      descriptor, y1->device, reserve, reserve_bytes - 1));
	OK(cudnnDestroyDropoutDescriptor(dropout));
	spoil(descriptor);
	spoil(dx_desc);
	open_gate();
	first = download(y1);
	second = download(y2);
	back = download(&dx);
	for (int64_t i = 0; i < count_of(y1); i++) {
		*element(y1, i) = first[offset_in(y1, y1, i)];
		*element(y2, i) = second[offset_in(y2, y2, i)];
		EXPECT(*element(y2, i) == back[offset_in(&dx, &dx, i)]);
	}
	free(first);
	free(second);
	free(back);
	CUDA(cudaFree(states));
	CUDA(cudaFree(reserve));
	drop_tensor(&x);
	drop_tensor(&dx);
}

static int64_t count_kept(const struct tensor *y, float p)
{
	int64_t kept = 0;

	for (int64_t i = 0; i < count_of(y); i++) {
		double value = *element(y, i);

		kept += value != 0;
		EXPECT(value == 0 || fabs(value - 1 / (1 - (double)p)) < 1e-6);
	}
	return kept;
}

static int64_t count_equal(const struct tensor *a, const struct tensor *b)
{
	int64_t equal = 0;

	for (int64_t i = 0; i < count_of(a); i++)
		equal += *element(a, i) == *element(b, i);
	return equal;
}

static void test_dropout(void)
{
	static const float ps[] = {0, 0.2f, 0.5f, 0.8f};

	case_name = "dropout";
	for (int k = 0; k < 4; k++) {
		struct tensor y[6];
		double count, expected;

		run_dropout(PACKED, ps[k], 42, &y[0], &y[1]);
		run_dropout(CHANNELS_LAST, ps[k], 42, &y[2], &y[3]);
		run_dropout(PACKED, ps[k], 43, &y[4], &y[5]);
		count = (double)count_of(&y[0]);
		expected = count * (1 - (double)ps[k]);
		EXPECT(fabs((double)count_kept(&y[0], ps[k]) - expected) <= 5 * sqrt(count) / 2);
		EXPECT(fabs((double)count_kept(&y[1], ps[k]) - expected) <= 5 * sqrt(count) / 2);
		/* Same seed and sequence: the same, whatever the layout. Else as different as chance has it.
		 */
		EXPECT(count_equal(&y[0], &y[2]) == count_of(&y[0]) &&
			count_equal(&y[1], &y[3]) == count_of(&y[0]));
		if (k > 0) {
			EXPECT((double)count_equal(&y[0], &y[1]) < 0.75 * count);
			EXPECT((double)count_equal(&y[0], &y[4]) < 0.75 * count);
		}
		for (int i = 0; i < 6; i++)
			drop_tensor(&y[i]);
	}
}

/* A graph of an addition and dropout, launched three times: it adds three times and drops something else each
 * time. */
static void test_replay(void)
{
	struct tensor x = make_4d(FLOAT, PACKED, 4, 8, 16, 16), sum = make_4d(FLOAT, PACKED, 4, 8, 16, 16);
	struct tensor y = make_4d(FLOAT, PACKED, 4, 8, 16, 16);
	cudnnTensorDescriptor_t descriptor = describe(&x);
	cudnnDropoutDescriptor_t dropout = NULL;
	cudaGraph_t graph = NULL;
	cudaGraphExec_t exec = NULL;
	size_t states_bytes = 0, reserve_bytes = 0;
	void *states = NULL, *reserve = NULL;
	double *dropped[3];
	float one = 1;

	case_name = "replay";
	OK(cudnnDropoutGetStatesSize(handle, &states_bytes));
	OK(cudnnDropoutGetReserveSpaceSize(descriptor, &reserve_bytes));
	CUDA(cudaMalloc(&states, states_bytes));
	CUDA(cudaMalloc(&reserve, reserve_bytes));
	OK(cudnnCreateDropoutDescriptor(&dropout));
	OK(cudnnSetDropoutDescriptor(dropout, handle, 0.5f, states, states_bytes, 7));
	CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	OK(cudnnAddTensor(handle, &one, descriptor, x.device, &one, descriptor, sum.device));
	OK(cudnnDropoutForward(
		handle, dropout, descriptor, x.device, descriptor, y.device, reserve, reserve_bytes));
	CUDA(cudaStreamEndCapture(stream, &graph));
	one = 77;
	OK(cudnnDestroyDropoutDescriptor(dropout));
	spoil(descriptor);
	COMPARE(&sum, 0);
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++) {
		CUDA(cudaGraphLaunch(exec, stream));
		CUDA(cudaStreamSynchronize(stream));
		dropped[i] = download(&y);
		for (size_t k = 0; k < sum.span; k++)
			sum.value[k] += x.value[k];
		COMPARE(&sum, 1e-6);
		EXPECT(i == 0 || memcmp(dropped[i], dropped[i - 1], y.span * sizeof(double)) != 0);
	}
	for (int i = 0; i < 3; i++)
		free(dropped[i]);
	CUDA(cudaGraphExecDestroy(exec));
	CUDA(cudaGraphDestroy(graph));
	CUDA(cudaFree(states));
	CUDA(cudaFree(reserve));
	drop_tensor(&x);
	drop_tensor(&sum);
	drop_tensor(&y);
}

int main(void)
{
	begin_tests();
	test_dropout();
	test_replay();
	return end_tests();
}
