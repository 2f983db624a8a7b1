#!/bin/sh
# Two programs print the same.
set -eu
"$1" >first
"$2" >second
diff first second
