"""Another configuration as people write it into a form: keys of theirs over those of the one in force.

Only what filters and scores: whoever looks at a page must not make the process read files or ask servers.
"""

from collections.abc import Mapping
from typing import Any

from tradewind.config.document import SCORING_KEYS, Document, load, with_scoring
from tradewind.errors import ConfigurationError

KINDS = ("preset", "weights", "yaml")


def read_configuration(in_force: Document, written: Mapping[str, str]) -> Document | None:
    """None where nothing is written; raise ConfigurationError that names the place."""
    keys = _from_yaml(written.get("yaml", ""))
    for key, value in (
        ("preset", written.get("preset", "").strip()),
        ("weights", _weights(written.get("weights", ""))),
    ):
        if value and key in keys:
            raise ConfigurationError(f"{key}: is in the YAML too")
        if value:
            keys[key] = value
    return with_scoring(in_force, keys) if keys else None


def _weights(text: str) -> dict[str, float]:
    """From `price=3; stability=1`."""
    found: dict[str, float] = {}
    for part in filter(None, (each.strip() for each in text.split(";"))):
        name, _, number = part.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise ConfigurationError(f'weights: "{part}" is not NAME=NUMBER, such as price=3') from None
    return found


def _from_yaml(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        keys = load(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"YAML: {error}") from error
    for key in keys:
        if key not in SCORING_KEYS:
            known = ", ".join(SCORING_KEYS)
            raise ConfigurationError(f'YAML: "{key}" cannot be supposed here; what can be: {known}')
    return keys
