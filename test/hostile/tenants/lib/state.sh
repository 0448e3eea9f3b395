# Read by up, cases and down: the directory of their state, and the two namespaces.
S=${CASES_STATE:-$(dirname "$(mktemp -u)")/parley-hostile}; P=${PRODUCT_NS:-t26p}; W=${WORLD_NS:-t26w}
