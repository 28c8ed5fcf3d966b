"""Parts of the site's build."""
