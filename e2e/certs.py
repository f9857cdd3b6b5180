"""A certificate authority for one test run: server and client certificates that live for a day."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = dt.timedelta(days=1)
# A clock that is a little behind must not refuse a certificate made a moment ago.
_CLOCK_SKEW = dt.timedelta(minutes=5)
LOOPBACK = ("localhost", "127.0.0.1")


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """A certificate and its key as PEM files."""

    cert: Path
    key: Path


class Authority:
    """Issues what it is asked for, as files in its directory; `cert` is what others trust."""

    def __init__(self, directory: Path, name: str = "tradewind-e2e") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._name = _subject(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _unsigned(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.cert = directory / f"{name}.crt"
        self.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def write_key(self, path: Path) -> None:
        """For programs that sign for themselves."""
        path.write_bytes(_pem(self._key))

    def server(self, name: str, hosts: Sequence[str] = LOOPBACK) -> KeyPair:
        alternatives = x509.SubjectAlternativeName([_host(host) for host in hosts])
        return self._issue(name, _subject(name), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """Kubernetes reads the common name as the user and each organisation as a group."""
        return self._issue(user, _subject(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(
        self,
        name: str,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None = None,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _unsigned(subject, self._name, key.public_key())
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        pem = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        file = name.replace(":", "-")
        return _write(self._directory / file, pem, key)


def service_account_key(path: Path) -> KeyPair:
    """The key pair that signs and checks service account tokens; `cert` holds the bare public key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _write(path, public, key)


def _write(base: Path, pem: bytes, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> KeyPair:
    pair = KeyPair(cert=base.with_name(f"{base.name}.crt"), key=base.with_name(f"{base.name}.key"))
    pair.cert.write_bytes(pem)
    pair.key.touch(mode=0o600)
    pair.key.write_bytes(_pem(key))
    return pair


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _subject(name: str, groups: Sequence[str] = ()) -> x509.Name:
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _unsigned(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
