"""Studies: a TOML file in, cells on all cores or on a cluster, tables and figures out.

The way through: ``config`` (the file) with ``families`` (declared contrasts), ``grid`` (its cells), ``run`` (what is
missing) on ``backends``, each by ``cell`` and ``controls`` into the ``store``; ``groups`` (seeds of a combination) into
``tables``, ``summary`` and ``contrasts``; ``outputs`` with ``manifest``; ``verify`` runs cells again.
"""
