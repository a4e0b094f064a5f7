"""What languages are called over HTTP."""

from dataclasses import replace

from keras_transformer.text.tokenizer import Tokenizer
from tests.support.serving.echo import echo, run, tokenizer
from tests.support.serving.http_site import site, told


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
