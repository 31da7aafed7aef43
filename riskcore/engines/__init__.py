"""Data that stay where they are: lazy frames, tables of SQL, clusters, datasets.

The engine counts the records of each cell and adds their weights; only the cells come
here. The results of each record go back as a join on the cells, which the engine does.
Which engines there are: polars (lazy frames), duckdb, ibis, PySpark, dask, and datasets
of pyarrow.
"""
