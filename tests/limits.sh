#!/bin/sh
# Checks that hostile input of up to 10 MB ends in one clear sentence, in at most 10 s and 1 GB: see limits.py.
exec "$PYTHON" "$SOURCE/tests/limits.py" "$BUILD" "${PM_SANITIZE:-}"
