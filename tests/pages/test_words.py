"""Numbers and settings as people write them."""

from __future__ import annotations

import pytest

from sargnn.pages.words import duration, in_words, percent, settings_in_words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (9.94, "9.9 s"),
        (59.4, "59 s"),
        (60.0, "1 min 0 s"),
        (3599.6, "1 h 0 min"),
        (86400.0, "24 h 0 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_percentages_have_one_decimal() -> None:
    assert [percent(fraction) for fraction in (0.0, 0.12345, 1.0)] == ["0.0%", "12.3%", "100.0%"]


def test_values_of_settings() -> None:
    assert in_words([]) == in_words({}) == in_words(None) == "none"
    assert in_words({"rate": 0.5, "sizes": [1, 2000]}) == "rate 0.5, sizes 1, 2,000"
    assert in_words("sum") == "sum"


def test_changed_settings_can_be_typed_again() -> None:
    assert settings_in_words({"name": "gin", "model": {}, "data": {"degree": True}}) == "data.degree=True"
