"""One run of smartnoise's AIM or MST on a table of whole numbers, in an environment of its own.

``python peer_marginals.py AIM 1.0 coded.csv made.csv`` prints its processor seconds. It imports
nothing of this project: its requirements and ours need not agree.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings

import pandas as pd


def main() -> None:
    """Fit, draw as many rows, write them."""
    peer, epsilon, source, target = sys.argv[1:]
    from snsynth.aim import AIMSynthesizer
    from snsynth.mst import MSTSynthesizer

    coded = pd.read_csv(source)
    synthesizer = {"AIM": AIMSynthesizer, "MST": MSTSynthesizer}[peer](
        epsilon=float(epsilon), delta=1e-9
    )
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synthesizer.fit(coded, categorical_columns=list(coded.columns))
        made = synthesizer.sample(len(coded))
    print(time.process_time() - began)
    made.to_csv(target, index=False)


if __name__ == "__main__":
    main()
