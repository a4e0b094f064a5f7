"""Models of random weights with answers of all kinds, and rows and texts that no corpus has."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import cache

import keras
import numpy as np
import onnx

from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.decoding.scoring import Scorer
from keras_transformer.decoding.traced_search import Search, search_traced
from keras_transformer.inference.answer import Answer
from keras_transformer.models.network import Network
from keras_transformer.models.translate import translate_ids
from keras_transformer.phrasebook import phrasebook

START, END, LONGEST = 2, 3, 60
PAIRS = list(phrasebook("fr-en", "train", 200))

#: What a network may be, in three models. The first has two layers a side, so that layers may be mixed up.
ONE_LAYER = {"encoder_layers": 1, "decoder_layers": 1}
SETTINGS = [{}, {"norm_first": False, **ONE_LAYER}, {"joint": False, "activation": "gelu", **ONE_LAYER}]

Rows = list[list[int]]

TEXTS = [
    *(pair.source for pair in PAIRS[:12]),
    "",
    " ",
    "\n\u3000",
    "e\u0301 é a\u0323\u0302 \u0301",
    "👩‍👩‍👧‍👦 👍🏽 🇫🇷 \u200d \ufe0f",
    "\u202eabc\u202c שלום العربية می‌خواهم",
    "a\0b \0",
    "x" * 300,
    "Où habitez-vous ? " * 40,
    "a\u00a0b\u2028c\td\re\x85f",
    "▁ ▁▁ a▁b ⁇",
    "<s> </s> <unk> <pad> <0x0A> <0x41>",
    "ＡＢＣ １２３ ガ ①½ﬁ…™²",
    "\uffff \ufffd \U0010ffff \ue000 \u0378 \ufeff",
    "Zażółć gęślą jaźń 日本語 한국어",
]


@cache
def random_model(joint: bool = True, **network: Hashable) -> TranslationModel:
    """It has learned nothing, but what it says depends on the source and ends early, late or never.

    Every test gets the same model, so that none may change it.
    """
    tokenizer = Tokenizer.train(PAIRS, 380, joint=joint)
    keras.utils.set_random_seed(4)
    target = None if joint else tokenizer.target_size
    layers = {"encoder_layers": 2, "decoder_layers": 2}
    sizes = Network(width=16, inner_width=24, num_heads=2, max_length=LONGEST, **{**layers, **network})
    model = TranslationModel(sizes, tokenizer.source_size, target, tokenizer)
    model.build()
    for weight in model.trainable_variables:
        if len(weight.shape) > 1:
            weight.assign(weight * 1.5)
        elif "gamma" in weight.name:  # of any sign: or it would say again what it said last
            weight.assign(keras.ops.sign(keras.random.normal(weight.shape)))
        else:
            weight.assign(keras.random.normal(weight.shape) * 0.1)
    # a word that it says late in many answers becomes its end
    said = translate_ids(model, random_rows(model.source_vocabulary), START, END)
    late = Counter(token for answer in said for token in {*answer[3:]} - {*answer[:3]})
    ((favourite, _),) = late.most_common(1)
    table = model.target_embedding.embeddings.numpy()
    table[[END, favourite]] = table[[favourite, END]]
    table[0] = 0.0  # the least likely of all, as it is to a model that has learned
    model.target_embedding.embeddings.assign(table)
    return model


def random_rows(vocabulary: int) -> Rows:
    """Of every length up to the highest, with any id but padding and the end, each with its end."""
    rng = np.random.default_rng(0)
    ids = [1, START, *range(END + 1, vocabulary)]
    return [[*rng.choice(ids, length - 1).tolist(), END] for length in range(2, LONGEST + 1)]


def answered(model: TranslationModel, rows: Rows) -> list[Answer]:
    """What Keras says."""
    longest = model.network.max_length
    found = search_traced(model, [row or [END] for row in rows], Search(START, END), longest)
    said = [answers[0] if answers else [] for answers in found]
    pairs = [(row, answer) for row, answer in zip(rows, said, strict=True) if answer]
    scored = iter(Scorer(model).log_probs(pairs, START))
    return [Answer(ids, float(np.mean(next(scored))) if ids else 0.0) for ids in said]


def assert_same(found: Sequence[Answer], expected: Sequence[Answer]) -> None:
    """The same tokens; and scores that differ in rounding alone."""
    assert [answer.ids for answer in found] == [answer.ids for answer in expected]
    np.testing.assert_allclose(
        [answer.score for answer in found], [answer.score for answer in expected], rtol=0, atol=1e-5
    )


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """It and those of its loops, the outermost first."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)
