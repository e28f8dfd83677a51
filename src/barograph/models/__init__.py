"""Tell real changes from noise: the classifiers and what they are stored as."""
