"""Snowflake's dialect: snowflake://user@account/DATABASE?warehouse=W&role=R&table=SCHEMA.NAME"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from indistinct.engine.address import Address
from indistinct.engine.sql.session import Place
from indistinct.engine.warehouse.dialect import Kind, WarehouseDialect
from indistinct.errors import MissingExtraError

KINDS = {
    1: Kind.FLOATING,
    2: Kind.TEXT,
    3: Kind.DAY,
    6: Kind.INSTANT,
    7: Kind.INSTANT,
    8: Kind.MOMENT,
    12: Kind.TIME,
    13: Kind.FLAG,
}
"""The kinds by the connector's type codes; 0 is a number, whose scale says which."""
SETTINGS = {
    "TIMEZONE": "UTC",
    "DATE_OUTPUT_FORMAT": "YYYY-MM-DD",
    "TIME_OUTPUT_FORMAT": "HH24:MI:SS",
    "QUOTED_IDENTIFIERS_IGNORE_CASE": False,
}


class SnowflakeDialect(WarehouseDialect):
    """SQL of Snowflake; names that are not quoted are in capitals there."""

    system = "Snowflake"
    whole = "NUMBER(38, 0)"
    timestamp = "TIMESTAMP_NTZ"
    row_id = "row_number() OVER (ORDER BY 1)"
    random_key = "UUID_STRING()"

    def connect(self, address: Address) -> Any:
        try:
            import snowflake.connector
        except ImportError:
            raise MissingExtraError("Snowflake needs its connector: pip install snowflake-connector-python") from None
        parts = urlsplit(address.connection)
        given = dict(parse_qsl(parts.query)) | {"database": unquote(parts.path).strip("/")}
        if parts.password:
            given["password"] = unquote(parts.password)
        user = unquote(parts.username or "")
        return snowflake.connector.connect(account=parts.hostname, user=user, session_parameters=SETTINGS, **given)

    def kind_of(self, column: Sequence[Any]) -> str:
        code, scale = column[1], column[5]
        return (Kind.DECIMAL if scale else Kind.WHOLE) if code == 0 else KINDS.get(code, Kind.NESTED)

    def by_bytes(self, text: str) -> str:
        return f"COLLATE({text}, '')"

    def matches(self, text: str, pattern: str) -> str:
        """Return the SQL of a match of the whole text; its patterns know no groups that are not counted."""
        plain = pattern.removeprefix("(?i)").removeprefix("^").removesuffix("$").replace("(?:", "(")
        return f"REGEXP_LIKE({text}, {self.text(plain)}, 'i')"

    def moment_text(self, cell: str, kind: str) -> str:
        moment = f"CONVERT_TIMEZONE('UTC', {cell})" if kind == Kind.INSTANT else cell
        return f"TO_VARCHAR({moment}, 'YYYY-MM-DD HH24:MI:SS.FF6')"

    def number_of_text(self, text: str) -> str:
        return f"TRY_TO_DOUBLE({text})"

    def sha256(self, content: str) -> str:
        return f"SHA2({content}, 256)"

    def utf8(self, text: str) -> str:
        return f"TO_BINARY({text}, 'UTF-8')"

    def unhex(self, digits: str) -> str:
        return f"HEX_DECODE_BINARY({digits})"

    def joined_in_order(self, text: str) -> str:
        return f"LISTAGG({text}, '') WITHIN GROUP (ORDER BY {text})"

    def there(self, place: Place) -> str:
        return (
            "SELECT table_type, comment FROM information_schema.tables "
            f"WHERE table_schema = {self.text(place.schema)} AND table_name = {self.text(place.table)}"
        )

    def remark(self, table: str, said: str) -> str:
        return f"COMMENT ON TABLE {table} IS {self.text(said)}"

    def new_name(self, goal: Place) -> str:
        return f"{self.quote(goal.schema)}.{self.quote(goal.table)}"  # else it would go to the schema of the session

    def replace(self, stage: str, goal: str) -> Sequence[str]:
        return f"ALTER TABLE {goal} SWAP WITH {stage}", f"DROP TABLE IF EXISTS {stage}"


SNOWFLAKE = SnowflakeDialect()
