"""Found first on PYTHONPATH: wait for jax if somebody listens, then let the environment's own sitecustomize run.

It stays on PYTHONPATH for the children. Nothing that goes wrong here reaches the program.
"""

import os
import sys

NAME = "_jaxgpu_tune_measure"


def _watch(folder: str) -> None:
    """Load the observer from the files beside this one; once a process, however often this file is found."""
    from importlib import import_module
    from importlib.util import module_from_spec, spec_from_file_location

    if NAME in sys.modules:
        return
    here = os.path.dirname(os.path.abspath(__file__))
    package = os.path.dirname(os.path.dirname(here))
    spec = spec_from_file_location(NAME, os.path.join(package, "__init__.py"), submodule_search_locations=[package])
    assert spec is not None
    sys.modules[NAME] = module_from_spec(spec)
    import_module(NAME + ".observer.until_jax").wait(folder)


def _chain() -> None:
    """Run the next sitecustomize on the path, which this one hides; its errors are its own."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.abspath(place) for place in sys.path]
    rest = sys.path[len(places) - places[::-1].index(here) :] if here in places else []
    spec = PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_folder = os.environ.get("JAXGPU_TUNE_OBSERVE")
if _folder:
    try:
        _watch(_folder)
    except Exception as _error:  # noqa: BLE001 - the program goes on without being watched
        try:
            with open(os.path.join(_folder, "observer-%d.log" % os.getpid()), "a") as _log:  # noqa: UP031
                _log.write("%r\n" % (_error,))  # noqa: UP031 - any Python may read this file
        except Exception:  # noqa: BLE001, S110 - nowhere to tell it
            pass
_chain()
