"""``sargnn bench``: how fast this project's models are beside the same equations written in other ways.

Contenders are built first and shown to be equal, then run in random order, many times over; a row is the median of
the ratios of neighbouring runs. Rows measured while something else used the machine are refused.
"""

from sargnn.bench.plan import Plan, run, save, table

__all__ = ["Plan", "run", "save", "table"]
