from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_study
from fake_study import FakeJob
from sargnn.errors import InputError
from sargnn.studies import store as store_module
from sargnn.studies.store import Job, Row, Store, job_id

JOBS = [FakeJob({"system": "gcn", "fold": fold, "rate": 1e-3}) for fold in range(4)]
IDS = [job.id for job in JOBS]
TESTS = Path(fake_study.__file__).parent

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
jobs_of_any_kind = st.dictionaries(
    st.text(), st.recursive(scalars, lambda s: st.lists(s, max_size=3) | st.dictionaries(st.text(), s, max_size=3))
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        yield opened


def one_line(error: pytest.ExceptionInfo[InputError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


class TestJobId:
    def test_is_the_hash_of_the_sorted_compact_text(self) -> None:
        text = '{"a":[1,true,null,"\\u00fc"],"b":0.1}'
        assert job_id({"b": 0.1, "a": (1, True, None, "ü")}) == hashlib.sha256(text.encode()).hexdigest()[:16]

    @given(jobs_of_any_kind, st.randoms())
    def test_is_the_same_in_any_order_and_after_a_round_trip(self, job: Row, shuffler: random.Random) -> None:
        items = list(job.items())
        shuffler.shuffle(items)
        assert job_id(dict(items)) == job_id(job) == job_id(json.loads(json.dumps(job)))

    @pytest.mark.parametrize(
        ("one", "same"), [({"x": 1}, {"x": 1.0}), ({"x": -0.0}, {"x": 0}), ({"x": (1, 2)}, {"x": [1.0, 2]})]
    )
    def test_equal_values_of_other_types_are_the_same_job(self, one: Row, same: Row) -> None:
        assert job_id(one) == job_id(same)

    @pytest.mark.parametrize(
        "other", [{"x": True}, {"x": "1"}, {"x": [1]}, {"x": None}, {}, {"y": 1}, {"x": 1.0000001}]
    )
    def test_other_jobs_have_other_ids(self, other: Row) -> None:
        assert job_id(other) != job_id({"x": 1})

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, Path("x"), b"x", {"deep": [float("nan")]}])
    def test_what_is_not_json_is_refused(self, value: Any) -> None:
        with pytest.raises(InputError, match="in a job, expected") as error:
            job_id({"x": value})
        one_line(error)


class TestRows:
    def test_a_row_is_the_job_its_results_and_its_id(self, store: Store) -> None:
        store.finish(JOBS[0], {"accuracy": 1.0, "curve": [0.5, None]})
        expected = {**JOBS[0].values, "accuracy": 1.0, "curve": [0.5, None], "id": JOBS[0].id}
        assert store.row(JOBS[0]) == expected
        assert store.rows() == [expected]
        assert store.row(JOBS[1]) is None

    def test_the_first_row_wins(self, store: Store) -> None:
        store.finish(JOBS[0], {"accuracy": 0.5})
        store.finish(JOBS[0], {"accuracy": 0.9})
        assert [row["accuracy"] for row in store.rows()] == [0.5]

    def test_rows_can_be_chosen_by_any_field(self, store: Store) -> None:
        for number, job in enumerate(JOBS):
            store.finish(job, {"accuracy": number / 4})
        assert [row["fold"] for row in store.rows(accuracy=0.5)] == [2]
        assert store.rows(system="gcn", fold=9) == store.rows(nothing=None) == []
        assert [row["id"] for row in store.rows(system="gcn")] == sorted(IDS)

    def test_missing_are_those_without_a_row(self, store: Store) -> None:
        store.finish(JOBS[1], {})
        assert store.missing(JOBS) == [JOBS[0], JOBS[2], JOBS[3]]

    def test_a_row_may_repeat_its_job_but_not_contradict_it(self, store: Store) -> None:
        store.finish(JOBS[0], {**JOBS[0].values, "accuracy": 0.5})
        with pytest.raises(ValueError, match=r"got fold = 7 in the row of job .*, expected 1"):
            store.finish(JOBS[1], {"fold": 7})
        assert store.missing(JOBS[:2]) == [JOBS[1]]

    @pytest.mark.parametrize("value", [float("nan"), object()])
    def test_a_row_that_is_not_json_leaves_the_store_as_it_was(self, store: Store, value: Any) -> None:
        store.claim(JOBS[:1])
        with pytest.raises((ValueError, TypeError)):
            store.finish(JOBS[0], {"accuracy": value})
        store.finish(JOBS[0], {"accuracy": 0.5})
        assert len(store.rows()) == 1

    def test_an_interrupt_inside_a_change_undoes_it(self, store: Store) -> None:
        def interrupted() -> Iterator[Job]:
            yield JOBS[0]
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.claim(interrupted())
        assert store.claim(JOBS) == JOBS

    def test_rows_survive_closing(self, path: Path) -> None:
        with Store(path) as first:
            first.finish(JOBS[0], {"accuracy": 0.5})
        with Store(path) as second:
            assert len(second.rows()) == 1


class TestClaims:
    def test_a_claimed_job_is_nobody_elses(self, store: Store, path: Path) -> None:
        with Store(path) as other:
            assert store.claim(JOBS[:3]) == JOBS[:3]
            assert other.claim(JOBS) == JOBS[3:]
            assert store.claim(JOBS) == []

    def test_a_finished_job_cannot_be_claimed(self, store: Store) -> None:
        store.claim(JOBS)
        store.finish(JOBS[0], {})
        store.release()
        assert store.claim(JOBS) == JOBS[1:]

    def test_what_is_released_can_be_claimed(self, store: Store, path: Path) -> None:
        with Store(path) as other:
            store.claim(JOBS)
            store.release(JOBS[:1])
            other.release()  # of another store: no effect
            assert other.claim(JOBS) == JOBS[:1]

    def test_closing_gives_up_all_claims(self, store: Store, path: Path) -> None:
        with Store(path) as other:
            other.claim(JOBS)
        assert store.claim(JOBS) == JOBS

    def test_claims_of_a_killed_process_are_taken_over_at_once(self, store: Store, path: Path) -> None:
        code = (
            "import os, sys; from fake_study import FakeJob, Store;"
            "Store(sys.argv[1]).claim([FakeJob({'number': 1})]); os.kill(os.getpid(), 9)"
        )
        assert subprocess.run([sys.executable, "-c", code, path], cwd=TESTS).returncode == -9
        assert store.claim([FakeJob({"number": 1})]) == [FakeJob({"number": 1})]

    @pytest.mark.parametrize(("age", "taken"), [(59, False), (61, True)])
    def test_claims_of_another_machine_are_taken_over_when_stale(
        self, store: Store, path: Path, age: float, taken: bool
    ) -> None:
        with closing(sqlite3.connect(path)) as db, db:
            claim = (JOBS[0].id, "another", "elsewhere", 1, time.time() - age)
            db.execute("INSERT INTO claims VALUES (?, ?, ?, ?, ?)", claim)
        assert store.claim(JOBS[:1]) == (JOBS[:1] if taken else [])

    def test_the_heart_beats_as_long_as_the_store_is_open(
        self, store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store_module, "STALE_SECONDS", 0.3)
        store.claim(JOBS)
        with closing(sqlite3.connect(path)) as db:
            (start,) = db.execute("SELECT max(heartbeat) FROM claims").fetchone()
            deadline = time.monotonic() + 600
            while db.execute("SELECT min(heartbeat) FROM claims").fetchone() <= (start,):
                assert time.monotonic() < deadline
                time.sleep(0.01)

    def test_a_run_that_wakes_up_after_its_claims_were_taken_does_no_harm(self, store: Store, path: Path) -> None:
        with Store(path) as sleeper:
            sleeper.claim(JOBS)
            with closing(sqlite3.connect(path)) as db, db:
                db.execute("UPDATE claims SET heartbeat = heartbeat - 61")
            assert store.claim(JOBS) == JOBS
            assert sleeper.claim(JOBS) == []
            sleeper.finish(JOBS[0], {"accuracy": 0.5})
            store.finish(JOBS[0], {"accuracy": 0.5})
            sleeper.release()
            assert sleeper.claim(JOBS) == []
        assert len(store.rows()) == 1

    def test_many_processes_on_a_new_file_lose_nothing_and_share_every_job(self, path: Path) -> None:
        code = (
            "import sys; from fake_study import FakeJob, Store\n"
            "with Store(sys.argv[1]) as store:\n"
            "    for n in range(40):\n"
            "        for job in store.claim([FakeJob({'number': n})]):\n"
            "            store.finish(job, {}); print(n)"
        )
        runs = [
            subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, cwd=TESTS)
            for _ in range(5)
        ]
        printed = [run.communicate()[0] for run in runs]
        assert [run.returncode for run in runs] == [0] * 5
        assert sorted(map(int, "".join(printed).split())) == list(range(40))
        with Store(path) as store:
            assert len(store.rows()) == 40


class TestExport:
    def test_lines_are_sorted_and_come_back_as_the_same_rows(self, store: Store, tmp_path: Path) -> None:
        for number, job in enumerate(JOBS):
            store.finish(job, {"accuracy": number / 4})
        store.export(tmp_path / "rows.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
        assert [line["id"] for line in lines] == sorted(IDS)
        assert all(set(line) == {"id", "job", "row", "finished"} and set(line["row"]) == {"accuracy"} for line in lines)
        with Store(tmp_path / "copy.sqlite") as copy:
            copy.import_rows(tmp_path / "rows.jsonl")
            assert copy.rows() == store.rows()
            copy.export(tmp_path / "again.jsonl")
        assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "rows.jsonl").read_bytes()

    def test_a_part_can_be_exported(self, store: Store, tmp_path: Path) -> None:
        for job in JOBS:
            store.finish(job, {})
        store.export(tmp_path / "rows.jsonl", fold=2)
        assert json.loads((tmp_path / "rows.jsonl").read_text())["job"]["fold"] == 2

    def test_rows_already_here_stay(self, store: Store, tmp_path: Path) -> None:
        store.finish(JOBS[0], {"accuracy": 0.5})
        store.export(tmp_path / "rows.jsonl")
        with Store(tmp_path / "other.sqlite") as other:
            other.finish(JOBS[0], {"accuracy": 0.9})
            other.import_rows(tmp_path / "rows.jsonl")
            assert [row["accuracy"] for row in other.rows()] == [0.9]

    @pytest.mark.parametrize("bad", ["{", "[]", "{}", "edited"])
    def test_a_bad_line_is_named_and_nothing_is_taken(self, store: Store, tmp_path: Path, bad: str) -> None:
        file = tmp_path / "rows.jsonl"
        store.finish(JOBS[0], {"accuracy": 0.5})
        store.export(file)
        good = file.read_text()
        file.write_text(good + (good.replace('"fold":0', '"fold":1') if bad == "edited" else bad))
        with Store(tmp_path / "other.sqlite") as other:
            with pytest.raises(InputError, match=r"rows\.jsonl line 2: got .*, expected a row") as error:
                other.import_rows(file)
            one_line(error)
            assert other.rows() == []

    def test_a_missing_file_is_named(self, store: Store, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"none\.jsonl: cannot read") as error:
            store.import_rows(tmp_path / "none.jsonl")
        one_line(error)


class TestBadFiles:
    def refusal(self, path: Path) -> str:
        """What opening ``path`` says; the file must not change."""
        before = path.read_bytes() if path.is_file() else None
        with pytest.raises(InputError) as error:
            Store(path)
        assert before is None or path.read_bytes() == before
        assert str(path) in str(error.value)
        return one_line(error)

    def test_not_sqlite(self, path: Path) -> None:
        path.write_text("name,accuracy\n" * 100)
        assert "not SQLite" in self.refusal(path)

    def test_sqlite_of_something_else(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE TABLE store (address TEXT)")
        assert "something else" in self.refusal(path)

    def test_another_version(self, path: Path) -> None:
        Store(path).close()
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE sargnn_store SET format = 'sargnn.store/2'")
        assert "got a store of format 'sargnn.store/2', expected 'sargnn.store/1'" in self.refusal(path)

    @pytest.mark.parametrize("keep", [5000, 20000])
    def test_damaged(self, path: Path, keep: int) -> None:
        with Store(path) as store:
            for number in range(200):
                store.finish(FakeJob({"number": number}), {"curve": [0.5] * 50})
        content = bytearray(path.read_bytes())
        content[keep : keep + 4096] = b"\x5a" * 4096
        path.write_bytes(content)
        assert "damaged" in self.refusal(path)

    def test_cut_short(self, path: Path) -> None:
        with Store(path) as store:
            for number in range(200):
                store.finish(FakeJob({"number": number}), {"curve": [0.5] * 50})
        path.write_bytes(path.read_bytes()[:20000])
        assert "damaged" in self.refusal(path)

    def test_a_folder(self, path: Path) -> None:
        path.mkdir()
        assert "cannot open" in self.refusal(path)

    def test_inside_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert "cannot make its folder" in self.refusal(tmp_path / "file" / "results.sqlite")

    def test_an_empty_file_becomes_a_store(self, path: Path) -> None:
        path.touch()  # what a crash at the very start leaves
        with Store(path) as store:
            assert store.rows() == []

    @pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
    def test_a_read_only_folder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.sqlite"
            with Store(path) as store:
                store.finish(JOBS[0], {})
            with read_only(Path(folder)):
                assert "folder that can be written" in self.refusal(path)
                assert "folder that can be written" in self.refusal(path.with_name("new.sqlite"))
            with Store(path) as store:
                assert len(store.rows()) == 1

    def test_a_full_disk_loses_nothing(self, store: Store, path: Path) -> None:
        store.finish(JOBS[0], {"accuracy": 0.5})
        store.claim(JOBS[1:2])
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own error for a full disk
        with pytest.raises(InputError, match=r"the disk is full.*finished rows are intact") as error:
            store.finish(JOBS[1], {"curve": [0.5] * 5000})
        one_line(error)
        assert [row["fold"] for row in store.rows()] == [0]
        store._db.execute("PRAGMA max_page_count = 1000")
        store.finish(JOBS[1], {"curve": [0.5] * 5000})
        assert len(store.rows()) == 2

    def test_held_by_another_process(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        Store(path).close()
        monkeypatch.setattr(store_module, "BUSY_SECONDS", 0.1)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            assert "another process" in self.refusal(path)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the right to write from this process; root is not stopped by permissions, so it becomes nobody."""
    folder.chmod(0o555)
    me, nobody = os.geteuid(), 65534
    try:
        os.seteuid(me or nobody)
        yield
    finally:
        os.seteuid(me)
        folder.chmod(0o755)
