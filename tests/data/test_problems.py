"""Problems are collected, placed and told at once."""

from __future__ import annotations

import pytest

from sargnn.data.problems import MOST, InputErrors, Problem, Problems, kind_of, refused, shown
from sargnn.errors import InputError


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, "got x"),
        ({"file": "a.csv"}, "a.csv: got x"),
        ({"file": "a.csv", "line": 3, "graph": 0}, "a.csv line 3: got x, in graph 0"),
        ({"line": 3}, "got x"),
    ],
)
def test_a_problem_in_words(where: dict[str, str | int], text: str) -> None:
    assert str(Problem("got x", **where)) == text
    assert Problem("got x", **where).to_json()["problem"] == text


def test_more_problems_than_are_kept_are_counted() -> None:
    problems = Problems()
    for row in range(MOST + 5):
        problems.add(f"{row}", "none")
    assert (len(problems.found), problems.count) == (MOST, MOST + 5)
    with pytest.raises(InputErrors, match=rf"^got 0, expected none \(the first of {MOST + 5} problems; ") as error:
        problems.stop()
    assert error.value.count == MOST + 5


def test_errors_inside_a_block_become_problems() -> None:
    problems = Problems()
    with problems.caught():
        raise InputErrors([Problem("first"), Problem("second")], 7)
    with problems.caught():
        raise InputError("third")
    with pytest.raises(KeyError), problems.caught():
        raise KeyError("not one of ours")
    assert [problem.message for problem in problems.found] == ["first", "second", "third"]
    assert problems.count == 8


def test_problems_are_told_of_their_graph_afterwards() -> None:
    problems = Problems()
    problems.add("a", "b", graph=1)
    problems.add("c", "d")
    problems.belong_to(4, since=1)
    assert [problem.graph for problem in problems.found] == [1, 4]


def test_a_graph_that_is_left_out_stops_nothing() -> None:
    problems = Problems()
    problems.leave_out("no atoms", "a molecule", line=2)
    problems.stop()
    assert [str(problem) for problem in problems.left_out] == ["got no atoms, expected a molecule"]


def test_values_in_words() -> None:
    assert [kind_of(value) for value in (True, 2.5, None, [])] == ["true or false", "a number", "nothing", "a list"]
    assert [kind_of(value) for value in (3, "C", {})] == ["a number", "a text", "a dict"]
    assert shown([1] * 40, 10) == "[1, 1, 1,…"
    assert str(refused("got x", "a.json", 2, graph=1)) == "a.json line 2: got x, in graph 1"
