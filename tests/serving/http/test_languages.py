"""What languages are called over HTTP."""

from dataclasses import replace

from keras_transformer.text.tokenizer import Tokenizer
from serving.registry.served_version import ServedVersion
from tests.support.serving.echo import echo, run, tokenizer
from tests.support.serving.http_site import refused, site, told


def test_a_language_has_its_english_name_and_an_unknown_one_its_code() -> None:
    names = {
        "el": "Greek",
        "fra": "fra",
        "la": "Latin",
        "nb": "Norwegian Bokmål",
        "pt-BR": "Brazilian Portuguese",
        "xx": "xx",
        "zh-Hant": "Traditional Chinese",
    }

    async def scenario() -> None:
        models = [
            replace(echo(f"{code}-en"), tokenizer=Tokenizer([tokenizer().source_model], code, "en"))
            for code in names
        ]
        async with site(*models) as http:
            status, languages = await told(http.get("/languages"))
            assert status == 200
            assert languages == [
                {"code": code, "name": name, "targets": ["en"]} for code, name in sorted(names.items())
            ]

    run(scenario)


def test_a_version_that_is_asked_for_by_languages_translates_between_these_languages() -> None:
    def version(name: str, number: int, source: str) -> ServedVersion:
        return replace(echo(name, number), tokenizer=Tokenizer([tokenizer().source_model], source, "en"))

    models = (
        version("one", 1, "de"),
        version("one", 2, "fr"),
        version("two", 1, "fr"),
        version("three", 1, "it"),
    )

    async def scenario() -> None:
        async with site(*models) as http:
            asked = {"q": "a", "source": "fr", "target": "en"}
            for number, name in {1: "two", 2: "one"}.items():
                _, answer = await told(http.post("/translate", json={**asked, "version": number}))
                assert (answer["model"], answer["version"]) == (name, number)
            unlike = {**asked, "source": "de", "version": 2}
            message = await refused(http.post("/translate", json=unlike), 400)
            assert "from de to en in version 2" in message
            assert "fr to en" in message
            missing = {**asked, "source": "it", "version": 3}
            assert "version 3 of three" in await refused(http.post("/translate", json=missing), 404)

    run(scenario)
