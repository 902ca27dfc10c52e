"""TLS certificates on real connections."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest

from octavo.api import users
from octavo.api.errors import ApiError, Outcome, TlsError
from tests.client.conftest import Connect
from tests.client.http_server import HttpServer, reply
from tests.client.test_client import MIA

x509 = pytest.importorskip(
    "cryptography.x509", reason="cryptography creates the certificates; keyring installs it on Linux only"
)

ME = users.Me()
DAY = timedelta(days=1)


class Authority:
    """A certificate authority for this machine. `file` is its certificate."""

    def __init__(self, folder: Path) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Octavo test authority")])
        certificate = self._sign(self._name, self._key, x509.BasicConstraints(ca=True, path_length=None), DAY)
        self.file = folder / "authority.pem"
        self.file.write_bytes(certificate)

    def server(self, address: str = "127.0.0.1", valid: timedelta = DAY) -> ssl.SSLContext:
        """Return the TLS settings of a server with a certificate for `address`."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        chain = self._folder / "server.pem"
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        chain.write_bytes(secret + self._sign(x509.Name([]), key, names, valid))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context

    def _sign(self, subject, key, extension, valid: timedelta) -> bytes:  # type: ignore[no-untyped-def]  # cryptography may not be installed
        from cryptography.hazmat.primitives import hashes, serialization

        now = datetime.now(UTC)
        built = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 30 * DAY)
            .not_valid_after(now + valid)
            .add_extension(extension, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        return bytes(built.public_bytes(serialization.Encoding.PEM))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def call_and_catch(
    connect: Connect, tls: ssl.SSLContext, ca_file: Path | None = None
) -> tuple[ApiError, HttpServer]:
    async with HttpServer(lambda _: reply(200, MIA), tls=tls) as server:
        with pytest.raises(ApiError) as caught:
            await connect(server.origin, ca_file=ca_file)(ME)
    return caught.value, server


async def test_private_certificate_authority_is_trusted_by_its_file(connect: Connect, authority: Authority) -> None:
    async with HttpServer(lambda _: reply(200, MIA), tls=authority.server()) as server:
        assert (await connect(server.origin, ca_file=authority.file)(ME)).id == "mia"


async def test_environment_names_the_certificate_file(
    connect: Connect, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with HttpServer(lambda _: reply(200, MIA), tls=authority.server()) as server:
        assert (await connect(server.origin)(ME)).id == "mia"


@pytest.mark.parametrize("problem", ["unknown authority", "another address", "expired"])
async def test_invalid_certificate_is_reported_without_retries(
    connect: Connect, authority: Authority, problem: str
) -> None:
    address = "127.0.0.9" if problem == "another address" else "127.0.0.1"
    tls = authority.server(address, -DAY if problem == "expired" else DAY)
    error, server = await call_and_catch(connect, tls, None if problem == "unknown authority" else authority.file)
    assert isinstance(error, TlsError)
    assert error.outcome is Outcome.NOT_SENT
    assert error.trace.attempts == 1
    assert "The certificate of 127" in str(error)
    assert server.requests == []


async def test_server_without_tls_is_reported_without_retries(connect: Connect) -> None:
    calls = 0

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        try:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    with pytest.raises(TlsError, match="The TLS connection to"):
        await connect(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")(ME)
    server.close()
    assert calls == 1


@pytest.mark.parametrize("address", ["127.0.0.9", "127.0.0.1"])
async def test_certificate_is_checked_for_the_host_name_not_the_address(authority: Authority, address: str) -> None:
    from octavo.client.http import HttpTransport
    from octavo.client.responses import OutgoingRequest

    async with HttpServer(lambda _: reply(body=b"bytes"), tls=authority.server(address)) as server:
        port = server.origin.rpartition(":")[2]
        transport = HttpTransport(f"https://127.0.0.9:{port}", None, ca_file=authority.file, ip_address="127.0.0.1")
        if address == "127.0.0.9":
            async with transport.send(OutgoingRequest("GET", "/x")) as answer:
                assert [chunk async for chunk in answer.chunks] == [b"bytes"]
            assert server.requests[0].headers["host"] == f"127.0.0.9:{port}"
            assert "authorization" not in server.requests[0].headers
        else:
            with pytest.raises(TlsError):
                async with transport.send(OutgoingRequest("GET", "/x")):
                    pass
            assert server.requests == []
        await transport.aclose()
