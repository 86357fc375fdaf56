"""What makes a naive count on a server lie, or a run on it fail: none of it makes a release that is not one."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import indistinct as ix
from helpers import postgres
from indistinct.cli import app
from indistinct.engine import open_table
from indistinct.engine.postgres.session import SETTINGS, PostgresSession
from indistinct.engine.sql.database_rows import DatabaseRows
from indistinct.errors import TableError

K2 = [ix.KAnonymity(2)]


@pytest.fixture
def server(postgres_server: str) -> str:
    """Return the URL of a server that other tests use, too."""
    return postgres_server


def made(url: str, *statements: str) -> str:
    """Run statements in a schema of its own, ``here``, and return the address of its table ``t``."""
    address = postgres.save(url, pa.table({"nothing": [1]}), "nothing")
    schema = address.partition("table=")[2].partition(".")[0]
    postgres.run(url, *(statement.replace("here.", f"{schema}.") for statement in statements))
    return f"{url}/postgres?table={schema}.t"


def naive(address: str, columns: str) -> list[int]:
    """Return the sizes of the groups that the server's own GROUP BY makes."""
    url, table = address.split("/postgres?table=")
    return sorted(n for (n,) in postgres.run(url, f"SELECT count(*) FROM {table} GROUP BY {columns}"))


def test_a_collation_does_not_merge_values(server: str) -> None:
    address = made(
        server,
        "CREATE COLLATION here.loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
        "CREATE TABLE here.t (town text COLLATE here.loose, ill text)",
        "INSERT INTO here.t VALUES ('Bern', 'a'), ('BERN', 'b'), ('bérn', 'c'), ('Chur', 'd'), ('Chur', 'e')",
    )
    assert naive(address, "town") == [2, 3]
    with open_table(address) as rows:
        assert sorted(rows.sizes_by(["town"])) == [1, 1, 1, 2]
        assert rows.encode(["town"]).values["town"] == ("BERN", "Bern", "Chur", "bérn")
        assert rows.alone_by(["town"]) == 3
    policy = ix.Policy({"town": ix.quasi(ix.suppress()), "ill": ix.other()}, K2, max_suppression=3)
    with ix.anonymize(address, policy) as release:
        assert Counter(release.table["town"].to_pylist()) in ({"Chur": 2}, {"*": 5})
    assert not ix.verify(address, policy).passed


def test_blanks_that_fill_up_are_no_text(server: str) -> None:
    address = made(
        server,
        "CREATE TABLE here.t (code char(6), word varchar(6))",
        "INSERT INTO here.t VALUES ('ab', 'ab'), ('ab    ', 'ab '), ('', ''), (NULL, NULL)",
    )
    with open_table(address) as rows:
        assert rows.encode(["code", "word"]).values == {"code": ("ab", None), "word": ("ab", "ab ", None)}
        assert sorted(rows.sizes_by(["code"])) == [2, 2]
        assert rows.to_native().to_pydict()["code"] == ["ab", "ab", None, None]  # type: ignore[attr-defined]
        assert rows.mixed_missing(["code", "word"]) == ("code", "word")


def test_numbers_that_are_equal_and_written_in_two_ways(server: str) -> None:
    address = made(
        server,
        "CREATE TABLE here.t (f float8, n numeric, m numeric(6, 2))",
        "INSERT INTO here.t VALUES (0, 1.0, 1.5), ('-0', 1.00, 1.50), ('NaN', 'NaN', 'NaN'), (NULL, NULL, NULL), "
        "('Infinity', 100, 7)",
    )
    assert naive(address, "f") == [1, 1, 1, 2]
    with open_table(address) as rows:
        values = rows.encode(["f", "n", "m"]).values
        assert values == {"f": ("-0.0", "0.0", "inf", None), "n": ("1", "100", None), "m": ("1.50", "7.00", None)}
        assert sorted(rows.sizes_by(["f"])) == [1, 1, 1, 2]
        assert sorted(rows.sizes_by(["n"])) == [1, 2, 2]
        texts = rows.texts(["f", "n", "m"]).read_all().to_pydict()
        assert {name: sorted(set(filter(None, own))) for name, own in texts.items()} == {
            name: sorted(filter(None, own)) for name, own in values.items()
        }
        assert rows.encode(["f"], [("n", "==", 1)]).rows == 2
        assert rows.mixed_missing(["f", "n", "m"]) == ("f", "n", "m")


def test_missing_cells_are_one_value_and_are_joined_with_labels(server: str) -> None:
    address = made(
        server,
        "CREATE TABLE here.t (age int, town text)",
        "INSERT INTO here.t VALUES (NULL, NULL), (NULL, ''), (30, NULL), (31, '')",
    )
    policy = ix.Policy({"age": ix.quasi(ix.intervals(10)), "town": ix.quasi(ix.suppress())}, K2)
    with ix.anonymize(address, policy) as release:
        assert release.facts.released == 4
        assert release.verify(original=address).passed


def test_row_level_security_that_hides_rows_is_refused(server: str) -> None:
    address = made(
        server,
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader LOGIN",
        "CREATE TABLE here.t (a int)",
        "CREATE VIEW here.v AS SELECT * FROM here.t",
        "ALTER VIEW here.v SET (security_invoker = on)",
        "INSERT INTO here.t VALUES (1), (2)",
        "ALTER TABLE here.t ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY first_only ON here.t USING (a = 1)",
    )
    schema = address.partition("table=")[2].partition(".")[0]
    postgres.run(server, f"GRANT USAGE ON SCHEMA {schema} TO reader")
    postgres.run(server, f"GRANT SELECT ON {schema}.t, {schema}.v TO reader")
    theirs = address.replace(postgres.SUPERUSER, "reader")
    with pytest.raises(TableError, match="row-level security"):
        open_table(theirs)
    with pytest.raises(TableError, match="row-level security"), open_table(f"{theirs[:-1]}v") as rows:
        rows.count()
    with open_table(address) as rows:
        assert rows.count() == 2
    postgres.run(server, f"DROP SCHEMA {schema} CASCADE", "DROP ROLE reader")


def test_a_view_whose_rows_change_is_refused(server: str) -> None:
    address = made(
        server,
        "CREATE SEQUENCE here.s",
        "CREATE VIEW here.t AS SELECT n % 3 AS a FROM generate_series(1, 100 + nextval('here.s')::int) AS n",
    )
    policy = ix.Policy({"a": ix.quasi(ix.suppress())}, K2)
    with pytest.raises(TableError, match="changed"), ix.anonymize(address, policy) as release:
        release.verify()


def test_functions_and_tables_in_the_path_are_not_taken_for_ours(server: str) -> None:
    address = made(
        server,
        "CREATE TABLE here.t (a text)",
        "CREATE TABLE here.pg_class AS SELECT 1 AS a",
        "CREATE FUNCTION here.gen_random_uuid() RETURNS int LANGUAGE sql AS 'SELECT 1/0'",
        "CREATE FUNCTION here.replace(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT NULL::text'",
        "CREATE FUNCTION here.same(text, text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR here.= (LEFTARG = text, RIGHTARG = text, FUNCTION = here.same)",
        "INSERT INTO here.t VALUES ('x'), ('x'), ('y')",
    )
    schema = address.partition("table=")[2].partition(".")[0]
    path = f"{server}/postgres?table=t&options=-csearch_path%3D{schema},pg_catalog"
    policy = ix.Policy({"a": ix.quasi(ix.suppress())}, K2, max_suppression=1)
    with ix.anonymize(path, policy) as release:
        assert release.table["a"].to_pylist() == ["x", "x"]
        assert release.verify(original=path).passed


def test_one_state_is_counted_released_and_recounted(server: str) -> None:
    address = made(server, "CREATE TABLE here.t (a text)", "INSERT INTO here.t VALUES ('x'), ('x'), ('y'), ('y')")
    table = address.partition("table=")[2]
    policy = ix.Policy({"a": ix.quasi(ix.suppress())}, K2)
    with open_table(address) as rows:
        with rows.encode(["a"]) as encoded:
            before = encoded.count_by(["a"]).counts.tolist()
        postgres.run(server, f"DELETE FROM {table} WHERE a = 'y'", f"INSERT INTO {table} VALUES ('z')")
        assert rows.count() == sum(before) == 4
        with ix.anonymize(rows, policy) as release:
            assert sorted(release.table["a"].to_pylist()) == ["x", "x", "y", "y"]
        with pytest.raises(Exception, match="lock timeout"):  # psycopg's own: somebody else asks
            postgres.run(server, "SET lock_timeout = '50ms'", f"DROP TABLE {table}")
    postgres.run(server, f"DROP TABLE {table}")
    with pytest.raises(TableError, match="no such table"):
        open_table(address)


def test_whoever_reads_the_first_rows_only_may_ask_on(server: str) -> None:
    address = made(
        server, "CREATE TABLE here.t AS SELECT 'a long text ' || n AS a FROM generate_series(1, 900000) AS n"
    )
    with open_table(address) as rows:
        assert next(iter(rows.texts(["a"]))).num_rows < 900_000
        assert rows.count() == 900_000


def test_nothing_is_left_on_the_server(server: str) -> None:
    address = made(server, "CREATE TABLE here.t (a text)", "INSERT INTO here.t VALUES ('x'), ('x')")
    rest = "SELECT relname FROM pg_class WHERE relname LIKE 'indistinct\\_%' AND relpersistence = 't'"
    with ix.anonymize(address, ix.Policy({"a": ix.quasi(ix.suppress())}, K2)) as release:
        assert release.verify().passed
        assert postgres.run(server, rest) == []
    assert postgres.run(server, rest) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("53100", "disk of the server is full"),
        ("53200", "out of memory"),
        ("57014", "cancelled"),
        ("40001", "changed while it was read"),
        ("22P02", "error 22P02"),
        ("XX001", "in the middle"),
    ],
)
def test_errors_of_the_server_say_what_to_do_and_quote_nothing(server: str, code: str, said: str) -> None:
    address = made(
        server,
        "CREATE FUNCTION here.fail(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF $1 > 1 THEN "
        f"RAISE EXCEPTION 'a secret cell' USING ERRCODE = '{code}'; END IF; RETURN $1; END $$",
        "CREATE VIEW here.t AS SELECT here.fail(n) AS a FROM generate_series(1, 3) AS n",
    )
    with open_table(address) as rows, pytest.raises(TableError, match=said) as caught:
        rows.encode(["a"])
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.slow
def test_a_password_is_never_told(server: str, tmp_path: Path) -> None:
    address = postgres.save(server, pa.table({"a": ["x", "x", "y"], "b": ["1", "2", "3"]}))
    secret = address.replace("@", ":h%75sh@")
    policy = ix.Policy({"a": ix.quasi(ix.suppress()), "b": ix.sensitive()}, K2, max_suppression=1)
    with ix.anonymize(secret, policy) as release:
        release.write(tmp_path / "out", metadata=True, verifier=True)
        release.report(tmp_path / "report.html", original=secret)
        assert not any(word in repr(release) for word in ("hush", "h%75sh"))
    texts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(texts) > 4
    assert not [text for text in texts if b"hush" in text or b"h%75sh" in text]
    for wrong in (secret.replace("/postgres?", "/nowhere?"), f"{secret}s", f"{secret}&colour=red", f"{secret}&table=b"):
        with pytest.raises(TableError) as caught:
            open_table(wrong)
        assert "h%75sh" not in str(caught.value)
        assert "hush" not in str(caught.value)


@pytest.mark.parametrize("query", ["", "?table=", "?table=%00", "?table=a.b.c", "?x", "?table=pg_catalog.no_such"])
def test_addresses_that_name_no_table_are_refused(server: str, query: str) -> None:
    with pytest.raises(TableError):
        open_table(f"{server}/postgres{query}")


def test_names_are_found_as_sql_finds_them_and_as_they_are_written(server: str) -> None:
    url = made(server, 'CREATE TABLE here."Odd Name" (a int)', "CREATE TABLE here.plain (a int)")[:-1]
    for name in ("Odd Name", "plain", "PLAIN"):
        with open_table(url + name) as rows:
            assert rows.columns() == ("a",)


# A server of its own, which is killed, and which asks for passwords.


@pytest.fixture(scope="module")
def own_server(postgres_server: str) -> Iterator[postgres.Server]:
    """A second server, where there is a first: else that is told, and a failure in CI."""
    with postgres.server() as running:
        yield running


@pytest.mark.slow
def test_a_server_that_is_killed_leaves_nothing_and_says_so(own_server: postgres.Server, tmp_path: Path) -> None:
    address = postgres.save(own_server.url, pa.table({"a": ["x", "x", "y", "y"]}))
    policy = ix.Policy({"a": ix.quasi(ix.suppress())}, K2)
    with ix.anonymize(address, policy) as release:
        assert isinstance(next(iter(release.parts.values())), DatabaseRows)
        os.kill(own_server.process, signal.SIGKILL)
        backends = Path("/proc").glob("[0-9]*")
        for backend in backends:  # of this server alone: they run in its folder
            if _runs_in(backend, own_server.folder):
                os.kill(int(backend.name), signal.SIGKILL)
        with pytest.raises(TableError, match="temporary tables"):
            release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    own_server.start_again()
    rest = "SELECT relname FROM pg_class WHERE relname LIKE 'indistinct\\_%'"
    assert postgres.run(own_server.url, rest) == []
    with ix.anonymize(address, policy) as release:
        assert release.write(tmp_path / "out").exists()


def _runs_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").resolve() == folder / "data"
    except OSError:
        return False


@pytest.mark.slow
def test_a_wrong_password_is_told_and_a_password_comes_from_a_file_or_the_environment(
    own_server: postgres.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run(own_server.url, "CREATE ROLE ann LOGIN PASSWORD 'right' IN ROLE pg_read_all_data")
    rules = own_server.folder / "data" / "pg_hba.conf"
    rules.write_text(f"host all ann 127.0.0.1/32 scram-sha-256\n{rules.read_text('utf-8')}", "utf-8")
    postgres.run(own_server.url, "SELECT pg_reload_conf()")
    address = postgres.save(own_server.url, pa.table({"a": ["x", "x"]})).replace(postgres.SUPERUSER, "ann")
    for password in ("", ":wrong"):
        with pytest.raises(TableError, match="PGPASSWORD") as caught:
            open_table(address.replace("@", f"{password}@"))
        assert "wrong" not in str(caught.value)
    for right in (address.replace("@", ":right@"), f"{address}&password=right"):
        with open_table(right) as rows:
            assert rows.count() == 2
    service = tmp_path / "services"
    service.write_text(f"[clinic]\nhost=127.0.0.1\nport={own_server.port}\nuser=ann\npassword=right\ndbname=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    table: Any = address.partition("?")[2]
    with open_table(f"postgresql://?service=clinic&{table}") as rows:
        assert rows.count() == 2
    monkeypatch.setenv("PGPASSWORD", "right")
    with open_table(address) as rows:
        assert rows.count() == 2


# Releases as tables of the server.

POLICY = ix.Policy(
    {"a": ix.quasi(ix.suppress()), "b": ix.sensitive(rename="B b"), "n": ix.other()}, K2, max_suppression=1
)
GIVEN = pa.table({"a": ["x", "x", "y"], "b": ["1", "", None], "n": [1, 2, 3]})


def schema_of(address: str) -> str:
    return address.partition("table=")[2].partition(".")[0]


def tables_of(url: str, schema: str) -> list[str]:
    found = f"SELECT relname::text FROM pg_class WHERE relnamespace = '{schema}'::regnamespace ORDER BY 1"
    return [name for (name,) in postgres.run(url, found)]


def test_a_release_becomes_a_table_of_the_server_that_proves_itself(server: str) -> None:
    address = postgres.save(server, GIVEN)
    goal = address.replace(".people", ".released")
    with ix.anonymize(address, POLICY) as release:
        assert release.publish(goal) == f"{schema_of(address)}.released"
        assert release.table.column_names == ["a", "B b", "n"]
        assert release.verify().passed
        with pytest.raises(ix.OutputError, match="there already"):
            release.publish(f"{schema_of(address)}.released")
        assert release.publish(goal, replace=True)
        assert release.verify(original=address).passed
    assert ix.verify(goal, POLICY).passed
    assert ix.verify(goal, POLICY, original=address).passed
    table = goal.partition("table=")[2]
    assert postgres.run(server, f'SELECT a, n FROM {table} ORDER BY "B b"') == [("x", 1), ("x", 2)]
    assert tables_of(server, schema_of(address)) == ["people", "released"]
    postgres.run(server, f"INSERT INTO {table} VALUES ('x', '', 3)")
    assert not ix.verify(goal, POLICY, original=address).passed


def test_two_tables_become_two_tables_of_the_server(server: str) -> None:
    address = postgres.save(server, pa.table({"a": ["x", "x", "y", "y"], "b": ["1", "2", "1", "2"]}))
    policy = ix.Policy({"a": ix.quasi(ix.suppress()), "b": ix.sensitive()}, [ix.LDiversity(2)], algorithm="anatomy")
    goal = f"{schema_of(address)}.out"
    with ix.anonymize(address, policy) as release:
        release.publish(goal)
    given = {name: address.replace(".people", f".out_{name}") for name in ("quasi", "sensitive")}
    assert ix.verify(given, policy, original=address).passed


def test_what_is_no_release_is_never_replaced(server: str) -> None:
    address = postgres.save(server, GIVEN)
    elsewhere = address.replace("/postgres?", "/template1?")
    here = schema_of(address)
    postgres.run(server, f"CREATE VIEW {here}.seen AS SELECT 1 AS a", f"CREATE TABLE {here}.kept (a int)")
    wrong = [
        address,
        f"{here}.kept",
        f"{here}.seen",
        elsewhere,
        "no_schema_is_named",
        "no_such.table",
        f"{here}.{'x' * 70}",
    ]
    with ix.anonymize(address, POLICY) as release:
        for goal in wrong:
            with pytest.raises(ix.OutputError):
                release.publish(goal, replace=True)
        assert release.publish(f"{here}.good")
    with ix.anonymize(GIVEN, POLICY) as release, pytest.raises(ix.OutputError, match="name a folder"):
        release.publish(f"{here}.other")
    names = postgres.run(
        server, f"SELECT relname::text FROM pg_class WHERE relnamespace = '{here}'::regnamespace ORDER BY 1"
    )
    assert [name for (name,) in names] == ["good", "kept", "people", "seen"]


def test_a_stage_table_that_is_not_what_was_counted_leaves_nothing(server: str) -> None:
    """A trigger of the server changes what is written: the recount there finds it."""
    address = postgres.save(server, GIVEN)
    here = schema_of(address)
    postgres.run(
        server,
        f"CREATE FUNCTION {here}.change() RETURNS event_trigger LANGUAGE plpgsql AS $$ DECLARE one record; BEGIN "
        "FOR one IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP "
        f"IF one.schema_name = '{here}' THEN EXECUTE 'DELETE FROM ' || one.object_identity || ' WHERE n = 1'; "
        "END IF; END LOOP; END $$",
        f"CREATE EVENT TRIGGER {here} ON ddl_command_end WHEN TAG IN ('CREATE TABLE AS') "
        f"EXECUTE FUNCTION {here}.change()",
    )
    try:
        with ix.anonymize(address, POLICY) as release:
            with pytest.raises(ix.VerificationError):
                release.publish(f"{here}.released")
            assert release.table.num_rows == 2
    finally:
        postgres.run(server, f"DROP EVENT TRIGGER {here}")
    with pytest.raises(TableError, match="no such table"):
        open_table(f"{server}/postgres?table={here}.released")


def test_the_command_writes_to_a_table_of_the_server(server: str, tmp_path: Path) -> None:
    address = postgres.save(server, GIVEN)
    goal = address.replace(".people", ".released")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'version = 1\nmax_suppression = 1\nprivacy = [{ model = "k-anonymity", k = 2 }]\n[columns]\n'
        'a = { role = "quasi", hierarchy = { tree = { "*" = ["x", "y"] } } }\n'
        'b = { role = "sensitive" }\nn = { role = "other" }\n'
    )
    run = CliRunner().invoke
    for arguments, code in (([], 0), ([], 2), (["--replace"], 0), (["--replace", "--with-verifier"], 2)):
        done = run(app, ["anonymize", str(policy), address, "-o", goal, *arguments])
        assert done.exit_code == code, done.output
    done = run(app, ["anonymize", str(policy), address, "-o", goal, "--replace", "--json"])
    assert json.loads(done.stdout)["written"] == goal
    assert run(app, ["verify", str(policy), goal, "--original", address]).exit_code == 0


# Faults while a release is made or published.

RESTS = "SELECT relname::text FROM pg_class WHERE relname LIKE 'indistinct\\_%'"


def test_a_connection_that_is_lost_while_it_publishes_leaves_nothing(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is lost when the stage table was recounted, and has no name yet."""
    address = postgres.save(server, GIVEN)
    own, here = PostgresSession.remark, schema_of(address)

    def lose(session: PostgresSession, *said: Any) -> None:
        postgres.run(server, f"SELECT pg_terminate_backend({session.connection.info.backend_pid}, 5000)")
        own(session, *said)

    with ix.anonymize(address, POLICY) as release, monkeypatch.context() as patch:
        patch.setattr(PostgresSession, "remark", lose)
        with pytest.raises(ix.OutputError, match="nothing was written"):
            release.publish(f"{here}.released")
    assert tables_of(server, here) == ["people"]
    assert postgres.run(server, RESTS) == []
    with ix.anonymize(address, POLICY) as release:
        assert release.publish(f"{here}.released")


def test_a_connection_that_is_lost_while_rows_are_recoded_leaves_nothing(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.save(server, GIVEN)
    own = PostgresSession.store

    def lose(session: PostgresSession, query: str) -> tuple[str, int]:
        made = own(session, query)
        postgres.run(server, f"SELECT pg_terminate_backend({session.connection.info.backend_pid}, 5000)")
        return made

    monkeypatch.setattr(PostgresSession, "store", lose)
    with pytest.raises(TableError, match="connection to it was lost"):
        ix.anonymize(address, POLICY)
    assert postgres.run(server, RESTS) == []


def test_a_server_without_room_leaves_nothing(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The released rows are sorted by their random keys, and the server has no room to do so."""
    address = postgres.save(server, pa.table({"a": [f"{n % 50:0100}" for n in range(20_000)]}))
    monkeypatch.setitem(SETTINGS, "work_mem", "64kB")
    policy = ix.Policy({"a": ix.quasi(ix.suppress())}, K2)
    with pytest.raises(TableError, match="temp_file_limit"):
        ix.anonymize(f"{address}&options=-ctemp_file_limit%3D200kB", policy)
    assert postgres.run(server, RESTS) == []
    with ix.anonymize(address, policy) as release:
        assert release.facts.released == 20_000
