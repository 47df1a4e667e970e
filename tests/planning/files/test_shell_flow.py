"""What a script, or a Dockerfile, sets and loses again."""

from __future__ import annotations

import pytest

from tests.planning.files.test_lost_flags import DUMP, LEVEL, lost

SET, NEXT = f"export XLA_FLAGS={LEVEL}", f"export XLA_FLAGS={DUMP}"


@pytest.mark.parametrize(
    "text",
    [
        f"{SET}\n{NEXT}\n",
        f"{SET}\ncd /x\nsource v/bin/activate\nmodule load cuda # it's\n{NEXT}; python t.py\n",
        f"{SET}\nexport A=\"$(date +%s; hostname)\" \\\n  B='x;y'\n{NEXT}\n",
        f'{SET}\necho "with $XLA_FLAGS" > log\n{NEXT}\n',
        f"if [ $D = 1 ]; then\n{SET}\nfi\n{NEXT}\n",
        f"if [ $D = 1 ]; then\n{SET}\n{NEXT}\nfi\n",
        f"[ $D = 1 ] && {SET}\n{NEXT}\n",
        f"f() {{\n{SET}\n{NEXT}\n}}\nf\n",
        f"{SET}\nf() {{\npython a.py\n}}\n{NEXT}\n",
        f"function f {{\n{SET}\n{NEXT}\n}}\nf\n",
        f"{SET}\ncat > a.sh <<EOF\ntext\nEOF\n{NEXT}\n",
        f"cat > a.sh <<EOF\n{SET}\n{NEXT}\npython t.py\nEOF\nsbatch a.sh\n",
        f"docker run -e XLA_FLAGS={LEVEL} --gpus all -e 'XLA_FLAGS={DUMP}' image\n",
        f"XLA_FLAGS={LEVEL} XLA_FLAGS={DUMP} python t.py\n",
        f"setenv XLA_FLAGS {LEVEL}\nsetenv XLA_FLAGS {DUMP}\n",
        f"set -gx XLA_FLAGS {LEVEL}\nset -gx XLA_FLAGS {DUMP}\n",
        f'[Service]\nEnvironment=XLA_FLAGS={LEVEL}\nEnvironment="XLA_FLAGS={DUMP}"\nExecStart=python t.py\n',
        f'{SET}\nexport XLA_FLAGS="--xla_dump_to=$DIR/x"\n',
        f"XLA_FLAGS={LEVEL}\nexport XLA_FLAGS\nXLA_FLAGS={DUMP}\nexport XLA_FLAGS\n",
    ],
)
def test_r20_a_script_that_sets_it_anew(text: str) -> None:
    """Behind commands that run no program, and after a choice, whatever was chosen."""
    assert len(lost(text)) == 1


def test_every_way_of_a_choice_is_lost() -> None:
    text = f"case $D in\n  a) {SET};;\n  b|c) {SET} ;;\nesac\n{NEXT}\n"
    assert lost(text) == [5, 5]


@pytest.mark.parametrize(
    "text",
    [
        f"{SET}\npython a.py\n{NEXT}\npython b.py\n",
        f"{SET}\necho devices: $(python a.py)\n{NEXT}\npython b.py\n",
        f'{SET}\n[ -n "$(python a.py)" ] || exit\n{NEXT}\npython b.py\n',
        f"{SET}\ntest `python a.py` = 1\n{NEXT}\npython b.py\n",
        f"{SET}\nif [ $D = 1 ]; then\npython a.py\nfi\n{NEXT}\n",
        f"{SET}\n(cd a && python a.py)\n{NEXT}\n",
        f"{SET}\nfor x in 1 2; do python a.py $x; done\n{NEXT}\n",
        f"{SET}\nsource run_a.sh\n{NEXT}\n",
        f"{SET}\nuv run a.py\n{NEXT}\nuv run b.py\n",
        f"{SET}\nconda run -n jax python a.py\n{NEXT}\n",
        f"{SET}\ncommand python a.py\n{NEXT}\n",
        f"{SET}\n{SET}\n",
        f"{SET}\nexport XLA_FLAGS='{LEVEL} {DUMP}'\n",
        f'{SET}\nexport XLA_FLAGS="$XLA_FLAGS {DUMP}"\n',
        f'{SET}\nexport XLA_FLAGS="{DUMP}${{XLA_FLAGS:+ $XLA_FLAGS}}"\n',
        f'{SET}\nexport XLA_FLAGS="{DUMP} $MORE"\n',
        f"{SET}\nXLA_FLAGS+=' {DUMP}'\n",
        f"if [ $D = 1 ]; then\n{SET}\nelse\n{NEXT}\nfi\n",
        f"if [ $D = 1 ]; then\n{SET}\nelif [ $D = 2 ]; then\n{NEXT}\nfi\n",
        f"case $D in\n a) {SET};;\n b|c) {NEXT};;\nesac\n",
        f"{SET}\nif [ $D = 1 ]; then\n{NEXT}\nfi\n",
        f"{SET}\n[ -n $D ] && {NEXT}\n",
        f"{SET}\nfor x in a b; do {NEXT}; done\n",
        f"f() {{\n{SET}\n}}\ng() {{\n{NEXT}\n}}\n",
        f"f() {{\n{SET}\n}}\n{NEXT}\n",
        f"(cd a; {SET}; python a)\n(cd b; {NEXT}; python b)\n",
        f"{SET}\nexport N=$(python count.py)\n{NEXT}\n",
        f"{SET}\nOLD=$XLA_FLAGS\n{NEXT}\n",
        f"{SET}\nunset XLA_FLAGS\n{NEXT}\n",
        f"{SET}\nexport XLA_FLAGS=\n",
        f'{SET}\nexport XLA_FLAGS=""\n{NEXT}\n',
        f"XLA_FLAGS={LEVEL} python a.py\nXLA_FLAGS={DUMP} python b.py\n",
        f"{SET}\nXLA_FLAGS={DUMP} python b.py\n",
        f"docker run -e XLA_FLAGS={LEVEL} a\ndocker run -e XLA_FLAGS={DUMP} b\n",
        f"docker run -e XLA_FLAGS={LEVEL} image bash -c 'XLA_FLAGS={DUMP} python b'\n",
        f"mpirun -x XLA_FLAGS={LEVEL} -n 1 a : -x XLA_FLAGS={DUMP} -n 1 b\n",
        f"cat > a.sh <<EOF\n{SET}\nEOF\ncat > b.sh <<EOF\n{NEXT}\nEOF\n",
        f"{SET}\ncat > a.sh <<EOF\n{NEXT}\nEOF\n",
        f"cat > a.sh <<'EOF'\n{SET}\nEOF\n{NEXT}\n",
        f"{SET}\n# {NEXT}\n",
        f"{SET}\necho '{NEXT}'\n",
        f"{SET}\nexport APPTAINERENV_XLA_FLAGS={DUMP}\n",
    ],
)
def test_a_script_that_keeps_it_or_chooses(text: str) -> None:
    """Or runs one program with each, or hides it from what follows."""
    assert lost(text) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"ENV XLA_FLAGS {LEVEL}\nWORKDIR /x\nENV A=1 \\\n  XLA_FLAGS={DUMP}\n", True),
        (f"ENV XLA_FLAGS={LEVEL} XLA_FLAGS={DUMP}\n", True),
        (f"ENV XLA_FLAGS={LEVEL}\nRUN apt-get update && \\\n  rm -rf /x\nENV XLA_FLAGS={DUMP}\n", True),
        (f"ENV XLA_FLAGS={LEVEL}\nRUN --mount=type=cache pip install jax\nENV XLA_FLAGS={DUMP}\n", True),
        (f"ENV XLA_FLAGS={LEVEL}\nRUN python precompile.py\nENV XLA_FLAGS={DUMP}\n", False),
        (f'ENV XLA_FLAGS={LEVEL}\nENV XLA_FLAGS="$XLA_FLAGS {DUMP}"\n', False),
        (f"FROM a AS x\nENV XLA_FLAGS={LEVEL}\nFROM b\nENV XLA_FLAGS={DUMP}\n", False),
        (f"ARG XLA_FLAGS={LEVEL}\nENV XLA_FLAGS=$XLA_FLAGS\n", False),
    ],
)
def test_r21_an_image_that_sets_it_anew(text: str, told: bool) -> None:
    assert len(lost(text, "dockerfile")) == told
