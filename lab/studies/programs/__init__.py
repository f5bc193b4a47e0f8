"""How well are programs forecast that are not gpucast's? Published tables, split three ways."""
