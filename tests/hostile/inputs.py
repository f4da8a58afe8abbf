"""Hostile data: what is no file, archives, tables, JSON, XML, molecules, TU files, saved sets."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from hostile.attack import Case
from hostile.spoil import (
    array,
    cell,
    change,
    every,
    file,
    files,
    gzipped,
    link,
    listening,
    nothing,
    packed,
    pipe,
    put,
    sparse,
    words,
)  # fmt: skip

GRAPH = '{"graph": {"label": "a"}, "nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}'
TRIO = {
    "t/graphs__csv": "graph,label\na,1\nb,0\n",
    "t/nodes__csv": "graph,node,mass\na,x,1\na,y,2\nb,x,3\n",
    "t/edges__csv": "graph,source,target\na,x,y\n",
}
TU = {
    "X/X_A__txt": "1, 2\n2, 1\n3, 4\n4, 3\n",
    "X/X_graph_indicator__txt": "1\n1\n2\n2\n",
    "X/X_graph_labels__txt": "0\n1\n",
}
REGULAR = "expected a regular file"


def trio(**change: str) -> object:
    return files(**{**TRIO, **{f"t/{name}__csv": text for name, text in change.items()}})


def tu(**change: str | bytes) -> object:
    return files(**{**TU, **{f"X/X_{name}__txt": text for name, text in change.items()}})


def one(nodes: str, edges: str = "", graph: str = '"label": 1') -> object:
    return file("x.json", f'{{"graph": {{{graph}}}, "nodes": [{nodes}], "edges": [{edges}]}}')


def graphml(body: str, keys: str = "") -> object:
    head = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    return file("x.graphml", f'{head}{keys}<graph edgedefault="undirected">{body}</graph></graphml>')


def star(leaves: int) -> str:
    rows = "".join(f"a,{leaf}\n" for leaf in range(leaves + 1))
    return f"graph,node\n{rows}b,0\n", "graph,source,target\n" + "".join(f"a,0,{n}\n" for n in range(1, leaves + 1))


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def encrypted() -> None:
    packed("x.zip", ("x.json", GRAPH))()
    change(
        "x.zip",
        lambda c: c.replace(b"PK\3\4\x14\0\0", b"PK\3\4\x14\0\1").replace(
            b"PK\1\2\x14\3\x14\0\0", b"PK\1\2\x14\3\x14\0\1"
        ),
    )()


def wide_csv(columns: int) -> object:
    header = ",".join(["smiles", "label", *(f"c{n}" for n in range(columns))])
    return lambda: Path("x.csv").write_text(f"{header}\n" + f"CO,1{',0' * columns}\nCC,0{',0' * columns}\n")


def tall_parquet() -> None:
    """Six million rows in some kilobytes: what repeats is written once, with a count."""
    import pyarrow as pa
    from pyarrow import parquet

    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2_000_000, np.int8)), pa.array(["CO"]))
    table = pa.table({"smiles": column, "label": column})
    with parquet.ParquetWriter("x.parquet", table.schema, compression="zstd") as writer:
        for _ in range(3):
            writer.write_table(table, row_group_size=2_000_000)


DEEP = "[" * 100_000
CHECK = "data check"

SUFFIXES = ["csv", "tsv", "smi", "sdf", "parquet", "json", "jsonl", "ndjson", "graphml", "gexf", "zip", "csv.gz"]

NO_FILES: dict[str, Case] = {
    **{f"a pipe as x.{end}": Case(pipe(f"x.{end}"), f"{CHECK} x.{end}", f"x.{end}: got a pipe, {REGULAR}") for end in SUFFIXES},
    **{
        f"{device} as x.{end}": Case(link(f"x.{end}", device), f"{CHECK} x.{end}", f"got a device, {REGULAR}")
        for device, end in [("/dev/zero", "csv"), ("/dev/zero", "jsonl"), ("/dev/zero", "zip"), ("/dev/urandom", "graphml"), ("/dev/null", "json"), ("/dev/full", "smi")]
    },
    "a pipe without an ending": Case(pipe("x"), f"{CHECK} x", REGULAR),
    "/dev/zero itself": Case(nothing, f"{CHECK} /dev/zero", f"/dev/zero: got a device, {REGULAR}"),
    "a socket": Case(listening("x.json"), f"{CHECK} x.json", f"got a socket, {REGULAR}"),
    "a link to itself": Case(link("x.csv", "x.csv"), f"{CHECK} x.csv", "x.csv"),
    "a pipe in a TU folder": Case(every(tu(), pipe("X/X_A.txt")), f"{CHECK} X", f"X_A.txt: got a pipe, {REGULAR}"),
    "a device in a TU folder": Case(every(tu(), link("X/X_node_labels.txt", "/dev/zero")), f"{CHECK} X", REGULAR),
    "a pipe among tables": Case(every(trio(), pipe("t/nodes.csv")), f"{CHECK} t", "expected graphs.csv, nodes.csv, edges.csv"),
    "a pipe for labels": Case(every(file("f/x.json", GRAPH), pipe("f/labels.csv")), f"{CHECK} f", f"labels.csv: got a pipe, {REGULAR}"),
    "a pipe among graph files": Case(every(file("f/x.json", GRAPH), pipe("f/y.json")), f"{CHECK} f", "got class 'a' only"),
    "a pipe as a split": Case(pipe("s.json"), "train set --out r --split s.json", REGULAR),
    "/dev/zero as a split": Case(nothing, "train set --out r --split /dev/zero", REGULAR),
    "a pipe as settings": Case(pipe("c.toml"), "train set --out r --config c.toml", REGULAR),
    "/dev/zero as settings": Case(nothing, "train set --out r --config /dev/zero", REGULAR),
    "a folder as settings": Case(nothing, "train set --out r --config absent", "--config: cannot read absent"),
    "a hundred gigabytes of nothing as CSV": Case(sparse("x.csv", 100 << 30), f"{CHECK} x.csv", "characters or more in a line, expected at most"),
    "a hundred gigabytes of nothing as JSON": Case(sparse("x.json", 100 << 30), f"{CHECK} x.json", "SARGNN_LIMITS=json="),
    "a hundred gigabytes of nothing as JSON lines": Case(sparse("x.jsonl", 100 << 30), f"{CHECK} x.jsonl", "SARGNN_LIMITS=json="),
    "a hundred gigabytes of nothing as XML": Case(sparse("x.graphml", 100 << 30), f"{CHECK} x.graphml", "SARGNN_LIMITS=file="),
    "a hundred gigabytes of nothing as SMILES": Case(sparse("x.smi", 100 << 30), f"{CHECK} x.smi", "SARGNN_LIMITS=file="),
    "a hundred gigabytes of nothing in a TU folder": Case(every(tu(), sparse("X/X_A.txt", 100 << 30)), f"{CHECK} X", "SARGNN_LIMITS=file="),
    "half a gigabyte of nothing in a TU folder": Case(every(tu(), sparse("X/X_A.txt", 1 << 29)), f"{CHECK} X", "bytes that are no text"),
    "a hundred gigabytes of nothing as a zip": Case(sparse("x.zip", 100 << 30), f"{CHECK} x.zip", "not a readable zip"),
    "a hundred gigabytes of nothing as settings": Case(sparse("c.json", 100 << 30), "train set --out r --config c.json", "SARGNN_LIMITS=json="),
    "a hundred gigabytes of nothing as a known set": Case(sparse("mirror/MUTAG.zip", 100 << 30), f"{CHECK} MUTAG", "SARGNN_LIMITS=file=", variables={"SARGNN_MIRROR": "mirror"}),
    "a pipe as a known set": Case(pipe("mirror/MUTAG.zip"), f"{CHECK} MUTAG", f"MUTAG.zip: got a pipe, {REGULAR}", variables={"SARGNN_MIRROR": "mirror"}),
    "limits of no one": Case(nothing, f"{CHECK} molecules.csv", "SARGNN_LIMITS: got 'evil=1'", variables={"SARGNN_LIMITS": "evil=1"}),
    "limits that are no numbers": Case(nothing, f"{CHECK} molecules.csv", "SARGNN_LIMITS: got 'file=1_0'", variables={"SARGNN_LIMITS": "file=1_0"}),
}  # fmt: skip

ARCHIVES: dict[str, Case] = {
    **{
        f"a member called {name}": Case(packed("x.zip", (name, GRAPH)), f"{CHECK} x.zip", "expected paths inside the zip only")
        for name in ("../x.json", "/x.json", "a/../../x.json", "C:\\x.json", "..\\x.json", "\\\\host\\x.json")
    },
    "a member twice": Case(packed("x.zip", ("x.json", GRAPH), ("x.json", "{}")), f"{CHECK} x.zip", "got member 'x.json' twice"),
    "a member twice by another path": Case(packed("x.zip", ("x.json", GRAPH), ("./x.json", "{}")), f"{CHECK} x.zip", "twice, expected every file once"),
    "a member twice by another slash": Case(packed("x.zip", ("a/x.json", GRAPH), ("a\\x.json", "{}")), f"{CHECK} x.zip", "twice, expected every file once"),
    "a TU member twice": Case(
        packed("x.zip", *((name.replace("__", "."), text) for name, text in TU.items()), ("X/X_graph_labels.txt", "1\n0\n")),
        f"{CHECK} x.zip", "got member 'X/X_graph_labels.txt' twice",
    ),
    "a file that is a folder too": Case(packed("x.zip", ("a", GRAPH), ("a/x.json", GRAPH)), f"{CHECK} x.zip", "not a readable zip"),
    "a name of ten thousand letters": Case(packed("x.zip", ("a" * 10_000 + ".json", GRAPH)), f"{CHECK} x.zip", "not a readable zip"),
    "a name that steers the terminal": Case(packed("x.zip", ("../\x1b[2J.json", GRAPH)), f"{CHECK} x.zip", "got member '../\\x1b[2J.json'"),
    "a zip that unpacks to too much": Case(
        packed("x.zip", ("X/X_A.txt", b"1, 2\n" * (20 << 20)), ("X/X_graph_indicator.txt", "1\n1\n")), f"{CHECK} x.zip", "times as many bytes when unpacked",
    ),
    "a zip of files that unpack to too much": Case(packed("x.zip", ("x.json", b" " * (100 << 20))), f"{CHECK} x.zip", "times as many bytes when unpacked"),
    "a zip above its limit": Case(
        packed("x.zip", ("x.json", GRAPH * 100)), f"{CHECK} x.zip", "expected at most 1000 (SARGNN_LIMITS=unpacked=", variables={"SARGNN_LIMITS": "unpacked=1000"},
    ),
    "a zip of too many files": Case(
        packed("x.zip", *((f"{n}.json", GRAPH) for n in range(50))), f"{CHECK} x.zip", "got 50 files, expected at most 49", variables={"SARGNN_LIMITS": "members=49"},
    ),
    "a gzip that unpacks to too much": Case(gzipped("x.csv.gz", bytes(100 << 20)), f"{CHECK} x.csv.gz", "times as many bytes when unpacked"),
    "a gzip in a gzip": Case(gzipped("x.csv.gz", zlib.compress(b"smiles,label\n")), f"{CHECK} x.csv.gz", "not UTF-8"),
    "half a zip": Case(every(packed("x.zip", ("x.json", GRAPH)), change("x.zip", cut)), f"{CHECK} x.zip", "not a readable zip"),
    "half a gzip": Case(every(gzipped("x.jsonl.gz", GRAPH.encode()), change("x.jsonl.gz", cut)), f"{CHECK} x.jsonl.gz", "not a readable gzip"),
    "a zip with a wrong checksum": Case(
        every(packed("x.zip", ("x.json", GRAPH)), change("x.zip", lambda c: c.replace(c[14:18], b"\1\2\3\4"))), f"{CHECK} x.zip", "not a readable zip",
    ),
    "a zip that wants a password": Case(encrypted, f"{CHECK} x.zip", "not a readable zip"),
    "a zip in a zip": Case(packed("x.zip", ("y.zip", b"PK\5\6" + bytes(18))), f"{CHECK} x.zip", "x.zip"),
    "a zip of nothing": Case(file("x.zip", b"PK\5\6" + bytes(18)), f"{CHECK} x.zip", "got an empty zip"),
}  # fmt: skip

JSON: dict[str, Case] = {
    "a name twice in an object": Case(one('{"id": 0, "id": 1}'), f"{CHECK} x.json", "the name 'id' twice in one object"),
    "a name twice on a line": Case(file("x.jsonl", GRAPH.replace('"graph"', '"nodes": [], "graph"')), f"{CHECK} x.jsonl", "the name 'nodes' twice in one object"),
    "NaN as the id of a node": Case(one('{"id": NaN}'), f"{CHECK} x.json", "got nan as id"),
    "infinity as the id of a node": Case(one('{"id": 1e999}'), f"{CHECK} x.json", "got inf as id"),
    "true as the id of a node": Case(one('{"id": 1}, {"id": true}'), f"{CHECK} x.json", "got true or false as id"),
    "a list as the id of a node": Case(one('{"id": [1]}'), f"{CHECK} x.json", "as id"),
    "NaN as the end of an edge": Case(one('{"id": 0}', '{"source": NaN, "target": 0}'), f"{CHECK} x.json", "got nan as source"),
    "lists in lists in lists": Case(file("x.json", DEEP), f"{CHECK} x.json", "cannot be parsed (RecursionError)"),
    "a number of a million digits": Case(one('{"id": ' + "9" * 1_000_000 + "}"), f"{CHECK} x.json", "cannot be parsed (ValueError)"),
    "UTF-16": Case(file("x.json", GRAPH.encode("utf-16")), f"{CHECK} x.json", "not UTF-8 text"),
    "half a character as a class": Case(
        every(file("x.jsonl", GRAPH.replace('"a"', '"\\ud800"') + "\n" + GRAPH)), f"{CHECK} x.jsonl", "\\ud800", status=0
    ),
    "a class that steers the terminal": Case(
        file("x.jsonl", GRAPH.replace('"a"', '"\\u001b[2J\\u202e"') + "\n" + GRAPH), f"{CHECK} x.jsonl", "\\x1b[2J\\u202e", status=0
    ),
    "a class of a million letters": Case(file("x.jsonl", GRAPH.replace('"a"', f'"{"x" * 1_000_000}"') + "\n" + GRAPH), f"{CHECK} x.jsonl", "xxx…", status=0),
    "a number for nodes": Case(file("x.json", '{"nodes": 7, "edges": []}'), f"{CHECK} x.json", "no list of nodes"),
    "an attribute of lists of other lengths": Case(one('{"id": 0, "x": [1]}, {"id": 1, "x": [1, 2]}'), f"{CHECK} x.json", "got a list of 1 in 'x_1'"),
    "an attribute for every node alone": Case(
        lambda: Path("x.json").write_text('{"graph": {"label": 1}, "edges": [], "nodes": [' + ",".join(f'{{"id": {n}, "a{n}": 1}}' for n in range(5000)) + "]}"),
        f"{CHECK} x.json", "different attributes of nodes",
    ),
    "an attribute of a list of a hundred thousand": Case(one('{"id": 0, "x": [' + ",".join("0" * 100_000) + "]}"), f"{CHECK} x.json", "x.json"),
    "true and 1 as names of parts": Case(one('{"id": 0}', graph='"label": 1, "part": true'), f"{CHECK} x.json", "in 'part'"),
}  # fmt: skip

TABLES: dict[str, Case] = {
    "a hundred thousand columns": Case(wide_csv(100_000), f"{CHECK} x.csv", "x.csv line 1: got 100002 columns, expected at most 10000 (SARGNN_LIMITS=columns=100002 allows them)"),
    "a number that only Python reads": Case(trio(nodes="graph,node,mass\na,x,0_2\na,y,1\nb,x,1\n"), f"{CHECK} t", "got '0_2' in 'mass'"),
    "digits of another script": Case(trio(nodes="graph,node,mass\na,x,١٢\na,y,1\nb,x,1\n"), f"{CHECK} t", "in 'mass' of node 'x', expected a number"),
    "no id of a node": Case(trio(nodes="graph,node\na,\na,y\nb,x\n", edges="graph,source,target\n"), f"{CHECK} t", "got '' as node, expected an id"),
    "NaN as the id of a node in a table": Case(trio(nodes="graph,node\na,nan\na,y\nb,x\n", edges="graph,source,target\n"), f"{CHECK} t", "got 'nan' as node"),
    "no id of a graph": Case(trio(graphs="graph,label\na,1\n,0\n"), f"{CHECK} t", "got '' as graph, expected an id"),
    "bytes in a table": Case(file("x.csv", b"smiles,label\nCO,\xff\n"), f"{CHECK} x.csv", "not UTF-8"),
    "zeros in a table": Case(file("x.csv", b"smiles,label\nC\0O,1\nCC,0\nCN,1\n"), f"{CHECK} x.csv", "left out: x.csv line 2: got 'C\\x00O' (not SMILES)", status=0),
    "a cell that never ends": Case(file("x.csv", 'smiles,label\n"' + "x" * 200_000), f"{CHECK} x.csv", "not readable as CSV"),
    "a line that never ends": Case(file("x.csv", "smiles,label\n" + "C" * (34 << 20)), f"{CHECK} x.csv", "line 2: got 33554433 characters or more in a line"),
    "a column twice": Case(file("x.csv", "smiles,label,label\nCO,1,0\n"), f"{CHECK} x.csv", "got two columns 'label'"),
    "no Parquet": Case(file("x.parquet", "PAR1" + "x" * 100 + "PAR1"), f"{CHECK} x.parquet", "not readable as Parquet"),
    "half a Parquet file": Case(every(tall_parquet, change("x.parquet", cut)), f"{CHECK} x.parquet", "not readable as Parquet"),
    "millions of rows in a small Parquet file": Case(tall_parquet, f"{CHECK} x.parquet", "times as many bytes when unpacked, expected at most"),
    "a star of a hundred thousand nodes": Case(
        lambda: trio(**dict(zip(("nodes", "edges"), star(100_000), strict=True)))(), "train t --model sar-gcn --out r", "columns of inputs, expected at most 10000",
    ),
    "a label for every node alone": Case(
        lambda: trio(nodes="graph,node,symbol\n" + "".join(f"a,{n},s{n}\n" for n in range(20_000)) + "b,x,s1\n", edges="graph,source,target\n")(),
        "train t --out r", "columns of inputs, expected at most 10000",
    ),
    "a weight that only Python reads": Case(file("x.csv", "smiles,label,w\nCO,1,1_0\nCC,0,1\n"), f"{CHECK} x.csv --weight-column w", "expected a number above 0"),
    "a target of 10^308": Case(file("x.csv", "smiles,v\n" + "".join(f"{'C' * n},{(-1) ** n}e308\n" for n in range(1, 20))), "train x.csv --labels v --task regression --model sar-gcn --out r", "expected a number between -1e+30 and 1e+30"),
    "a column that is not there": Case(nothing, f"{CHECK} molecules.csv --labels \x1b[2J", "got no column '\\x1b[2J'"),
}  # fmt: skip

XML: dict[str, Case] = {
    "entities of entities": Case(
        file("x.graphml", '<!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'), f"{CHECK} x.graphml", "got a DOCTYPE",
    ),
    "an entity from elsewhere": Case(file("x.gexf", '<!DOCTYPE g SYSTEM "file:///etc/passwd"><gexf/>'), f"{CHECK} x.gexf", "got a DOCTYPE"),
    "elements without end": Case(file("x.graphml", "<graphml>" + "<a>" * 100_000), f"{CHECK} x.graphml", "nested deeper than 64"),
    "a text without end": Case(file("x.graphml", "<graphml><a>" + "x" * (2 << 20)), f"{CHECK} x.graphml", "characters in one element"),
    "an attribute without end": Case(file("x.graphml", '<graphml a="' + "x" * (20 << 20)), f"{CHECK} x.graphml", "mistake"),
    "a whole number that only Python reads": Case(
        graphml('<data key="c">1_0</data><node id="x"><data key="m">1_0</data></node>', '<key id="m" for="node" attr.name="m" attr.type="int"/><key id="c" for="graph" attr.name="label" attr.type="string"/>'),
        f"{CHECK} x.graphml", "got '1_0' in 'm', expected the type int",
    ),
    "XML of bytes": Case(file("x.gexf", bytes(range(256)) * 10), f"{CHECK} x.gexf", "mistake"),
    "GraphML of nothing": Case(file("x.graphml", ""), f"{CHECK} x.graphml", "mistake"),
}  # fmt: skip

MOLECULES: dict[str, Case] = {
    "a molecule of a hundred thousand atoms": Case(file("x.csv", f"smiles,label\n{'C' * 100_000},1\nCO,0\n"), f"{CHECK} x.csv", "got 100000 characters of SMILES, expected at most 5000"),
    "rings without end": Case(file("x.csv", f"smiles,label\n{'C1CC1' * 20_000},1\nCO,0\n"), f"{CHECK} x.csv", "characters of SMILES"),
    "brackets without end": Case(file("x.csv", f"smiles,label\n{'C(' * 2400},1\nCO,0\n"), f"{CHECK} x.csv", "not SMILES"),
    "SMILES of signs": Case(file("x.csv", "smiles,label\n=1+1,1\n[#999],0\n"), f"{CHECK} x.csv", "expected a molecule in SMILES"),
    "a record of a hundred thousand lines": Case(file("x.sdf", "a\n\n\n" + "x\n" * 100_000 + "M  END\n$$$$\n"), f"{CHECK} x.sdf", "lines in a record"),
    "a record that counts wrong": Case(file("x.sdf", "a\n\n\n999999  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n$$$$\n"), f"{CHECK} x.sdf", "no molecule"),
    "a file of names": Case(file("x.smi", b"\xff\xfe" * 100), f"{CHECK} x.smi", "not UTF-8"),
}  # fmt: skip

SETS: dict[str, Case] = {
    "a TU number that only Python reads": Case(tu(node_attributes="0_2\n1\n1\n1\n"), f"{CHECK} X", "got '0_2' in column 1, expected a number"),
    "a TU number that is none": Case(tu(node_attributes="inf\n1\n1\n1\n"), f"{CHECK} X", "finite number"),
    "a TU node of 10^18": Case(tu(A="1, 1000000000000000000\n"), f"{CHECK} X", "X_A.txt line 1"),
    "a TU graph of 10^15": Case(tu(graph_indicator="1\n1\n2\n1000000000000000\n"), f"{CHECK} X", "got no nodes of graph 2"),
    "a TU graph below 0": Case(tu(graph_indicator="1\n1\n2\n-2\n"), f"{CHECK} X", "got graph number -2"),
    "TU files that count from 0": Case(tu(A="0, 1\n"), f"{CHECK} X", "numbers that start at 0"),
    "TU files of bytes": Case(tu(A=bytes(100)), f"{CHECK} X", "bytes that are no text"),
    "two TU sets in a folder": Case(every(tu(), file("X/Y_A.txt", "1, 2\n")), f"{CHECK} X", "expected the files of one TU set"),
    **{
        f"{name} ({command.split()[0]})": Case(make, command, message)
        for name, make, message in [
            ("an edge far outside", array("set/edges.npy", cell((0, 7), 10**9)), "edges.npy: got an edge"),
            ("an edge below 0", array("set/edges.npy", cell((1, 0), -5)), "edges.npy: got an edge"),
            ("pointers that fall", array("set/node_ptr.npy", cell(3, 0)), "node_ptr.npy: got node_ptr that goes back"),
            ("edge pointers that fall", array("set/edge_ptr.npy", cell(3, 10**6)), "edge_ptr.npy"),
            ("a class of no name", array("set/y.npy", cell(4, 100)), "y.npy: got 100 in y"),
            ("a number that is none", array("set/node_attributes.npy", cell((0, 0), np.inf)), "node_attributes.npy"),
        ]
        for command in (f"{CHECK} set", "train set --out r", "predict run set --out p.csv", "explain run set --out e", "cv set")
    },
    "a label of 10^6": Case(array("full/edge_labels.npy", cell(0, 10**6)), "train full --out r", "got 1000000 in edge_labels"),
    "numbers of another width": Case(array("set/node_attributes.npy", lambda a: a.astype(np.float64) * 1e300), "train set --out r", "got float64 of shape"),
    "a set of edges of another machine": Case(array("set/edges.npy", lambda e: e.astype(">i4")), "train set --out r", "got >i4 of shape"),
    "an array that a pickle made": Case(lambda: np.save("set/y.npy", np.array([{}], object), allow_pickle=True), "train set --out r", "not a readable array"),
    "half an array": Case(change("set/edges.npy", cut), "train set --out r", "edges.npy: not a readable array"),
    "an array that claims to be huge": Case(
        change("set/y.npy", lambda c: c.replace(b"(24,)", b"(10**12,)"[:5])), "train set --out r", "set/",
    ),
    "a pipe for an array": Case(pipe("set/y.npy"), "train set --out r", f"y.npy: got a pipe, {REGULAR}"),
    "a pipe for the words of a set": Case(pipe("set/graphset.json"), f"{CHECK} set", REGULAR),
    "an array from elsewhere": Case(words("set/graphset.json", put("arrays", to=["../run/config"])), f"{CHECK} set", "got the array '../run/config'"),
    "a class name twice in a set": Case(words("set/graphset.json", put("classes", to=["a", "a"])), f"{CHECK} set", "got a name twice in classes"),
    "a set named in lists": Case(words("set/graphset.json", put("name", to=[["x"]])), f"{CHECK} set", "not a readable graph set"),
    "a set of another format": Case(words("set/graphset.json", put("format", to="evil")), f"{CHECK} set", "got another format"),
    "a word twice in a set": Case(change("set/graphset.json", lambda c: b'{"name": "x",' + c[1:]), f"{CHECK} set", "the name 'name' twice"),
}  # fmt: skip

CASES = {**NO_FILES, **ARCHIVES, **JSON, **TABLES, **XML, **MOLECULES, **SETS}
