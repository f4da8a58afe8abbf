"""Requests that are not what the description says."""

from __future__ import annotations

import pytest

from sargnn.serving.limits import Refused
from sargnn.serving.schemas import ExplainRequest, PredictRequest, parse


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"graphs": [' + b"[" * 100_000, 400),
        (b'{"graphs": ["\\ud800"]}', 400),
        (b"null", 422),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"graphs": []}', 422),
        (b'{"graphs": {}}', 422),
        (b'{"graphs": [1], "coverage": 1.0}', 422),
        (b'{"graphs": [1], "coverage": NaN}', 422),
        (b'{"graphs": [1], "explain": "maybe"}', 422),
        (b'{"graphs": [1], "unknown": 1}', 422),
    ],
)
def test_a_wrong_request_is_refused_in_one_short_line(body: bytes, status: int) -> None:
    with pytest.raises(Refused) as caught:
        parse(PredictRequest, body)
    assert caught.value.status == status
    assert len(str(caught.value)) < 300
    assert len(str(caught.value).splitlines()) == 1


def test_a_right_request_is_read() -> None:
    asked = parse(ExplainRequest, b'{"graphs": ["CCO", {"nodes": []}], "rule": "last", "coverage": 0.9}')
    assert (asked.graphs, asked.rule, asked.drawing) == (["CCO", {"nodes": []}], "last", False)
