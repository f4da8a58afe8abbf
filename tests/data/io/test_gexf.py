"""GEXF as Gephi writes it."""

from __future__ import annotations

from pathlib import Path

from sargnn.data.sources import load

GEXF = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" version="1.3">
  <meta><creator>by hand</creator></meta>
  <graph defaultedgetype="undirected">
    <attributes class="node" mode="static">
      <attribute id="0" title="mass" type="double"><default>12</default></attribute>
      <attribute id="1" title="symbol" type="string"/>
    </attributes>
    <nodes>
      <node id="0" label="oxygen">
        <attvalues><attvalue for="0" value="16"/><attvalue for="1" value="O"/></attvalues>
      </node>
      <node id="1" label="carbon"><attvalues><attvalue for="1" value="C"/></attvalues></node>
    </nodes>
    <edges>
      <edge id="0" source="0" target="1" weight="2.5" label="double"/>
      <edge id="1" source="1" target="1" type="directed" label="loop"/>
    </edges>
  </graph>
</gexf>
"""


def test_gexf_worked_by_hand(tmp_path: Path) -> None:
    (tmp_path / "one.gexf").write_text(GEXF)
    graphs = load(tmp_path / "one.gexf", labels=["a"])
    assert graphs.node_names.tolist() == ["oxygen", "carbon"]
    assert graphs.node_attributes.tolist() == [[16], [12]]
    assert graphs.node_label_names == ("C", "O")
    assert graphs.edges.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert graphs.edge_attributes[:, 0].tolist() == [2.5, 2.5, 1]
    assert graphs.edge_label_names == ("double", "loop")
