"""The scripts in the shells that they are for, where there is one."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tradewind.cli.main import COMMANDS, main


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    main(["completion", shell])
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "offered", "not_offered"),
    [
        ([""], {*COMMANDS, "--help", "--version"}, {"--port"}),
        (["pl"], {"plan", "planner"}, {"prices"}),
        (["serve", "--p"], {"--port", "--probe-host", "--probe-port"}, {"--protect-floor"}),
        (["planner", "--prot"], {"--protect-floor"}, set()),
        (["serve", "--log-level", ""], {"debug", "info", "warning", "error"}, {"--port"}),
        (["plan", "-o", "j"], {"json"}, {"table"}),
        (["prices", ""], {"import"}, {"serve"}),
        (["prices", "import", "--on"], {"--on-demand"}, set()),
        (["completion", ""], {"bash", "zsh", "fish"}, set()),
        (["check-config", "pri"], {"prices.csv"}, set()),
        (["plan", "--cluster", "pri"], {"prices.csv"}, set()),
    ],
)
def test_bash_offers_what_can_follow(
    typed: list[str],
    offered: set[str],
    not_offered: set[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    (tmp_path / "prices.csv").touch()
    (tmp_path / "tradewind.bash").write_text(script("bash", capsys))
    words = " ".join(f"'{word}'" for word in ["tradewind", *typed])
    ask = f"source ./tradewind.bash; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _tradewind"
    ask += '; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(  # noqa: S603  bash
        [bash, "-u", "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = set(done.stdout.split())
    assert offered <= found
    assert not found & not_offered
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    assert all(command in text for command in COMMANDS)
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell}")
    subprocess.run([program, "-n"], input=text, text=True, check=True)  # noqa: S603  the shell
