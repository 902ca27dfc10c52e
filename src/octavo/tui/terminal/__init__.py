"""The terminal driver, child programs such as editors and browsers, and all private parts of Textual."""
