"""Sets larger than memory: a saved folder opens at once, and batches made from it one by one are those of a set held in
memory. A twentieth of the million graphs for which the bounds were set."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import weakref
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO

import numpy as np
import pytest
import torch

from literal import COMMON, kernels
from sargnn.batching import PackedBatch, PaddedBatch
from sargnn.batching import tensor_set as batches
from sargnn.batching.tensor_set import StreamedSet, TensorSet, tensor_set
from sargnn.data import set_chunks
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig, RandomWalk
from sargnn.data.graphs import GraphSet
from sargnn.data.synthetic import triangles
from sargnn.nn.model import SARGNN, ModelConfig
from sargnn.tasks import Classification
from sargnn.training.loop import TrainingConfig, TrainingState, fit
from sargnn.training.run import train
from sargnn.training.settings import Settings
from tiny import FOLD, labelled, shapes, timeless

TASK = Classification(("a", "b"))
LAYOUTS = ("packed", "padded", "compressed")

EPOCH = """
import sys
import numpy as np
import torch
from sargnn.batching.tensor_set import StreamedSet
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.graphs import GraphSet
from sargnn.data.splits import Fold
from sargnn.nn.model import SARGNN, ModelConfig
from sargnn.tasks import task_of
from sargnn.training.loop import TrainingConfig, TrainingState, fit
from sargnn.training.run import train
from sargnn.training.settings import Settings

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

torch.set_num_threads(1)
graphs = GraphSet.open(sys.argv[1])
encoder = Encoder.fit(DataConfig(), graphs.subset(np.arange(100)))
data, config, task = StreamedSet(graphs, encoder), TrainingConfig(epochs=1, batch_size=500), task_of(graphs)

def train(graphs):
    model = SARGNN(ModelConfig(hidden=8), encoder.width, task.outputs)
    fold = Fold(np.arange(graphs), np.arange(10), np.arange(0))
    [row] = fit(TrainingState.start(model, task, config), data, fold, config)

train(1000)
before = peak()
train(len(graphs))
print(peak() - before)
"""

START = """
import sys
from pathlib import Path
import torch
from sargnn.data import graphs, set_chunks
from sargnn.batching import tensor_set
from sargnn.data.synthetic import motifs
from sargnn.training.run import TrainingRun
from sargnn.training.settings import Settings


def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

torch.set_num_threads(1)
graphs.CELLS = set_chunks.CELLS = 2**17
tensor_set.HELD = 2**24
large, out = graphs.GraphSet.open(sys.argv[1]), Path(sys.argv[2])
TrainingRun.start(motifs(20), Settings.of("gcn"), out / "small")
before = peak()
run = TrainingRun.start(large, Settings.of("gcn"), out / "large")
assert isinstance(run.data, tensor_set.StreamedSet)
print(peak() - before)
"""


FULL = """
import os, resource, signal, sys
os.environ["SARGNN_DATA"] = sys.argv[1]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.synthetic import triangles
from sargnn.batching.tensor_set import StreamedSet
from sargnn.errors import InputError

graphs = triangles(2000, 0, 0, 0)
encoder = Encoder.fit(DataConfig(encodings=("random-walk",)), graphs)
resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))
try:
    StreamedSet(graphs, encoder, often=True)
except InputError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mapped") / "set"
    triangles(train=50_000, validation=0, test=0, test_large=0).save(path)
    return path


def test_opening_takes_no_time(folder: Path) -> None:
    start = time.perf_counter()
    graphs = GraphSet.open(folder)
    assert len(graphs) == 50_000
    assert isinstance(graphs.edges, np.memmap)
    assert time.perf_counter() - start < 1


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
def test_an_epoch_takes_no_more_memory_than_a_part_of_it(folder: Path) -> None:
    """What grows is what the system keeps of the file, 24 MB here, which it can take back."""
    done = subprocess.run([sys.executable, "-c", EPOCH, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64 * 1024  # kB


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
def test_starting_a_run_copies_no_more_than_pieces_of_the_set(folder: Path, tmp_path: Path) -> None:
    """Fitting the inputs and naming the content read all of the file, 24 MB; a copy of the edges would be 20 MB, and
    what is made on the way to their degrees another 60 MB."""
    command = [sys.executable, "-c", START, str(folder), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 48 * 1024  # kB


@pytest.mark.parametrize("layout", LAYOUTS)
def test_streamed_batches_are_those_of_a_set_in_memory(layout: str, tmp_path: Path) -> None:
    if layout == "compressed":
        kernels(torch.float32)
    labelled(shapes(truth=True)).save(tmp_path / "set")
    graphs = GraphSet.open(tmp_path / "set")
    encoder = Encoder.fit(DataConfig(edge_encodings=("auto",), graph_encodings=("attributes",)), graphs)
    index = np.array([5, 0, 17, 3])
    streamed, held = StreamedSet(graphs, encoder), tensor_set(graphs, encoder)
    got, expected = getattr(streamed, layout)(index), getattr(held, layout)(index)
    assert type(got) is type(expected)
    for name in ("x", "y", "truth", "edges", "graph_x", "renormalised", "renormalised_exp", "degrees"):
        assert torch.equal(getattr(got, name), getattr(expected, name)), name


COSTLY = ("random-walk", "degree", "topology", "substructures", "constant", "laplacian")
"""Encodings that take long and others between them."""


def test_streamed_inputs_that_take_long_are_those_of_a_set_in_memory(tmp_path: Path) -> None:
    labelled(shapes(truth=True)).save(tmp_path / "set")
    graphs = GraphSet.open(tmp_path / "set")
    encoder = Encoder.fit(DataConfig(encodings=COSTLY), graphs)
    index = np.array([5, 0, 17, 3])
    held = tensor_set(graphs, encoder).packed(index)
    for often in (False, True):
        assert torch.equal(StreamedSet(graphs, encoder, often=often).packed(index).x, held.x)


def test_inputs_that_take_long_are_made_once_and_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = shapes()
    encoder = Encoder.fit(DataConfig(encodings=("degree", "random-walk")), graphs)
    asked: list[int] = []
    make = RandomWalk.encode

    def counted(self: RandomWalk, some: GraphSet) -> np.ndarray:
        asked.append(len(some))
        return make(self, some)

    expected = encoder.encode(graphs)
    monkeypatch.setattr(RandomWalk, "encode", counted)
    monkeypatch.setattr(set_chunks, "CELLS", 100)
    data = StreamedSet(graphs, encoder, often=True)
    assert len(asked) > 1
    assert sum(asked) == len(graphs)
    before = len(asked)
    for _ in range(2):
        assert np.array_equal(data.packed(np.arange(len(graphs))).x, expected)
    assert len(asked) == before


@pytest.mark.parametrize("place", ["cache", "a file/cache"])
def test_the_inputs_lie_in_the_cache_or_else_elsewhere_and_leave_nothing_behind(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").touch()
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / place))
    asked: list[Path] = []

    def opened(dir: Path) -> IO[bytes]:
        asked.append(dir)
        return TemporaryFile(dir=dir)

    monkeypatch.setattr(batches, "TemporaryFile", opened)
    graphs = shapes()
    data = StreamedSet(graphs, Encoder.fit(DataConfig(encodings=("random-walk",)), graphs), often=True)
    assert data.packed(np.arange(3)).x.any()
    elsewhere = Path(gettempdir())
    assert asked == [tmp_path / "cache" if place == "cache" else elsewhere]
    assert place != "cache" or list((tmp_path / "cache").iterdir()) == []


def test_a_set_that_is_read_once_needs_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "TemporaryFile", None)
    monkeypatch.setattr(batches, "HELD", 1000)
    graphs = shapes()
    run = train(graphs, Settings.of("gcn", {"training.epochs": 1, "model.hidden": 8}))
    assert isinstance(run.data, StreamedSet)
    assert isinstance(tensor_set(graphs, Encoder.fit(DataConfig(encodings=("random-walk",)), graphs)), StreamedSet)


def test_training_reads_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "HELD", 1000)
    run = train(shapes(), Settings.of("gcn", {"training.epochs": 1, "data.encodings": ("degree", "random-walk")}))
    assert isinstance(run.data, StreamedSet)
    assert isinstance(run.data.costly, np.memmap)


def test_a_full_disk_is_told_in_a_line(tmp_path: Path) -> None:
    """A limit on the size of files is the full disk that a test can have; it ends the process if a map is written."""
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"cannot write the inputs of TRIANGLES, 1 MiB, to {tmp_path}: File too large; "
        "expected room there, or SARGNN_DATA set to a folder with room\n"
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_set_is_freed_with_its_last_batch(layout: str) -> None:
    """At once, not when cycles are collected: a streamed set makes a set of every batch."""
    if layout == "compressed":
        kernels(torch.float32)
    graphs = shapes()
    data = TensorSet(graphs, np.ones((graphs.num_nodes, 1), np.float32))
    batch = getattr(data, layout)(np.arange(3))
    assert len(batch.renormalised)
    alive = weakref.ref(data)
    gc.disable()
    try:
        del data, batch
        assert alive() is None
    finally:
        gc.enable()


def test_training_is_the_same_bit_for_bit_whether_the_set_is_held_or_streamed() -> None:
    graphs, config = shapes(truth=True), TrainingConfig(epochs=3, batch_size=5)
    encoder = Encoder.fit(DataConfig(), graphs)
    histories = []
    for data in (StreamedSet(graphs, encoder), TensorSet(graphs, encoder.encode(graphs))):
        torch.manual_seed(0)
        state = TrainingState.start(SARGNN(ModelConfig(hidden=8), encoder.width, 2), TASK, config)
        histories.append(timeless(list(fit(state, data, FOLD, config))))
    assert histories[0] == histories[1]


def test_a_set_is_streamed_when_it_is_too_large_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = shapes()
    encoder = Encoder.fit(DataConfig(), graphs)
    assert type(tensor_set(graphs, encoder)) is TensorSet
    monkeypatch.setattr(batches, "HELD", 4 * 10_000)
    assert type(tensor_set(graphs, encoder)) is TensorSet
    wide = Encoder.fit(DataConfig(edge_encodings=("labels",)), labelled(graphs))
    monkeypatch.setattr(batches, "HELD", 16 * graphs.num_edges + 4 * wide.width * graphs.num_nodes)
    assert type(tensor_set(labelled(graphs), wide)) is StreamedSet  # edge inputs count too
    monkeypatch.setattr(batches, "HELD", 1000)
    streamed = tensor_set(graphs, encoder, layout="packed")
    assert isinstance(streamed, StreamedSet)
    assert isinstance(streamed.batch(np.arange(3), COMMON), PackedBatch)
    assert isinstance(streamed.padded(np.arange(3), size=20), PaddedBatch)
    assert streamed.padded(np.arange(3), size=20).mask.shape == (3, 20)
