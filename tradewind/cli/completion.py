"""`tradewind completion`: a script for the shell, made from the commands' own declarations."""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

_SHELLS = ("bash", "zsh", "fish")


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Prints a completion script: source <(tradewind completion bash), the same with zsh, or "
        "tradewind completion fish > ~/.config/fish/completions/tradewind.fish"
    )
    command.add_argument("shell", choices=_SHELLS)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from tradewind.cli.main import parser  # noqa: PLC0415  it imports this module

    commands = list(_commands(parser(complete=True)))
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](commands), end="")


class Flag(NamedTuple):
    names: tuple[str, ...]
    choices: tuple[str, ...]
    takes_value: bool
    takes_file: bool
    line: str  # of help


class Command(NamedTuple):
    words: str  # that lead to it, as in "prices import"
    flags: tuple[Flag, ...]
    next_words: tuple[str, ...]  # commands, or values of its first argument
    takes_file: bool


def _commands(parser: argparse.ArgumentParser, words: str = "") -> Iterator[Command]:
    flags, next_words, takes_file = [], list[str](), False
    for action in parser._actions:  # noqa: SLF001  argparse has no other way to look at what was declared
        choices = tuple(action.choices or ())
        if action.option_strings:
            flags.append(
                Flag(
                    tuple(action.option_strings),
                    choices,
                    action.nargs != 0,
                    action.metavar == "FILE",
                    (action.help or "") % {"default": action.default, "prog": parser.prog},
                )
            )
        else:
            next_words += choices
            takes_file |= action.metavar == "FILE"
        if isinstance(action.choices, dict):
            for name, below in action.choices.items():
                yield from _commands(below, f"{words} {name}".strip())
    yield Command(words, tuple(flags), tuple(next_words), takes_file)


def _bash(commands: list[Command]) -> str:
    cases = "".join(_bash_case(each) for each in commands)
    below = "".join(f'      " {each.words}") words=" {each.words}" ;;\n' for each in commands if each.words)
    values = "".join(_bash_values(each) for each in commands)
    return f"""# bash completion for tradewind
_tradewind() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words="" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$words $word" in
{below}    esac
  done
  case "$words $previous" in
{values}  esac
  case "$words" in
{cases}  esac
}}
complete -F _tradewind tradewind
"""


def _bash_case(command: Command) -> str:
    words = " ".join([*command.next_words, *(name for flag in command.flags for name in flag.names)])
    label = f" {command.words}" if command.words else ""
    files = ' $(compgen -f -- "$current")' if command.takes_file else ""
    return f'    "{label}") COMPREPLY=($(compgen -W "{words}" -- "$current"){files}) ;;\n'


def _bash_values(command: Command) -> str:
    label = f" {command.words}" if command.words else ""
    lines = []
    for flag in command.flags:
        if not flag.takes_value:
            continue
        pattern = "|".join(f'"{label} {name}"' for name in flag.names)
        found = ' $(compgen -f -- "$current")' if flag.takes_file else ""
        if flag.choices:
            found = f' $(compgen -W "{" ".join(flag.choices)}" -- "$current")'
        lines.append(f"    {pattern}) COMPREPLY=({found.strip()}); return ;;\n")
    return "".join(lines)


def _zsh(commands: list[Command]) -> str:
    return f"#compdef tradewind\nautoload -U +X bashcompinit && bashcompinit\n{_bash(commands)}"


def _fish(commands: list[Command]) -> str:
    lines = ["# fish completion for tradewind", "complete -c tradewind -f"]
    for command in commands:
        seen = " ".join(f"__fish_seen_subcommand_from {word};" for word in command.words.split())
        condition = (
            f" -n '{seen.rstrip(';').replace('; ', '; and ')}'" if seen else " -n __fish_use_subcommand"
        )
        if command.next_words:
            lines.append(f"complete -c tradewind{condition} -a '{' '.join(command.next_words)}'")
        lines += [f"complete -c tradewind{condition}{_fish_flag(flag)}" for flag in command.flags]
    return "\n".join(lines) + "\n"


def _fish_flag(flag: Flag) -> str:
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in flag.names)
    value = (" -r" if flag.takes_value else "") + (" -F" if flag.takes_file else "")
    choices = f" -a '{' '.join(flag.choices)}'" if flag.choices else ""
    line = flag.line.replace("\\", "\\\\").replace("'", "\\'")
    return f"{names}{value}{choices} -d '{line}'"
