#!/bin/sh
# Public PyTorch programs for the matrix (framework_matrix.sh): fetches their libraries, and programs that run as they are, and lists how each is run.
# By hand, for nothing of it belongs to this repository, and some 2 GB are fetched. TORCH is a virtual environment with PyTorch and without the
# vendor's libraries (.ci/torch makes them; its interpreter makes the new one, which sees TORCH's packages).
#
#     tests/bench/public_programs.sh make VENV TORCH    VENV: the public packages on top of TORCH
#     tests/bench/public_programs.sh fetch FOLDER       sources at their commits, random data, and FOLDER/programs.txt
#
# Then, with two such environments, one a version:
#     export PM_TORCH=VENV PM_TORCH_OLDER=VENV_OLDER; . FOLDER/environment
#     LIST=FOLDER/programs.txt OUT=RESULTS sh tests/bench/framework_matrix.sh build
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# what imports torch, without its dependencies: pip would fetch the vendor's libraries
with_torch='transformers==5.24.0 peft==0.21.2 accelerate==1.15.0 timm==1.0.31 monai==1.6.1 ultralytics==8.4.190 ultralytics-thop==2.2.3 higher==0.2.1
	lion-pytorch==0.2.5 ema-pytorch==0.8.3 einops==0.8.2 torchtune==0.6.1 torchtitan==0.2.0 triton==3.9.0 torchdata'
others='huggingface_hub==2.4.0 tokenizers==0.23.3 safetensors==0.8.0 regex PyYAML requests tqdm psutil gymnasium==1.4.0 tyro==1.0.17 tensorboard==2.21.0
	opencv-python-headless==5.0.0.93 matplotlib scipy polars pandas pyarrow datasets==5.2.0 omegaconf tomli tabulate kagglehub tiktoken blobfile'
torchao=0.14.1 # torchtune's; PEFT refuses it

make() {
	"$2/bin/python" -m venv "$1"
	site=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	"$2/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/torch.pth"
	# shellcheck disable=SC2086
	"$1/bin/pip" install -q --no-deps $with_torch
	# shellcheck disable=SC2086
	"$1/bin/pip" install -q $others
	"$1/bin/pip" install -q --no-deps --target "$1/torchao" "torchao==$torchao"
}

# source_of REPOSITORY COMMIT: a shallow copy in the folder
source_of() {
	name=${1##*/}
	[ ! -d "$name" ] || return 0
	git init -q "$name"
	git -C "$name" fetch -q --depth 1 "https://github.com/$1" "$2"
	git -C "$name" checkout -q FETCH_HEAD
}

fetch() {
	mkdir -p "$1"
	cd "$1"
	source_of vwxyzjn/cleanrl fe8d8a03c41a7ef5b523e2e354bd01c363e786bb
	source_of eriklindernoren/PyTorch-GAN 36d3c77e5ff20ebe0aeefd322326a134a279b93e
	mkdir -p run/gan
	"${PYTHON:-python3}" "$here/public/mnist.py" data/mnist
	cat >environment <<-END
		export PUBLIC="$here/public" FETCHED="$PWD" TORCHAO="\${PM_TORCH:-}/torchao"
		export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false MPLBACKEND=Agg
	END
	cp "$here/public/programs.txt" programs.txt
}

case ${1:-} in
make) make "$2" "$3" ;;
fetch) fetch "$2" ;;
*) sed -n 's/^# \{0,1\}//; 2,13p' "$0" && exit 2 ;;
esac
