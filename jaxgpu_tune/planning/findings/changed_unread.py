"""Variables that were changed after jax had read them: no option of this process changes with them, so they stay as they are, and that is told. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...model import Decision, Finding
from ..base.secrets import shown_value
from ..merging.assemble import left_alone, options_behind

__all__ = ["unread_findings"]


def unread_findings(
    unread: Iterable[str], environ: Mapping[str, str], decisions: tuple[Decision, ...]
) -> Iterator[Finding]:
    """What is said of each whose option is still asked for. ``environ``: the user's."""
    held = {d.name: d.value for d in decisions if d.kind == "jax_config" and d.status in ("set", "removed")}
    for variable in sorted(left_alone(unread, decisions)):
        option = options_behind(variable)[0]
        if option in held:
            text = f"set to {shown_value(variable, environ[variable])}" if variable in environ else "removed"
            stays = "its default" if held[option] is None else held[option]
            message = f"{variable} was {text} after `import jax`, which alone reads it: jax.config.{option} stays {stays} here. Only processes that are started later see the change."
            hint = f"To change it here, pass jax_config={{{variable.lower()!r}: …}} to configure()."
            yield Finding("variable-after-import", "warning", message, hint)
