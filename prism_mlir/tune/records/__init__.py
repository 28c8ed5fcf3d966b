"""Tuning records: what was found, chosen and measured, kept in one SQLite file that concurrent processes share.

``store`` is what others use. ``schema`` says what is kept, ``rows`` reads and writes rows that carry their own checksum,
``database`` opens the file and says what is wrong with it. ``prism cache`` stands on the rest: ``scan`` reads whatever can be
read, ``overview`` puts it in order, ``prune`` drops, ``transfer`` exports and imports, ``check`` looks for faults.
"""
