"""The log on a PostgreSQL server, through psycopg, which only this package imports.

``url`` recognizes the URLs of a server, ``dialect`` translates the SQL of the jobs, ``connection`` runs them,
``schema`` has the tables, ``writer`` commits, and ``engine`` opens all of it.
"""
