/* Writing the final weights: see train_save.h. */
#include "train_save.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

void train_save_check(const char *path)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	char *copy = strdup(path);

	if (!copy || (file < 0 && (errno != ENOENT || access(dirname(copy), W_OK | X_OK))))
		err(1, "%s", path);
	if (file >= 0)
		close(file);
	free(copy);
}

void train_save(
	const char *path, const struct nn *nn, void (*fetch)(void *from, int layer, float *param), void *from)
{
	FILE *file = fopen(path, "wb");
	int failed = 0;

	if (!file)
		err(1, "%s", path);
	for (int i = 0; i < nn->layer_count; i++) {
		const struct nn_layer *layer = &nn->layer[i];
		float *param = xcalloc(layer->param_count, sizeof(float));

		if (layer->param_count)
			fetch(from, i, param);
		fwrite(param, sizeof(float), layer->weight_count, file);
		fwrite(param + layer->bias_at, sizeof(float), layer->bias_count, file);
		free(param);
	}
	failed = ferror(file);
	if (fclose(file) || failed)
		err(1, "%s", path);
}

void train_fetch(void *from, int layer, float *param)
{
	struct nn *nn = from;
	const struct nn_layer *l = &nn->layer[layer];

	CHECK(cudaSetDevice(nn->device));
	CHECK(cudaMemcpy(param, l->param, l->param_count * sizeof(float), cudaMemcpyDeviceToHost));
}
