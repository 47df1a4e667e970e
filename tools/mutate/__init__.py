"""Would the tests notice a changed line? Faults are planted in a copy of this repository, and the tests that run the line are run.

    python -m tools.mutate --planted                     # the faults that are known by name, each of which must be noticed
    python -m tools.mutate planning host --sample 60     # so many of each part, drawn by chance, the same ones each time
    python -m tools.mutate planning --only merging/merge.py

A fault is one change of the syntax tree (``faults``). Which tests run a line is seen once and kept (``reach``); the tests run in a
fork of a process that has imported what is not of this repository (``forks``), so that a fault takes a second or two. The tests of a
part are in ``parts.toml``, beside the faults that are known by name and the changes that change nothing, with the reason. Prints a
line a fault, with how many tests it was shown to, then the shares. Needs Python 3.12 or newer.
"""
