"""The page of ``plant explain``."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.model.page import page

ATTACK = "sign3x </script><script>document.title='broken'</script> <img src=x onerror=alert(1)> {{script}} <!-- [bold]"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def predictor(trained: Path) -> Predictor:
    return Predictor.load(trained, device="cpu", names={"L3": "the <third>"}.get)


class Reader(HTMLParser):
    """What a browser would see: tags, and the content of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_data(self, data: str) -> None:
        if self._open in self.inside:
            self.inside[self._open][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._open = ""


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_markup_in_a_note_stays_text(predictor: Predictor) -> None:
    reader = read(page([predictor.explain(ATTACK, ["L3"])]))
    data, script = reader.inside["script"]
    assert json.loads(data)["text"] == ATTACK
    assert json.loads(data)["models"][0]["labels"][0]["name"] == "the <third>"
    names = [name for name, _ in reader.tags]
    assert names.count("script") == 2
    assert not {"img", "b", "link", "iframe"} & set(names)
    assert "innerHTML" not in script
    assert "insertAdjacentHTML" not in script


def test_only_its_own_script_may_run_and_nothing_is_fetched(predictor: Predictor) -> None:
    text = page([predictor.explain("sign3x")])
    reader = read(text)
    policy = next(values["content"] for tag, values in reader.tags if "http-equiv" in values)
    assert policy is not None
    for kind, content in (("style", reader.inside["style"][0]), ("script", reader.inside["script"][1])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"https?://|@import|url\(", text)
    assert not any({"src", "href"} & values.keys() and values.get("href") != "#document" for _, values in reader.tags)
    assert not any(key.startswith("on") for _, values in reader.tags for key in values)


def test_what_a_page_needs_for_everybody(predictor: Predictor) -> None:
    tags = read(page([predictor.explain("sign3x")])).tags
    assert ("html", {"lang": "en"}) in tags
    names = [name for name, _ in tags]
    assert {"title", "main", "nav", "h1", "h2", "fieldset", "legend", "noscript"} <= set(names)
    assert any(values.get("role") == "status" and values.get("aria-live") == "polite" for _, values in tags)
    assert any(values.get("name") == "viewport" for _, values in tags)


def test_numbers_of_the_page_are_those_of_the_explanation(predictor: Predictor) -> None:
    explanation = predictor.explain("filler1 sign3x", ["L3"])
    label = json.loads(read(page([explanation])).inside["script"][0])["models"][0]["labels"][0]
    evidence = explanation.labels[0]
    assert label["words_sum"] + label["bias"] + label["planted"] + label["elsewhere"] == pytest.approx(
        label["logit"], abs=1e-3
    )
    for place, attention, contribution, relevance in label["words"]:
        assert evidence.contribution is not None
        assert evidence.relevance is not None
        assert (attention, contribution, relevance) == pytest.approx(
            (evidence.attention[place], evidence.contribution[place], evidence.relevance[place]), abs=1e-3
        )
    [passage] = label["passages"]
    assert explanation.words[passage["first"]][0] == passage["start"]
    assert explanation.words[passage["last"]][1] == passage["end"]


def test_explanations_of_different_texts_have_no_page(predictor: Predictor) -> None:
    with pytest.raises(ValueError, match="one text"):
        page([predictor.explain("a"), predictor.explain("b")])
    with pytest.raises(ValueError, match="one text"):
        page([])


@pytest.mark.integration
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
def test_in_a_browser(trained: Path, untrained: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    options: list[Any] = ["--beside", f"plain={untrained()}", "--html", str(out), "--top", "3", "--device", "cpu"]
    outcome = CliRunner().invoke(plant, ["explain", str(trained), *options], input=ATTACK)
    assert outcome.exit_code == 0, outcome.output
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", out.as_uri()]
    done = subprocess.run([CHROMIUM, *options], capture_output=True, text=True, check=True, timeout=120)
    seen = read(done.stdout)
    assert "<title>Why these labels?</title>" in done.stdout
    assert [values["aria-pressed"] for tag, values in seen.tags if "aria-pressed" in values].count("true") == 1
    assert sum(tag == "article" for tag, _ in seen.tags) == 2
    assert any(tag == "mark" and values.get("title", "").startswith("contribution") for tag, values in seen.tags)
    assert not any(tag == "img" for tag, _ in seen.tags)


@pytest.mark.integration
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
def test_hints_in_a_browser(coded: Path, wrong_side: str, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    options = ["explain", str(coded), "--html", str(out), "--label", "S72.001A", "--device", "cpu"]
    assert CliRunner().invoke(plant, options, input=wrong_side).exit_code == 0
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", out.as_uri()]
    done = subprocess.run([str(CHROMIUM), *options], capture_output=True, text=True, check=True, timeout=120)
    assert '<span class="hinted">1 hint</span>' in done.stdout
    assert re.search(
        r"<li><button[^>]*>the code says right, the words that speak for it say left</button>", done.stdout
    )
