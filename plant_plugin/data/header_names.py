"""What people call the columns of texts, labels and ids, in several languages."""

from __future__ import annotations

import re
import unicodedata

CASES = re.compile(r"(?<=[a-z])(?=[A-Z])")  # within noteText


def _parts(name: str) -> set[str]:
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    return {part for part in re.split(r"(?:[\W_]|(?<![^\W_])\d+(?![^\W_]))+", CASES.sub("_", plain).lower()) if part}


# Parts of such a name, without accents: `note_text`, `icd10_codes`, `Código`.
WORDS = _parts(
    """
    abstract body categories category class classes code codes content description diagnoses diagnosis doc docid
    document file filename hadm icd icd10 icd9 id identifier label labels note notes report subject subjects summary
    tag tags target targets text texts title topic topics txt
    befund bericht beschreibung diagnose diagnosen kategorie schlagwort schlagworte titel
    codigo codigos descripcion diagnostico diagnosticos documento etiqueta etiquetas informe rotulo rotulos texte texto
    titulo cod code diagnostic diagnostics etiquette etiquettes rendu titre codice codici etichetta referto testo
    kod koder kode tekst etykieta etykiety rozpoznanie opis treść štítek štítky popis címke címkék szöveg leírás
    etikett etiketter etiket etiketten mærkat mærkater merkelapp luokka luokat tunniste asiasana asiasanat teksti metin
    etiketler açıklama ετικέτα ετικέτες κείμενο eticheta etichete метки мітка текст описание диагноз диагнозы
    التسميات التسمية النص ריט תוויות טקסט लेबल पाठ ป้ายกำกับ ข้อความ nhãn
    clinical discharge drg mesh sentence sentences snomed uri uris
    文本 标签 内容 类别 病历 诊断 テキスト ラベル 本文 텍스트 라벨 текст метка код
    """
)


def header_words(name: str) -> set[str]:
    """Return the parts of a name that people call columns by."""
    return _parts(name) & WORDS


def is_header_name(name: str) -> bool:
    """Tell whether a cell is a name of a column by all of its parts."""
    parts = _parts(name)
    return bool(parts) and parts <= WORDS
