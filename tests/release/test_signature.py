"""A signature proves that a folder is the one that the holder of a key released."""

from __future__ import annotations

import json
import shutil
import stat
from hashlib import sha256

import pandas as pd
import pytest

import veladura as vd
from veladura.errors import FolderError, PlanError, PromiseError
from veladura.release.verify import holds, verify


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A release, and two keys of which the first is the holder's."""
    home = tmp_path_factory.mktemp("signed")
    table = pd.DataFrame({"x": range(60)})
    vd.Recode(columns={"x": {"round": 10}}).protect(table).save(
        home / "out" / "release", custodian=home / "safe" / "record"
    )
    for name in ("holder.key", "enemy.key"):
        vd.new_key(home / name)
    return home


@pytest.fixture
def signed(home, tmp_path):
    folder = shutil.copytree(home / "out" / "release", tmp_path / "release")
    vd.sign(folder, home / "holder.key")
    return folder


def test_a_signature_holds_with_the_public_key_of_the_holder_only(home, signed):
    assert holds(verify(signed, key=home / "holder.key.pub"))
    lines = verify(signed, key=home / "enemy.key.pub")
    assert [line.detail for line in lines if line.status == "broken"] == ["another key signed it"]


def test_the_key_is_for_its_owner_only_and_never_replaced(home):
    assert stat.S_IMODE((home / "holder.key").stat().st_mode) == 0o600
    with pytest.raises(FolderError, match="exists already"):
        vd.new_key(home / "holder.key")
    assert b"PRIVATE" not in (home / "holder.key.pub").read_bytes()


def test_the_signed_message_is_the_one_in_the_docs(home, signed):
    """Whoever has an Ed25519 library can verify a release without us."""
    from base64 import b64decode

    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    public = load_pem_public_key((home / "holder.key.pub").read_bytes())
    content = json.loads((signed / "SHA256SUMS.sig").read_text(encoding="utf-8"))
    digest = sha256((signed / "SHA256SUMS").read_bytes()).hexdigest()
    message = f"veladura release signature 1\nmanifest 1\nSHA256SUMS sha256 {digest}\n"
    public.verify(b64decode(content["signature"]), message.encode())


def changed_and_rehashed(folder, home):
    from veladura.release.folder import write_hashes

    report = folder / "report.html"
    report.write_text(report.read_text(encoding="utf-8") + "<p>more", encoding="utf-8")
    write_hashes(folder)


def signed_by_the_enemy(folder, home):
    vd.sign(folder, home / "enemy.key")


def named_as_the_holder(folder, home):
    """Signed by the enemy, with the fingerprint of the holder's key."""
    path = folder / "SHA256SUMS.sig"
    mine = json.loads(path.read_text(encoding="utf-8"))["key"]
    vd.sign(folder, home / "enemy.key")
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "key": mine}), encoding="utf-8")


def cut_off(folder, home):
    (folder / "SHA256SUMS.sig").write_text("{}", encoding="utf-8")


def taken_away(folder, home):
    (folder / "SHA256SUMS.sig").unlink()


def not_base64(folder, home):
    path = folder / "SHA256SUMS.sig"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "signature": "§"}), encoding="utf-8")


@pytest.mark.parametrize(
    "forge",
    [
        changed_and_rehashed,
        signed_by_the_enemy,
        named_as_the_holder,
        cut_off,
        taken_away,
        not_base64,
    ],
)
def test_forgeries_are_broken(forge, home, signed):
    forge(signed, home)
    assert not holds(verify(signed, key=home / "holder.key.pub"))


def test_without_the_key_a_signature_is_only_attested(signed):
    statuses = {line.claim: line.status for line in verify(signed)}
    assert statuses["The folder has a signature."] == "attested"
    assert "broken" not in statuses.values()


def test_a_digest_told_by_another_way(home, signed):
    digest = vd.sign(signed, home / "holder.key")
    assert digest == sha256((signed / "SHA256SUMS").read_bytes()).hexdigest()
    assert holds(verify(signed, digest=f" SHA256:{digest.upper()}\n"))
    assert not holds(verify(signed, digest="0" * 64))


def test_what_does_not_verify_is_not_signed(home, signed):
    (signed / "extra.txt").write_text("x", encoding="utf-8")
    with pytest.raises(PromiseError, match="was not signed"):
        vd.sign(signed, home / "holder.key")


@pytest.mark.parametrize("name", ["none.key", "holder.key.pub", "out"])
def test_a_file_that_is_no_key_is_told_in_words(name, home, signed):
    with pytest.raises(PlanError, match="no file with an Ed25519 private key"):
        vd.sign(signed, home / name)


def test_the_commands(veladura, home, tmp_path):
    shutil.copytree(home / "out" / "release", tmp_path / "release")
    made = veladura("sign", "release", "--new-key", "c.key", cwd=tmp_path)
    assert made.returncode == 0
    digest = sha256((tmp_path / "release" / "SHA256SUMS").read_bytes()).hexdigest()
    assert digest in made.stdout
    proved = veladura("verify", "release", "--key", "c.key.pub", "--digest", digest, cwd=tmp_path)
    assert proved.returncode == 0
    assert "is the one that the holder released" in " ".join(proved.stdout.split())
    plain = veladura("verify", "release", cwd=tmp_path)
    assert "Anyone can write one" in " ".join(plain.stdout.split())
    other = veladura("verify", "release", "--key", home / "enemy.key.pub", cwd=tmp_path)
    assert other.returncode == 4
    assert veladura("sign", cwd=tmp_path).returncode == 2
    assert veladura("sign", "release", cwd=tmp_path).returncode == 2
