#!/bin/sh
# Build the kernel with AddressSanitizer and UndefinedBehaviorSanitizer in a scratch folder and run
# the kernel's tests there. Called by `make sanitize`, which sets VENV.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$scratch"
cd "$scratch"
# The tools of an isolated build: what a virtual environment brings along may be too old.
"$VENV/bin/pip" install --quiet --disable-pip-version-check --target "$scratch/.tools" \
    $("$VENV/bin/python" -c \
        'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
PYTHONPATH="$scratch/.tools" \
CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g" \
LDFLAGS="-fsanitize=address,undefined" \
    "$VENV/bin/python" -c "from setuptools import setup; setup()" build_ext --inplace \
    >build.log 2>&1 || { cat build.log; exit 1; }
# A program that is not itself sanitized must load the runtime first.
LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)"
export LD_PRELOAD
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export PYTHONPATH="$scratch"
"$VENV/bin/python" - <<'PY'
from gml.kernel import _kernel
symbols = open(_kernel.__file__, "rb").read()
assert b"__asan_" in symbols and b"__ubsan_" in symbols, "the kernel is not sanitized"
print("sanitized:", _kernel.__file__)
PY
offered=$("$VENV/bin/python" - <<'PY'
from gml.kernel import _kernel
print(*(n for n in ("portable", "avx2", "avx512") if _kernel.limit_instructions(n) == n))
PY
)
for instructions in $offered; do
    echo "instructions: $instructions"
    GML_KERNEL=$instructions "$VENV/bin/python" -m pytest -q -p no:cacheprovider \
        tests/property/test_csv_reader.py tests/property/test_pieces.py \
        tests/property/test_reading_threads.py tests/property/test_counting.py \
        tests/property/test_conditioning.py tests/property/test_families.py \
        tests/property/test_subsets.py tests/property/test_order_search.py \
        tests/unit/test_order_posterior.py tests/unit/test_order_mcmc.py tests/unit/test_exact.py \
        tests/unit/test_scores.py tests/unit/test_inference.py \
        tests/property/test_statistics.py tests/property/test_permutation.py \
        tests/property/test_row_probability.py tests/property/test_sampling.py tests/unit/test_sample.py \
        tests/property/test_gibbs.py tests/property/test_neighbourhoods.py \
        tests/property/test_block_regressions.py tests/property/test_completion.py \
        tests/property/test_missing_parts.py tests/property/test_mixture_rows.py \
        tests/property/test_pair_sums.py tests/property/test_gram.py \
        tests/property/test_precision_step.py tests/property/test_chain_field.py \
        tests/unit/test_reading.py tests/unit/test_regressions.py tests/unit/test_independence.py
done
