"""BigQuery's dialect: bigquery://project?location=EU&table=dataset.name"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from indistinct.engine.address import Address
from indistinct.engine.sql.session import Place
from indistinct.engine.warehouse.dialect import Kind, WarehouseDialect
from indistinct.errors import MissingExtraError

KINDS = {
    "BOOL": Kind.FLAG,
    "BOOLEAN": Kind.FLAG,
    "INT64": Kind.WHOLE,
    "INTEGER": Kind.WHOLE,
    "FLOAT": Kind.FLOATING,
    "FLOAT64": Kind.FLOATING,
    "NUMERIC": Kind.DECIMAL,
    "BIGNUMERIC": Kind.DECIMAL,
    "STRING": Kind.TEXT,
    "DATE": Kind.DAY,
    "DATETIME": Kind.MOMENT,
    "TIMESTAMP": Kind.INSTANT,
    "TIME": Kind.TIME,
}


class BigQueryDialect(WarehouseDialect):
    """GoogleSQL of BigQuery, in a session, which has temporary tables."""

    system = "BigQuery"
    text_type = "STRING"
    double = "FLOAT64"
    timestamp = "DATETIME"
    whole = "INT64"
    random_key = "GENERATE_UUID()"
    temporary = "CREATE TEMP TABLE {}"

    def connect(self, address: Address) -> Any:
        try:
            from google.cloud import bigquery
            from google.cloud.bigquery import dbapi
        except ImportError:
            raise MissingExtraError("BigQuery needs its client: pip install google-cloud-bigquery") from None
        parts = urlsplit(address.connection)
        client = bigquery.Client(project=parts.hostname, **dict(parse_qsl(parts.query)))
        made = client.query("SELECT 1", job_config=bigquery.QueryJobConfig(create_session=True))
        made.result()
        held = [bigquery.ConnectionProperty("session_id", made.session_info.session_id)]
        client.default_query_job_config = bigquery.QueryJobConfig(connection_properties=held)
        return dbapi.connect(client)

    def kind_of(self, column: Sequence[Any]) -> str:
        return KINDS.get(str(column[1]).upper(), Kind.NESTED)

    def quote(self, identifier: str) -> str:
        escaped = identifier.replace("\\", "\\\\").replace("`", "\\`")
        return f"`{escaped}`"

    def concat(self, parts: Sequence[str]) -> str:
        return f"CONCAT({', '.join(f'CAST({part} AS STRING)' for part in parts)})"

    def by_bytes(self, text: str) -> str:
        return f"COLLATE({text}, '')"

    def matches(self, text: str, pattern: str) -> str:
        return f"REGEXP_CONTAINS({text}, {self.text(pattern)})"

    def moment_text(self, cell: str, kind: str) -> str:
        form = "'%Y-%m-%d %H:%M:%E6S'"
        return f"FORMAT_DATETIME({form}, {f'DATETIME({cell})' if kind == Kind.INSTANT else cell})"

    def number_of_text(self, text: str) -> str:
        return f"SAFE_CAST(trim({text}) AS FLOAT64)"

    def sha256(self, content: str) -> str:
        return f"TO_HEX(SHA256({content}))"

    def utf8(self, text: str) -> str:
        return f"CAST({text} AS BYTES)"

    def unhex(self, digits: str) -> str:
        return f"FROM_HEX({digits})"

    def there(self, place: Place) -> str:
        views = f"{self.quote(place.schema)}.INFORMATION_SCHEMA"
        return (
            f"SELECT t.table_type, JSON_VALUE(o.option_value, '$') FROM {views}.TABLES AS t "
            f"LEFT JOIN {views}.TABLE_OPTIONS AS o ON o.table_name = t.table_name AND o.option_name = 'description' "
            f"WHERE t.table_name = {self.text(place.table)}"
        )

    def remark(self, table: str, said: str) -> str:
        return f"ALTER TABLE {table} SET OPTIONS (description = {self.text(said)})"

    def replace(self, stage: str, goal: str) -> Sequence[str]:
        return f"CREATE OR REPLACE TABLE {goal} COPY {stage}", f"DROP TABLE IF EXISTS {stage}"


BIGQUERY = BigQueryDialect()
