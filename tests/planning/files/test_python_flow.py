"""What a Python program sets and loses again."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.planning.files.test_lost_flags import DUMP, LEVEL, lost

SET, NEXT = (f"os.environ['XLA_FLAGS'] = {flag!r}\n" for flag in (LEVEL, DUMP))


def within(text: str) -> str:
    """One level deeper."""
    return indent(text, "    ")


@pytest.mark.parametrize(
    "text",
    [
        SET + NEXT,
        f"{SET}import jax\njax.config.update('jax_enable_x64', True)\nprint('x')\n{NEXT}",
        f"if d:\n{within(SET)}else:\n    pass\n{NEXT}",
        f"def f():\n{within(SET + NEXT)}",
        f"try:\n{within(SET)}except E:\n    pass\n{NEXT}",
        f"{SET}def f():\n    train()\n{NEXT}",
        f"{SET}class A:\n    def f(self):\n        train()\n{NEXT}",
        f"with a():\n{within(SET + NEXT)}",
        f"{SET}if __name__ == '__main__':\n{within(NEXT)}",
        f"{SET}flags = {DUMP!r}\nos.environ['XLA_FLAGS'] = flags\n",
        f"{SET}os.environ.update({{'A': '1', 'XLA_FLAGS': {DUMP!r}}})\n",
        f"{SET}os.environ.update(XLA_FLAGS={DUMP!r})\n",
        f"{SET}os.putenv('XLA_FLAGS', {DUMP!r})\n",
        f"{SET}os.environ['XLA_FLAGS'] = ' '.join([{DUMP!r}])\n",
        f"{SET}os.environ['XLA_FLAGS'] = f'--xla_dump_to={{d}}'\n",
        f"{SET}import numpyro\nnumpyro.set_host_device_count(4)\n{NEXT}",
        f"{SET}os.environ['XLA_FLAGS'] = '--xla_dump_to=' + d\n",
    ],
)
def test_r20_a_program_that_sets_it_anew(text: str) -> None:
    """https://github.com/proteneer/timemachine/pull/770"""
    assert len(lost(f"import os\n{text}", "python")) == 1


def test_what_was_added_is_lost_too() -> None:
    text = f"import os\n{SET}os.environ['XLA_FLAGS'] += ' --xla_dump_hlo_as_text'\n{NEXT}"
    assert lost(text, "python") == [4, 4]


@pytest.mark.parametrize(
    "text",
    [
        SET + SET,
        f"{SET}os.environ['XLA_FLAGS'] += ' {DUMP}'\n",
        f"{SET}os.environ['XLA_FLAGS'] = os.environ['XLA_FLAGS'] + ' {DUMP}'\n",
        f"{SET}os.environ['XLA_FLAGS'] = '{DUMP} ' + os.environ.get('XLA_FLAGS', '')\n",
        f"{SET}os.environ['XLA_FLAGS'] = f\"{{os.environ['XLA_FLAGS']}} {DUMP}\"\n",
        f"{SET}os.environ['XLA_FLAGS'] = flags\n",
        f"{SET}os.environ['XLA_FLAGS'] = ''\n",
        f"{SET}os.environ.setdefault('XLA_FLAGS', {DUMP!r})\n",
        f"{SET}old = os.environ['XLA_FLAGS']\n{NEXT}",
        f"{SET}del os.environ['XLA_FLAGS']\n{NEXT}",
        f"{SET}os.environ.pop('XLA_FLAGS')\n{NEXT}",
        f"{SET}train()\n{NEXT}",
        f"{SET}if d:\n    train()\n{NEXT}",
        f"class A:\n{within(SET)}    x = train()\n{NEXT}",
        f"{SET}import jax\njax.devices()\n{NEXT}",
        f"{SET}import subprocess\nsubprocess.run(['x'])\n{NEXT}",
        f"{SET}os.system('x')\n{NEXT}",
        f"if d:\n{within(SET)}else:\n{within(NEXT)}",
        f"{SET}if d:\n{within(NEXT)}",
        f"if run():\n{within(SET)}elif other():\n{within(NEXT)}",
        f"try:\n{within(SET)}except E:\n{within(NEXT)}",
        f"match d:\n    case 1:\n{within(within(SET))}    case 2:\n{within(within(NEXT))}",
        f"{SET}for x in y:\n{within(NEXT)}    run()\n",
        f"def f():\n{within(SET)}def g():\n{within(NEXT)}",
        f"def f():\n{within(SET)}{NEXT}",
        f"a['XLA_FLAGS'] = {LEVEL!r}\nb['XLA_FLAGS'] = {DUMP!r}\n",
        f"for flags in [{LEVEL!r}, {DUMP!r}]:\n    os.environ['XLA_FLAGS'] = flags\n    run()\n",
        f"{SET}flags = flags + {DUMP!r}\nos.environ['XLA_FLAGS'] = flags\n",
        f"flags = {DUMP!r}\ndef f(flags):\n{within(SET)}    os.environ['XLA_FLAGS'] = flags\n",
        f"flags = {LEVEL!r}\nflags += ' {DUMP}'\nos.environ['XLA_FLAGS'] = flags\n",
    ],
)
def test_a_program_that_keeps_it_or_chooses(text: str) -> None:
    assert lost(f"import os\n{text}", "python") == []
