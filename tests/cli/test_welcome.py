from pathlib import Path

import pytest

from tradewind.cli.welcome import Welcome
from tradewind.runtime.source import EXAMPLES, example

_DEFAULT = "http://127.0.0.1:8888"
_EXPLAIN = "http://127.0.0.1:8890"
_OTHER = "http://127.0.0.1:9999"


def test_the_example_says_how_to_serve_the_cluster_that_kubectl_uses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "--kubeconfig FILE" in Welcome(example().name, None)(_DEFAULT, _DEFAULT, _EXPLAIN)
    found = tmp_path / ".kube" / "config"
    found.parent.mkdir()
    found.touch()
    assert f"to serve the cluster of {found}: --kubeconfig {found}" in Welcome(example().name, None)(
        _DEFAULT, _DEFAULT, _EXPLAIN
    )


@pytest.mark.parametrize(
    ("welcome", "urls", "said", "unsaid"),
    [
        pytest.param(
            Welcome(example().name, None),
            (_DEFAULT, _DEFAULT, _EXPLAIN),
            [
                f"{_EXPLAIN} in a browser",
                "explain shop/checkout-0\n",
                f"{EXAMPLES / 'request.json'} {_DEFAULT}/prioritize",
            ],
            ["--server"],
            id="the example on the default port",
        ),
        pytest.param(
            Welcome("the cluster in x.json", Path("x.json")),
            (_DEFAULT, _DEFAULT, _OTHER),
            [f"explain NAMESPACE/POD --server {_OTHER}", "explain NAMESPACE/POD --cluster x.json"],
            ["curl", "checkout-0"],  # nobody there knows the example's nodes
            id="a file on another port",
        ),
        pytest.param(
            Welcome("the cluster of y", None),
            (_DEFAULT, _DEFAULT, _EXPLAIN),
            ["explain NAMESPACE/POD\n"],
            ["curl", "checkout-0", "--cluster", "yours"],  # these are for a file
            id="a live cluster",
        ),
        pytest.param(
            Welcome(example().name, None, certificate=Path("tls.crt")),
            ("https://127.0.0.1:8888", "https://127.0.0.1:8888", _EXPLAIN),
            ["explain shop/checkout-0\n"],
            ["curl", "--ca-file"],
            id="with a certificate",
        ),
    ],
)
def test_hints_work_for_what_is_served(
    welcome: Welcome, urls: tuple[str, str, str], said: list[str], unsaid: list[str]
) -> None:
    text = welcome(*urls)
    assert [each for each in said if each not in text] == []
    assert [each for each in unsaid if each in text] == []
