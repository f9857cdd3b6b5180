"""What the command understands and says; what it does is shown on a real API server, in e2e."""

import pytest

from extender.cli import main, parser
from extender.release import Report


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("2m", 120), ("1h", 3600), ("1h30m", 5400), ("1m5s", 65)]
)
def test_durations(text: str, seconds: int) -> None:
    assert parser().parse_args(["release", "--if-stale", text]).if_stale == seconds


@pytest.mark.parametrize("text", ["", "2", "m", "0s", "-2m", "2 m", "2d", "5m1h", "1.5h", "9999999h", "two"])
def test_what_is_no_duration_is_named(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["release", f"--if-stale={text}"])
    assert ended.value.code == 2
    assert f'argument --if-stale: "{text}" is not a duration like 90s, 2m or 1h' in capsys.readouterr().err


def test_without_a_cluster_it_says_how_to_name_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["release"])
    assert ended.value.code == 2
    assert "--kubeconfig or KUBECONFIG names one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (Report(), "Tradewind holds no pod."),
        (Report(let_go=1), "Let go of 1 pod; Tradewind holds none any more."),
        (Report(let_go=300), "Let go of 300 pods; Tradewind holds none any more."),
        (
            Report(let_go=2, failed={"shop/web": "403: forbidden", "shop/db": "403: forbidden"}),
            "Let go of 2 pods; 2 pods could not be let go, the first of them shop/web: 403: forbidden.",
        ),
    ],
)
def test_the_numbers_in_one_sentence(report: Report, sentence: str) -> None:
    assert str(report) == sentence
