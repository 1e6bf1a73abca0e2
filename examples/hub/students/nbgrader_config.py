"""What a student's nbgrader has to know; the class's own settings stand in its folder, where students cannot read."""

c = get_config()  # noqa: F821 (nbgrader provides it)

c.CourseDirectory.course_id = "autograd"  # the name of the class's folder
c.Exchange.root = "/srv/nbgrader/exchange"
