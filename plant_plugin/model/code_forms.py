"""How the codes of a system are written, upper case; by its address in FHIR, without "http://", or by its OID."""

from __future__ import annotations

import re
from collections.abc import Sequence

WHO = "http://hl7.org/fhir/sid/icd-10"
GM = r"[A-Z]\d\d(\.(\d{1,2}|-))?[*+!†]?"
OPS = r"\d-\d[0-9A-Z]{2}(\.[0-9A-Z]{1,3})?"
NUMBERS = r"[1-9]\d*"
FORMS = {
    "hl7.org/fhir/sid/icd-10-cm": r"[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?",
    "hl7.org/fhir/sid/icd-9-cm": r"\d{3}(\.\d\d?)?|V\d\d(\.\d\d?)?|E\d{3}(\.\d)?|\d\d(\.\d\d?)?",
    "hl7.org/fhir/sid/icd-10": GM,
    "fhir.de/codesystem/bfarm/icd-10-gm": GM,
    "fhir.de/codesystem/dimdi/icd-10-gm": GM,
    "fhir.de/codesystem/bfarm/ops": OPS,
    "fhir.de/codesystem/dimdi/ops": OPS,
    "terminology.hl7.org/codesystem/icd-o-3": r"C\d\d(\.\d)?|\d{4}(/\d\d?)?",
    "www.cms.gov/medicare/coding/icd10": r"[0-9A-HJ-NP-Z]{7}",
    "hl7.org/fhir/sid/icd-10-pcs": r"[0-9A-HJ-NP-Z]{7}",
    "www.whocc.no/atc": r"[A-Z](\d\d([A-Z]([A-Z](\d\d)?)?)?)?",
    "id.nlm.nih.gov/mesh": r"[CDQ]\d{6,9}|[A-Z]\d\d(\.\d{3})*",
    "snomed.info/sct": r"[1-9]\d{5,17}",
    "loinc.org": r"\d{1,7}-\d|L[AP]\d+-\d",
    "www.nlm.nih.gov/research/umls/rxnorm": NUMBERS,
}
FORMS |= {
    f"urn:oid:2.16.840.1.113883.6.{number}": FORMS[address]
    for number, address in {
        90: "hl7.org/fhir/sid/icd-10-cm", 103: "hl7.org/fhir/sid/icd-9-cm", 104: "hl7.org/fhir/sid/icd-9-cm",
        3: "hl7.org/fhir/sid/icd-10", 4: "www.cms.gov/medicare/coding/icd10", 96: "snomed.info/sct", 1: "loinc.org",
        88: "www.nlm.nih.gov/research/umls/rxnorm", 73: "www.whocc.no/atc", 177: "id.nlm.nih.gov/mesh",
    }.items()
}  # fmt: skip
CASED = frozenset(address for address, form in FORMS.items() if form == OPS)  # letters are lower case there
# Forms that tell a system, the narrower ones first; codes of several have all of these.
TELLING = {
    "http://terminology.hl7.org/CodeSystem/icd-o-3": r"C[0-7]\d(\.\d)?|C80(\.\d)?|\d{4}/\d\d?",
    WHO: r"[A-Z]\d\d(\.\d)?",
    "http://fhir.de/CodeSystem/bfarm/icd-10-gm": GM,
    "http://fhir.de/CodeSystem/bfarm/ops": r"[135689]-\d[0-9A-Z]{2}(\.[0-9A-Z]{1,3})?",
    "http://www.whocc.no/atc": r"[A-DGHJL-NPR-SV]\d\d[A-Z][A-Z](\d\d)?",
    "http://id.nlm.nih.gov/mesh": r"[CD]\d{6,9}|[A-Z]\d\d(\.\d{3})+",
    "http://snomed.info/sct": r"[1-9]\d{5,17}",
    "http://loinc.org": r"\d{1,7}-\d|L[AP]\d+-\d",
    "http://hl7.org/fhir/sid/icd-9-cm": FORMS["hl7.org/fhir/sid/icd-9-cm"],
    "http://hl7.org/fhir/sid/icd-10-cm": FORMS["hl7.org/fhir/sid/icd-10-cm"],
}


def fitting_systems(labels: Sequence[str]) -> list[str]:
    """Return the addresses of the systems as whose codes all labels are written."""
    return [address for address, form in TELLING.items()
            if labels and all(re.fullmatch(form, label.upper()) for label in labels)]  # fmt: skip
