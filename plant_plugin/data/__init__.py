"""Reading documents and turning them into token arrays and batches."""
