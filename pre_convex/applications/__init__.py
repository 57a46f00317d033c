"""Applications: detection of a latent signal, local explanation of a classifier, and balancing of groups."""
