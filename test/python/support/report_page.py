# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report of `shoalc --emit=report`: its data, and the page in a browser.

As a program: prints the data of a page, one op, value, layout … a line.
"""

import json
import re
import sys
from pathlib import Path


def read_data(page):
    """The data that the page shows, an object as docs/guide/Report.md describes it."""
    text = Path(page).read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(data)


class Browser:
    """A headless Chromium with its window, and what a page did in it."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, page, fragment=""):
        """Loads the page of a file; fails where it throws or asks for anything else."""
        url = Path(page).resolve().as_uri()
        self.driver.get("about:blank")
        self.complaints()
        self.requests()
        self.driver.get(url + fragment)
        self.expect_no_complaints()
        asked = {entry.split("#")[0] for entry in self.requests()}
        assert asked == {url}, f"the page asks for {asked - {url}}"

    def run(self, script, *arguments):
        """The value of a JavaScript expression."""
        return self.driver.execute_script(f"return {script}", *arguments)

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def complaints(self):
        """Messages of the console: exceptions, refused requests."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def expect_no_complaints(self):
        complaints = self.complaints()
        assert not complaints, "\n".join(complaints)

    def requests(self):
        """Addresses that were asked for, but those with their data in them."""
        urls = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                urls.append(message["params"]["request"]["url"])
        return [url for url in urls if not url.startswith("data:")]

    def prefer_dark(self, is_dark):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def start_browser(chromium, chromedriver):
    """A Browser; `quit` of its driver ends it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.add_argument("--no-sandbox")  # which root cannot have
    options.add_argument("--window-size=1500,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(chromedriver)
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(30)
    return Browser(driver)


def print_data(data):
    for key in ("name", "devices", "target", "flops"):
        print(key, json.dumps(data[key]))
    for key in ("meshes", "inputs", "outputs", "layouts", "collectives", "products", "values", "ops", "files"):
        for number, entry in enumerate(data[key]):
            print(key, number, json.dumps(entry, sort_keys=True))
    memory = data["memory"]
    lists = ("buffers", "largest")
    print("memory", json.dumps({key: memory[key] for key in memory if key not in lists}))
    for key, title in zip(lists, ("buffer", "largest")):
        for number, entry in enumerate(memory[key]):
            print(title, number, json.dumps(entry, sort_keys=True, ensure_ascii=False))


if __name__ == "__main__":
    print_data(read_data(sys.argv[1]))
