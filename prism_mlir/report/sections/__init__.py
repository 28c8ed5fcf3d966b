"""One section a file: ``view`` makes from data what a template shows, and raises :class:`InputError` where the data lack it."""
