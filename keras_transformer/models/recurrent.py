"""The recurrent translation models before the Transformer: an encoder and a decoder of GRU layers.

Without attention, the decoder reads one vector for the whole source, the last states of the encoder (Cho et
al. and Sutskever et al., 2014). With additive attention it looks up a vector for each token among all states
of the encoder (Bahdanau et al., 2015).

B batch, S source length, T target length, D width, U units, V target vocabulary.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.attention.additive import AdditiveAttention
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.embeddings import TokenEmbedding
from keras_transformer.layers.tensor import Shape, Tensor
from keras_transformer.models.encoder_decoder import PAD_ID, AttentionWeights, EncoderDecoder
from keras_transformer.models.recurrent_network import RecurrentNetwork
from keras_transformer.text.sentences import UNKNOWN, Lengths
from keras_transformer.text.tokenizer import Tokenizer


@keras.saving.register_keras_serializable(package="keras_transformer")
class RecurrentTranslationModel(EncoderDecoder):
    """Recurrent encoder and decoder that translate token ids, and text if there is a tokenizer.

    Inputs and labels are those of TranslationModel, and the methods those of EncoderDecoder. The encoder's
    layers read the source in both directions. The first layer of the decoder reads the translation so far;
    the context of each token, which the attention looks up with the state of that layer, is read by the
    layers above it. So the attention is not part of the recurrence, and training computes it for all
    positions at once.

    Args:
        network: Sizes and options of the network.
        source_vocabulary: Number of source ids.
        target_vocabulary: Number of target ids; None for one vocabulary and one embedding on both sides.
        tokenizer: Tokenizer of the model, which `translate` needs.
        lengths: Lengths of the lines in the training corpus; they decide how `translate` divides a text.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Raises:
        TypeError: If network is not a RecurrentNetwork.

    Example:
        ```python
        model = RecurrentTranslationModel.from_preset("tiny", tokenizer=tokenizer, attention=True)
        model.compile("adam", LabelSmoothedCrossEntropy())
        model.fit(text_batches(pairs, tokenizer), epochs=10)
        model.translate(["Je suis étudiant."])
        ```
    """

    network_class = RecurrentNetwork

    def __init__(
        self,
        network: RecurrentNetwork,
        source_vocabulary: int,
        target_vocabulary: int | None = None,
        tokenizer: Tokenizer | None = None,
        lengths: Lengths = UNKNOWN,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(network, source_vocabulary, target_vocabulary, tokenizer, lengths, seed, **kwargs)
        policy, units = self.dtype_policy, network.units

        def embedding(vocabulary: int, name: str) -> TokenEmbedding:
            return TokenEmbedding(vocabulary, network.width, PAD_ID, name=name, dtype=policy)

        def recurrent(units: int, name: str, **options: Any) -> keras.layers.GRU:
            return keras.layers.GRU(units, return_sequences=True, name=name, dtype=policy, **options)

        if target_vocabulary is None:
            self.source_embedding = self.target_embedding = embedding(source_vocabulary, "embedding")
        else:
            self.source_embedding = embedding(source_vocabulary, "source_embedding")
            self.target_embedding = embedding(target_vocabulary, "target_embedding")
        self.encoder = [
            keras.layers.Bidirectional(
                recurrent(units // 2, f"encoder_{index}_gru", return_state=True),
                name=f"encoder_{index}", dtype=policy,
            )
            for index in range(network.encoder_layers)
        ]  # fmt: skip
        self.bridges = [
            keras.layers.Dense(units, activation="tanh", name=f"bridge_{index}", dtype=policy)
            for index in range(network.decoder_layers)
        ]
        self.decoder = [recurrent(units, f"decoder_{index}") for index in range(network.decoder_layers)]
        if network.attention:
            self.attention = AdditiveAttention(units, name="attention", dtype=policy)
        self.output_projection = keras.layers.Dense(
            network.width, activation="tanh", name="output", dtype=policy
        )
        self.dropout = Dropout(network.dropout, seed=seed, dtype=policy)

    def build(self, inputs_shape: Any = None) -> None:
        """Create the weights; their shapes follow from the network alone."""
        network = self.network
        states: Shape = (None, None, network.units)
        for embedding in (self.source_embedding, self.target_embedding):
            if not embedding.built:
                embedding.build((None, None))
        for index, layer in enumerate(self.encoder):
            layer.build(states if index else (None, None, network.width))
        for bridge in self.bridges:
            bridge.build((None, network.units))
        context = 0 if network.attention else network.units
        for index, layer in enumerate(self.decoder):
            layer.build((None, None, 2 * network.units if index else network.width + context))
        if network.attention:
            self.attention.build(states, states)
        self.output_projection.build((None, None, 2 * network.units))
        self.built = True

    def _look(self, inputs: dict[str, Tensor]) -> tuple[Tensor, AttentionWeights]:
        source, target = inputs["source"], inputs["target"]
        real = ops.not_equal(source, PAD_ID)
        memory, summary = self._encode(source, real)
        states = [bridge(summary) for bridge in self.bridges]
        x, cross = self.dropout(self.target_embedding(target)), []
        if self.network.attention:
            x = self.decoder[0](x, initial_state=states[0])
            context, weights = self.attention(x, memory, value_mask=real, return_attention_scores=True)
            cross = [weights[:, None]]  # one head
        else:
            context = ops.repeat(summary[:, None], ops.shape(target)[1], axis=1)
            x = self.decoder[0](ops.concatenate([x, context], axis=-1), initial_state=states[0])
        for layer, state in zip(self.decoder[1:], states[1:], strict=True):
            x = layer(self.dropout(ops.concatenate([x, context], axis=-1)), initial_state=state)
        x = self.output_projection(self.dropout(ops.concatenate([x, context], axis=-1)))
        return self.target_embedding(x, reverse=True), AttentionWeights([], [], cross)

    def _encode(self, source: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states (B, S, U) of the last layer, and the last ones (B, U) in both directions."""
        x = self.dropout(self.source_embedding(source))
        for index, layer in enumerate(self.encoder):
            # a state is kept at padding, so the last one is that of the last real token
            x, forward, backward = layer(self.dropout(x) if index else x, mask=real)
        return x, ops.concatenate([forward, backward], axis=-1)
