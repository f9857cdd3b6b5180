"""Which Tradewind this is."""

from importlib.metadata import version

VERSION = version("tradewind")
