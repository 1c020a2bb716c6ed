from typing import Optional


class Error(Exception):
    """Bad input, or an environment that fails: one line that names file, place and cause.

    >>> import origo
    >>> try:
    ...     origo.load("nothing.tflite")
    ... except origo.Error as error:
    ...     print(error.cause)
    cannot be opened: No such file or directory
    """

    file: str  #: empty: it is not about one
    cause: str  #: the sentence without file and place
    subgraph: Optional[int]
    operator: Optional[int]  #: its index in the subgraph
    tensor: Optional[int]
    name: str  #: of the tensor or operator; empty: not known

    def __init__(
        self,
        text: str,
        file: str = "",
        cause: str = "",
        subgraph: Optional[int] = None,
        operator: Optional[int] = None,
        tensor: Optional[int] = None,
        name: str = "",
    ) -> None:
        super().__init__(text)
        self.file = file
        self.cause = cause or text
        self.subgraph = subgraph
        self.operator = operator
        self.tensor = tensor
        self.name = name
