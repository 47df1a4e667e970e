"""What must not get into a bug report does not, and the rest stays readable."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import plan
from jaxgpu_tune.planning.base.secrets import masked, shown_value, without_secrets
from tests.fleet import machine

HIDDEN = "***"
SECRET = "Zx9" + "aB3dE5fG7h" * 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"https://me:{SECRET}@host/x", f"https://{HIDDEN}@host/x"),
        ("a bearer abc.def", "a bearer ***"),
        ("HF_TOKEN=abc next", "HF_TOKEN=*** next"),
        ("password: 'hunter2'", "password: '***'"),
        ("api_key=abc&x=1", "api_key=***&x=1"),
        ("hf_abcdefgh1234", HIDDEN),
        ("ghp_abcdefgh1234", HIDDEN),
        ("sk-abcdefgh1234", HIDDEN),
        ("AKIAABCDEFGH1234", HIDDEN),
        (f"key {SECRET} there", f"key {HIDDEN} there"),
        ("gs://bucket/cache", "gs://bucket/cache"),
        ("--xla_gpu_autotune_level=2", "--xla_gpu_autotune_level=2"),
        ("GPU-c429684c-e3ce-551c-0f64-c87cd36832d0", "GPU-c429684c-e3ce-551c-0f64-c87cd36832d0"),
        ("/nix/store/" + "a" * 40, "/nix/store/" + "a" * 40),
        ("https://host/me@there", "https://host/me@there"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    """Passwords, tokens and credentials in addresses; paths, flags and UUIDs stay."""
    assert masked(text) == shown
    assert masked(masked(text)) == masked(text)


@given(
    st.sampled_from(["token", "SECRET", "Password", "api-key", "access_key", "credential", "auth"]), st.integers(0, 2)
)
def test_what_is_called_a_secret_is_not_shown(word: str, around: int) -> None:
    name = ("", "MY_", "my.")[around] + word
    assert shown_value(name, "x") == HIDDEN and shown_value(name, "") == "" and shown_value(name, None) is None
    assert masked({name: "x", "other": "y"}) == {name: HIDDEN, "other": "y"}
    assert masked({name: ""}) == {name: ""}


def test_values_of_any_shape() -> None:
    assert masked([1, None, ("a", {"token": 5})]) == [1, None, ["a", {"token": HIDDEN}]]
    assert shown_value("NCCL_DEBUG", "INFO") == "INFO"


def test_the_home_folder_has_no_name() -> None:
    assert masked("/home/me/x and /home/me", "/home/me") == "~/x and ~"
    assert masked("/home/meadow", "/home/me") == "/home/meadow"
    assert masked("/a", "/") == "/a" and masked("/a", "") == "/a"


def test_a_report_without_the_values_of_secrets() -> None:
    report = plan(machine=machine(count=1), environ={}, env={"MY_TOKEN": SECRET, "NCCL_DEBUG": "INFO"})
    shown = without_secrets(report)
    assert shown.environ == {"MY_TOKEN": HIDDEN, "NCCL_DEBUG": "INFO"}
    assert {d.name: d.value for d in shown.decisions} == {"MY_TOKEN": HIDDEN, "NCCL_DEBUG": "INFO"}
    assert report.environ["MY_TOKEN"] == SECRET
    plain = plan(machine=machine(count=1), environ={}, env={"NCCL_DEBUG": "INFO"})
    assert without_secrets(plain) is plain


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *(
            (name, True)
            for name in ("HF_TOKEN", "WANDB_API_KEY", "OPENAI_KEY", "MY_JWT", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY")
        ),
        *(
            (name, False)
            for name in ("JAX_COMPILATION_CACHE_INCLUDE_METADATA_IN_KEY", "KEYBOARD", "NCCL_DEBUG", "PATH")
        ),
    ],
)
def test_names_of_secrets(name: str, secret: bool) -> None:
    assert (shown_value(name, "x") == HIDDEN) is secret


def test_no_form_of_a_report_holds_a_secret_and_it_can_be_replayed() -> None:
    """As a variable asked for and as one inherited, and inside an address."""
    address = f"s3://me:{SECRET}@host/cache"
    asked = {"env": {"WANDB_API_KEY": SECRET, "NCCL_DEBUG": "INFO"}, "compilation_cache": address}
    report = plan(
        "fsdp", machine=machine(), environ={"XLA_FLAGS": f"--xla_dump_to={address}", "NCCL_TOKEN": SECRET}, **asked
    )
    told = report.to_dict()
    assert all(SECRET not in form for form in (json.dumps(told), repr(report), str(report), report._repr_html_()))
    assert report.environ["WANDB_API_KEY"] == SECRET and SECRET in report.xla_flags
    again = plan(machine=machine(), environ=told["inputs"]["environ"], **told["inputs"]["arguments"])
    flags = [d for d in again.to_dict()["decisions"] if d["kind"] == "xla_flag"]
    assert flags == [d for d in told["decisions"] if d["kind"] == "xla_flag"]
