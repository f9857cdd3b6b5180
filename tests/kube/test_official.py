"""The official client, entered past its package: what it brings later is the real thing."""

import requests_oauthlib  # type: ignore[import-untyped]
from kubernetes.config import kube_config

from tradewind.kube import official


def test_an_oauth_session_is_that_of_the_library() -> None:
    assert official.load_kube_config is kube_config.load_kube_config
    session = kube_config.OAuth2Session(client_id="me", token={"access_token": "seen"})
    assert isinstance(session, requests_oauthlib.OAuth2Session)
    assert session.client_id == "me"
