"""The paper's tables as values."""

from __future__ import annotations

from sargnn.reproduction import paper


def test_cells_that_look_quoted_or_run_on_other_inputs_are_cells_of_table_2() -> None:
    other = [(system, data) for data, (systems, _) in paper.OTHER_INPUTS.items() for system in systems]
    for system, data in [*paper.QUOTED, *other]:
        assert system in paper.TABLE2
        assert data in paper.DATA_SETS
