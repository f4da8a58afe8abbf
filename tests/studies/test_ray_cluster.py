"""The Ray engine on a real cluster of three nodes, all on this machine."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fake_study
import sargnn
from sargnn.errors import InputError
from sargnn.studies import ray_cluster
from sargnn.studies.engine import run_bundles
from sargnn.studies.store import Store

EVENTS = ("started", "finished")
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False, "include_log_monitor": False}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray", reason="needs the extra ray")
    with pytest.MonkeyPatch.context() as patch:
        # The nodes find the package and the work as they would where both are installed.
        folders = [Path(sargnn.__file__).parents[1], Path(fake_study.__file__).parent]
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, folders)))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args=NODE)
        for _ in range(2):
            cluster.add_node(**NODE)
        yield cluster
        cluster.shutdown()


@pytest.fixture
def connection(cluster: Any) -> Iterator[Any]:
    import ray

    yield ray.init(cluster.address, log_to_driver=False, logging_level="error")
    ray.shutdown()


@pytest.mark.usefixtures("connection")
def test_a_connection_that_is_there_is_used_and_kept(store: Store, side: Path) -> None:
    dying = fake_study.bundles(side, 3, seconds=0.02, deaths=1)
    run_bundles(dying, "fake_study:dies_at_number_3", store, "ray")
    assert len(fake_study.traces(side, "started", 3)) == 2
    assert store.rows() == fake_study.rows(dying)

    failing = fake_study.bundles(side, 3, seconds=0.01)
    with pytest.raises(InputError, match=r"1 of 6 jobs failed.*: got number 3, expected another"):
        run_bundles(failing, "fake_study:refuses_number_3", store, "ray")
    assert len(store.rows()) == 6 + 5

    with pytest.raises(InputError, match="fewer GPUs than the 1 that a bundle takes"):
        run_bundles(failing, "fake_study:work", store, "ray", gpus=1.0)
    run_bundles(failing, "fake_study:work", store, "ray")
    assert len(store.rows()) == 12


def test_a_node_killed_midway_changes_no_row(cluster: Any, store: Store, side: Path) -> None:
    bundles = fake_study.bundles(side, 9, seconds=0.3)
    victim = next(iter(cluster.worker_nodes))
    parent = victim.all_processes["raylet"][0].process.pid  # the raylet of a node is the parent of its workers
    killed: list[int] = []

    def kill_once(*_: Any) -> None:
        """Kill a node that has finished a job and is in the midst of another, workers and all."""
        begun, ended = ({t for t in fake_study.traces(side, event) if t[2] == parent} for event in EVENTS)
        if not killed and ended and begun - ended:
            killed.extend({pid for _, pid, _ in begun - ended})
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            cluster.remove_node(victim, allow_graceful=False)

    run_bundles(bundles, "fake_study:work", store, "ray", address=cluster.address, on_progress=kill_once)
    assert killed
    assert len(fake_study.traces(side, "started")) > 18  # work was lost, and done again
    assert len({parent for _, _, parent in fake_study.traces(side, "finished")}) == 3
    assert store.rows() == fake_study.rows(bundles)  # as of the local engine


@pytest.mark.parametrize("address", ["127.0.0.1:{closed}", "127.0.0.1:{silent}", "nonsense", "ray://10.0.0.1:10001"])
def test_an_unreachable_cluster_is_one_line_in_bounded_time(
    store: Store, side: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    monkeypatch.setattr(ray_cluster, "CONNECT_SECONDS", 3.0)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, but nobody listens
        given = address.format(closed=closed.getsockname()[1], silent=silent.getsockname()[1])
        start = time.monotonic()
        with pytest.raises(InputError, match="expected host:port of a running Ray cluster") as error:
            run_bundles(fake_study.bundles(side, 1), "fake_study:work", store, "ray", address=given)
    assert time.monotonic() - start < 10
    assert given in str(error.value)
    assert "\n" not in str(error.value)
    assert len(store.claim(fake_study.bundles(side, 1)[0])) == 2


def test_without_ray_the_line_says_what_to_install(store: Store, side: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'sargnn\[ray\]'"):
        run_bundles(fake_study.bundles(side, 1), "fake_study:work", store, "ray")


def test_without_an_address_a_cluster_is_started_here(
    store: Store, side: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(sargnn.__file__).parents[1]), *sys.path]))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    bundles = fake_study.bundles(side, 3, seconds=0.02)
    run_bundles(bundles, "fake_study:work", store, "ray", workers=1)
    assert store.rows() == fake_study.rows(bundles)
