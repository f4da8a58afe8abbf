"""A corpus of inputs that are broken in one way each, in every form but TU's own, and what is said of each.

The faults of TU files are in ``test_tu.py``, those of PyTorch Geometric data in ``test_sources.py``, those of NetworkX
graphs in ``test_from_networkx.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sargnn.data.check import check
from sargnn.data.sources import load
from sargnn.errors import InputError

Files = dict[str, str | bytes]

TRIO = {
    "graphs.csv": "graph,label\na,1\nb,0\n",
    "nodes.csv": "graph,node,symbol,mass\na,x,C,1\na,y,N,2\nb,x,C,1.5\n",
    "edges.csv": "graph,source,target,bond\na,x,y,single\n",
}
GOOD_JSON = (
    '{"graph": {"label": 1}, "nodes": [{"id": 0, "mass": 1}, {"id": 1, "mass": 2}], '
    '"edges": [{"source": 0, "target": 1}]}'
)
KEYS = (
    '<key id="m" for="node" attr.name="mass" attr.type="double"/>'
    '<key id="c" for="graph" attr.name="label" attr.type="string"/>'
)
NODES = '<data key="c">a</data><node id="x"><data key="m">1</data></node>\n<node id="y"><data key="m">2</data></node>'
GEXF_NODES = (
    '<attributes class="node"><attribute id="0" title="mass" type="double"/></attributes>\n<nodes>\n'
    '<node id="x" label="X"><attvalues><attvalue for="0" value="1"/></attvalues></node>\n</nodes>'
)


def trio(**change: str | bytes | None) -> Files:
    """Three good tables with ``change`` in place of some; None leaves a table out."""
    files = TRIO | {f"{name}.csv": text for name, text in change.items()}
    return {name: text for name, text in files.items() if text is not None}


def nodes(*rows: str) -> Files:
    """Three good tables but for the nodes."""
    return trio(nodes="\n".join(["graph,node,symbol,mass", *rows, ""]))


def json(text: str) -> Files:
    return {"x.json": text}


def one_json(nodes: str, edges: str = "", label: str = "1") -> Files:
    """A file with one graph of class 1."""
    return json(f'{{"graph": {{"label": {label}}}, "nodes": [{nodes}], "edges": [{edges}]}}')


def graphml(body: str, keys: str = KEYS) -> Files:
    xml = '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    return {"x.graphml": f'{xml}\n{keys}\n<graph edgedefault="undirected">\n{body}\n</graph>\n</graphml>\n'}


def xml(text: str) -> Files:
    return {"x.graphml": text}


def gexf(body: str, attributes: str = "") -> Files:
    start = '<gexf xmlns="http://www.gexf.net/1.2draft">'
    return {"a/x.gexf": f"{start}\n<graph {attributes}>\n{body}\n</graph>\n</gexf>\n"}


def first_of(count: int) -> str:
    return f" (the first of {count} problems; `sargnn data check` lists them)"


BROKEN: dict[str, tuple[Files, str]] = {
    # folders and files
    "an empty folder": (
        {},
        (
            ": got a folder without graphs, expected graphs.csv, nodes.csv and edges.csv, NAME_A.txt and so "
            "on, or files *.graphml, *.gexf, *.json, *.jsonl, *.ndjson"
        ),
    ),
    "a folder of other things": (
        {"readme.txt": "hello"},
        (
            ": got a folder without graphs, expected graphs.csv, nodes.csv and edges.csv, NAME_A.txt and so "
            "on, or files *.graphml, *.gexf, *.json, *.jsonl, *.ndjson"
        ),
    ),
    "a file that is no zip": (
        {"x.zip": "hello"},
        "/x.zip: not a readable zip (File is not a zip file)",
    ),
    "an empty zip": (
        {"x.zip": b"PK\x05\x06" + b"\0" * 18},
        "/x.zip: got an empty zip, expected a file of graphs",
    ),
    # tables
    "no edges table": (
        trio(edges=None),
        ": got graphs.csv, nodes.csv, expected graphs.csv, nodes.csv, edges.csv",
    ),
    "no graphs table": (
        trio(graphs=None),
        ": got edges.csv, nodes.csv, expected graphs.csv, nodes.csv, edges.csv",
    ),
    "an empty table": (
        trio(nodes=""),
        "/nodes.csv: got an empty file, expected a header line",
    ),
    "no column node": (
        trio(nodes="graph,name\na,x\n"),
        "/nodes.csv line 1: got columns 'graph', 'name', expected one called 'node'",
    ),
    "no column target": (
        trio(edges="graph,source\na,x\n"),
        "/edges.csv line 1: got columns 'graph', 'source', expected one called 'target'",
    ),
    "two columns of one name": (
        trio(nodes="graph,node,mass,mass\na,x,1,1\n"),
        "/nodes.csv line 1: got two columns 'mass', expected every name once",
    ),
    "a row too short": (
        trio(nodes=TRIO["nodes.csv"] + "b,y,C\n"),
        "/nodes.csv line 5: got 3 cells, expected 4 as in the header",
    ),
    "a row too long": (
        trio(nodes=TRIO["nodes.csv"] + "b,y,C,1,2\n"),
        "/nodes.csv line 5: got 5 cells, expected 4 as in the header",
    ),
    "a graph twice": (
        trio(graphs="graph,label\na,1\nb,0\na,1\n"),
        "/graphs.csv line 4: got graph 'a' again, expected every graph once",
    ),
    "a node of no graph": (
        trio(nodes=TRIO["nodes.csv"] + "c,x,C,1\n"),
        "/nodes.csv line 5: got graph 'c', expected one that is in graphs.csv",
    ),
    "an edge of no graph": (
        trio(edges=TRIO["edges.csv"] + "c,x,y,single\n"),
        "/edges.csv line 3: got graph 'c', expected one that is in graphs.csv",
    ),
    "a graph without nodes": (
        trio(graphs="graph,label\na,1\nb,0\nc,1\n"),
        "/graphs.csv line 4: got no nodes, expected at least one in nodes.csv, in graph 2",
    ),
    "no graphs in the tables": (
        trio(graphs="graph,label\n"),
        "/graphs.csv: got no graphs, expected at least one",
    ),
    "a node twice": (
        trio(nodes=TRIO["nodes.csv"] + "a,x,C,1\n"),
        "/nodes.csv line 5: got node 'x' again, expected every id once, in graph 0",
    ),
    "an edge from nowhere": (
        trio(edges="graph,source,target\na,z,y\n"),
        "/edges.csv line 2: got source 'z', expected a node of its graph, in graph 0",
    ),
    "an edge to nowhere": (
        trio(edges="graph,source,target\nb,x,y\n"),
        "/edges.csv line 2: got target 'y', expected a node of its graph, in graph 1",
    ),
    "a missing category": (
        nodes("a,x,C,1", "a,y,,1", "b,x,C,1"),
        "/nodes.csv line 3: got no value in 'symbol' of node 'y', expected one for every node, in graph 0",
    ),
    "a text among numbers": (
        nodes("a,x,C,1", "a,y,N,heavy", "b,x,C,1"),
        ("/nodes.csv line 3: got 'heavy' in 'mass' of node 'y', expected a number, as most others are, in graph 0"),
    ),
    "an infinite number": (
        nodes("a,x,C,1", "a,y,N,inf", "b,x,C,1"),
        "/nodes.csv line 3: got inf in 'mass' of node 'y', expected a finite number, in graph 0",
    ),
    "a number beyond 32 bits": (
        nodes("a,x,C,1", "a,y,N,1e39", "b,x,C,1"),
        "/nodes.csv line 3: got 1e+39 in 'mass' of node 'y', expected a finite number, in graph 0",
    ),
    "a missing class": (
        trio(graphs="graph,label\na,1\nb,\n"),
        "/graphs.csv line 3: got no class in 'label', expected one for every graph, in graph 1",
    ),
    "a fraction for a class": (
        trio(graphs="graph,label\na,yes\nb,0.25\n"),
        ("/graphs.csv line 3: got 0.25 in 'label', expected a whole number or a text as the class, in graph 1"),
    ),
    "no classes at all": (
        trio(graphs="graph\na\nb\n"),
        (
            ": got no classes, expected one for each graph: a column called label in graphs.csv, or another named by "
            "labels (--labels COLUMN)"
        ),
    ),
    "an unknown part": (
        trio(graphs="graph,label,part\na,1,train\nb,0,exam\n"),
        ("/graphs.csv line 3: got 'exam' in 'part', expected one of train, validation, test, test-large, in graph 1"),
    ),
    "a part for some": (
        trio(graphs="graph,label,part\na,1,train\nb,0,\n"),
        "/graphs.csv line 3: got no value in 'part', expected one for every graph or for none, in graph 1",
    ),
    "neither directed nor not": (
        trio(graphs="graph,label,directed\na,1,true\nb,0,maybe\n"),
        "/graphs.csv line 3: got 'maybe' in 'directed', expected true or false, in graph 1",
    ),
    "bytes in a table": (
        trio(nodes=b"graph,node\na,\xff\xfe\n"),
        "/nodes.csv: got bytes that are not UTF-8 text after line 1, expected UTF-8 "
        "(Latin-1 becomes it by `iconv -f LATIN1 -t UTF-8`)",
    ),
    "UTF-16 in a table": (
        trio(nodes="graph,node\na,x\n".encode("utf-16")),
        "/nodes.csv: got UTF-16, not UTF-8 text, expected UTF-8 (UTF-16 becomes it by `iconv -f UTF-16 -t UTF-8`)",
    ),
    "a quote that never ends": (
        trio(nodes='graph,node\na,"' + "x" * 140_000),
        "/nodes.csv line 2: not readable as CSV (field larger than field limit (131072))",
    ),
    "truth that is no number": (
        trio(nodes="graph,node,true_saliency\na,x,1\na,y,2\nb,x,high\n"),
        "/nodes.csv line 4: got 'high' in 'true_saliency' of node 'x', expected a number, in graph 1",
    ),
    "not Parquet": (
        {"graphs.parquet": "graph\n", "nodes.parquet": "graph\n", "edges.parquet": "graph\n"},
        (
            "/graphs.parquet: not readable as Parquet (Parquet file size is 6 bytes, smaller than the minimum"
            " file footer (8 bytes))"
        ),
    ),
    # JSON
    "not JSON": (
        json('{"nodes": [}'),
        "/x.json line 1: got a mistake in column 12 (Expecting value), expected JSON",
    ),
    "JSON that is a number": (
        json("3"),
        '/x.json: got a number, expected a graph {"nodes": [...], "edges": [...]}',
    ),
    "JSON without nodes": (
        json('{"edges": []}'),
        '/x.json: got no list of nodes, expected "nodes": [{...}, ...]',
    ),
    "JSON without edges": (
        json('{"nodes": [{"id": 0}]}'),
        '/x.json: got no list of edges, expected "edges": [{...}, ...]',
    ),
    "JSON nodes that are numbers": (
        json('{"nodes": [0, 1], "edges": []}'),
        '/x.json: got no list of nodes, expected "nodes": [{...}, ...]',
    ),
    "a JSON node without id": (
        one_json('{"mass": 1}'),
        "/x.json: got no id in {'mass': 1}, expected a number or a text, in graph 0",
    ),
    "a JSON id that is a list": (
        one_json('{"id": [1]}'),
        "/x.json: got a list as id in {'id': [1]}, expected a number or a text, in graph 0",
    ),
    "a JSON edge to nowhere": (
        one_json('{"id": 0}', '{"source": 0, "target": "0"}'),
        "/x.json: got target '0', expected the id of a node, in graph 0",
    ),
    "a JSON id twice": (
        one_json('{"id": 0}, {"id": 0}'),
        "/x.json: got node 0 again, expected every id once, in graph 0",
    ),
    "JSON without any node": (
        one_json(""),
        "/x.json: got no nodes, expected at least one, in graph 0",
    ),
    "a JSON value that is an object": (
        one_json('{"id": 0, "mass": {"kg": 1}}'),
        "/x.json: got a dict in 'mass' of node 0, expected a number or a text, in graph 0",
    ),
    "a JSON class that is an object": (
        json('{"graph": {"label": {}}, "nodes": [{"id": 0}], "edges": []}'),
        "/x.json: got a dict in 'label', expected a number or a text, in graph 0",
    ),
    "a JSON graph that is a text": (
        json('{"graph": "a", "nodes": [{"id": 0}], "edges": []}'),
        "/x.json: got a text in 'graph', expected an object",
    ),
    "JSON lists in lists": (
        json("[" * 100_000),
        "/x.json: got what cannot be parsed (RecursionError), expected JSON",
    ),
    "a JSON number of 5000 digits": (
        json('{"label": 1, "nodes": [{"id": ' + "1" * 5000 + '}], "edges": []}'),
        "/x.json: got what cannot be parsed (ValueError), expected JSON",
    ),
    "vectors of two lengths": (
        json('{"label": 1, "nodes": [{"id": 0, "x": [1, 2]}, {"id": 1, "x": [1]}], "edges": []}'),
        "/x.json: got a list of 1 in 'x_1' of node 1, expected 2 numbers, as in others, in graph 0",
    ),
    "an empty JSON list": (
        json("[]"),
        "/x.json: got no graphs, expected at least one",
    ),
    "a broken line": (
        {"x.jsonl": GOOD_JSON + "\n{oops\n" + GOOD_JSON + "\n"},
        (
            "/x.jsonl line 2: got a mistake in column 2 (Expecting property name enclosed in double quotes), "
            "expected a graph in JSON, in graph 1"
        ),
    ),
    "bytes on a line": (
        {"x.jsonl": GOOD_JSON.encode() + b"\n\xff\xfe\xfd\n"},
        "/x.jsonl line 2: got bytes that are not UTF-8 text, expected a graph in JSON",
    ),
    "an empty file of lines": (
        {"x.jsonl": "\n\n"},
        "/x.jsonl: got no graphs, expected at least one",
    ),
    "a class that some graphs lack": (
        {"x.jsonl": GOOD_JSON + "\n" + GOOD_JSON.replace('"label": 1', '"colour": 1') + "\n"},
        "/x.jsonl line 2: got no class in 'label', expected one for every graph, in graph 1",
    ),
    # GraphML
    "not XML": (
        xml("hello"),
        "/x.graphml line 1: got XML with a mistake (syntax error), expected graphml",
    ),
    "XML that is cut": (
        xml(graphml(NODES)["x.graphml"][:-12]),
        "/x.graphml line 7: got XML with a mistake (no element found), expected graphml",
    ),
    "XML of another kind": (
        xml("<html></html>"),
        "/x.graphml line 1: got <html>, expected <graphml>",
    ),
    "a DOCTYPE": (
        xml('<?xml version="1.0"?>\n<!DOCTYPE graphml [<!ENTITY a "aaaa">]>\n<graphml>&a;</graphml>'),
        "/x.graphml line 2: got a DOCTYPE, expected none: entities are not read",
    ),
    "an external entity": (
        xml('<!DOCTYPE graphml SYSTEM "file:///etc/passwd">\n<graphml/>'),
        "/x.graphml line 1: got a DOCTYPE, expected none: entities are not read",
    ),
    "an entity of no one": (
        xml("<graphml>&nothing;</graphml>"),
        "/x.graphml line 1: got XML with a mistake (undefined entity), expected graphml",
    ),
    "XML in a strange encoding": (
        xml('<?xml version="1.0" encoding="klingon"?><graphml/>'),
        ("/x.graphml: got XML in an encoding that cannot be read (unknown encoding: klingon), expected UTF-8"),
    ),
    "XML nested too deep": (
        xml("<graphml>" + "<a>" * 100),
        "/x.graphml line 1: got elements nested deeper than 64, expected <graphml>",
    ),
    "GraphML without a graph": (
        xml("<graphml></graphml>"),
        "/x.graphml: got no graphs, expected at least one",
    ),
    "a GraphML node without id": (
        graphml("<data key='c'>a</data><node/>"),
        "/x.graphml line 5: got a <node> without id, expected one, in graph 0",
    ),
    "a GraphML edge without target": (
        graphml(NODES + '<edge source="x"/>'),
        "/x.graphml line 6: got a <edge> without target, expected one, in graph 0" + first_of(2),
    ),
    "a GraphML edge to nowhere": (
        graphml(NODES + '\n<edge source="x" target="z"/>'),
        "/x.graphml line 7: got target 'z', expected the id of a node, in graph 0",
    ),
    "a GraphML node twice": (
        graphml(NODES + '\n<node id="x"><data key="m">1</data></node>'),
        "/x.graphml line 7: got node 'x' again, expected every id once, in graph 0",
    ),
    "a GraphML number that is none": (
        graphml(NODES.replace(">2<", ">two<")),
        "/x.graphml line 6: got 'two' in 'mass', expected the type double, in graph 0",
    ),
    "a GraphML key of no one": (
        graphml(NODES + '\n<node id="z"><data key="q">1</data></node>'),
        "/x.graphml line 7: got data for key 'q', expected a key that is declared, in graph 0",
    ),
    "a GraphML type of no one": (
        graphml(NODES, KEYS.replace("double", "quaternion")),
        (
            "/x.graphml line 3: got type 'quaternion' of 'mass', expected one of boolean, int, integer, long,"
            " float, double, string, in graph 0"
        ),
    ),
    "a GraphML hyperedge": (
        graphml(NODES + "\n<hyperedge/>"),
        "/x.graphml line 7: got a hyperedge in a graph, expected nodes and edges only, in graph 0",
    ),
    "a GraphML graph in a node": (
        graphml('<data key="c">a</data><node id="x">\n<graph/></node>'),
        "/x.graphml line 6: got a graph in a graph, expected nodes and edges only, in graph 0",
    ),
    # GEXF
    "a dynamic GEXF graph": (
        gexf(GEXF_NODES, 'mode="dynamic"'),
        "/a/x.gexf line 2: got a dynamic graph, expected a static one, in graph 0",
    ),
    "a GEXF value of no attribute": (
        gexf(GEXF_NODES.replace('for="0"', 'for="9"')),
        "/a/x.gexf line 5: got a value for '9', expected an attribute that is declared, in graph 0",
    ),
    "a GEXF number that is none": (
        gexf(GEXF_NODES.replace('value="1"', 'value="one"')),
        "/a/x.gexf line 5: got 'one' in 'mass', expected the type double, in graph 0",
    ),
    "a GEXF edge to nowhere": (
        gexf(GEXF_NODES + '\n<edges><edge source="x" target="q"/></edges>'),
        "/a/x.gexf line 7: got target 'q', expected the id of a node, in graph 0",
    ),
    "GEXF nodes in a node": (
        gexf('<nodes><node id="x">\n<nodes><node id="y"/></nodes></node></nodes>'),
        "/a/x.gexf line 4: got nodes inside a node, expected a flat graph, in graph 0",
    ),
    "a GEXF weight that is none": (
        gexf(GEXF_NODES + '\n<edges><edge source="x" target="x" weight="heavy"/></edges>'),
        "/a/x.gexf line 7: got 'heavy' in 'weight', expected the type double, in graph 0",
    ),
    "GEXF without classes": (
        {"x.gexf": gexf(GEXF_NODES)["a/x.gexf"]},
        (
            ": got no classes, expected one for each graph: a graph attribute called label, a labels.csv, or "
            "a subfolder for each class"
        ),
    ),
    # folders of files
    "a file that labels.csv lacks": (
        {"x.json": GOOD_JSON, "y.json": GOOD_JSON, "labels.csv": "file,label\nx,1\n"},
        "/labels.csv: got no row for 'y.json', expected one for every file",
    ),
    "a file that is not there": (
        {"x.json": GOOD_JSON, "labels.csv": "file,label\nx,1\nz,2\n"},
        "/labels.csv line 3: got 'z', expected the name of a graph file",
    ),
    "labels.csv without classes": (
        {"x.json": GOOD_JSON, "labels.csv": "file,colour\nx,1\n"},
        "/labels.csv line 1: got columns 'file', 'colour', expected 'file' and 'label'",
    ),
    "one broken file of two": (
        {"x.json": GOOD_JSON, "y.json": "{"},
        (
            "/y.json line 1: got a mistake in column 2 (Expecting property name enclosed in double quotes), "
            "expected JSON"
        ),
    ),
    # molecules
    "a table without SMILES": (
        {"x.csv": "name,label\nwater,1\n"},
        "/x.csv line 1: got columns 'name', 'label', expected one called 'smiles' that holds SMILES",
    ),
    "an empty table of molecules": (
        {"x.csv": ""},
        "/x.csv: got an empty file, expected a header line",
    ),
    "molecules without classes": (
        {"x.csv": "smiles,name,id\nCC,ethane,1\n"},
        (
            "/x.csv: got no classes, expected one for each graph: a column called label, or one of 'name', 'id' named"
            " by labels (--labels COLUMN)"
        ),
    ),
    "no molecule that can be read": (
        {"x.csv": "smiles,label\nC(C,1\n"},
        "/x.csv line 2: got 'C(C' (not SMILES), expected a molecule in SMILES",
    ),
    "a fraction for the class of a molecule": (
        {"x.csv": "smiles,label\nCC,0.5\nCO,a\n"},
        "/x.csv line 2: got 0.5 in 'label', expected a whole number or a text as the class, in graph 0",
    ),
}
"""From a fault to the files that have it and the message, less the folder it starts with."""


def write(folder: Path, files: Files) -> Path:
    """Write ``files`` into ``folder``; the source to load, which is a single file ``x.*`` or the folder."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    alone = len(files) == 1 and next(iter(files)).startswith("x.") and not next(iter(files)).endswith(".gexf")
    return folder / next(iter(files)) if alone else folder


@pytest.mark.parametrize(("files", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_input_is_one_clear_line(tmp_path: Path, files: Files, message: str) -> None:
    source = write(tmp_path / "input", files)
    if "parquet" in message:
        pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow, the extra 'parquet'")
    if source.suffix == ".csv":
        pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    with pytest.raises(InputError) as error:
        load(source)
    assert str(error.value) == f"{tmp_path / 'input'}{message}"
    report = check(source)
    assert report.graphs is None
    assert str(error.value).startswith(str(report.problems[0]))


def test_the_corpus_is_large() -> None:
    assert len(BROKEN) >= 60
