"""Would the tests notice a changed line? Faults are planted in a copy of this repository, and the nearest tests run against each.

    python -m tools.mutate --planted                     # the faults that are known by name, each of which must be noticed
    python -m tools.mutate planning host --sample 60     # so many of each part, drawn by chance, the same ones each time
    python -m tools.mutate planning --only merging/merge.py

A fault is one change of the syntax tree (``faults``); the tests of a part are in ``parts.toml``, beside the faults that are known
by name and the changes that change nothing, with the reason. Prints a line a fault that nobody noticed, then the shares.
"""
