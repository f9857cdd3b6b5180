"""What a candidate refuses to be; how it leads is shown on a real API server in e2e/test_lease.py."""

from typing import Any

import pytest
from kubernetes.client import ApiClient, Configuration

from tradewind.errors import TradewindError
from tradewind.kube.lease import Leader


@pytest.mark.parametrize(
    ("identity", "seconds"),
    [
        pytest.param("", {}, id="nobody"),
        pytest.param("a", {"renew": 15.0}, id="leads until the very moment that another may"),
        pytest.param("a", {"renew": 2.0}, id="no time for a second try"),
        pytest.param("a", {"retry": 0.0}, id="asks without a pause"),
        pytest.param("a", {"duration": float("nan")}, id="no number"),
    ],
)
def test_a_candidate_that_could_not_lead_safely_is_refused(identity: str, seconds: dict[str, Any]) -> None:
    with pytest.raises(TradewindError, match=r"0 < retry < renew < duration"):
        Leader(ApiClient(Configuration()), "default", "lease", identity, **seconds)


def test_nobody_leads_before_the_start() -> None:
    leader = Leader(ApiClient(Configuration()), "default", "lease", "a")
    assert not leader.leading
    leader.stop()
