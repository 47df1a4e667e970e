"""Who really reads the forms of an environment: each takes the code and gives the variables of a program started with it."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import dotenv
import yaml

START = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", "GONE": "x"}
PRINT = f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"

PIECES = "ab01 =-_,:.#'\"`$\\!%&*()[]{}<>|;~?^@\n\r\t\x01\x1b\x7f\x85é–‘’“„\u2028\ufeff😀"
PIECES_OF_WORDS = ["$HOME", "${HOME}", "$(HOME)", "$$", "$(id)", "`id`", "\\'", "''", " #", "%HOME%", "--xla_a=1"]
"""What shells, containers and readers of files take for something else."""
CARRIED = {
    "C0": "--xla_gpu_autotune_level=2 --xla_dump_to='/tmp/a b'",
    "C1": '{"XLA_FLAGS":[null,"--xla_b=\\"x y\\""]}',
    "C2": "--xla_gpu_enable_command_buffer= --xla_a=b",
}
"""What this library really emits; flags, JSON, an empty member of a list; every format carries it."""
Variables = dict[str, str]


def shell(name: str) -> Callable[[str], Variables]:
    """A shell that reads the code as a script and then starts a program."""

    def read(code: str) -> Variables:
        script = f"{code}\n{PRINT}".encode()
        done = subprocess.run([name], input=script, env=START, capture_output=True, check=True)
        assert not done.stderr, done.stderr
        return json.loads(done.stdout)

    return read


def evaluated(code: str) -> Variables:
    """As README says: eval "$(jaxgpu-tune env …)"."""
    script = f'eval "$(cat)"\n{PRINT}'
    done = subprocess.run(["bash", "-c", script], input=code.encode(), env=START, capture_output=True, check=True)
    return json.loads(done.stdout)


def dotenv_file(code: str) -> Variables:
    """python-dotenv, with its replacing of ${NAME} on, as load_dotenv() has it."""
    return {**START, **{k: v or "" for k, v in dotenv.dotenv_values(stream=io.StringIO(code)).items()}}


def docker(code: str) -> Variables:
    """The real docker client; the daemon that it talks to only writes down what it is asked to create."""
    asked: list[dict[str, Any]] = []

    class Daemon(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"Id":"x","Warnings":[]}'
            length = int(self.headers.get("Content-Length") or 0)
            asked.append(json.loads(self.rfile.read(length) or "{}"))
            self.send_response(201 if length else 200)
            for name, value in (("Api-Version", "1.41"), ("Content-Length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else body)

        do_HEAD = do_POST = do_GET  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            pass

    with tempfile.TemporaryDirectory() as folder:
        file, socket = Path(folder, "env"), f"{folder}/s"
        file.write_bytes(code.encode())
        with socketserver.ThreadingUnixStreamServer(socket, Daemon) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            command = ["docker", "-H", f"unix://{socket}", "create", "--env-file", str(file), "image"]
            done = subprocess.run(command, env=START, capture_output=True, text=True, check=False)
            server.shutdown()
    assert done.returncode == 0, done.stderr
    (created,) = [request for request in asked if "Env" in request]
    return dict(pair.split("=", 1) for pair in created["Env"] or [])


def compose(code: str) -> Variables:
    """The real docker-compose, asked what it would run."""
    text = "version: '3'\nservices:\n  job:\n    image: image\n" + "".join(f"    {line}\n" for line in code.split("\n"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "docker-compose.yml").write_text(text, encoding="utf-8", newline="")
        done = subprocess.run(
            ["docker-compose", "config"], cwd=folder, env=START, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    found = yaml.safe_load(done.stdout)["services"]["job"].get("environment", {})
    # What config prints is a compose file again, with its own signs doubled.
    return {name: value.replace("$$", "$") for name, value in found.items()}


def compose_yaml(code: str) -> Variables:
    """PyYAML, and the rule that Compose publishes: $$ is one sign; any other $ would be replaced."""
    found = yaml.safe_load(code)["environment"] or {}
    assert not any(re.search(r"(?<!\$)(\$\$)*\$(?!\$)", value) for value in found.values())
    return {name: value.replace("$$", "$") for name, value in found.items()}


def kubernetes(code: str) -> Variables:
    """PyYAML, and the expansion that the kubelet does (third_party/forked/golang/expansion/expand.go)."""
    return {item["name"]: _expanded(item["value"]) for item in yaml.safe_load(code)["env"] or []}


def _expanded(text: str) -> str:
    def said(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else "REPLACED" if found[0].startswith("$(") else found[0]

    return re.sub(r"\$\$|\$\([^)]*\)|\$", said, text)


def ray(code: str) -> Variables:
    """JSON, and what Ray does with each value (ray/_private/runtime_env/context.py and utils.py: update_envs)."""
    found = json.loads(code)["env_vars"]
    return {name: re.sub(r"\$\{[A-Z0-9_]+\}", "", os.path.expandvars(value)) for name, value in found.items()}


def as_json(code: str) -> Variables:
    """JSON; null is a variable to be removed."""
    return START | json.loads(code)


READERS: dict[str, tuple[str, str, Callable[[str], Variables]]] = {
    "sh": ("sh", "sh", shell("sh")),
    "bash": ("sh", "bash", shell("bash")),
    "bash eval": ("sh", "bash", evaluated),
    "zsh": ("sh", "zsh", shell("zsh")),
    "fish": ("fish", "fish", shell("fish")),
    "python-dotenv": ("dotenv", "", dotenv_file),
    "docker": ("docker", "docker", docker),
    "compose's rule": ("compose", "", compose_yaml),
    "kubernetes' rule": ("kubernetes", "", kubernetes),
    "bash of Slurm": ("slurm", "bash", shell("bash")),
    "Ray's rule": ("ray", "", ray),
    "json": ("json", "", as_json),
}
"""Reader -> (format, program that must be installed, how it is asked)."""


def here(program: str) -> bool:
    """Whether a reader's program is installed."""
    return not program or shutil.which(program) is not None
