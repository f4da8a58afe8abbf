"""``sargnn serve``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.options import OwnModel, load_noted, run_folder, takes_roles
from sargnn.data.roles import Roles
from sargnn.errors import InputError


@takes_roles
def serve(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", parser=run_folder, help="Model folders, demo:NAME, hf://OWNER/NAME@REVISION."),
    ],
    roles: Roles,
    data: Annotated[str | None, typer.Option("--data", help="Graphs to browse: a known name or a path.")] = None,
    host: Annotated[str, typer.Option("--host", help="Where to listen; other than this machine needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any free one.")] = 8000,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="A file with the token that every request must have.")
    ] = None,
    max_graphs: Annotated[int, typer.Option("--max-graphs", help="Graphs of one request.")] = 1_000,
    max_nodes: Annotated[int, typer.Option("--max-nodes", help="Nodes of one graph.")] = 10_000,
    max_bytes: Annotated[int, typer.Option("--max-bytes", help="Bytes of one request.")] = 8 * 2**20,
    max_queue: Annotated[int, typer.Option("--max-queue", help="Graphs that may wait for the model.")] = 2_000,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that a request may take.")] = 30.0,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of the model.")] = 1,
    model: OwnModel = None,
) -> None:
    """Serve trained models: a page in the browser, and REST."""
    try:
        import fastapi  # noqa: F401
    except ImportError as error:
        raise InputError("serving needs FastAPI: pip install 'sargnn[serve]'") from error
    import torch

    from sargnn.serving.app import create_app
    from sargnn.serving.guard import check_host, read_token
    from sargnn.serving.limits import Limits
    from sargnn.serving.server import run_server

    limits = Limits(max_graphs, max_nodes, max_bytes, max_queue, timeout)
    token = read_token(token_file)
    check_host(host, token)
    torch.set_num_threads(threads)
    graphs = None if data is None else load_noted(data, roles, labelled=None)
    app = create_app(runs, graphs, limits=limits, token=token, model=model)
    names = ", ".join(app.state.service.runs)
    run_server(app, host, port, limits, names)
