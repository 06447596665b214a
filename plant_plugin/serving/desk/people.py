"""Who may sit at a desk: coders with their tokens, and sign-ins that end.

A token is 256 random bits, so its plain SHA-256 is kept: nobody can try as many as it would take to find one, and a
slow hash, which helps where people choose a word, would only let strangers keep the processor busy.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from dataclasses import dataclass

from sqlalchemy import Engine, delete, insert, select, update

from plant_plugin.errors import ConfigError
from plant_plugin.serving.desk.tables import WRITES, coders, sessions

CODER, LEAD = "coder", "lead"
MODEL = "model"  # what figures call the model beside coders
NAME = re.compile(rf"(?!{MODEL}\Z)[\w.@-]{{1,60}}")
EVERYBODY = select(coders.c.id, coders.c.name, coders.c.role).order_by(coders.c.id)
LONGEST, IDLE = 12 * 3600.0, 3600.0  # seconds after which a sign-in ends, in all and without a request


@dataclass(frozen=True)
class Coder:
    """Somebody who may sit at the desk."""

    id: int
    name: str
    role: str


@dataclass(frozen=True)
class SignIn:
    """A sign-in as the browser gets it: ``secret`` for its cookie, ``csrf`` for its page."""

    coder: Coder
    secret: str

    @property
    def csrf(self) -> str:
        """The word that each request repeats which changes something; no other site can read it."""
        return hmac.digest(self.secret.encode(), b"csrf", "sha256").hex()


class People:
    """The coders of a desk."""

    def __init__(self, engine: Engine) -> None:
        self._read, self._write = engine, engine.execution_options(**{WRITES: True})

    def add(self, name: str, role: str = CODER) -> str:
        """Make an account and return its token, which is shown this once.

        Raises:
            ConfigError: The name cannot be one, or is taken.
        """
        if NAME.fullmatch(name) is None:
            fix = f"up to 60 letters, digits and . @ - _; `{MODEL}` is the model in figures"
            raise ConfigError("this cannot be a coder's name", where="NAME", fix=fix)
        token = secrets.token_urlsafe(32)
        with self._write.begin() as connection:
            if connection.scalar(select(coders.c.id).where(coders.c.name == name)) is not None:
                fix = "choose another, or `plant desk new-token` for another token"
                raise ConfigError("there is a coder of this name", where="NAME", fix=fix)
            connection.execute(insert(coders).values(name=name, role=role, token=_hash(token)))
        return token

    def renew(self, name: str, *, close: bool = False) -> str:
        """End a coder's sign-ins and token; return a new token, with ``close`` one that opens nothing."""
        token, coder = secrets.token_urlsafe(32), self.named(name)
        with self._write.begin() as connection:
            token_hash = None if close else _hash(token)
            connection.execute(update(coders).where(coders.c.id == coder.id).values(token=token_hash))
            connection.execute(delete(sessions).where(sessions.c.coder == coder.id))
        return token

    def named(self, name: str) -> Coder:
        """Return the coder of a name; a ConfigError where there is none."""
        coders_of_it = [coder for coder in self.all() if coder.name == name]
        if not coders_of_it:
            raise ConfigError("there is no coder of this name", where="NAME", fix="see `plant desk agreement`")
        return coders_of_it[0]

    def all(self) -> list[Coder]:
        """Return everybody, in the order of their accounts."""
        with self._read.begin() as connection:
            return [Coder(*row) for row in connection.execute(EVERYBODY)]

    def sign_in(self, token: str) -> SignIn | None:
        """Begin a sign-in; None where no coder has the token."""
        now, secret = time.time(), secrets.token_urlsafe(32)
        wanted = EVERYBODY.where(coders.c.token == _hash(token))
        with self._read.begin() as connection:  # whoever has no token takes no lock
            if connection.execute(wanted).first() is None:
                return None
        with self._write.begin() as connection:
            row = connection.execute(wanted).first()
            if row is None:  # it was closed meanwhile
                return None
            over = (sessions.c.started < now - LONGEST) | (sessions.c.seen < now - IDLE)
            connection.execute(delete(sessions).where(over))
            connection.execute(insert(sessions).values(hash=_hash(secret), coder=row.id, started=now, seen=now))
        return SignIn(Coder(*row), secret)

    def signed_in(self, secret: str) -> SignIn | None:
        """Return the sign-in of a browser's secret; None where it is over or never was."""
        now, mine = time.time(), sessions.c.hash == _hash(secret)
        wanted = (
            EVERYBODY.add_columns(sessions.c.seen)
            .join_from(coders, sessions)
            .where(mine, sessions.c.started >= now - LONGEST, sessions.c.seen >= now - IDLE)
        )
        with self._read.begin() as connection:
            row = connection.execute(wanted).first()
        if row is None:
            return None
        if row.seen < now - IDLE / 60:  # not at each request: a write costs more than a read
            with self._write.begin() as connection:
                connection.execute(update(sessions).where(mine).values(seen=now))
        return SignIn(Coder(*row[:3]), secret)

    def sign_out(self, secret: str) -> None:
        """End a sign-in."""
        with self._write.begin() as connection:
            connection.execute(delete(sessions).where(sessions.c.hash == _hash(secret)))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
