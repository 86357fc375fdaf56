"""What SQL engines share: conditions, digests, counts and derived tables, in SQL that every dialect can say.

An engine that speaks SQL, such as PostgreSQL, brings this and no more:

- a ``Dialect``: identifiers and values as SQL, and the functions whose names differ (``dialect``);
- a ``Cell``: a column's cells as text, as numbers and as moments, by its types (``cells``);
- an ``SqlSource``: the relation with the rows, how a query comes back as Arrow, and how an Arrow table becomes a
  relation that queries can join (``rows``);
- an ``SqlRows``: how a query becomes rows of their own, a view or a stored table, and how rows are dropped (``rows``);
- an ``Encoded``: dictionaries and tuples are counted by ``GROUP BY``, and released rows are made by joins of rows with
  labels in a random order, as the plans of ``engine.plans`` say. DuckDB has codes for it, Spark keys of cells;
- what the table becomes in the end: a file, a frame, or a table that is renamed when it is whole.
"""
