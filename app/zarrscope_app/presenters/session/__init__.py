"""One opened hierarchy with its presenters, and the workspace that holds several."""
