"""Other packages on the same incomplete rows, each in a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from pathlib import Path

from data import SHARED

CUT = 600
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

_PYAGRUM = """
import sys, time
import pyagrum as gum
bif, rows, out = sys.argv[1:]
truth = gum.loadBN(bif)
learner = gum.BNLearner(rows, truth, ["?"])
learner.useBDeuPrior(1)
learner.useEM(1e-6)
began = time.process_time()
found = learner.learnParameters(truth.dag())
print(time.process_time() - began)
gum.saveBN(found, out)
"""
_CODES = """
import sys, time
import pandas as pd
bif, rows, out = sys.argv[1:]
frame = pd.read_csv(rows, dtype=str, na_values=["?"], keep_default_na=False)
kinds = {name: sorted(frame[name].dropna().unique()) for name in frame}
codes = frame.copy()
for name in frame:
    codes[name] = frame[name].map({v: k for k, v in enumerate(kinds[name])}).astype(float)
began = time.process_time()
"""
_AFTER = """
print(time.process_time() - began)
for name in filled:
    nearest = filled[name].astype(float).round().clip(0, len(kinds[name]) - 1).astype(int)
    filled[name] = [kinds[name][code] for code in nearest]
filled.to_csv(out, index=False)
"""
_SKLEARN = """
from sklearn.experimental import enable_iterative_imputer
from sklearn.impute import IterativeImputer
import warnings
warnings.simplefilter("ignore")
values = IterativeImputer(random_state=0, keep_empty_features=True).fit_transform(codes)
filled = pd.DataFrame(values, columns=codes.columns)
"""
_MICEFOREST = """
import miceforest
codes = codes.astype("Int64").astype("category")
maker = miceforest.ImputationKernel(
    codes, num_datasets=1, mean_match_candidates=0, random_state=0
)
maker.mice(2, num_threads=1)
filled = maker.complete_data(0).astype(float)
"""
_SCRIPTS = {
    "pyagrum em": _PYAGRUM,
    "sklearn iterative": _CODES + _SKLEARN + _AFTER,
    "miceforest": _CODES + _MICEFOREST + _AFTER,
}


def run_peer(python, method, name, whole, holed, cut):
    """KL of pyAgrum's fit, or the share of cells that an imputation fills rightly."""
    import pandas as pd
    from missing_recovery import share_right
    from missing_recovery_data import true_network

    import gml
    from gml.model.compare import kl_divergence

    with tempfile.TemporaryDirectory() as folder:
        rows, out = Path(folder) / "rows.csv", Path(folder) / "out.bif"
        frame = holed.to_frame().astype(object)
        frame.where(frame.notna(), "?").to_csv(rows, index=False)
        bif = SHARED / "data" / "networks" / f"{name}.bif"
        command = [python, "-c", _SCRIPTS[method], str(bif), str(rows), str(out)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **_ONE_THREAD},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (cut, cut + 5)),
        )
        if done.returncode:
            why = done.stderr.strip().splitlines()[-1:] or [f"ended by signal {-done.returncode}"]
            return {"failed": why[0][:200], "cut": cut if done.returncode < 0 else None}
        seconds = float(done.stdout.split()[-1])
        if method == "pyagrum em":
            return {
                "kl": kl_divergence(true_network(name), gml.read_model(out)).total,
                "cpu": seconds,
            }
        filled = pd.read_csv(out, dtype=str, keep_default_na=False)
        return {"right": share_right(whole, holed, filled), "cpu": seconds}
