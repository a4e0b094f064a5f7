"""A model of several target languages, served: every way to name one gives what transformers answers."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import pytest

from keras_transformer.cli import main
from serving import AsyncClient, Client, TranslationError
from tests.support.browser import errors
from tests.support.serving.serve_process import serving_both
from tests.support.serving.web_page import asked, opened, translated
from tests.support.versions.imported import exported_once, texts

if TYPE_CHECKING:
    from playwright.sync_api import Page

LANGUAGES = ["fra", "deu", "eng"]
UNGUARDED: dict[str, Any] = {"loop_guard": False}  # random weights repeat themselves
#: Language, text and translation of transformers.
ANSWERS = [(text[2:5], text.partition("<< ")[2], said) for text, said in texts("languages").items()]


class Addresses(NamedTuple):
    grpc: str
    http: str


@pytest.fixture(scope="module")
def server(shared: Path) -> Iterator[Addresses]:
    with serving_both(exported_once(shared, "languages").parents[1]) as (_, *addresses):
        yield Addresses(*addresses)


def test_both_clients_name_the_language(server: Addresses) -> None:
    async def asynchronously(code: str, texts: list[str]) -> list[str]:
        async with AsyncClient(server.grpc) as client:
            return [
                answer.text for answer in await client.translate(texts, target_language=code, **UNGUARDED)
            ]

    with Client(server.grpc) as client:
        for code in LANGUAGES:
            asked_for, translations = zip(*(each[1:] for each in ANSWERS if each[0] == code), strict=True)
            answers = client.translate(list(asked_for), target_language=code, **UNGUARDED)
            assert [answer.text for answer in answers] == list(translations)
            assert asyncio.run(asynchronously(code, list(asked_for))) == list(translations)
            assert "".join(client.stream(asked_for[0], target_language=code, **UNGUARDED)) == translations[0]
            attended = client.attend(asked_for[0], target_language=code, **UNGUARDED)
            assert attended.translation.text == translations[0]
            assert client.translate(f">>{code}<< {asked_for[0]}", **UNGUARDED).text == translations[0]


def test_a_missing_or_unknown_language_is_refused_with_the_list(server: Addresses) -> None:
    with Client(server.grpc) as client:
        for options in ({}, {"target_language": "ita"}):
            with pytest.raises(TranslationError, match="fra, deu, eng") as refused:
                client.translate("chat mange", **options)
            assert refused.value.code is grpc.StatusCode.INVALID_ARGUMENT
            assert refused.value.field == "options.target_language"
        (model,) = client.models().models
        assert list(model.versions[0].target_languages) == LANGUAGES


def test_over_http_each_language_is_a_pair_and_target_names_it(server: Addresses) -> None:
    assert asked(server.http, "languages") == [{"code": "fr", "name": "French", "targets": sorted(LANGUAGES)}]
    for code, text, translation in ANSWERS:
        for source in ("fr", "auto"):
            answer = asked(server.http, "translate", q=text, source=source, target=code, **UNGUARDED)
            assert answer["translatedText"] == translation


def test_the_command_names_it_for_a_server(
    server: Addresses, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text, translation = ANSWERS[1]
    (tmp_path / "text").write_text(f"{text}\n", encoding="utf-8")
    command = ["translate", f"grpc://{server.grpc}", "--input", str(tmp_path / "text"), "--no-loop-guard"]
    assert main([*command, "--target-language", code]) == 0
    output = capsys.readouterr()
    assert output.out == f"{translation}\n"
    assert f"fr to {code}" in output.err
    assert main(command) == 1
    assert "fra, deu, eng" in capsys.readouterr().err


def test_the_page_offers_each_language_as_a_choice(page: "Page", server: Addresses) -> None:
    opened(page, server.http)
    options = page.locator("#model option")
    assert options.all_inner_texts() == [
        f"French to {name} · fr-mul" for name in ("French", "German", "English")
    ]
    for index in (1, 2):
        code, text, _ = ANSWERS[index]
        page.locator("#model").select_option(label=options.nth(LANGUAGES.index(code)).inner_text())
        guarded = asked(server.http, "translate", q=text, source="fr", target=code)
        assert translated(page, text) == guarded["translatedText"]
        page.locator("#translation .word").first.click()
    page.locator("#heads summary").click()
    page.locator("#map tbody td").first.wait_for()
    assert errors(page) == []
