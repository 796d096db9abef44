"""Passwords of databases: taken from the environment, and never kept anywhere."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

VARIABLES = ("VELADURA_PASSWORD", "PGPASSWORD")
_FILES = ("duckdb", "sqlite")
_SECRET = ("password", "sslpassword")  # options of a URL; the second opens the client's key
# a password may hold any sign but those that end the place of a URL, or the text it stands in
_IN_PLACE = re.compile(r"""(://[^\s"'/?#:@]*):[^\s"'/?#]*@""")
_IN_QUERY = re.compile(r"""([?&](?:ssl)?password=)[^\s"'&#]*""", re.IGNORECASE)


def has_password(url: str) -> bool:
    """Whether a URL holds a password.

    Examples
    --------
    >>> has_password("postgresql://ana:secret@server/clinic")
    True
    >>> has_password("postgresql://ana@server/clinic")
    False
    >>> has_password("postgresql://ana:@server/clinic")
    False
    """
    parts = urlsplit(url)
    if parts.scheme in _FILES:
        return False
    inside = parts.netloc.rpartition("@")[0].partition(":")[2]
    return bool(inside) or any(
        value for name, value in _query(parts.query) if name.lower() == "password"
    )


def without_password(url: str) -> str:
    """Return a URL without its password, whether it stands before the server or after it.

    Examples
    --------
    >>> without_password("postgresql://ana:a@b@server/clinic?password=x&sslmode=require")
    'postgresql://ana@server/clinic?sslmode=require'
    >>> without_password("postgresql://ana@server/clinic?sslpassword=x")
    'postgresql://ana@server/clinic'
    """
    parts = urlsplit(url)
    if parts.scheme in _FILES:
        return url
    user, at, server = parts.netloc.rpartition("@")
    query = [(name, value) for name, value in _query(parts.query) if name.lower() not in _SECRET]
    place = user.partition(":")[0] + at + server
    if place == parts.netloc and len(query) == len(_query(parts.query)):
        return url  # as it was written
    return urlunsplit(parts._replace(netloc=place, query=urlencode(query)))


def with_password(url: str) -> str:
    """Return a URL with the password of the environment, where it has none of its own."""
    password = next((os.environ[name] for name in VARIABLES if os.environ.get(name)), None)
    if password is None or urlsplit(url).scheme in _FILES or has_password(url):
        return url
    parts = urlsplit(without_password(url))  # an empty one would stand before it
    user, _, server = parts.netloc.rpartition("@")
    if not user:  # the name of the user comes from the environment too (PGUSER)
        query = urlencode([*_query(parts.query), ("password", password)])
        return urlunsplit(parts._replace(query=query))
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{server}"))


def without_passwords(text: str) -> str:
    """Return a text, such as a plan, in which no URL holds a password.

    Examples
    --------
    >>> without_passwords('url = "postgresql://ana:a@b@server/clinic"  # ana')
    'url = "postgresql://ana@server/clinic"  # ana'
    """
    return _IN_QUERY.sub(r"\1", _IN_PLACE.sub(r"\1@", text))


def _query(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True)
