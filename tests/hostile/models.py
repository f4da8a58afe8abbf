"""Hostile models, settings and outputs: folders of runs, checkpoints, calibrations, what is typed, where it is written."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import torch

from hostile.attack import Case
from hostile.inputs import GRAPH, REGULAR, cut
from hostile.spoil import change, drop, every, file, lying_header, nothing, pipe, put, sparse, tensors, words

PREDICT = "predict run set --out p.csv"
RESUME = "train set --model sar-gcn --out half --resume --set training.epochs=2 --set model.layers=2 --set model.hidden=8 --set training.batch_size=8 --set training.learning_rate=0.01"
WEIGHTS, CHECKPOINT = "run/weights.safetensors", "half/checkpoint.safetensors"
TRUST = "run/trust.safetensors"
NAME = "classifier.0.weight"


def setting(section: str, field: str, value: Any) -> Any:
    return words("run/config.json", put("settings", section, field, to=value))


def encoder(field: str, value: Any) -> Any:
    return words("run/config.json", put("encoder", "encodings", 0, field, to=value))


def block(**fields: Any) -> Any:
    return words("run/config.json", put("encoder", "encodings", 0, to=fields))


def first(found: dict[str, torch.Tensor], kind: str = "") -> str:
    """The first tensor of more than one number."""
    return next(name for name, value in sorted(found.items()) if name.startswith(kind) and value.numel() > 1)


def weight(path: str, edit: Any, kind: str = "") -> Any:
    """The first tensor as ``edit`` makes it."""
    return tensors(
        path, lambda found, words: found.__setitem__(first(found, kind), edit(found[first(found, kind)].clone()))
    )


def with_nan(value: torch.Tensor) -> torch.Tensor:
    value.view(-1)[0] = float("nan")
    return value


def word(name: str, value: Any) -> Any:
    return tensors(CHECKPOINT, lambda found, words: words.__setitem__(name, value))


def trust_tensor(name: str, edit: Any) -> Any:
    return tensors(TRUST, lambda found, words: found.__setitem__(name, edit(found[name])))


def raw(header: bytes, content: bytes = b"") -> Any:
    """A file of tensors as whoever attacks writes it."""
    return file(WEIGHTS, struct.pack("<Q", len(header)) + header + content)


def many_tensors(count: int) -> Any:
    return raw(
        json.dumps({f"t{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(count)}).encode()
    )


def calibration(**fields: Any) -> Any:
    return words("run/calibration.json", lambda content: content | fields)


MODELS: dict[str, Case] = {
    **{
        f"model.{field} of {value}": Case(setting("model", field, value), PREDICT, "run/config.json: ")
        for field, value in [
            ("hidden", 10**9), ("hidden", 1e308), ("hidden", 10**5), ("hidden", -1), ("hidden", "8" * 5000), ("layers", 10**6), ("layers", 1000),
            ("members", 10**6), ("members", 500), ("memory", 10**8), ("attention", 10**8), ("iterations", 10**9), ("heads", 10**9), ("edge_channels", 10**9),
            ("backbone", "evil"), ("dropout", 7), ("beta", float("inf")), ("layers", [1, 2]), ("layers", None),
        ]
    },
    "a model of no one": Case(words("run/config.json", put("settings", "name", to="evil")), PREDICT, "got 'evil'"),
    "a model whose code is elsewhere": Case(words("run/config.json", put("settings", "name", to="os:system")), PREDICT, "whose code is not in sargnn"),
    "a model without settings": Case(words("run/config.json", drop("settings", "name")), PREDICT, "run/config.json"),
    "a training setting of 10^400": Case(setting("training", "epochs", 10**400), PREDICT, "run/config.json"),
    "an input of 10^9 degrees": Case(block(encoding="degree", max_degree=10**9), PREDICT, "columns of inputs, expected at most"),
    "a walk of 10^9 steps": Case(block(encoding="random-walk", steps=10**9), PREDICT, "columns of inputs, expected at most"),
    "more inputs than weights": Case(block(encoding="degree", max_degree=900), PREDICT, "run/"),
    "a deviation that is no number": Case(encoder("std", [float("nan"), 1.0]), PREDICT, "expected a finite number"),
    "a deviation below 0": Case(encoder("std", [-1.0, 1.0]), PREDICT, "expected 0 or more"),
    "an input of no one": Case(block(encoding="evil"), PREDICT, "got 'evil'"),
    "a class name twice in a model": Case(words("run/config.json", put("classes", to=["ring", "ring"])), PREDICT, "expected every name once"),
    "class names that are no texts": Case(words("run/config.json", put("classes", to=[1, 2])), PREDICT, "expected a list of names"),
    "ten thousand classes": Case(words("run/config.json", put("classes", to=[f"c{n}" for n in range(10_000)])), PREDICT, "run/"),
    "a target twice": Case(words("targets/config.json", put("targets", to=["a", "a", "b"])), "predict targets binary --out p.csv", "expected every name once"),
    "a scale of 0": Case(words("numbers/config.json", put("scale", to=[0.0, 1.0])), "predict numbers measured --out p.csv", "no sound center, scale and loss"),
    "a center that is no number": Case(words("numbers/config.json", put("center", to=[float("nan"), 1.0])), "predict numbers measured --out p.csv", "no sound center"),
    "a task of no one": Case(words("run/config.json", put("task", to="evil")), PREDICT, "task: got 'evil'"),
    "a name twice in a config": Case(change("run/config.json", lambda c: c.replace(b'"format"', b'"classes": [], "format"', 1)), PREDICT, "twice in one object"),
    "a config of lists in lists": Case(file("run/config.json", "[" * 100_000), PREDICT, "not readable JSON"),
    "a config that is a list": Case(file("run/config.json", "[]"), PREDICT, "got another file"),
    "half a config": Case(change("run/config.json", cut), PREDICT, "not readable JSON"),
    "a pipe for a config": Case(pipe("run/config.json"), PREDICT, REGULAR),
    "a pipe for weights": Case(pipe(WEIGHTS), PREDICT, REGULAR),
    "a pipe for the record": Case(pipe("run/training.json"), PREDICT, REGULAR),
    "a pipe for the calibration": Case(pipe("run/calibration.json"), f"{PREDICT} --calibrated", REGULAR),
    "a pipe for what trust compares": Case(pipe("run/trust.safetensors"), f"{PREDICT} --trust", REGULAR),
    "weights of another type": Case(weight(WEIGHTS, lambda w: w.double()), PREDICT, "got torch.float64 in"),
    "weights of whole numbers": Case(weight(WEIGHTS, lambda w: w.to(torch.int8)), PREDICT, "got torch.int8 in"),
    "weights of another shape": Case(weight(WEIGHTS, lambda w: w.reshape(-1)[:1].clone()), PREDICT, "got shape [1] of"),
    "a weight that is no number": Case(weight(WEIGHTS, with_nan), PREDICT, "no finite number in"),
    "an infinite weight": Case(weight(WEIGHTS, lambda w: w / 0), PREDICT, "no finite number in"),
    "a weight too many": Case(tensors(WEIGHTS, lambda found, words: found.__setitem__("evil", torch.zeros(3))), PREDICT, "got a tensor 'evil'"),
    "a weight too few": Case(tensors(WEIGHTS, lambda found, words: found.pop(first(found))), PREDICT, "got no tensor"),
    "weights without a checksum": Case(change(WEIGHTS, lambda c: c.replace(b"checksum", b"checksun")), PREDICT, "weights.safetensors"),
    "half the weights": Case(change(WEIGHTS, cut), PREDICT, "not a readable safetensors file"),
    "weights of nothing": Case(file(WEIGHTS, b""), PREDICT, "not a readable safetensors file"),
    "a header of 2^63 bytes": Case(lying_header(WEIGHTS, 2**63), PREDICT, "not a readable safetensors file"),
    "a header of a gigabyte": Case(lying_header(WEIGHTS, 1 << 30), PREDICT, "not a readable safetensors file"),
    "one bit of the weights": Case(change(WEIGHTS, lambda c: c[:-5] + bytes([c[-5] ^ 1]) + c[-4:]), PREDICT, "damaged content"),
    **{
        f"a calibration with {name}": Case(calibration(**fields), f"{PREDICT} --calibrated --coverage 0.8", "not a readable calibration")
        for name, fields in {
            "an infinite temperature": {"temperature": float("inf")}, "a temperature of NaN": {"temperature": float("nan")},
            "a negative temperature": {"temperature": -1}, "a tiny temperature": {"temperature": 1e-300}, "a temperature in words": {"temperature": "1_0"},
            "a score of NaN": {"scores": [float("nan")]}, "scores that fall": {"scores": [0.5, 0.1]}, "scores beyond 1": {"scores": [0.5, 7.0]},
            "scores below 0": {"scores": [-3.0, 0.5]}, "scores in words": {"scores": ["a"]}, "no scores": {"scores": None},
        }.items()
    },
    "a calibration that is a list": Case(file("run/calibration.json", "[]"), f"{PREDICT} --calibrated", "not a readable calibration"),
    "a calibration of other targets": Case(words("targets/calibration.json", drop("targets", -1)), "predict targets binary --out p.csv --calibrated", "got 2 targets, expected 3"),
    "scores of a number": Case(words("run/training.json", put("scores", "test", to=7)), "push run --to hf://a/b", "no valid fields data, split and scores"),
    "scores in words": Case(words("run/training.json", put("scores", "test", "accuracy", to="x")), "push run --to hf://a/b", "got scores that no card can show"),
    "a history of numbers": Case(words("run/training.json", put("history", to=[7])), "push run --to hf://a/b", "no valid fields data, split and scores"),
    "a hundred thousand tensors": Case(many_tensors(100_000), PREDICT, "tensors, expected at most"),
    "a tensor twice": Case(raw(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)), PREDICT, "got settings of a larger model than that of weights.safetensors"),
    "tensors on top of each other": Case(raw(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)), PREDICT, "not a readable safetensors file"),
    "a tensor of 2^80 numbers": Case(raw(b'{"a":{"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,4]}}', bytes(4)), PREDICT, "not a readable safetensors file"),
    "words of a tensor file in lists": Case(raw(b'{"__metadata__":{"sargnn":"' + b"[" * 60_000 + b'"}}'), PREDICT, "weights.safetensors"),
    "a hundred gigabytes of nothing as weights": Case(sparse(WEIGHTS, 100 << 30), PREDICT, "SARGNN_LIMITS=parameters="),
    "a split of other graphs": Case(words("run/training.json", put("split", "test", to=[10**9])), PREDICT, "no valid fields data, split and scores"),
    "a split with a graph twice": Case(words("run/training.json", put("split", "test", to=[0, 0])), PREDICT, "no valid fields data, split and scores"),
    "a record of numbers": Case(words("run/training.json", put("data", to=7)), PREDICT, "no valid fields data, split and scores"),
    "notes that are no texts": Case(words("run/training.json", put("notes", to=7)), PREDICT, "no valid fields data, split and scores"),
    "trust without names": Case(tensors("run/trust.safetensors", lambda found, words: words.pop("names")), f"{PREDICT} --trust", "run/trust.safetensors"),
    "trust of other points": Case(tensors("run/trust.safetensors", lambda found, words: found.__setitem__("points", found["points"][:, :2].clone())), f"{PREDICT} --trust", "trust.safetensors: got training graphs of 2 numbers each, expected 8"),
    "trust of wider points": Case(trust_tensor("points", lambda found: found.repeat(1, 2)), f"{PREDICT} --trust", "trust.safetensors: got training graphs of 16 numbers each, expected 8"),
    "trust of points without numbers": Case(trust_tensor("points", lambda found: found[:, :0].clone()), f"{PREDICT} --trust", "trust.safetensors: got training graphs of 0 numbers each"),
    "trust of distances below 0": Case(trust_tensor("distances", lambda found: found * 0 - 1), f"{PREDICT} --trust", "got no sound points, distances"),
    "trust of distances that fall": Case(trust_tensor("distances", lambda found: found.flip(0) + torch.arange(len(found), 0, -1)), f"{PREDICT} --trust", "got no sound points, distances"),
    "trust of molecules in place of shapes": Case(every(trust_tensor("points", lambda found: found.to(torch.uint8)), tensors(TRUST, lambda found, words: words.update(by="fingerprints"))), f"{PREDICT} --trust", "expected molecules"),
    "trust of no points": Case(tensors("run/trust.safetensors", lambda found, words: found.pop("points")), f"{PREDICT} --trust", "run/trust.safetensors"),
    "a run that is a file": Case(file("x", "x"), "predict x set --out p.csv", "x/config.json"),
    "a run that is not there": Case(nothing, "predict nowhere set --out p.csv", "no such file"),
}  # fmt: skip

CHECKPOINTS: dict[str, Case] = {
    "moments of another shape": Case(weight(CHECKPOINT, lambda w: w.reshape(-1)[:1].clone(), "adam/exp_avg/"), RESUME, "got shape [1] of 'exp_avg"),
    "moments of no shape": Case(weight(CHECKPOINT, lambda w: torch.zeros(()), "adam/exp_avg_sq/"), RESUME, "got shape [] of 'exp_avg_sq"),
    "moments of another type": Case(weight(CHECKPOINT, lambda w: w.double(), "adam/exp_avg/"), RESUME, "got torch.float64 in 'exp_avg"),
    "moments of whole numbers": Case(weight(CHECKPOINT, lambda w: w.to(torch.int16), "adam/exp_avg_sq/"), RESUME, "got torch.int16 in 'exp_avg_sq"),
    "moments that are no numbers": Case(weight(CHECKPOINT, with_nan, "adam/exp_avg/"), RESUME, "no finite number in 'exp_avg"),
    "a step of another shape": Case(
        tensors(CHECKPOINT, lambda found, words: found.update({name: torch.zeros(5) for name in found if name.startswith("adam/step/")})), RESUME, "got shape [5] of 'step"
    ),
    "a step of another type": Case(
        tensors(CHECKPOINT, lambda found, words: found.update({name: value.long() for name, value in found.items() if name.startswith("adam/step/")})), RESUME, "got torch.int64 in 'step"
    ),
    "moments without a step": Case(
        tensors(CHECKPOINT, lambda found, words: [found.pop(name) for name in list(found) if name.startswith("adam/step/")]), RESUME, "got no tensor 'step/"
    ),
    "moments of no parameter": Case(tensors(CHECKPOINT, lambda found, words: found.__setitem__("adam/exp_avg/evil", torch.zeros(3))), RESUME, "got a tensor 'exp_avg/evil'"),
    "a tensor of no kind": Case(tensors(CHECKPOINT, lambda found, words: found.__setitem__("evil/x", torch.zeros(3))), RESUME, "got a tensor 'evil/x'"),
    "weights of another shape in a checkpoint": Case(weight(CHECKPOINT, lambda w: w[:1].clone(), "last/"), RESUME, "got shape [1"),
    "a best weight that is no number": Case(weight(CHECKPOINT, with_nan, "best/"), RESUME, "no finite number"),
    "no history": Case(tensors(CHECKPOINT, lambda found, words: words.pop("history")), RESUME, "no valid best_epoch and history"),
    "a best epoch in words": Case(word("best_epoch", "x"), RESUME, "no valid best_epoch and history"),
    "a best epoch to come": Case(word("best_epoch", "99"), RESUME, "no valid best_epoch and history"),
    "a best epoch below 0": Case(word("best_epoch", "-1"), RESUME, "no valid best_epoch and history"),
    "a best epoch that only Python reads": Case(word("best_epoch", "0_1"), RESUME, "no valid best_epoch and history"),
    "a history of numbers": Case(word("history", "7"), RESUME, "no valid best_epoch and history"),
    "a history of nothing": Case(word("history", "[{}]"), RESUME, "no valid best_epoch and history"),
    "a history of NaN": Case(word("history", '[{"epoch": 1, "train_loss": NaN, "validation_loss": 1, "learning_rate": 1, "seconds": 1}]'), RESUME, "no valid best_epoch and history"),
    "a history with a column of no one": Case(word("history", '[{"epoch": 1, "train_loss": 1, "validation_loss": 1, "learning_rate": 1, "seconds": 1, "evil": 1}]'), RESUME, "", status=0),
    "a history without numbers": Case(word("history", '[{"epoch": 1, "train_loss": null, "validation_loss": null, "learning_rate": null, "seconds": null}]'), RESUME, "no valid best_epoch and history"),
    "a count of steps below 0": Case(tensors(CHECKPOINT, lambda found, words: found.update({name: value - 99 for name, value in found.items() if name.startswith("adam/step/")})), RESUME, "got a number below 0 in 'step/"),
    "squares below 0": Case(tensors(CHECKPOINT, lambda found, words: found.update({name: value - 99 for name, value in found.items() if name.startswith("adam/exp_avg_sq/")})), RESUME, "got a number below 0 in 'exp_avg_sq/"),
    "a history in lists": Case(word("history", "[" * 50_000), RESUME, "no valid best_epoch and history"),
    "half a checkpoint": Case(change(CHECKPOINT, cut), RESUME, "not a readable safetensors file"),
    "a pipe for a checkpoint": Case(pipe(CHECKPOINT), RESUME, REGULAR),
    "a checkpoint of a larger model": Case(words("half/config.json", put("settings", "model", "hidden", to=10**6)), RESUME, "half/config.json"),
}  # fmt: skip

SETTINGS: dict[str, Case] = {
    **{
        f"--set {text}": Case(nothing, f"train set --model sar-gcn --out r --set {text}", message)
        for text, message in [
            ("model.hidden=1000000000", "model.hidden: got 1000000000, expected at most 1000000"), ("model.hidden=16000", "SARGNN_LIMITS=parameters="),
            ("model.layers=1000000", "SARGNN_LIMITS="), ("model.members=1000000", "SARGNN_LIMITS="), ("model.hidden=1_0", "expected a whole number"), ("model.hidden=١٢", "expected a whole number"),
            ("model.hidden=1e308", "expected a whole number"), ("model.beta=nan", "expected a finite number"), ("model.beta=inf", "expected a finite number"), ("model.gamma=-1", "expected more than 0"),
            ("training.epochs=-1", "expected at least 1"), ("training.batch_size=0", "expected at least 1"), ("training.learning_rate=1_0", "expected a finite number"),
            ("training.seed=99999999999999999999999", "less than 2^63"), ("training.epochs=" + "9" * 5000, "expected a whole number"),
            ("data.encodings=degree,degree", "expected each name once"), ("data.encodings=", "data.encodings"), ("evil=1", "unknown setting 'evil'"), ("=", "unknown setting"), ("x", "expected key=value"),
        ]
    },
    "a walk of 10^9 steps for training": Case(nothing, "train set --out r --set data.walk_steps=1000000000", "columns of inputs, expected at most"),
    "10^9 degrees for training": Case(nothing, "train set --out r --set data.encodings=degree --set data.max_degree=1000000000", "columns of inputs, expected at most"),
    "a setting twice in JSON": Case(file("c.json", '{"model": {"layers": 2, "layers": 3}}'), "train set --out r --config c.json", "the name 'layers' twice"),
    "a setting twice in TOML": Case(file("c.toml", "[model]\nlayers = 2\nlayers = 3\n"), "train set --out r --config c.toml", "--config: cannot read"),
    "settings in lists": Case(file("c.json", "[" * 100_000), "train set --out r --config c.json", "--config: cannot read"),
    "settings of bytes": Case(file("c.toml", b"\xff\xfe\0"), "train set --out r --config c.toml", "--config: cannot read"),
    "settings of a number": Case(file("c.json", "7"), "train set --out r --config c.json", "got no tables"),
    "a name of numbers": Case(file("c.json", '{"name": 7}'), "train set --out r --config c.json", "got name = 7"),
    "a split of a number": Case(file("s.json", "7"), "train set --out r --split s.json", "got no list of folds"),
    "a split in lists": Case(file("s.json", "[" * 100_000), "train set --out r --split s.json", "not a readable split file"),
    "a split with a name twice": Case(file("s.json", '[{"test": [1], "test": [2], "model_selection": []}]'), "train set --out r --split s.json", "twice in one object"),
    "a split of fractions": Case(file("s.json", '[{"test": [1.0], "model_selection": [{"train": [0], "validation": []}]}]'), "train set --out r --split s.json", "got index 1.0"),
    "a split of 10^30": Case(file("s.json", '[{"test": [' + "1" * 30 + '], "model_selection": [{"train": [0], "validation": []}]}]'), "train set --out r --split s.json", "expected 0..23"),
    "a graph in two parts": Case(file("s.json", '[{"test": [0], "model_selection": [{"train": [0, 1], "validation": []}]}]'), "train set --out r --split s.json", "expected it once"),
    "a model that is no module": Case(nothing, "train set --out r --model ../evil:Class", "expected a module that can be imported"),
    "a model that is no model": Case(nothing, "train set --out r --model os:system", "expected a subclass"),
    "a device of no one": Case(nothing, "train set --out r --device evil", "--device"),
    "a coverage of NaN": Case(nothing, f"{PREDICT} --coverage nan", "coverage"),
    "a coverage of 2": Case(nothing, f"{PREDICT} --coverage 2", "coverage: got 2.0"),
    "an option of no one": Case(nothing, "train set --evil", "No such option"),
    "an option that steers the terminal": Case(nothing, "train set --\x1b[2J", "\\x1b[2J"),
    "a fold that is not there": Case(nothing, "train set --out r --fold 7", "--fold: got 7"),
    "a hundred thousand million graphs": Case(nothing, "data generate motifs --graphs 100000000000 --out g", "--graphs: got 100000000000, expected at most 10000000"),
    "ten million folds": Case(nothing, "cv set --folds 10000000", "folds: got 10000000, expected 2..24"),
}  # fmt: skip

OUTPUTS: dict[str, Case] = {
    "predictions into /dev/null": Case(nothing, "predict run set --out /dev/null", "/dev/null: cannot write (it is no regular file)"),
    "predictions into /dev/full": Case(nothing, "predict run set --out /dev/full", "/dev/full: cannot write"),
    "predictions into a pipe": Case(pipe("p.csv"), PREDICT, "p.csv: cannot write"),
    "predictions into a folder": Case(nothing, "predict run set --out absent", "absent: cannot write (Is a directory)"),
    "predictions below a file": Case(file("x", "x"), "predict run set --out x/p.csv", "cannot write (Not a directory)"),
    "a model on top of its own program": Case(nothing, "export run --to onnx --out m.py", "--out: got m.py, expected another ending"),
    "a run on top of a file": Case(file("x", "x"), "train set --out x", "not a usable folder"),
    "a run on top of another": Case(nothing, "train set --out run", "run is not empty"),
    "a run below a file": Case(file("x", "x"), "train set --out x/r", "x/r"),
    "a name of a thousand letters": Case(nothing, f"predict run set --out {'x' * 1000}.csv", "cannot write (File name too long)"),
    "a full standard output": Case(nothing, "data list", "standard output: cannot write", status=1, stdout="/dev/full"),
    "a full standard output for JSON": Case(nothing, "data info set --json", "standard output: cannot write", status=1, stdout="/dev/full"),
    "a full standard output for a table": Case(nothing, "predict run set --out -", "standard output: cannot write", status=1, stdout="/dev/full"),
    "a full standard output for help": Case(nothing, "--help", "", status=1, stdout="/dev/full"),
    "a reader that has gone": Case(nothing, "predict run set --out -", "", status=1, stdout="pipe"),
    "a reader of a list that has gone": Case(nothing, "data list", "", status=1, stdout="pipe"),
    "no standard output at all": Case(nothing, "data list", "", status=0, stdout="closed"),
    "a note that steers the terminal": Case(
        file("x.csv", "smiles,label\nCO,a\nCC,b\nno\x1b[2J,a\n"), "data check x.csv", "'no\\x1b[2J'", status=0
    ),
    "a file whose name steers the terminal": Case(every(file("\x1b[2J.json", GRAPH)), "data check \x1b[2J.json", "problem: \\x1b[2J: got class"),
    "a file whose name is no text": Case(lambda: Path(os.fsdecode(b"\xff\xfe.json")).write_text(GRAPH), f"data check {os.fsdecode(bytes([255, 254]))}.json", "problem: \\udcff\\udcfe: got class"),
    "too little memory": Case(nothing, "train set --model sar-gcn --out r --set model.hidden=60000", "a model that cannot be built"),
    "too little memory for what is allowed": Case(
        nothing, "train set --model sar-gcn --out r --set model.hidden=60000", "expected a smaller one", variables={"SARGNN_LIMITS": "parameters=100000000000"},
    ),
}  # fmt: skip

CASES = {**MODELS, **CHECKPOINTS, **SETTINGS, **OUTPUTS}
