"""What mkdocs does not know about docs/: its order, and links to the rest of the repository."""

import logging
import os
import re

log = logging.getLogger("mkdocs.hooks")
LINK = re.compile(r"(\]\()(\.\.?/[^)#\s]*)(#[^)\s]*)?(\))")


def on_config(config):
    """Takes the navigation from the tables of docs/README.md."""
    with open(os.path.join(config.docs_dir, "README.md"), encoding="utf-8") as page:
        text = page.read()
    guide, design = text.split("## Design decisions")
    config.nav = ["README.md", *pages(guide), {"Design decisions": pages(design)}]
    return config


def pages(text):
    return list(dict.fromkeys(re.findall(r"\]\(((?:design/)?[\w-]+\.md)\)", text)))


def on_page_markdown(markdown, page, config, files):
    """Turns links to files outside docs/, which are no pages of the site, into links to the repository."""
    folder = os.path.dirname(page.file.abs_src_path)
    root = os.path.dirname(config.config_file_path)

    def outside(match):
        target = os.path.normpath(os.path.join(folder, match[2]))
        if target.startswith(config.docs_dir + os.sep):
            return match[0]
        if not os.path.exists(target):
            log.warning("%s: %s does not exist", page.file.src_path, match[2])
        kind = "tree" if os.path.isdir(target) else "blob"
        return f"{match[1]}{config.repo_url.rstrip('/')}/{kind}/main/{os.path.relpath(target, root)}{match[3] or ''}{match[4]}"

    return LINK.sub(outside, markdown)
