"""`octavo serve` imports from private networks only with `--allow-private-imports`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.server.web_server import run_web_server


@pytest.mark.before_release("options1-201")
@pytest.mark.parametrize(("options", "status"), [((), 400), (("--allow-private-imports",), 201)])
def test_import_from_a_private_network_needs_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], status: int
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "README.md").write_text("# Home\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    command = [
        sys.executable,
        "-m",
        "octavo",
        "serve",
        "--data",
        str(tmp_path / "data"),
        "--load",
        str(folder),
        *options,
    ]
    with run_web_server() as web, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            origin = serving.stdout.readline().rpartition(" ")[2].strip()
            key = (tmp_path / "data" / "key").read_text(encoding="ascii").strip()
            with httpx.Client(base_url=origin, headers={"authorization": f"Bearer {key}"}, trust_env=False) as client:
                organization = client.get("/v1/orgs").json()["items"][0]["id"]
                space = client.get(f"/v1/orgs/{organization}/spaces").json()["items"][0]["id"]
                body = {"url": web.put("/new.md", "# New", "text/markdown"), "source": "markdown"}
                made = client.post(f"/v1/spaces/{space}/content/import", json=body)
                assert made.status_code == status
                pages = client.get(f"/v1/spaces/{space}/content/pages").json()["pages"]
                assert [page["title"] for page in pages] == (["Home", "New"] if status == 201 else ["Home"])
        finally:
            serving.terminate()
