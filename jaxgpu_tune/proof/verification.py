"""What ``verify()`` answers: each setting with what was read back."""

from __future__ import annotations

from ..model import Finding, SettingKind
from ..values import Value, jsonable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    ProofStatus = Literal["effective", "ignored", "overridden", "overwritten", "unreadable"]
else:
    ProofStatus = str


__all__ = ["ProofStatus", "Verification", "Verified"]

PROVEN = ("effective", "unreadable")


class Verified(Value):
    """One setting, read back.

    ``value``: the text that was applied (None: removed); ``found``: what was read, as text (None: nothing could be).
    ``status``: "effective" · "ignored" (set, and nothing came of it) · "overridden" (another setting wins) · "overwritten"
    (the program changed it after us) · "unreadable"; ``why``: a sentence.
    """

    kind: SettingKind
    name: str
    value: str | None
    status: ProofStatus
    why: str
    found: str | None = None


class Verification(Value):
    """Every setting of the last ``configure()`` or of the parent process, read back from the running backend.

    ``platform``: where JAX runs ("gpu", "cpu"), None if there was nothing to read back; ``devices``: how many of them are
    this process's own. ``findings``: what is wrong, worst first.
    """

    items: tuple[Verified, ...]
    findings: tuple[Finding, ...] = ()
    platform: str | None = None
    devices: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing proved wrong: no finding is more than a note."""
        return all(finding.severity == "note" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, ``ok`` included."""
        return {"ok": self.ok, **jsonable(self)}

    def __str__(self) -> str:
        from ..render.verification import render_verification

        return render_verification(self)

    def _repr_html_(self) -> str:
        from ..render.verification import render_verification_html

        return render_verification_html(self)
