"""Pictures and words in one space: what says words for a picture, and finds pictures for words."""
