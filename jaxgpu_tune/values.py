"""Frozen values with named fields, made without a generator of classes.

To a type checker they are frozen dataclasses. ``dataclasses`` itself (which imports ``inspect``), ``typing.NamedTuple``
and the three dozen classes that they would generate take longer than all else that this library does at start-up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inspect import Signature

    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_: object) -> object:
        """At run time nothing needs to be said."""
        return lambda cls: cls


EMPTY: Mapping[str, Any] = MappingProxyType({})
"""The default of a frozen value's mapping."""


class _Shown:
    """The signature of a value's class, made when ``inspect`` asks for it."""

    def __get__(self, _: object, owner: type[Value]) -> Signature:
        from inspect import Parameter, Signature

        def shown(name: str) -> Parameter:
            default = vars(owner).get(name, Parameter.empty)
            return Parameter(
                name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=owner.__annotations__[name]
            )

        return Signature([shown(name) for name in owner._fields])


@dataclass_transform(frozen_default=True)
class Value:
    """A frozen value: the annotated names of a subclass are its fields, in order, with their defaults.

    Equal if of one class with equal fields; hashable if its fields are. ``_fields`` and ``_replace`` are as in named tuples;
    ``match`` takes fields by position and by name; a mapping is pickled as a dict.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    __signature__: ClassVar[_Shown] = _Shown()

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        type.__setattr__(cls, "__match_args__", cls._fields)

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self._fields, values, strict=False))
        wrong = [name for name in named if name in given or name not in self._fields]
        if wrong or len(values) > len(self._fields):
            raise TypeError(
                f"{type(self).__name__}() takes each of {', '.join(self._fields)} once; wrong: {wrong or values}"
            )
        given |= named
        self.__dict__.update({name: given[name] if name in given else self._default(name) for name in self._fields})

    def _default(self, name: str) -> Any:
        try:
            return getattr(type(self), name)
        except AttributeError:
            raise TypeError(f"{type(self).__name__}() needs {name}") from None

    def _replace(self, **changes: Any) -> Self:
        """The same value with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})

    def __getstate__(self) -> dict[str, Any]:
        return {name: dict(v) if isinstance(v, MappingProxyType) else v for name, v in self.__dict__.items()}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"


def jsonable(value: Any) -> Any:
    """The JSON form of a frozen value and all that it holds: named fields become keys. JSON has no NaN and no infinity: None stands for them."""
    if hasattr(value, "_fields"):
        return {name: jsonable(getattr(value, name)) for name in value._fields}
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return os.fspath(value) if isinstance(value, os.PathLike) else value
