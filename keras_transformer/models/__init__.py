"""Networks composed of the layers."""
