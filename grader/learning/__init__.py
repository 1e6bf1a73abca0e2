"""What a learner works with: the course served in JupyterLab, hints and progress."""
