"""Keeps the shadow's account."""

from tradewind.kube.client import Client
from tradewind.kube.memory import ConfigMapMemory
from tradewind.shadow.account import ShadowAccount, decode, encode

NAME = "tradewind-shadow"
KEY = "account.json"


class ShadowMemory(ConfigMapMemory[ShadowAccount]):
    def __init__(self, client: Client, namespace: str) -> None:
        super().__init__(client, namespace, NAME, KEY, decode=decode, encode=encode)
