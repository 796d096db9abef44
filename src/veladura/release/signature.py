"""The custodian's signature: that a folder is what the holder released, and nothing else.

Ed25519 (RFC 8032). What is signed is the SHA-256 of the list of checksums, which covers every file,
after a sentence that no other program signs, with the version of the manifest.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base import shapes
from veladura.base.private_files import private_file
from veladura.errors import FolderError, PlanError, PromiseError
from veladura.release.door import VERSION, read_manifest
from veladura.release.folder import SIGNATURE, SUMS, file_hash, is_plain, read_json, write_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

FORMAT = "veladura-signature"
PUBLIC = ".pub"
HASH, BASE64 = re.compile("[0-9a-f]{64}"), re.compile("[A-Za-z0-9+/]{86}==")  # 32 and 64 bytes
MOST_KEY = 10_000  # bytes of a key file
_SHAPE = shapes.table(
    {
        "format": shapes.one_of(FORMAT),
        "version": shapes.whole(1, 1),
        "algorithm": shapes.one_of("ed25519"),
        "key": shapes.text,
        "signature": shapes.text,
    }
)


def new_key(path: str | Path) -> tuple[Path, Path]:
    """Make a key to sign releases with; return its file and that of the public part.

    The first stays with the custodian: only its owner may read it. The second, with ``.pub`` after
    its name, is handed out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     key, public = new_key(f"{home}/custodian.key")
    ...     public.read_text().splitlines()[0]
    '-----BEGIN PUBLIC KEY-----'
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private, public = Path(path), Path(f"{path}{PUBLIC}")
    for file in (private, public):
        if file.exists():
            msg = f"{file} exists already.\n\nHint: name another file; a key is never replaced."
            raise FolderError(msg)
    key = Ed25519PrivateKey.generate()
    try:
        with private_file(private) as stream:
            stream.write(
                key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
            )
        public.write_bytes(
            key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        )
    except OSError as error:
        msg = f"{private} could not be written: {error.strerror}."
        raise FolderError(msg) from None
    return private, public


def sign(folder: str | Path, key: str | Path) -> str:
    """Sign a release folder; return its digest, the SHA-256 of its list of checksums.

    A folder that does not verify is refused. The signature is a file beside the list.

    Parameters
    ----------
    key
        The file of the custodian's key, which `new_key` made.
    """
    from veladura.release.verify import refuse_broken

    path, secret = Path(folder), _private_key(Path(key))
    refuse_broken(path, "It was not signed.")
    digest = file_hash(path / SUMS)
    version = read_manifest(path)["version"]
    content = {
        "format": FORMAT,
        "version": 1,
        "algorithm": "ed25519",
        "key": fingerprint(secret.public_key()),
        "signature": b64encode(secret.sign(_message(digest, version))).decode(),
    }
    try:
        write_json(path / SIGNATURE, content)
    except OSError as error:
        msg = f"{path / SIGNATURE} could not be written: {error.strerror}."
        raise FolderError(msg) from None
    return digest


def signed_by(folder: Path, key: str | Path) -> str:
    """Return why a folder is not signed with a key; an empty text if it is.

    Parameters
    ----------
    key
        The file of the custodian's public key.
    """
    from cryptography.exceptions import InvalidSignature

    public = _public_key(Path(key))
    if not is_plain(folder / SIGNATURE):
        return "it has no signature"
    try:
        content = read_signature(folder)
        message = _message(file_hash(folder / SUMS), VERSION)
        public.verify(b64decode(content["signature"], validate=True), message)
    except (PromiseError, OSError, ValueError):
        return f"{SIGNATURE} cannot be read"
    except InvalidSignature:
        other = content["key"] != fingerprint(public)
        return "another key signed it" if other else "it was changed after it was signed"
    return ""


def read_signature(folder: Path) -> dict[str, Any]:
    """Return the signature of a folder."""
    content = read_json(folder / SIGNATURE)
    wrong = _SHAPE(content)
    if not wrong and not HASH.fullmatch(content["key"]):
        wrong = "key: no SHA-256"
    if not wrong and not BASE64.fullmatch(content["signature"]):
        wrong = "signature: not 64 bytes in base64"
    if wrong:
        msg = f"{SIGNATURE} was cut off or edited: {wrong}."
        raise PromiseError(msg)
    return dict(content)


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of a public key, by which people compare keys."""
    return sha256(key.public_bytes_raw()).hexdigest()


def key_fingerprint(path: str | Path) -> str:
    """Return the fingerprint of a public key from its file."""
    return fingerprint(_public_key(Path(path)))


def _message(digest: str, version: int) -> bytes:
    """Return what is signed: no other program signs a text that starts like this."""
    return f"veladura release signature 1\nmanifest {version}\n{SUMS} sha256 {digest}\n".encode()


def _private_key(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = _read_key(path, lambda content: load_pem_private_key(content, None))
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(path, "Ed25519 private key")
    return key


def _public_key(path: Path) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = _read_key(path, load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key(path, "Ed25519 public key")
    return key


def _read_key(path: Path, read: Any) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        if path.stat().st_size > MOST_KEY:
            return None
        return read(path.read_bytes())
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        return None


def _no_key(path: Path, what: str) -> PlanError:
    msg = (
        f"{path} is no file with an {what}.\n\nHint: veladura sign --new-key FILE makes a key, and"
        f" FILE{PUBLIC}, its public part."
    )
    return PlanError(msg)
