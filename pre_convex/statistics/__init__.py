"""Statistics of a fit: influence, inference, choice of the radius, bootstrap, diagnostics, theory."""
