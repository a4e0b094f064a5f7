"""Training of a run with model.fit: each validation saves the best model and a checkpoint."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.files import replacing
from keras_transformer.models.encoder_decoder import EncoderDecoder
from keras_transformer.models.network import Network
from keras_transformer.models.recurrent import RecurrentTranslationModel
from keras_transformer.models.translation import TranslationModel
from keras_transformer.models.weights import unlike_network
from keras_transformer.text.corpus import Pair
from keras_transformer.text.sentences import Lengths
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.averaging import MovingAverage, mean
from keras_transformer.training.cluster.exchange import (
    ExchangingAdam,
    fingerprint,
    offset_seeds,
    start_tensorflow,
)
from keras_transformer.training.cluster.workers import ClusterError, Workers
from keras_transformer.training.data.dataset import dataset
from keras_transformer.training.data.stages import stages
from keras_transformer.training.history import best
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.optimizer import Adam
from keras_transformer.training.progress import ProgressBar
from keras_transformer.training.recipe import Recipe, shared_batches
from keras_transformer.training.runs import checkpoint
from keras_transformer.training.runs.run_directory import INITIAL_VALID, PREPARE_AGAIN, VALID, Run
from keras_transformer.training.schedule import Cosine, InverseSquareRoot
from keras_transformer.training.validation import Validation
from keras_transformer.viz.curves import write_curves

MIN_CHECKPOINTS = 2
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


class TrainingError(RuntimeError):
    """Error of a run that cannot continue; the message has the remedy."""


class Trainer:
    """Training of a prepared run directory, from its last checkpoint to its end.

    Args:
        run: The run directory.
        recipe: Its recipe.
        workers: The workers that train together, who have joined. Worker 0 writes the run directory, and the
            others read it.

    Raises:
        TrainingError: If Keras does not run on TensorFlow.
        ValueError: If there are no held-out pairs, or the workers cannot share the batches of a step.
    """

    def __init__(self, run: Run, recipe: Recipe, workers: Workers | None = None) -> None:
        backend = keras.backend.backend()
        if backend != "tensorflow":
            raise TrainingError(
                f"a run is trained with Keras on TensorFlow; the backend of this process is {backend}. Set "
                "KERAS_BACKEND=tensorflow, or train with fit in Python, which every backend has."
            )
        self.run = run
        self.recipe = recipe
        self.workers = workers or Workers()
        self.batches = shared_batches(recipe.gradient_accumulation_steps, self.workers.size)
        if self.workers.size > 1:
            self._cluster = start_tensorflow(self.workers)
        self.tokenizer = Tokenizer.load(run.tokenizer)
        self.store = TokenStore(run.tokens)
        self.stages = stages(self.store, recipe, TokenStore(run.typed) if run.typed.exists() else None)
        keras.utils.set_random_seed(recipe.seed)
        held_out = list(run.read_pairs(VALID))
        if not held_out:
            raise ValueError(f"{run.path / VALID} is damaged: it has no pairs: {PREPARE_AGAIN}.")
        continues = recipe.preset is None and (run.path / INITIAL_VALID).exists()
        before = list(run.read_pairs(INITIAL_VALID)) if continues else []
        self.model = self._model(self._lengths([*held_out, *before]))
        self.model.compile(
            optimizer(recipe, self.workers.size),
            LabelSmoothedCrossEntropy(
                recipe.label_smoothing,
                reduction="sum" if recipe.gradient_accumulation_steps > 1 else "sum_over_batch_size",
            ),
            jit_compile=False,  # on a CPU, XLA makes a training step slower; only the loss is compiled
        )
        self.model.optimizer.build(self.model.trainable_variables)
        self._no_accumulators = (
            [keras.Variable(np.zeros(weight.shape, np.float32)) for weight in self.model.trainable_variables]
            if self.batches == 1 < recipe.gradient_accumulation_steps
            else []
        )
        self.averaged = self.model.with_policy("float32")
        self.validation = Validation(self.averaged, held_out, recipe.max_tokens)
        self.validation_before = Validation(self.averaged, before, recipe.max_tokens) if before else None
        self.history: list[dict[str, float]] = []
        self.step = 0

    def _model(self, lengths: Lengths) -> EncoderDecoder:
        """Return the model to train: a new one, or the one that the run goes on from."""
        recipe, initial = self.recipe, None
        if recipe.preset is None:
            initial = EncoderDecoder.load(self.run.initial)
            if reason := unlike_network(initial):
                raise ValueError(reason)
        network = recipe.network(initial and initial.network)
        joint = self.tokenizer.joint if initial is None else initial.target_vocabulary is None
        kind: type[Any] = TranslationModel if isinstance(network, Network) else RecurrentTranslationModel
        model: EncoderDecoder = kind(
            network,
            self.tokenizer.source_size,
            None if joint else self.tokenizer.target_size,
            self.tokenizer,
            lengths,
            recipe.seed,
            dtype=POLICIES[recipe.precision],
        )
        model.build()
        if initial is not None:
            model.set_weights(initial.get_weights())
        return model

    def _lengths(self, held_out: Sequence[Pair]) -> Lengths:
        """Return the line lengths of the corpus, up to the maximum of the training."""
        lines = [pair.source for pair in held_out]
        return Lengths.learned_from(lines, self.tokenizer.count_source).within(self.recipe.max_tokens)

    def train(self) -> dict[str, float]:
        """Train to the last step, or until patience runs out.

        Returns:
            The scores of the best model, which is saved.

        Raises:
            TrainingError: If the loss is not finite, or a file cannot be written.
            ClusterError: If another worker fails, or computes other weights.
        """
        self._restore()
        offset_seeds(self.model, self.workers.rank)
        self.check_same_state(self.step)
        recipe = self.recipe
        if not recipe.is_over(self.history):
            store, plan, _ = self.stages[-1]
            accumulated = recipe.gradient_accumulation_steps
            rank, size = self.workers.rank, self.workers.size
            tokens = store.lengths()[:, 1].sum() / plan.batches_per_epoch() * accumulated
            bar = ProgressBar(recipe.steps, self.step, float(tokens), self.batches)
            callbacks = [FiniteLoss(self.step, self.batches), bar, Keeper(self, bar)]
            if rank == 0 and not recipe.average_checkpoints:
                average = MovingAverage(self.averaged, recipe.ema_decay, self.step, self.batches)
                callbacks.insert(1, average)
            with closing(bar), self._failures_of_others():
                self.model.fit(
                    dataset(self.stages, self.tokenizer.bos_id, self.step, accumulated, rank, size),
                    steps_per_epoch=(recipe.steps - self.step) * self.batches,
                    shuffle=False,
                    verbose=0,
                    callbacks=callbacks,
                )
        return dict(best(self.history) or {})

    @contextmanager
    def _failures_of_others(self) -> Iterator[None]:
        """Raise ClusterError for what TensorFlow raises once another worker has failed."""
        try:
            yield
        except tf.errors.OpError as error:
            if self.workers.size == 1:
                raise
            failure = self.workers.failure() or f"the exchange of gradients failed: {error.message:.300}"
            raise ClusterError(failure) from error

    def check_same_state(self, step: int) -> None:
        """Raise ClusterError if the workers are at different steps, or have different weights."""
        if self.workers.size > 1:
            variables = [*self.model.trainable_variables, *self.model.optimizer.variables]
            self.workers.agree({"step": str(step), "weights": fingerprint(variables)})

    def training_loss(self) -> float:
        """Return the mean loss since the last validation: on worker 0 that of all workers."""
        loss = next(metric for metric in self.model.metrics if metric.name == "loss")
        parts = self.workers.gather([float(loss.total), float(loss.count)])
        total, count = np.array(parts, np.float32).sum(axis=0)
        return float(total / count)

    def keep(self, step: int, training_loss: float | None) -> dict[str, float]:
        """Validate the averaged model, save it if it is the best so far, and write a checkpoint.

        Args:
            step: Number of steps done.
            training_loss: Mean loss since the last validation; None before the first step.

        Returns:
            The scores. Names of those on the held-out pairs of the run before begin with `initial_`.

        Raises:
            TrainingError: If the validation loss is not finite.
        """
        self.step = step
        if self.recipe.average_checkpoints:
            self._average_checkpoints()
        scores: dict[str, float] = {"step": self.step}
        if training_loss is not None:
            scores["training_loss"] = training_loss
        scores |= self.validation.scores()
        if self.validation_before is not None:
            before = self.validation_before.scores()
            scores |= {f"initial_{name}": value for name, value in before.items()}
        if not np.isfinite(scores["loss"]):  # the last update damaged the weights: do not save them
            raise diverged("the held-out loss", scores["loss"], step)
        self.history.append(scores)
        if best(self.history) is scores:
            with replacing(self.run.model) as temp_path:
                self.averaged.save(temp_path)
        self._write_history()
        self._save_checkpoint()
        return scores

    def _write_history(self) -> None:
        """Write the history and the curves."""
        self.run.write("history.json", self.history)
        write_curves(self.run.curves, self.history, self.recipe.warmup_steps)

    def _variables(self) -> list[Any]:
        """Return weights, random states, optimizer and average: with step and seed, the state of a run.

        A step of several batches has accumulators, also where each worker has one batch of it: any number of
        workers may continue the run.
        """
        iterations, *state = self.model.optimizer.variables
        optimizer = [iterations, *self._no_accumulators, *state]
        return [*self.model.variables, *optimizer, *self.averaged.trainable_variables]

    def _save_checkpoint(self) -> None:
        path = self.run.checkpoints / f"step-{self.step:09d}.npz"
        checkpoint.save(path, self._variables(), {"step": self.step, "history": self.history})
        count = max(MIN_CHECKPOINTS, self.recipe.average_checkpoints)
        for old in checkpoint.checkpoints(self.run.checkpoints)[:-count]:
            old.unlink()

    def _average_checkpoints(self) -> None:
        """Set the average to the mean of the current weights and those of the last checkpoints."""
        indices = {id(variable): index for index, variable in enumerate(self.model.variables)}
        weights = self.model.trainable_variables
        before = checkpoint.checkpoints(self.run.checkpoints)[::-1][: self.recipe.average_checkpoints - 1]
        states = chain(
            [[weight.numpy() for weight in weights]],
            (checkpoint.read(path, [indices[id(weight)] for weight in weights]) for path in before),
        )
        for average, weight in zip(self.averaged.trainable_variables, mean(states), strict=True):
            average.assign(weight)

    def _restore(self) -> None:
        paths = checkpoint.checkpoints(self.run.checkpoints)
        if paths:
            progress = checkpoint.restore(paths[-1], self._variables())
            self.step, self.history = progress["step"], progress["history"]
            self.model.optimizer.variables[0].assign(self.step * self.batches)  # Keras counts batches
            if self.workers.rank == 0:
                self._write_history()
        best_scores = best(self.history)
        if best_scores is not None and not self.run.model.exists():
            raise TrainingError(
                f"{self.run.model}, the best model of this run (step {best_scores['step']:,}), is missing: "
                "restore it, or begin a new run."
            )


def diverged(what: str, loss: float, step: int) -> TrainingError:
    """Return the error of a run whose loss is not finite."""
    return TrainingError(
        f"{what} is {loss} at step {step}. Begin a new run with a lower --peak-learning-rate, more "
        "--warmup-steps, or --precision float32; this run stays at its last checkpoint."
    )


class FiniteLoss(keras.callbacks.Callback):
    """Callback that stops a run whose loss is not finite, before anything is saved."""

    def __init__(self, done: int, every: int) -> None:
        super().__init__()
        self.batches, self.every = done * every, every

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Check the loss of a batch.

        Raises:
            TrainingError: If it is not finite.
        """
        self.batches += 1
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            raise diverged("the loss", loss, -(-self.batches // self.every))


class Keeper(keras.callbacks.Callback):
    """Callback that validates and saves every `validate_every` steps, and stops without patience.

    Worker 0 does so while the others wait.
    """

    def __init__(self, trainer: Trainer, bar: ProgressBar) -> None:
        super().__init__()
        self.trainer, self.bar = trainer, bar
        self.batches = trainer.step * trainer.batches  # before this process
        self.log = trainer.run.tensorboard
        if trainer.workers.rank == 0:
            with _failures_reported(self.log):
                self.writer = tf.summary.create_file_writer(str(self.log))

    def on_train_begin(self, logs: Any = None) -> None:
        """Validate a model that was trained before at step 0."""
        if self.trainer.recipe.preset is None and not self.trainer.history:
            self._keep(0, None)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Validate and save at the steps that the recipe sets."""
        recipe = self.trainer.recipe
        step, rest = divmod(self.batches + batch + 1, self.trainer.batches)
        if not rest and (step % recipe.validate_every == 0 or step == recipe.steps):
            self._keep(step, self.trainer.training_loss())
            self.model.reset_metrics()  # so that the next loss covers the steps after this one only

    def _keep(self, step: int, loss: float | None) -> None:
        trainer = self.trainer
        trainer.check_same_state(step)
        if trainer.workers.rank == 0:
            self._show(trainer.keep(step, loss))
        if trainer.workers.broadcast(trainer.recipe.lost_patience(trainer.history)):
            self.model.stop_training = True

    def _show(self, scores: Mapping[str, float]) -> None:
        rate = float(self.model.optimizer.learning_rate)
        with _failures_reported(self.log), self.writer.as_default(step=int(scores["step"])):
            for name, value in {**scores, "learning_rate": rate}.items():
                tf.summary.scalar(name, value)
            self.writer.flush()  # so that TensorBoard shows it at once
        self.bar.say(_line(scores))


def _line(scores: Mapping[str, float]) -> str:
    """Return a line of the table of training."""
    loss = f"loss {scores['training_loss']:.3f}; " if "training_loss" in scores else ""
    line = (
        f"step {scores['step']:,}: {loss}held out: "
        f"loss {scores['loss']:.3f}, token accuracy {scores['accuracy']:.1%}, BLEU {scores['bleu']:.2f}"
    )
    if "initial_bleu" in scores:
        line += f"; of the run before: loss {scores['initial_loss']:.3f}, BLEU {scores['initial_bleu']:.2f}"
    return line


@contextmanager
def _failures_reported(log: Path) -> Iterator[None]:
    try:
        yield
    except tf.errors.OpError as error:  # raised by TensorFlow if a file cannot be written
        reason = error.message.splitlines()[0].rpartition("}} ")[2].partition(" [Op:")[0]
        raise TrainingError(
            f"the log in {log} could not be written ({reason}): solve that, then continue with --resume."
        ) from error


def optimizer(recipe: Recipe, workers: int = 1) -> keras.optimizers.Optimizer:
    """Create Adam with the constants of the paper and the schedule of the recipe."""
    accumulated = shared_batches(recipe.gradient_accumulation_steps, workers)
    rise = recipe.peak_learning_rate, recipe.warmup_steps
    options = {
        "learning_rate": Cosine(*rise, recipe.steps, accumulated, recipe.extended_at)
        if recipe.schedule == "cosine"
        else InverseSquareRoot(*rise, accumulated),
        "beta_1": 0.9,
        "beta_2": 0.98,
        "epsilon": 1e-9,
        "global_clipnorm": recipe.clip_norm or None,
        "gradient_accumulation_steps": accumulated if accumulated > 1 else None,
    }
    return Adam(**options) if workers == 1 else ExchangingAdam(workers, **options)
