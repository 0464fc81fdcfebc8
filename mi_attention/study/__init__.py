"""Studies: a TOML file in, cells on all cores or on a cluster, tables and figures out.

The way through: ``config`` (the file) with ``families`` (declared contrasts), ``grid`` (its cells), ``run`` (what is
missing) on ``backends``, each by ``cell`` and ``controls`` into the ``store``; ``groups`` (seeds of a combination) into
``tables``, ``summary`` and ``contrasts``; their ``findings`` into ``outputs``: tables, ``drawings``, the pages ``html``
(with ``texts`` and ``verdicts``) and ``page``, the files of a ``paper``, the ``manifest``; ``verify`` runs cells again.

Claims over many studies: ``claims`` (a file, dated), ``collection`` (the studies), ``runs`` (their estimates),
``claim_contrasts`` and ``answers`` (what they have come to), ``settle`` (all of it), ``story`` (one page).
"""
