"""What all estimators that are trained by private SGD share."""
