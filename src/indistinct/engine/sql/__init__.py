"""What SQL engines share: conditions, digests, counts, recoding and derived tables, in SQL that every dialect can say.

A database, such as SQLite, brings this and no more:

- a ``Dialect``: identifiers and values as SQL, and the functions whose names differ (``dialect``);
- a ``Cell``: a column's cells as text, as numbers and as moments, by its types (``dialect``);
- a ``DatabaseSession``: statements, Arrow in and out, temporary tables, one transaction, and what is said of a table
  (``session``), most of which ``cursors`` has for drivers of the DB-API; and what opens a table by its address.

``DatabaseRows`` are its rows, and ``publish`` makes released ones a table there. An engine that is no database, such as
Spark, brings a ``KeyedSource`` and ``KeyedRows`` of its own (``keyed``).

``KeyedEncoded`` then counts tuples and recodes rows by the keys of their cells. DuckDB has codes and distinct lines of
its own for that, which are faster on one machine.
"""
