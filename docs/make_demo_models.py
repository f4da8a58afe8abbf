"""Train the two models that come with the package, ``demo:triangles`` and ``demo:mutag``.

Run this after a change of the format of model folders, from the root of the repository:

    python docs/make_demo_models.py

They are small on purpose: their files are part of every installation. Nothing about them was chosen by a test score.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import sargnn
from sargnn.training.hub import FILES

FOLDER = Path(__file__).parents[1] / "src" / "sargnn" / "training" / "demo"
SMALL = {"model.members": 1, "model.hidden": 24, "data.max_degree": 16}
TRIANGLES = {"train": 800, "validation": 200, "test": 500, "test_large": 0, "seed": 0}


def main() -> None:
    sets = {
        "triangles": (sargnn.triangles(**TRIANGLES), {"training.epochs": 30, "training.learning_rate": 2e-3}),
        "mutag": (sargnn.load("MUTAG"), {}),
    }
    for name, (graphs, values) in sets.items():
        with TemporaryDirectory() as folder:
            run = sargnn.train(graphs, sargnn.Settings.of("sargnn-plus", {**SMALL, **values}), folder)
            shutil.rmtree(FOLDER / name, ignore_errors=True)
            (FOLDER / name).mkdir(parents=True)
            for file in FILES:
                shutil.copy(Path(folder) / file, FOLDER / name / file)
        test = run.scores["test"]
        print(name, sum(path.stat().st_size for path in (FOLDER / name).iterdir()), "bytes,", test["accuracy"])


if __name__ == "__main__":
    main()
