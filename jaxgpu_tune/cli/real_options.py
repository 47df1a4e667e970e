"""A setting that is written as if it were an option of the command line."""

from __future__ import annotations

import click

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..knowledge.real_names import RealName


__all__ = ["Told"]


class Told(click.Command):
    """A setting that is written as if it were an option is told with the option that takes it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises NoSuchOption, which says what the name is, or else the nearest option."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as wrong:
            from ..knowledge.real_names import real_name

            if real := real_name(wrong.option_name):
                option, value = _spelled(real)
                taken = any(option in one.opts for one in self.params)
                how = f"Write {option} {value}." if taken else real.instead
                message = f"{wrong.message} It is {real.what}. {how}"
                raise click.NoSuchOption(wrong.option_name, message, ctx=ctx) from None
            raise


def _spelled(real: RealName) -> tuple[str, str]:
    """The option that takes what a name is, and its value."""
    from ..knowledge.real_names import option_of_argument

    of_its_own = real.argument == real.name
    value = "VALUE" if of_its_own else real.name if real.argument == "platform" else f"{real.name}=VALUE"
    return option_of_argument(real.argument), value
