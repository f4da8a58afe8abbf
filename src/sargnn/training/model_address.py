"""Where a model is: a folder, a model that comes with this package (``demo:NAME``), or one on the Hugging Face Hub
(``hf://OWNER/NAME@REVISION``)."""

from __future__ import annotations

from pathlib import Path

from sargnn.errors import InputError

__all__ = ["DEMO", "HUB", "demo_models", "local_folder"]

DEMO, HUB = "demo:", "hf://"
_DEMO_FOLDER = Path(__file__).parent / "demo"


def demo_models() -> list[str]:
    """The names after ``demo:``.

    >>> demo_models()
    ['mutag', 'triangles']
    """
    return sorted(path.name for path in _DEMO_FOLDER.iterdir() if path.is_dir())


def local_folder(address: Path | str) -> Path:
    """The folder of a model on this machine; one of the hub is downloaded, or found where it was downloaded before.

    >>> local_folder("demo:mutag").name, local_folder("runs/mine").as_posix()
    ('mutag', 'runs/mine')
    """
    text = str(address)
    if text.startswith(HUB):
        from sargnn.training.hub import download

        return download(text)
    if not text.startswith(DEMO):
        return Path(address)
    name = text.removeprefix(DEMO)
    if name not in demo_models():
        raise InputError(f"got {text!r}, expected {DEMO} and one of {', '.join(demo_models())}")
    return _DEMO_FOLDER / name
