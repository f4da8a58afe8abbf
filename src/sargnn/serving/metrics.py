"""What the server tells Prometheus."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics"]

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The numbers of one server.

    >>> metrics = Metrics()
    >>> metrics.graphs.labels("mutag", "200").inc(3)
    >>> 'sargnn_graphs_total{model="mutag",status="200"} 3.0' in metrics.text()
    True
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        about: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("sargnn_requests", "Requests by path and status.", ["path", "status"], **about)
        self.seconds = Histogram("sargnn_request_seconds", "Seconds from request to answer.", ["path"], **about)
        self.graphs = Counter("sargnn_graphs", "Graphs by model and status.", ["model", "status"], **about)
        self.queue = Gauge("sargnn_queue_graphs", "Graphs that wait for the model.", **about)
        self.batch_graphs = Histogram("sargnn_batch_graphs", "Graphs in a batch.", buckets=SIZES, **about)
        nodes = tuple(32 * size for size in SIZES)
        self.batch_nodes = Histogram("sargnn_batch_nodes", "Nodes in a batch.", buckets=nodes, **about)
        self.model_seconds = Histogram("sargnn_batch_seconds", "Seconds that a batch took.", **about)

    def text(self) -> str:
        """All of them in the text form that Prometheus reads."""
        return generate_latest(self.registry).decode()
