"""What the private classifier and the private regressor share."""

from contextlib import contextmanager
from numbers import Integral, Real

import numpy as np
from scipy import sparse

from skdp._admission import Interval, StrOptions, admit_new_rows, admit_training
from skdp._scores import finite_scores
from skdp._sgd.model import PrivateSGD
from skdp.neural_network.mlp_settings import OPTIMIZERS, mlp_run, network_of
from skdp.records import canonical_rows
from skdp.records.clipping import LARGEST_NORM, SMALLEST_NORM
from skdp.training.frame import Frame
from skdp.training.mlp_activations import ACTIVATIONS
from skdp.training.mlp_network import Layer
from skdp.training.private_scores import PrivateScores
from skdp.training.schedules import epochs_of_steps

#: Values of the widest layer that are kept at a time when predicting.
_ELEMENTS = 2**22


class PrivateMLP(PrivateSGD):
    """Network whose weights are the outcome of a private training run."""

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        **PrivateSGD._parameter_constraints,
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "max_grad_norm": [StrOptions({"auto"}), Interval(Real, 1e-12, 1e12, closed="both")],
        "optimizer": [StrOptions(set(OPTIMIZERS))],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "center": [StrOptions({"auto", "private"}), None],
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "center_norm": [Interval(Real, SMALLEST_NORM, LARGEST_NORM, closed="both"), None],
        "validation_data": [tuple, list, None],
    }

    _held_out = None

    def _run(self, shape, task, *, rows_per_group, **how):
        self._refuse_idle_validation_data()
        if self._validation_pair() is not None:
            self._validation_records(task)  # refused before anything is spent
        if rows_per_group is not None and self._is_privately_validated:
            raise ValueError(
                "Private validation records are protected row by row, the groups of fit as wholes: "
                "use public validation data, or leave max_rows_per_group None."
            )
        run = mlp_run(self, *shape, task.loss, rows_per_group=rows_per_group, **how)
        self._private_scores(run, task)  # as above
        return run

    def _refuse_idle_validation_data(self):
        adaptive = getattr(self.noise_schedule, "adaptive", False)
        if self.validation_data is not None and not adaptive:
            raise ValueError(
                "validation_data is set, but only a schedule such as ValidationDecay uses it."
            )
        if self._held_out is not None and not self._is_privately_validated:
            raise ValueError(
                "fit was given X_val and y_val, which only ValidationDecay(private=True) uses."
            )
        if self._is_privately_validated and not hasattr(self, "_hits"):
            raise ValueError(
                "Private validation data needs a classifier: what one record adds to a score of "
                "real-valued predictions has no bound."
            )
        if adaptive and self._validation_pair() is None:
            raise ValueError(
                f"{type(self.noise_schedule).__name__} needs validation rows: pass private ones to "
                "fit(X, y, X_val=..., y_val=...), and set validation_data=(X_val, y_val) to public "
                "ones or pass these to the schedule."
            )

    @property
    def _is_privately_validated(self):
        return getattr(self.noise_schedule, "private", False)

    @contextmanager
    def _validated_on(self, X_val, y_val):
        """Hold private rows for the time of one fit: parameters are printed, saved and copied."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: pass both to fit.")
        self._held_out = None if X_val is None else (X_val, y_val)
        try:
            yield
        finally:
            del self._held_out

    def _refuse_other_storage(self, run, is_sparse):
        if is_sparse and run.centre is not None:
            raise ValueError(
                "The first chunk was dense and its centre was released: sparse rows would become "
                "dense when centred. Set center=None in a new model, or pass dense rows."
            )

    def _validation_pair(self):
        """Return the validation rows and labels; None if there are none."""
        own = tuple(getattr(self.noise_schedule, name, None) for name in ("X_val", "y_val"))
        of_schedule = None if all(part is None for part in own) else own
        if self._is_privately_validated:
            if self.validation_data is not None:
                raise ValueError(
                    "validation_data stays in the fitted model. Pass private validation records to "
                    "fit(X, y, X_val=..., y_val=...)."
                )
            return self._held_out
        if self.validation_data is None:
            return of_schedule
        if of_schedule is not None:
            raise ValueError("Validation data is given twice: to the schedule and to the network.")
        if len(self.validation_data) != 2:
            raise ValueError("validation_data must be a pair, (X_val, y_val).")
        return self.validation_data

    def _validation_records(self, task):
        rows, labels = admit_training(
            self, *self._validation_pair(), y_numeric=self._y_numeric, reset=False, min_samples=1
        )
        return canonical_rows(rows), self._task(labels, task.classes).targets

    def _private_scores(self, run, task):
        """Return the planned releases of accuracies on private rows; None on public ones."""
        noise = run.plan.noise
        if not (noise.adaptive and noise.private):
            return None
        n_epochs = sum(
            1 for _ in epochs_of_steps(run.plan.n_steps, run.plan.sampler.steps_per_epoch)
        )
        n_records = len(self._validation_records(task)[1])
        return PrivateScores.within(noise.filter, n_records, n_epochs)

    def _n_runs(self):
        if self._is_privately_validated:
            raise ValueError(
                "partial_fit takes no private validation records: use fit, or public ones."
            )
        return super()._n_runs()

    def _released(self, run, X, task, start, rng, progress):
        for name in ("validation_scores_", "noise_multipliers_"):
            vars(self).pop(name, None)
        if not run.plan.noise.adaptive:
            return self._trained(run, X, task, start, rng, progress)
        self.center_ = self.components_ = None
        rows, targets = self._validation_records(task)

        def outputs(parameters):
            return outputs_of(run.network, run.network.layers(parameters), rows)

        private = self._private_scores(run, task)
        if private is None:

            def score(parameters):
                return self._validation_score(outputs(parameters), targets)
        else:
            score = private.of(
                lambda parameters: self._hits(outputs(parameters), targets), rng.spawn()
            )
        found = run.train_adaptively(X, task.targets, task.loss, start, rng, progress, score)
        self.validation_scores_, self.noise_multipliers_ = found.scores, found.multipliers
        self._n_steps_made = found.n_steps
        return found.parameters

    def _trained(self, run, X, task, start, rng, progress):
        """Train on rows seen from a frame that is released first, and leave it in the end."""
        if run.centre is None:
            self.center_ = self.components_ = None
            return run.train(X, task.targets, task.loss, start, rng, progress)
        if start is None:
            frame = run.centre.release(X, task.targets, rng.spawn())
            self.center_, self.components_ = frame.centre, frame.components
        else:
            frame = Frame(self.center_, self.components_)
        within, scale = run.within(frame), run.row_scale
        if start is not None:
            start = within.network.lengthened(frame.entered(run.network, start), scale)
        rows = frame.rows(X, scale)
        found = within.train(rows, task.targets, task.loss, start, rng, progress)
        return frame.left(within.network, within.network.lengthened(found, 1 / scale))

    def _in_slots(self, run, X, task, slots):
        """Move rows into their slots: every group then takes as many places in a batch."""
        task = task._replace(targets=slots.column(task.targets, 1))
        return run.over(slots), slots.table(X), task

    def _shared_assumptions(self, run, slots):
        shared = super()._shared_assumptions(run, slots)
        if slots is not None:
            shared = (*shared, "The order of the groups, by their first rows, is public.")
        if run.centre is None:
            return shared
        norm = f"{run.centre.row_norm:.6g}"
        return (
            *shared,
            f"For a centre that is released before, each row is clipped to Euclidean norm {norm}, "
            "a bound that was declared or follows from the number of columns.",
        )

    def _store(self, run, statement, classes, released):
        self._store_facts(run, statement, classes)
        self.n_steps_ = vars(self).pop("_n_steps_made", self.n_steps_)
        self.max_grad_norm_, self.row_scale_ = run.plan.max_grad_norm, run.row_scale
        layers = run.network.layers(released)
        self.coefs_ = [layer.weights.copy() for layer in layers]
        self.intercepts_ = [layer.biases.copy() for layer in layers]
        self.n_layers_ = len(run.network.sizes)
        self.n_outputs_ = run.network.sizes[-1]

    def _flat_parameters(self):
        return np.concatenate([array.ravel() for array in (*self.coefs_, *self.intercepts_)])

    def _scores(self, X):
        """Return the outputs before the last activation, shape (n_samples, n_outputs)."""
        rows = _within_reach(canonical_rows(admit_new_rows(self, X)))
        network = network_of(self, self.n_features_in_, self.n_outputs_)
        layers = [Layer(*both) for both in zip(self.coefs_, self.intercepts_, strict=True)]
        return finite_scores(outputs_of(network, layers, rows))

    def _as_plain(self, model):
        """Give a scikit-learn network the released weights."""
        model.set_params(activation=self.activation, hidden_layer_sizes=self.hidden_layer_sizes)
        model.coefs_ = [coef.copy() for coef in self.coefs_]
        model.intercepts_ = [intercept.copy() for intercept in self.intercepts_]
        model.n_layers_, model.n_outputs_ = self.n_layers_, self.n_outputs_
        model.out_activation_ = self.out_activation_
        model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model


def _within_reach(rows):
    """Return rows to predict for, cut to numbers of which a layer's sums do not overflow."""
    values = rows.data if sparse.issparse(rows) else rows
    limit = float(np.finfo(values.dtype).max) ** 0.75
    if not values.size or max(values.max(), -values.min()) <= limit:
        return rows
    cut = rows.copy()
    np.clip(values, -limit, limit, out=cut.data if sparse.issparse(cut) else cut)
    return cut


def outputs_of(network, layers, rows):
    """Return the outputs of a network, shape (n_samples, n_outputs), some rows at a time."""
    size = max(1, _ELEMENTS // max(network.sizes))
    with np.errstate(all="ignore"):
        parts = [
            network.outputs(layers, rows[start : start + size])[-1]
            for start in range(0, rows.shape[0], size)
        ]
    return np.concatenate(parts)
