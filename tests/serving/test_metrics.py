"""Prometheus can read what the server tells."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from served import Client, graph


def test_requests_and_graphs_are_counted_by_path_and_status(client: Client) -> None:
    one = client()
    one.post("/v1/models/shapes/predict", json={"graphs": [graph(), {"nodes": []}]})
    one.post("/v1/models/none/predict", json={"graphs": [graph()]})
    one.get("/wp-admin/../../etc/passwd")
    families = {f.name: f for f in text_string_to_metric_families(one.get("/metrics").text)}
    counts = {
        tuple(sorted(s.labels.values())): s.value for s in families["sargnn_requests"].samples if "total" in s.name
    }
    assert counts["/v1/models/{name}/predict", "200"] == counts["/v1/models/{name}/predict", "404"] == 1
    assert counts["404", "other"] == 1  # a path that does not exist is no label: anyone could make a million
    graphs = {s.labels["status"]: s.value for s in families["sargnn_graphs"].samples if s.name.endswith("_total")}
    assert graphs == {"200": 1, "422": 1}
    assert families["sargnn_batch_graphs"].samples
