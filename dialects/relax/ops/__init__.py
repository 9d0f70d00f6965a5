"""The ops of relax, one file per family. Importing a file declares its ops."""
