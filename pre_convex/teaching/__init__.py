"""Teaching material: lessons as scripts and notebooks, and the duality explorer."""
