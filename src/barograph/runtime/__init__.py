"""What every room needs to run: errors, compiled kernels, parallel work, files and extras."""
