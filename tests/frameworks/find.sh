# To be sourced, with framework=pytorch|jax|tensorflow: PYTHON, a Python that has it, below which TensorFlow and XLA say and try out little; exits
# with 77 where there is none.
case $framework in
pytorch) . "$SOURCE/tests/pytorch/find_torch.sh" ;;
jax) PYTHON=${PM_JAX:-python3} modules="jax jax_plugins flax optax" variable=PM_JAX ;;
tensorflow) PYTHON=${PM_TF:-python3} modules=tensorflow variable=PM_TF ;;
esac
[ ! -d "$PYTHON" ] || PYTHON=$PYTHON/bin/python
for module in ${modules:-}; do
	"$PYTHON" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$module'))" 2>/dev/null ||
		{ echo "$PYTHON has no $module: $variable names a virtual environment that has it" && exit 77; }
done
export PYTHONDONTWRITEBYTECODE=1 TF_CPP_MIN_LOG_LEVEL=2 XLA_FLAGS=--xla_gpu_autotune_level=0 PMHOOK_DEVICE=cupti
