"""The paper's two applications: detection of a latent signal, and local explanation of a classifier."""
