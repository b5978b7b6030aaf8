"""Dead letters: the sources that a worker gave up; found, processed again or dropped."""
