from pathlib import Path

import pytest

from tradewind.cli.main import COMMANDS, main, parser

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


def test_check_config_says_what_is_in_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(_HEAD + "weights: {delta: 7}")
    main(["check-config", str(file)])
    output = capsys.readouterr().out
    assert f"{file} is valid" in output
    assert "price 7" in output
    assert "resource_fit 1" in output
    assert "resources" in output


_WHOLE = """
classes:
  - name: web
    match: {namespaces: [shop, blog], labels: "tier=web", minPriority: 10}
    rules: {resources: {ignored_resources: [example.com/b, example.com/a]}}
  - name: chosen
market: {prometheus: {url: "http://prometheus:9090"}, spotPriceRatio: 0.5}
planner: {enabled: false, schedulers: [tradewind]}
"""


def test_check_config_shows_every_section_as_it_would_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(_HEAD + _WHOLE)
    main(["check-config", str(file)])
    output = capsys.readouterr().out.replace("'off'", "off")  # which YAML would read as false
    for line in (
        "  match    namespaces [blog, shop], labels tier=web, minPriority 10",
        "  match    pods that name it in an annotation",
        "  match    every other pod",
        "  filter   resources (ignored_resources [example.com/a, example.com/b], ignored_resource_groups [])",
        "market",
        "  spotPriceRatio: 0.5",
        "    url: http://prometheus:9090",
        "planner",
        "  enabled: false",
        "  - tradewind",
    ):
        assert line in output.splitlines(), line
    for python in ("frozenset", "PosixPath", "None", "True", "False", "'", "()", "<"):
        assert python not in output, python


def test_a_refused_value_is_shown_as_it_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(_HEAD + "staleSeconds: null\nweights: {price: [1]}\nplanner: {solveSeconds: true}")
    with pytest.raises(SystemExit):
        main(["check-config", str(file)])
    error = capsys.readouterr().err
    assert "(got null)" in error
    assert "None" not in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(_HEAD + "weights: {price: -2}", "weights.price", id="broken"),
        pytest.param(None, "No such file", id="missing"),
    ],
)
def test_check_config_names_file_path_and_reason(
    text: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SystemExit) as ended:
        main(["check-config", str(file)])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert str(file) in error
    assert message in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--cluster", "/no/such/file"], "/no/such/file", id="no such cluster file"),
        pytest.param(["--kubeconfig", "/no/such/file"], "/no/such/file", id="no such kubeconfig"),
        pytest.param(["--config", "/no/such/file"], "/no/such/file", id="no such configuration"),
        pytest.param(
            ["--host", "203.0.113.77"], "listening on 203.0.113.77", id="an address that is not ours"
        ),
    ],
)
def test_serve_names_what_it_cannot_use(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--port", "0", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "variable", "option"),
    [
        ("serve", "TRADEWIND_BIND", "bind"),
        ("serve", "TRADEWIND_LEARN", "learn"),
        ("planner", "TRADEWIND_PROTECT_FLOOR", "protect_floor"),
        ("planner", "TRADEWIND_EVICT", "evict"),
        ("planner", "TRADEWIND_LEARN", "learn"),
    ],
)
def test_manifests_may_switch_by_environment(
    command: str, variable: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not getattr(parser().parse_args([command]), option)
    monkeypatch.setenv(variable, "true")
    assert getattr(parser().parse_args([command]), option)


@pytest.mark.parametrize(
    "arguments",
    [["planner", "--prot"], ["serve", "--clust", "x"], ["release", "--if", "2m"], ["--vers"]],
)
def test_flags_are_not_abbreviated(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: tradewind" in capsys.readouterr().err


def test_every_command_is_declared_whole() -> None:
    commands = next(each for each in parser(complete=True)._actions if each.dest == "==SUPPRESS==").choices
    assert commands is not None
    assert list(commands) == list(COMMANDS)
