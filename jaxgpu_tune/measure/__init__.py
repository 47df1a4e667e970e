"""The user's own program, measured unchanged.

``observer`` runs inside the program that it watches and imports nothing of this library but ``clock``; everything else runs beside it.
"""
