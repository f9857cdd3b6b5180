"""The CronJob's command, with its own service account: a list at an address becomes the mounted table."""

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import fake, manifests
from e2e.api import Api, ApiError
from e2e.plane import ControlPlane
from tradewind.market.rows import csv_rows

_CONFIG_MAP = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps/tradewind-prices"


class Lists(http.server.BaseHTTPRequestHandler):
    text = ""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/list.csv" else 404)
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lists) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/list.csv"
        server.shutdown()
        thread.join()


@pytest.fixture
def account(plane: ControlPlane, api: Api, role_kubeconfig: Path) -> Iterator[Path]:
    del role_kubeconfig  # brings the namespace
    with fake.existing(api, manifests.component_roles("price-refresh")):
        token = fake.service_account_token(api, manifests.NAMESPACE, "tradewind-prices")
        yield plane.token_kubeconfig("tradewind-prices", token)
    api.delete(_CONFIG_MAP)


def refresh(address: str, account: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tradewind", "prices", "import", address]
    flags = ["--configmap", "tradewind-prices", "--kubeconfig", str(account)]
    return subprocess.run([*command, *flags], capture_output=True, text=True, check=False, timeout=60)


def prices(api: Api) -> list[float]:
    return [row.quote.price for row in csv_rows(api.read(_CONFIG_MAP)["data"]["prices.csv"])]


def test_the_table_is_made_and_made_anew(api: Api, address: str, account: Path) -> None:
    for price in (0.1, 0.2):
        Lists.text = f"instance_type,price\nm5.large,{price}\n"
        done = refresh(address, account)
        assert done.returncode == 0, done.stderr
        assert "ConfigMap tradewind-prices: 1 rows" in done.stdout
        assert prices(api) == [price]

    Lists.text = "instance_type,price\nm5.large,none\n"
    done = refresh(address, account)
    assert done.returncode == 2
    assert address in done.stderr
    done = refresh(address.replace("list", "lost"), account)
    assert "the server answers 404" in done.stderr
    assert prices(api) == [0.2]


def test_the_account_may_write_no_other(api: Api, address: str, account: Path) -> None:
    Lists.text = "instance_type,price\nm5.large,0.1\n"
    assert refresh(address, account).returncode == 0
    other = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "other", "namespace": manifests.NAMESPACE},
    }
    with fake.existing(api, [other]):
        own = Api(account)
        try:
            with pytest.raises(ApiError) as refused:
                own.patch(_CONFIG_MAP.replace("tradewind-prices", "other"), {"data": {"a": "b"}})
            assert refused.value.status == 403
        finally:
            own.close()
