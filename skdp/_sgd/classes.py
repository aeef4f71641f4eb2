"""Which classes there are, and who says so."""


def assumed_classes(declared):
    """Return what is assumed of the set of classes."""
    if declared is None:
        return ("The classes and their type were taken from y and are assumed to be public.",)
    return ("The set of classes was declared.",)


def first_classes(model, classes):
    """Return the classes of the first chunk of `partial_fit`, and what is assumed of them."""
    if classes is not None or model.classes is not None:
        return classes, ()
    if hasattr(model, "classes_"):
        return model.classes_, (
            "It was declared by an earlier fit, which may have read it from y.",
        )
    raise ValueError(
        "classes must be passed on the first call to partial_fit, or as a parameter: a chunk "
        "need not hold them all."
    )
