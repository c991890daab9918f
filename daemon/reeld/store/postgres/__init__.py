"""The log on a PostgreSQL server, by psycopg, which nothing else imports.

``url`` tells what names a server, ``dialect`` translates the SQL of the jobs, ``connection`` runs them, ``schema`` has
the tables, ``writer`` commits, and ``engine`` opens all of it.
"""
