"""The graphs of earlier releases still run.

Their attention to the memory writes the last source token, and their decoder computes the log-probabilities.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from keras_transformer.inference.backends.onnx_runtime import OnnxBackend, part_name
from keras_transformer.inference.batch import Batch
from keras_transformer.inference.request import Request
from tests.support.small_network import END, LONGEST, VOCABULARY

if TYPE_CHECKING:
    from keras_transformer import TranslationModel

START, SLOTS = 2, 7


@pytest.fixture(scope="module")
def earlier_sessions(model: "TranslationModel", sessions: list[Any]) -> list[Any]:
    """Encoder and decoder as they were: the keys and values of the last source token are passed along."""
    from keras_transformer.graphs.choice import candidates, scores
    from keras_transformer.graphs.precision import Float32
    from keras_transformer.graphs.transformer import decoder, encoder
    from keras_transformer.inference.backends.session import open_session
    from keras_transformer.models.weights import network_weights

    network = network_weights(model)
    first, second = (onnx.load_from_string(bytes(make(network, Float32()))) for make in (encoder, decoder))
    joined = {f"its_{name}": name for name in ("logits", "next", "log_prob", "log_probs")}
    slice_at = {"begin": [-1], "end": [2**31], "axis": [3], "joined": [0, 0, 1, -1]}
    first.graph.initializer.extend(numpy_helper.from_array(np.array(v), k) for k, v in slice_at.items())
    first.graph.node.extend(
        [
            helper.make_node("Slice", ["memory", "begin", "end", "axis"], ["end_of_memory"]),
            helper.make_node("Reshape", ["end_of_memory", "joined"], ["last"]),
        ]
    )
    first.graph.output.append(helper.make_tensor_value_info("last", TensorProto.FLOAT, None))
    attentions = [node for node in second.graph.node if node.op_type == "GroupQueryAttention"]
    for layer, node in enumerate(node for node in attentions if node.input[1]):  # to the memory
        for place, part in enumerate((2 * layer, 2 * layer + 1), start=1):
            node.input[place] = f"last_{part_name(part)}"
            shape = ["batch", 1, network.width]
            second.graph.input.append(
                helper.make_tensor_value_info(node.input[place], TensorProto.FLOAT, shape)
            )
    kept = [value for value in second.graph.output if value.name not in ("logit", "logits")]
    scoring = onnx.compose.add_prefix(onnx.load_from_string(bytes(scores(VOCABULARY))), "its_").graph
    for node in scoring.node:
        for names in (node.input, node.output):
            names[:] = [joined.get(name, name) for name in names]
    for value in scoring.output:
        value.name = joined[value.name]
    del second.graph.output[:]
    second.graph.output.extend([*kept, *scoring.output])
    second.graph.node.extend(scoring.node)
    second.graph.initializer.extend(scoring.initializer)
    graphs = [first.SerializeToString(), second.SerializeToString(), bytes(candidates(VOCABULARY))]
    encode, decode, choose = map(open_session, graphs)
    return [encode, decode, None, choose]


def test_they_give_the_same_answers_and_scores_greedily_and_with_a_beam(
    sessions: list[Any], earlier_sessions: list[Any], rows: list[list[int]]
) -> None:
    def answers(graphs: list[Any]) -> list[Any]:
        batch = Batch(OnnxBackend(*graphs, START, SLOTS, LONGEST, LONGEST), END)
        requests = [Request(row, LONGEST, beam=1 + place % 3) for place, row in enumerate(rows[:30])]
        waiting = [*requests]
        while waiting or batch:
            while waiting and waiting[0].beam <= batch.free:
                assert batch.admit([waiting.pop(0)]) == []
            batch.step(0.0)
        return [each.answers for each in requests]

    assert "log_probs" in {value.name for value in earlier_sessions[1].get_outputs()}
    assert "last_key_0" in {value.name for value in earlier_sessions[1].get_inputs()}
    assert answers(earlier_sessions) == answers(sessions)
