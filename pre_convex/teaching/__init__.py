"""What is handed to a class: lessons as scripts and notebooks, and the duality explorer."""
