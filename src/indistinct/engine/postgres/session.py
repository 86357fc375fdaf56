"""PostgresSession: one connection in one transaction that sees one state of the database; and tables by address.

What is counted, released and recounted is the same state, whoever writes meanwhile. Temporary tables are the session's
own and never committed, so nothing of them stays, however the session ends.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv

from indistinct.engine.address import Address, read_address
from indistinct.engine.postgres.dialect import POSTGRES, PostgresCell
from indistinct.engine.postgres.failures import explain_refusal, postgres_errors
from indistinct.engine.sql.database_rows import DatabaseRows
from indistinct.engine.sql.session import DatabaseSession, Place, ServerColumn, relation_of_columns
from indistinct.errors import MissingExtraError, TableError

if TYPE_CHECKING:
    import psycopg

SETTINGS = {
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "extra_float_digits": "1",
    "row_security": "off",
    "synchronize_seqscans": "off",
    "idle_in_transaction_session_timeout": "0",
    "default_tablespace": "",
    "enable_mergejoin": "off",
    "jit": "off",
    "work_mem": "64MB",
    "search_path": "pg_catalog, pg_temp",
}
"""What the server's answers would otherwise depend on. Row security that is off raises where it would hide rows; and no
function or table that somebody else has put in the path is taken for one of ours. Labels are joined by hash: where the
planner knows nothing of keys that are computed, it would rather sort a million rows by four texts. Statements are not
compiled: that takes longer than they gain."""
FIND = (
    "SELECT relkind::text, obj_description(c.oid, 'pg_class') FROM pg_class AS c "
    "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE nspname = %s AND relname = %s"
)
"""What stands at a place, and what is said of it."""
FIND_TABLE = (
    "SELECT nspname, relname, relkind::text, pg_catalog.row_security_active(c.oid), "
    "pg_catalog.obj_description(c.oid, 'pg_class') "
    "FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
    "WHERE c.oid = pg_catalog.to_regclass(%s)"
)
READABLE = ("r", "p", "v", "m", "f")
"""Tables, also parted ones, views, also materialized ones, and tables of other servers."""
OLDEST = 130000
PLAIN = re.compile(r"[^\W\d][\w$]*([.][^\W\d][\w$]*)?")
"""What SQL takes for a name without quotes, with its schema or without."""
MANY_ROWS = 1000
"""Labels of more rows are looked at by the planner."""
BLOCK = 1 << 22
TYPES: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "oid": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
"""The Arrow types of PostgreSQL's; all others are text there."""


class PostgresSession(DatabaseSession):
    """A session of a server of PostgreSQL, through psycopg."""

    kind = "postgres"
    dialect = POSTGRES
    most_bytes = 63

    def __init__(self, address: Address, name: str) -> None:
        super().__init__(address, name)
        self._kinds: dict[int, str] = {}
        self._is_streaming = False
        self.connection = _connect(address, name)
        weakref.finalize(self, self.connection.close)  # of tables that nobody closed

    def begin(self) -> None:
        """Begin the transaction whose state of the database everything is read from."""
        for setting, value in SETTINGS.items():
            self.fetch("SELECT set_config(%s, %s, false)", setting, value)
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ WRITE")

    def commit(self) -> None:
        """Keep what was made outside of temporary tables, drop those, and begin anew."""
        self.execute("COMMIT")
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ WRITE")

    def execute(self, sql: str) -> int:
        """Run a statement, and return how many rows it made or found."""
        with self._using() as connection:
            return connection.execute(sql.encode()).rowcount

    def fetch(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a small answer; ``values`` stand for each ``%s``."""
        with self._using() as connection:
            return connection.execute(sql.encode(), values or None).fetchall()

    def describe(self, relation: str) -> tuple[ServerColumn, ...]:
        """Return the columns of what stands after FROM."""
        with self._using() as connection:
            cursor = connection.execute(f"SELECT * FROM {relation} LIMIT 0".encode())
            found, answer = cursor.description or [], cursor.pgresult
            assert answer is not None
            codes = [(column.name, column.type_code, answer.fmod(place)) for place, column in enumerate(found)]
        self._learn_kinds({code for _, code, _ in codes} - set(self._kinds))
        return tuple(ServerColumn(name, _with_digits(self._kinds[code], digits)) for name, code, digits in codes)

    def cell(self, column: str, sql: str, kind: str) -> PostgresCell:
        return PostgresCell.of(self.name, column, sql, kind)

    def arrow_type(self, kind: str) -> pa.DataType:
        return arrow_type(kind)

    def stream(self, sql: str, schema: pa.Schema | None = None) -> pa.RecordBatchReader:
        """Return the rows of a query as they come; nothing else can be asked until the last one has come.

        The server says of what types they are.
        """
        columns = self.describe(f"({sql}) AS described")
        schema = pa.schema([(str(place), arrow_type(column.kind)) for place, column in enumerate(columns)])
        named = pa.schema([(column.name, arrow_type(column.kind)) for column in columns])
        return pa.RecordBatchReader.from_batches(named, self._batches(sql, schema, named))

    def _batches(self, sql: str, schema: pa.Schema, named: pa.Schema) -> Iterator[pa.RecordBatch]:
        reading = pyarrow.csv.ReadOptions(column_names=schema.names, block_size=BLOCK, use_threads=False)
        parsing = pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
        cells = pyarrow.csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            true_values=["t"],
            false_values=["f"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            timestamp_parsers=[pyarrow.csv.ISO8601],
        )
        with self._using() as connection:
            connection.execute("SAVEPOINT reading")
            self._is_streaming, is_whole = True, False
            try:
                with (
                    connection.cursor() as cursor,
                    cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT csv)".encode()) as copy,
                ):
                    file = _Blocks(copy)
                    try:
                        if not file.is_empty():
                            for batch in pyarrow.csv.open_csv(pa.PythonFile(file, "r"), reading, parsing, cells):
                                yield batch.rename_columns(named.names)
                    finally:
                        file.stop()
                is_whole = True
            except pa.ArrowInvalid:
                raise TableError(
                    f"{self.name}: a cell cannot be read as what its column holds, such as a date before the year 1 or "
                    "one that is infinite; leave the column out, or turn it into text"
                ) from None
            finally:  # whoever wants the first rows only has the server cancel the rest, which ends a transaction
                self._is_streaming = False
                if not connection.closed:
                    connection.execute("RELEASE SAVEPOINT reading" if is_whole else "ROLLBACK TO SAVEPOINT reading")

    def send(self, table: pa.Table) -> str:
        """Return the name of a temporary table with the rows of an Arrow table; its texts compare by their bytes."""
        columns = ", ".join(f'"{field.name}" {_server_type(field.type)}' for field in table.schema)
        name = self.fresh()
        self.execute(f"CREATE TEMPORARY TABLE {name} ({columns}) ON COMMIT DROP")
        written = pa.BufferOutputStream()
        pyarrow.csv.write_csv(table, written, pyarrow.csv.WriteOptions(include_header=False))
        with self._using() as connection, connection.cursor() as cursor:
            with cursor.copy(f"COPY pg_temp.{name} FROM STDIN (FORMAT csv)".encode()) as copy:
                for start in range(0, len(content := written.getvalue()), BLOCK):
                    copy.write(content[start : start + BLOCK].to_pybytes())
            is_whole = cursor.rowcount == table.num_rows
        if not is_whole:
            raise TableError(f"{self.name}: the server did not take all labels; this is a fault of indistinct")
        if table.num_rows > MANY_ROWS:
            self.execute(f"ANALYZE pg_temp.{name}")
        return f"pg_temp.{name}"

    def store(self, query: str) -> tuple[str, int]:
        """Return the name of a temporary table with the rows of a query, and how many they are."""
        name = self.fresh()
        rows = self.execute(f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS {query}")
        return f"pg_temp.{name}", rows

    @property
    def is_open(self) -> bool:
        """Return whether statements can still be run: the connection is there, and no error ended the transaction."""
        import psycopg

        status = self.connection.info.transaction_status
        is_well = status != psycopg.pq.TransactionStatus.INERROR and not self._is_streaming
        return is_well and not self.connection.closed

    @property
    def is_lost(self) -> bool:
        return self.connection.closed

    def place_of(self, table: str) -> Place | None:
        ((parts,),) = self.fetch("SELECT parse_ident(%s)", forms_of(table)[0])
        return Place(*parts) if len(parts) == 2 else None

    def there(self, place: Place) -> tuple[bool, str | None] | None:
        for kind, said in self.fetch(FIND, *place):
            return kind == "r", said
        return None

    def remark(self, stage: Place, said: str) -> None:
        self.execute(f"COMMENT ON TABLE {self.place_sql(stage)} IS {POSTGRES.text(said)}")

    def close(self) -> None:
        """End the session."""
        self.connection.close()

    def _using(self) -> _Use:
        return _Use(self)

    @property
    def is_streaming(self) -> bool:
        """Return whether rows are still coming."""
        return self._is_streaming

    def _learn_kinds(self, codes: set[int]) -> None:
        """Remember the kinds of types that were not met before."""
        if not codes:
            return
        found = self.fetch("SELECT oid::bigint, typname, typcategory FROM pg_type WHERE oid = ANY(%s)", list(codes))
        for code, name, category in found:
            self._kinds[int(code)] = "text" if category in ("S", "E") or name == "unknown" else str(name)


class _Use:
    """The use of a session's connection for one statement: errors become ours, and rows that still come are heeded."""

    def __init__(self, session: PostgresSession) -> None:
        self._session = session
        self._errors = postgres_errors(session.name, session.connection)

    def __enter__(self) -> psycopg.Connection[Any]:
        if self._session.is_streaming:
            raise TableError(f"{self._session.name}: rows of it still come; read them all first")
        self._errors.__enter__()
        return self._session.connection

    def __exit__(self, *error: Any) -> None:
        self._errors.__exit__(*error)


class _Blocks:
    """The bytes of a COPY as a file that Arrow reads."""

    closed = False

    def __init__(self, copy: Any) -> None:
        self._blocks: Iterator[Any] = iter(copy)
        self._rest = bytearray()
        self._lock = threading.Lock()

    def is_empty(self) -> bool:
        """Return whether there is nothing at all."""
        self._fill(1)
        return not self._rest

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most so many."""
        with self._lock:
            self._fill(size)
            taken = bytes(self._rest[:size])
            del self._rest[:size]
            return taken

    def stop(self) -> None:
        """Ask the server for nothing more, as a thread of Arrow that reads ahead still would."""
        with self._lock:
            self._blocks = iter(())

    def close(self) -> None:
        """Say that no more is read."""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def _fill(self, size: int) -> None:
        while len(self._rest) < size and (block := next(self._blocks, None)) is not None:
            self._rest += block


def open_in_postgres(address: str) -> DatabaseRows:
    """Return the rows of a table or view of a server, which stay there."""
    found = read_address(address)
    session = PostgresSession(found, found.table)
    try:
        relation, remark = _find_table(session, found.table)
        session.begin()
        columns = [column.name for column in session.describe(relation)]
        rows = DatabaseRows(session, relation_of_columns(POSTGRES, relation, columns), columns)
        rows.remark = remark
        return rows
    except BaseException:
        session.close()
        raise


def _find_table(session: PostgresSession, table: str) -> tuple[str, str | None]:
    """Return a table with its schema as SQL, and what is said of it.

    A name as it is written counts where SQL's way of reading it finds none. The schema is looked for before the path is
    pinned: the user's own path says where.
    """
    for form in forms_of(table):
        with_answer = session.fetch(FIND_TABLE, form)
        if not with_answer:
            continue
        schema, name, kind, hides_rows, remark = with_answer[0]
        if kind not in READABLE:
            break
        if hides_rows:
            raise TableError(
                f"{table}: row-level security hides rows of it from this user, so what is counted could be another "
                "table than others see; read it as its owner, or as a user with BYPASSRLS"
            )
        return f"{POSTGRES.quote(schema)}.{POSTGRES.quote(name)}", remark
    raise TableError(f"{table}: the database has no such table or view that this user can see; see the address")


def forms_of(table: str) -> list[str]:
    """Return the forms in which a table is looked for: as SQL reads its name, and as it is written.

    >>> forms_of("public.Visits"), forms_of("My Schema.visits"), forms_of('"My Schema".visits')
    (['public.Visits', '"public"."Visits"'], ['"My Schema"."visits"'], ['"My Schema".visits'])
    """
    as_written = ".".join(map(POSTGRES.quote, table.split(".", 1)))
    return [table] if '"' in table else [table, as_written] if PLAIN.fullmatch(table) else [as_written]


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of cells of a kind.

    >>> arrow_type("numeric(10,2)"), arrow_type("numeric"), arrow_type("int4")
    (Decimal128Type(decimal128(10, 2)), DataType(string), DataType(int32))
    """
    if kind.startswith("numeric("):
        digits, scale = map(int, kind[8:-1].split(","))
        return pa.decimal128(digits, scale) if 0 <= scale <= digits <= 38 else pa.string()
    return TYPES.get(kind, pa.string())


def _connect(address: Address, name: str) -> psycopg.Connection[Any]:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError('PostgreSQL needs psycopg: pip install "indistinct[postgres]"') from None
    try:
        made = psycopg.connect(address.connection, autocommit=True, application_name="indistinct")
    except psycopg.ProgrammingError:  # its words quote the address
        raise TableError(f"{name}: the address cannot be read, or says what libpq does not know") from None
    except psycopg.Error as error:
        raise TableError(f"{name}: {explain_refusal(error, address.password)}") from None
    if made.info.server_version < OLDEST or made.info.parameter_status("server_encoding") == "SQL_ASCII":
        made.close()
        raise TableError(f"{name}: give a server of PostgreSQL 13 or later, and a database that has an encoding")
    return made


def _with_digits(kind: str, digits: int) -> str:
    """Return the kind of a column, of a decimal with its numbers of digits, which PostgreSQL packs in one number."""
    if kind != "numeric" or digits < 4:
        return kind
    packed = digits - 4
    return f"numeric({packed >> 16 & 0xFFFF},{(packed & 0x7FF ^ 1024) - 1024})"


def _server_type(kind: pa.DataType) -> str:
    return "bigint" if pa.types.is_integer(kind) else 'text COLLATE "C"'
