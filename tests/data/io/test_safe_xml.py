"""XML that would harm is refused at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sargnn.data.io import safe_xml
from sargnn.data.sources import load
from sargnn.errors import InputError

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


BOMB = f'<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY l0 "lol">{LAUGHS}]><graphml>&l9;</graphml>'


@pytest.mark.parametrize("name", ["x.graphml", "x.gexf"])
def test_a_billion_laughs_are_refused_at_once(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(BOMB)
    start = time.process_time()
    with pytest.raises(InputError, match=r"line 1: got a DOCTYPE, expected none: entities are not read$"):
        load(tmp_path / name)
    assert time.process_time() - start < 1


def test_a_file_that_xml_points_to_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password")
    text = f'<!DOCTYPE graphml [<!ENTITY s SYSTEM "file://{tmp_path}/secret">]><graphml>&s;</graphml>'
    (tmp_path / "x.graphml").write_text(text)
    with pytest.raises(InputError) as error:
        load(tmp_path / "x.graphml")
    assert "password" not in str(error.value)


def test_a_text_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_xml, "TEXT_LIMIT", 1000)
    (tmp_path / "x.graphml").write_text(f"<graphml><desc>{'x' * 5000}</desc></graphml>")
    with pytest.raises(InputError, match=r"got more than 1000 characters in one element, expected less$"):
        load(tmp_path / "x.graphml")
