"""What SQL engines share: conditions, digests, counts, recoding and derived tables, in SQL that every dialect can say.

An engine that speaks SQL, such as PostgreSQL, brings this and no more:

- a ``Dialect``: identifiers and values as SQL, and the functions whose names differ (``dialect``);
- a ``Cell``: a column's cells as text, as numbers and as moments, by its types (``dialect``);
- a ``KeyedSource``: the columns and types of the relation with the rows; a query as Arrow, an Arrow table as a relation
  that queries can join, a query that is stored, and what drops them; row numbers for messages (``keyed``);
- a ``KeyedRows``: a query as rows of their own (``select``), released rows in random order (``release``: a table that
  is created from the query, ordered by random keys, counted, and renamed when it is whole), and what closes them;
- what opens a table by its address, and what the rows become in the end: ``to_native`` and ``write``.

``KeyedEncoded`` then counts tuples and recodes rows by the keys of their cells. DuckDB has codes and distinct lines of
its own for that, which are faster on one machine.
"""
