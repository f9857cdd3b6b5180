"""Scores of sites for hubs without Karmada.

For Open Cluster Management each site gets an AddOnPlacementScore in the namespace that has its name: one
score for each class of requests, -100 where no node takes it. For consumers of the Cluster Inventory API each
class gets a PlacementDecision with its best sites, in the namespace of the summaries.
"""

import logging
import urllib.parse
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from tradewind.errors import ApiError, NotFoundError
from tradewind.fleet.class_scores import Scores, class_scores, request_of
from tradewind.fleet.policy import site_policies
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Site, Sites
from tradewind.hub.records import FLEET_LABEL, current, note_of
from tradewind.hub.wire import ConfigMapObject
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded

SCORE_NAME = "tradewind"

_NEVER = -100
_MOST_DECISIONS = 100  # of one PlacementDecision
_OCM = "/apis/cluster.open-cluster-management.io/v1alpha1"
_INVENTORY = "/apis/multicluster.x-k8s.io/v1alpha1"

_log = logging.getLogger(__name__)


class _List(msgspec.Struct):
    items: list[ConfigMapObject]


_decoder = msgspec.json.Decoder(_List)


class PlacementScores:
    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._known: list[str] = []  # sites with a summary that can be read

    def scores(self, settings: FleetSettings, now: float) -> Mapping[str, Scores]:
        """Of each class, from the summaries that the hub has now; raise ApiError where it does not answer."""
        sites, policies = self._sites(now), site_policies(settings)
        requests = {name: request_of(name, asked) for name, asked in settings.classes.items()}
        return {name: class_scores(each, sites, policies.of(each), now) for name, each in requests.items()}

    def _sites(self, now: float) -> Sites:
        selection = urllib.parse.urlencode({"labelSelector": f"{FLEET_LABEL}=summary"})
        data = self._client.get(f"/api/v1/namespaces/{self._namespace}/configmaps?{selection}")
        notes = [note_of(each) for each in decoded(_decoder, data).items]
        known = [current(note, now) for note in notes]
        self._known = [note.site for note in known if note.summary is not None]
        return Sites([Site(name=note.site, summary=note.summary) for note in known if note.summary])

    def publish_ocm(self, by_class: Mapping[str, Scores], valid_until: float) -> None:
        until = datetime.fromtimestamp(valid_until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for site in self._known:
            values = {name: _value(scores.get(site)) for name, scores in by_class.items()}
            status = {
                "scores": [{"name": name, "value": value} for name, value in values.items()],
                "validUntil": until,
            }
            try:
                self._write_ocm(site, {"status": status})
            except ApiError as error:
                _log.warning("the scores of %s could not be written: %s", site, error)

    def _write_ocm(self, site: str, status: Mapping[str, object]) -> None:
        scores = f"{_OCM}/namespaces/{urllib.parse.quote(site, safe='')}/addonplacementscores"
        try:
            self._client.patch(f"{scores}/{SCORE_NAME}/status", status)
        except NotFoundError:
            self._client.create(scores, _object(_OCM, "AddOnPlacementScore", SCORE_NAME))
            self._client.patch(f"{scores}/{SCORE_NAME}/status", status)

    def publish_decisions(self, by_class: Mapping[str, Scores]) -> None:
        for name, scores in by_class.items():
            best = sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:_MOST_DECISIONS]
            decisions = [
                {"clusterProfileRef": {"name": site}, "reason": f"{score:.3f} of 1"} for site, score in best
            ]
            body = {"decisions": decisions, "schedulerName": "tradewind"}
            try:
                self._write_decision(f"tradewind-{name}", name, body)
            except ApiError as error:
                _log.warning("the decision for class %s could not be written: %s", name, error)

    def _write_decision(self, name: str, key: str, body: Mapping[str, object]) -> None:
        path = f"{_INVENTORY}/namespaces/{self._namespace}/placementdecisions"
        try:
            self._client.patch(f"{path}/{name}", body)
        except NotFoundError:
            made = _object(_INVENTORY, "PlacementDecision", name)
            labels = {"multicluster.x-k8s.io/decision-key": key}
            self._client.create(path, made | {"metadata": {"name": name, "labels": labels}, **body})


def _value(score: float | None) -> int:
    """OCM's scale is -100..100: what fits is 0 or more."""
    return _NEVER if score is None else round(100 * score)


def _object(group: str, kind: str, name: str) -> dict[str, object]:
    return {"apiVersion": group.removeprefix("/apis/"), "kind": kind, "metadata": {"name": name}}
