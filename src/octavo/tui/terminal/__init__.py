"""The terminal driver, external programs such as editors and browsers, and all uses of private parts of Textual."""
