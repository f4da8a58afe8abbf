"""What goes in and out, for people and programs that read ``/docs``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from sargnn.serving.limits import Refused

__all__ = [
    "Error", "ExplainRequest", "Explained", "FileAnswer", "ModelCard", "ModelList", "PredictRequest", "Predicted",
    "RowsAnswer", "SessionRequest", "SetCard", "SetList", "VectorMap", "parse",
]  # fmt: skip

M = TypeVar("M", bound=BaseModel)

_WITHOUT = {
    "type": "object",
    "description": "Nodes and edges to take away first, by position.",
    "properties": {
        "nodes": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "edges": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    },
}
_ROWS = {"type": "array", "items": {"type": "object", "additionalProperties": True}}
_GRAPH: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "title": "SMILES"},
        {
            "type": "object",
            "title": "Node-link graph",
            "properties": {
                "directed": {"type": "boolean"}, "graph": {"type": "object"}, "nodes": _ROWS, "edges": _ROWS,
                "without": _WITHOUT,
            },
            "required": ["nodes", "edges"],
        },
        {
            "type": "object",
            "title": "Molecule",
            "properties": {"smiles": {"type": "string"}, "without": _WITHOUT},
            "required": ["smiles"],
        },
        {
            "type": "object",
            "title": "Graph of a set",
            "properties": {"set": {"type": "string"}, "graph": {"type": "integer", "minimum": 0}, "without": _WITHOUT},
            "required": ["set", "graph"],
        },
    ]
}  # fmt: skip
Graphs = Annotated[list[Any], Field(min_length=1), WithJsonSchema({"type": "array", "items": _GRAPH, "minItems": 1})]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PredictRequest(_Request):
    """Graphs and what to say of them."""

    graphs: Graphs
    explain: bool = False
    """Also say how much each node counted."""
    calibrated: bool = False
    """Probabilities at the temperature found on held-out graphs."""
    coverage: float | None = Field(None, gt=0, lt=1)
    """Also give a set of classes or an interval that holds the truth with this probability."""
    normalised: bool = False
    """Intervals that are wider where the members of an ensemble disagree."""
    trust: bool = False
    """Also say how near the graph is to those that the model was trained on."""


class ExplainRequest(_Request):
    """Graphs and how to explain them."""

    graphs: Graphs
    rule: Literal["first", "last", "mean", "rollout"] = "mean"
    """How the layers become one map."""
    effects: bool = False
    """Also say how much each node raises each output, found by removing it."""
    drawing: bool = False
    """Also say where nodes are drawn."""
    calibrated: bool = False
    coverage: float | None = Field(None, gt=0, lt=1)
    normalised: bool = False
    trust: bool = False


class SessionRequest(_Request):
    """A browser signs in."""

    token: str


class Error(BaseModel):
    """Why there is no answer, in one line."""

    error: str


class Result(BaseModel):
    """One graph: a prediction, or an error."""

    graph: int
    """Its number in the request."""
    status: int
    """200; 422 for a graph that cannot be read, 413 for one that is too large."""
    error: str | None = None
    prediction: str | None = None
    """In words."""
    confidence: float | None = None
    """The probability of the prediction, where the task has one."""
    values: dict[str, Any] | None = None
    """The columns of `sargnn predict`."""
    region: dict[str, Any] | None = None
    """What holds the truth with the coverage asked for: a set or intervals, in the columns of `sargnn predict`."""
    trust: dict[str, Any] | None = None
    """The nearest training graphs, and what the graph has that none of them has."""
    saliency: list[float] | None = None
    """How much each node counted; they sum to 1."""


class ExplainedResult(Result):
    """One graph with what decided."""

    layers: list[list[float]] | None = None
    rule: str | None = None
    effects: dict[str, list[float]] | None = None
    """By output, how much each node raises it."""
    drawing: dict[str, Any] | None = None


class Predicted(BaseModel):
    """The results, in the order of the graphs."""

    model: str
    results: list[Result]


class Explained(BaseModel):
    """The results, in the order of the graphs."""

    model: str
    results: list[ExplainedResult]


class ModelLine(BaseModel):
    name: str
    system: str
    task: str
    outputs: list[str]
    saliency: bool
    """Whether it says which nodes decided."""
    calibrated: bool
    trust: bool
    """Whether it can say how near a graph is to those that it was trained on."""


class ModelList(BaseModel):
    models: list[ModelLine]


class ModelCard(ModelLine):
    """What is known of a model."""

    columns: list[str]
    inputs: dict[str, Any]
    example: str | dict[str, Any]
    scores: dict[str, Any]
    data: dict[str, Any]
    settings: dict[str, Any]
    history: list[dict[str, Any]]
    report: bool
    reliance: dict[str, Any] | None
    """Whether saliency beat random nodes on held-out graphs, in numbers and in words (``verdict``)."""


class SetCard(BaseModel):
    """A set of graphs that can be browsed."""

    name: str
    title: str
    graphs: int
    nodes: int
    notes: list[str]


class SetList(BaseModel):
    sets: list[SetCard]


class FileAnswer(SetCard):
    left_out: list[str]
    """Graphs of the file that cannot be read, and why."""


class RowsAnswer(BaseModel):
    """Graphs of a set with their predictions, one list per column."""

    model: str
    set: str
    graphs: int
    predicted: int
    """How many have been predicted so far."""
    rows: dict[str, list[Any]]


class VectorMap(BaseModel):
    """Where each graph lies on a map of the vectors that a model predicts from."""

    model: str
    set: str
    method: str
    graph: list[int]
    x: list[float]
    y: list[float]


def parse(kind: type[M], body: bytes) -> M:
    """The request that a body of JSON is; refused with the first thing that is wrong with it."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:80]
        status = 400 if first["type"] == "json_invalid" else 422
        raise Refused(status, f"got a wrong request ({first['msg']})" + (f", in {where}" if where else "")) from error
