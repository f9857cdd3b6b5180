"""A real Karmada without containers: its programs beside a control plane, and control planes as members."""

import base64
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from e2e import binaries, fake, karmada_binaries, objects, scheduler
from e2e.api import Api
from e2e.certs import LOOPBACK
from e2e.kubelets import Kubelets
from e2e.plane import ControlPlane
from e2e.processes import Process, free_port

SYSTEM = "karmada-system"
SECRETS = "karmada-cluster"
_AGGREGATED = f"karmada-aggregated-apiserver.{SYSTEM}.svc"
_WEBHOOK = f"karmada-webhook.{SYSTEM}.svc"
_FRONT_PROXY = "front-proxy-client"


class Hub(ControlPlane):
    """Karmada's API server with its aggregated one, webhook and controller manager; no scheduler."""

    controllers = ",".join(
        f"{name}-controller"
        for name in (
            "namespace",
            "garbage-collector",
            "serviceaccount-token",
            "serviceaccount",
            "ttl-after-finished",
            "clusterrole-aggregation",
        )
    )
    hosts = (*LOOPBACK, _AGGREGATED, _WEBHOOK)

    def __init__(self, *, webhook: bool = True) -> None:
        """Without the webhook only schedulers can be tested: it gives objects their permanent ids."""
        self._webhook = webhook
        self._programs = karmada_binaries.find()
        self._module = karmada_binaries.module()
        super().__init__()
        try:
            self.api = Api(self.kubeconfig)
            self._start_karmada()
        except BaseException:
            self.stop()
            raise

    def apiserver_flags(self) -> Mapping[str, Any]:
        proxy = self.authority.client(_FRONT_PROXY)
        return {
            "requestheader-client-ca-file": self.authority.cert,
            "requestheader-allowed-names": _FRONT_PROXY,
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-username-headers": "X-Remote-User",
            "proxy-client-cert-file": proxy.cert,
            "proxy-client-key-file": proxy.key,
            "disable-admission-plugins": "StorageObjectInUseProtection,ServiceAccount",
        }

    def _start_karmada(self) -> None:
        for name in (SYSTEM, SECRETS):
            self.api.create(objects.namespace(name))
        self._start_aggregated()
        crds = self._module / "charts" / "karmada" / "_crds" / "bases"
        self.kubectl("apply", "--server-side", "-R", "-f", str(crds))
        if self._webhook:
            self._start_webhook()

    def _start_aggregated(self) -> None:
        port = free_port()
        process = self.workspace.start(
            "karmada-aggregated-apiserver",
            [
                self._programs / "aggregated-apiserver",
                *(
                    f"--{kind}kubeconfig={self.kubeconfig}"
                    for kind in ("", "authentication-", "authorization-")
                ),
                f"--etcd-servers={self.etcd}",
                "--etcd-prefix=/registry",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                f"--tls-cert-file={self.serving.cert}",
                f"--tls-private-key-file={self.serving.key}",
            ],
            f"https://127.0.0.1:{port}",
        )
        process.wait_healthy(f"{process.address}/readyz", self.trusted())
        name = "karmada-aggregated-apiserver"
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": SYSTEM},
                "spec": {"type": "ExternalName", "externalName": "localhost"},
            }
        )
        service = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1alpha1.cluster.karmada.io"},
            "spec": {
                "group": "cluster.karmada.io",
                "version": "v1alpha1",
                "groupPriorityMinimum": 2000,
                "versionPriority": 10,
                "caBundle": self._ca(),
                "service": {"name": name, "namespace": SYSTEM, "port": port},
            },
        }
        self.api.request("POST", "/apis/apiregistration.k8s.io/v1/apiservices", service)
        self.kubectl(
            "wait", "--for=condition=Available", "apiservice/v1alpha1.cluster.karmada.io", "--timeout=120s"
        )

    def _start_webhook(self) -> None:
        port = free_port()
        directory = self.workspace.directory / "webhook"
        directory.mkdir()
        for file, source in (("tls.crt", self.serving.cert), ("tls.key", self.serving.key)):
            (directory / file).write_bytes(source.read_bytes())
        process = self.workspace.start(
            "karmada-webhook",
            [
                self._programs / "webhook",
                f"--kubeconfig={self.kubeconfig}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                f"--cert-dir={directory}",
                "--allow-no-execute-taint-policy=true",
                "--metrics-bind-address=127.0.0.1:0",
                "--health-probe-bind-address=127.0.0.1:0",
            ],
            f"https://127.0.0.1:{port}",
        )
        process.wait_healthy(f"{process.address}/readyz/", self.trusted())
        text = (self._module / "artifacts" / "deploy" / "webhook-configuration.yaml").read_text()
        text = text.replace(f"https://{_WEBHOOK}:443", f"https://127.0.0.1:{port}")
        self.kubectl("apply", "-f", "-", stdin=text.replace("{{caBundle}}", self._ca()))

    def start_controller_manager(self) -> Process:
        """Members that fall silent are found not ready within seconds; taints evict."""
        return self._start_with_health(
            "controller-manager",
            "--cluster-status-update-frequency=2s",
            "--cluster-success-threshold=1s",
            "--cluster-failure-threshold=3s",
            "--cluster-startup-grace-period=10s",
            "--cluster-monitor-period=2s",
            "--cluster-monitor-grace-period=10s",
            "--feature-gates=Failover=true",
            "--enable-no-execute-taint-eviction=true",
        )

    def start_stock_scheduler(self, *flags: str) -> Process:
        return self._start_with_health("scheduler", *flags)

    def _start_with_health(self, program: str, *flags: str) -> Process:
        health = free_port()
        process = self.workspace.start(
            f"karmada-{program}",
            [
                self._programs / program,
                f"--kubeconfig={self.kubeconfig}",
                "--leader-elect=false",
                "--metrics-bind-address=127.0.0.1:0",
                f"--health-probe-bind-address=127.0.0.1:{health}",
                *flags,
            ],
            f"http://127.0.0.1:{health}",
        )
        process.wait_healthy(f"{process.address}/healthz")
        return process

    def join(self, member: "Member", **spec: Any) -> None:
        """As karmadactl does: two Secrets and a Cluster."""
        secrets = {
            "": {"token": member.token, "caBundle": member.ca},
            "-impersonator": {"token": member.token},
        }
        for suffix, data in secrets.items():
            name = f"{member.name}{suffix}"
            body = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "namespace": SECRETS},
                "stringData": data,
            }
            self.api.create(body)
        self.api.create(
            {
                "apiVersion": "cluster.karmada.io/v1alpha1",
                "kind": "Cluster",
                "metadata": {"name": member.name},
                "spec": {
                    "syncMode": "Push",
                    "apiEndpoint": member.server,
                    "secretRef": {"name": member.name, "namespace": SECRETS},
                    "impersonatorSecretRef": {"name": f"{member.name}-impersonator", "namespace": SECRETS},
                    **spec,
                },
            }
        )

    def _ca(self) -> str:
        return base64.b64encode(self.authority.cert.read_bytes()).decode()


class Member(ControlPlane):
    """A cluster with its own kube-scheduler, and a stand-in for the kubelets of its fake nodes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        super().__init__()
        try:
            self.api = Api(self.kubeconfig)
            self.start_scheduler(scheduler.configuration())
            self.token = self._admin_token()
            self.ca = self.authority.cert.read_text()
            self.kubelets = Kubelets(self.api)
        except BaseException:
            self.stop()
            raise

    def _admin_token(self) -> str:
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "karmada", "namespace": "kube-system"},
        }
        self.api.create(account)
        self.api.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "karmada"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "cluster-admin",
                },
                "subjects": [{"kind": "ServiceAccount", "name": "karmada", "namespace": "kube-system"}],
            }
        )
        return fake.service_account_token(self.api, "kube-system", "karmada")

    def stop(self) -> None:
        if hasattr(self, "kubelets"):
            self.kubelets.stop()
        super().stop()

    def kill_apiserver(self) -> None:
        """The member falls silent; its pods would run on."""
        self.alive = False
        self.kubelets.stop()
        next(process for process in self.workspace.processes if process.name == "kube-apiserver").kill()

    def running(self, namespace: str, app: str) -> int:
        pods = self.api.read(f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"app={app}")["items"]
        return sum(pod["status"].get("phase") == "Running" for pod in pods)


class Fleet:
    """A hub and members, started side by side."""

    def __init__(self, *names: str) -> None:
        binaries.find()
        with ThreadPoolExecutor(len(names) + 1) as threads:
            hub = threads.submit(Hub)
            members = {name: threads.submit(Member, name) for name in names}
        starts: list[Future[Any]] = [hub, *members.values()]
        try:
            self.hub: Hub = hub.result()
            self.members: dict[str, Member] = {name: each.result() for name, each in members.items()}
        except BaseException:
            for each in starts:
                if each.exception() is None:
                    each.result().stop()
            raise

    def stop(self) -> None:
        for plane in (*self.members.values(), self.hub):
            plane.stop()
