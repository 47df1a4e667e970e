"""What runs inside the program that is watched: standard library only, and silent until jax is imported.

``path/`` goes first on PYTHONPATH, so that each Python that the program starts finds the sitecustomize there. It loads
this package under a name of its own, beside the program's modules, and jaxgpu_tune is not imported for it. Into the
folder that JAXGPU_TUNE_OBSERVE names each process writes what it saw; ``request.json`` there says what is asked.
"""
