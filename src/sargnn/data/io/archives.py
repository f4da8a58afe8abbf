"""Files packed by gzip or zip: unpacked to a folder that is removed again; messages name the archive.

A zip of a TU set is not unpacked: :mod:`sargnn.data.io.tu` reads it as it is.
"""

from __future__ import annotations

import gzip
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from sargnn.data.io.zips import Unpacking, members_of
from sargnn.data.problems import InputErrors, Problems, refused
from sargnn.errors import InputError
from sargnn.reading import open_regular

__all__ = ["is_archive", "unpacked"]


def is_archive(path: Path) -> bool:
    """Whether a file is a gzip, or a zip that holds something else than a TU set."""
    if path.suffix.lower() == ".gz":
        return True
    if path.suffix.lower() != ".zip":
        return False
    with open_regular(path) as file, suppress(zipfile.BadZipFile), zipfile.ZipFile(file) as opened:
        return not any(name.endswith("_A.txt") for name in opened.namelist())
    return False


@contextmanager
def unpacked(path: Path, problems: Problems) -> Iterator[Path]:
    """The file, or the folder, that an archive holds; problems found in the block are about files of the archive."""
    with tempfile.TemporaryDirectory(prefix="sargnn-") as folder:
        found = _unpack_zip(path, Path(folder)) if path.suffix.lower() == ".zip" else _unpack_gzip(path, Path(folder))
        try:
            yield found
        except InputErrors as error:
            named = [replace(problem, file=_named(problem.file, folder, path)) for problem in error.problems]
            raise InputErrors(named, error.count) from error
        except InputError as error:
            raise InputError(_named(str(error), folder, path) or "") from error
        finally:
            for some in (problems.found, problems.left_out):
                some[:] = [replace(problem, file=_named(problem.file, folder, path)) for problem in some]


def _named(text: str | None, folder: str, archive: Path) -> str | None:
    return text and text.replace(f"{folder}/", f"{archive}/")


def _unpack_gzip(path: Path, folder: Path) -> Path:
    try:
        with open_regular(path) as file, gzip.open(file) as packed:
            _copy(packed.read, folder / path.stem, Unpacking(str(path), path.stat().st_size))
    except (OSError, EOFError, zlib.error) as error:
        raise refused(f"not a readable gzip ({error})", path) from error
    return folder / path.stem


def _unpack_zip(path: Path, folder: Path) -> Path:
    """The one file of a zip, or the folder that holds all of its files; what starts with a dot is no data."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as opened:
            found, unpacking = members_of(opened, str(path)), Unpacking(str(path), path.stat().st_size)
            members = [name for name in found if not any(part.startswith((".", "__MACOSX")) for part in name.parts)]
            for name in members:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                with opened.open(found[name]) as packed:
                    _copy(packed.read, folder / name, unpacking)
    except InputError:
        raise
    except Exception as error:  # a damaged zip raises almost anything: zlib, struct, encoding, OS errors, ...
        raise refused(f"not a readable zip ({error})", path) from error
    if not members:
        raise refused("got an empty zip, expected a file of graphs", path)
    return folder / members[0] if len(members) == 1 else folder / _common_folder(members)


def _common_folder(names: list[PurePosixPath]) -> PurePosixPath:
    first, *others = (name.parent for name in names)
    while not all(other.is_relative_to(first) for other in others):
        first = first.parent
    return first


def _copy(read: Callable[[int], bytes], to: Path, unpacking: Unpacking) -> None:
    """Unpack to a file."""
    with to.open("wb") as file:
        for block in unpacking.blocks(read):
            file.write(block)
