"""A hub on this machine: what the library for the Hugging Face Hub asks of a server, over HTTP, kept in memory."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

Files = dict[str, bytes]


@dataclass
class FakeHub:
    """Repositories by name: each a list of versions, each version its files."""

    address: str = ""
    versions: dict[str, list[Files]] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)
    """What was downloaded: repository, version and file."""

    def put(self, repository: str, files: Files) -> str:
        """A new version of a repository; its name."""
        self.versions.setdefault(repository, []).append(files)
        return self.named(repository, len(self.versions[repository]) - 1)

    @staticmethod
    def named(repository: str, number: int) -> str:
        """What a version is called: forty hexadecimal digits, as those of git."""
        return hashlib.sha1(f"{repository} {number}".encode()).hexdigest()

    def find(self, repository: str, revision: str) -> tuple[str, Files] | None:
        versions = self.versions.get(repository, [])
        names = [self.named(repository, number) for number in range(len(versions))]
        if revision == "main" and versions:
            return names[-1], versions[-1]
        return (revision, versions[names.index(revision)]) if revision in names else None


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """A running server."""
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def answer(self, content: bytes, status: int = 200, **headers: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def as_json(self, content: Any, status: int = 200, **headers: str) -> None:
            self.answer(json.dumps(content).encode(), status, Content_Type="application/json", **headers)

        def missing(self, kind: str) -> None:
            self.as_json({"error": f"{kind} not found"}, 404, X_Error_Code=f"{kind}NotFound")

        def body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def do_GET(self) -> None:
            path = unquote(self.path).partition("?")[0].strip("/").split("/")
            if path[:2] == ["api", "models"]:
                repository, revision = "/".join(path[2:4]), path[5] if len(path) > 5 else "main"
                found = hub.find(repository, revision)
                if repository not in hub.versions:
                    self.missing("Repo")
                elif found is None:
                    self.missing("Revision")
                elif path[4:5] == ["tree"]:
                    self.as_json(
                        [{"type": "file", "path": n, "size": len(c), "oid": _oid(c)} for n, c in found[1].items()]
                    )
                else:
                    siblings = [{"rfilename": name} for name in found[1]]
                    self.as_json({"id": repository, "modelId": repository, "sha": found[0], "siblings": siblings})
                return
            if path[:1] == ["api"] or path[2:3] != ["resolve"]:
                self.missing("Route")
                return
            repository, revision, name = "/".join(path[:2]), path[3], "/".join(path[4:])
            found = hub.find(repository, revision)
            if found is None or name not in found[1]:
                self.missing("Entry")
                return
            content = found[1][name]
            if self.command == "GET":
                hub.fetched.append(f"{repository} {found[0]} {name}")
            self.answer(content, ETag=f'"{_oid(content)}"', X_Repo_Commit=found[0])

        do_HEAD = do_GET

        def do_POST(self) -> None:
            path = unquote(self.path).partition("?")[0].strip("/").split("/")
            body = self.body()
            if path == ["api", "repos", "create"]:
                asked = json.loads(body)
                name = f"{asked['organization']}/{asked['name']}" if asked.get("organization") else asked["name"]
                if name in hub.versions:
                    self.as_json({"error": "it exists", "url": f"{hub.address}/{name}"}, 409)
                    return
                hub.versions[name], hub.private[name] = [], asked.get("private", asked.get("visibility") == "private")
                self.as_json({"url": f"{hub.address}/{name}", "name": name, "id": "1"})
            elif path == ["api", "validate-yaml"]:
                self.as_json({"errors": [], "warnings": []})
            elif path[4:5] == ["preupload"]:
                files = json.loads(body)["files"]
                self.as_json(
                    {"files": [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]}
                )
            elif path[4:5] == ["commit"]:
                lines = [json.loads(line) for line in body.splitlines()]
                files = {
                    line["value"]["path"]: base64.b64decode(line["value"]["content"])
                    for line in lines
                    if line["key"] == "file"
                }
                sha = hub.put("/".join(path[2:4]), files)
                self.as_json(
                    {"commitUrl": f"{hub.address}/{path[2]}/{path[3]}/commit/{sha}", "commitOid": sha, "success": True}
                )
            else:
                self.missing("Route")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
