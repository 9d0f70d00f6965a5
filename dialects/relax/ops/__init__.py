"""The ops of relax, one file for each family. Importing them declares them."""
