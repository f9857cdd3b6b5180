"""A local control plane: etcd, kube-apiserver, kube-controller-manager and any number of kube-schedulers.

TLS, client certificates and RBAC are on as in a real cluster. There is no kubelet: nodes are plain objects,
and the node lifecycle controller, which would find them dead, is off.
"""

import ssl
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import yaml

from e2e import binaries
from e2e.certs import LOOPBACK, Authority, service_account_key
from e2e.kubeconfig import Kubeconfig
from e2e.processes import Process, Workspace, free_port

_ISSUER = "https://kubernetes.default.svc"
_POLICIES_STABLE = 36  # minor version
# For the hold: before, whoever starts the API server has to switch MutatingAdmissionPolicy on.
_BETA_POLICIES = {
    "feature-gates": "MutatingAdmissionPolicy=true",
    "runtime-config": "admissionregistration.k8s.io/v1beta1=true",
}


class KubectlError(Exception):
    """kubectl refused; the message ends with what it said."""


class ControlPlane:
    """Runs from its creation until `stop`; also a context manager."""

    controllers = "*,-node-lifecycle-controller"
    hosts: tuple[str, ...] = LOOPBACK  # that the server's certificate is for

    def __init__(self) -> None:
        self.programs = binaries.find()
        self.workspace = Workspace()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self.authority = Authority(self.workspace.directory / "pki")
        self.serving = self.authority.server("localhost", self.hosts)
        self._tokens = service_account_key(self.workspace.directory / "pki" / "service-accounts")
        self.etcd = self._start_etcd()
        self.server = self._start_apiserver(self.etcd)
        self.kubeconfig = self.user_kubeconfig("admin", ["system:masters"])
        self._start_controller_manager()

    def apiserver_flags(self) -> Mapping[str, Any]:
        """Beside those that every API server here has."""
        return {}

    def stop(self) -> None:
        """Everything in the plane is thrown away with it, so nothing is asked to end in good order."""
        self.workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def beta_policies(self) -> bool:
        """Whether MutatingAdmissionPolicy is v1beta1."""
        return self.programs.minor() < _POLICIES_STABLE

    def user_kubeconfig(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig file for that user, by client certificate."""
        pair = self.authority.client(user, groups)
        return self._write_kubeconfig(user, Kubeconfig.of(self.server, self.authority.cert, pair))

    def token_kubeconfig(self, name: str, token: str) -> Path:
        """A kubeconfig file for whoever the bearer token stands for."""
        kubeconfig = Kubeconfig(server=self.server, ca=self.authority.cert.read_bytes(), token=token)
        return self._write_kubeconfig(name, kubeconfig)

    def _write_kubeconfig(self, name: str, kubeconfig: Kubeconfig) -> Path:
        return kubeconfig.write(self.workspace.directory / f"{name.replace(':', '-')}.kubeconfig")

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """What kubectl prints for the admin."""
        done = subprocess.run(
            [self.programs.kubectl, f"--kubeconfig={self.kubeconfig}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(arguments)} gave {done.returncode}: {done.stderr}")
        return done.stdout

    def start_scheduler(self, configuration: Mapping[str, Any], name: str = "kube-scheduler") -> Process:
        """Starts a kube-scheduler beside those that run; two must not share a schedulerName.

        The configuration's client connection is completed with the scheduler's own kubeconfig.
        """
        user = self.user_kubeconfig("system:kube-scheduler")
        connection = configuration.get("clientConnection", {}) | {"kubeconfig": str(user)}
        file = self.workspace.directory / f"{name}.yaml"
        file.write_text(yaml.safe_dump({**configuration, "clientConnection": connection}))
        return self._start_component(name, user, self.programs.kube_scheduler, {"config": file})

    def _start_etcd(self) -> str:
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        process = self._run(
            "etcd",
            self.programs.etcd,
            {
                "data-dir": self.workspace.directory / "etcd",
                "listen-client-urls": client,
                "advertise-client-urls": client,
                "listen-peer-urls": peer,
                "initial-advertise-peer-urls": peer,
                "initial-cluster": f"default={peer}",
                "log-level": "warn",
                # The data live as long as the plane: nothing has to reach the disk.
                "unsafe-no-fsync": "true",
            },
            address=client,
        )
        process.wait_healthy(f"{client}/readyz")
        return client

    def _start_apiserver(self, etcd: str) -> str:
        port = free_port()
        server = f"https://127.0.0.1:{port}"
        process = self._run(
            "kube-apiserver",
            self.programs.kube_apiserver,
            {
                "etcd-servers": etcd,
                "bind-address": "127.0.0.1",
                "secure-port": port,
                "tls-cert-file": self.serving.cert,
                "tls-private-key-file": self.serving.key,
                "client-ca-file": self.authority.cert,
                "authorization-mode": "Node,RBAC",
                "service-account-issuer": _ISSUER,
                "service-account-key-file": self._tokens.cert,
                "service-account-signing-key-file": self._tokens.key,
                "service-cluster-ip-range": "10.96.0.0/16",
                # A loopback address is no valid endpoint of the kubernetes Service, which nobody uses here.
                "endpoint-reconciler-type": "none",
                **(_BETA_POLICIES if self.beta_policies else {}),
                **self.apiserver_flags(),
            },
            address=server,
        )
        process.wait_healthy(f"{server}/readyz", self.trusted())
        return server

    def _start_controller_manager(self) -> None:
        user = self.user_kubeconfig("system:kube-controller-manager")
        self._start_component(
            "kube-controller-manager",
            user,
            self.programs.kube_controller_manager,
            {
                "kubeconfig": user,
                "leader-elect": "false",
                "controllers": self.controllers,
                "use-service-account-credentials": "true",
                "service-account-private-key-file": self._tokens.key,
                "root-ca-file": self.authority.cert,
                # The default of 20 requests a second would make a Deployment of thousands take minutes.
                "kube-api-qps": 1_000,
                "kube-api-burst": 2_000,
            },
            probe="healthz",
        )

    def _start_component(
        self, name: str, user: Path, program: Path, flags: Mapping[str, Any], probe: str = "readyz"
    ) -> Process:
        port = free_port()
        common = {
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "tls-cert-file": self.serving.cert,
            "tls-private-key-file": self.serving.key,
            # Lets the admin read its metrics.
            "client-ca-file": self.authority.cert,
            "authentication-skip-lookup": "true",
            "authorization-kubeconfig": user,
        }
        process = self._run(name, program, {**common, **flags}, address=f"https://127.0.0.1:{port}")
        process.wait_healthy(f"{process.address}/{probe}", self.trusted())
        return process

    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority.cert)

    def _run(self, name: str, program: Path, flags: Mapping[str, Any], address: str) -> Process:
        arguments = [f"--{flag}={value}" for flag, value in flags.items()]
        return self.workspace.start(name, [program, *arguments], address)
