"""YAML whose mappings have each key once: PyYAML takes the last of several without a word."""

from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[tuple[str, str], yaml.Mark] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                continue
            first = seen.setdefault((key.tag, key.value), key.start_mark)
            if first is not key.start_mark:
                raise yaml.MarkedYAMLError(
                    problem=f'the key "{key.value}" was given already, in line {first.line + 1}',
                    problem_mark=key.start_mark,
                )
        return super().construct_mapping(node, deep)


def load(text: str) -> Any:
    """Raise yaml.YAMLError with line and column of what is wrong."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506  a SafeLoader
