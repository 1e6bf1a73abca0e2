"""Attacks on a grading run, as submissions that an instructor can try: `grader doctor --attack`.

routes/     the attacks, a module for each kind        attack.py   what one is
field.py    the place they are tried in                harm.py     what they did besides their points
suite.py    tries them, both ways                      stock.py    nbgrader alone
report.py   what the command prints
"""
