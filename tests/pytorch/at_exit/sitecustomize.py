"""Python imports this by itself where the folder is in PYTHONPATH."""
import threads_end  # noqa: F401
