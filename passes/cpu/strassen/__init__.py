"""Products of matrices by Strassen's algorithm, in Winograd's form: seven products of quarters in place of eight."""
