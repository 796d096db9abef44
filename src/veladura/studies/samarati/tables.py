"""The tables of the document's examples, and their hierarchies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.numeric.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    import pandas as pd

ZIPS = ("02138", "02139", "02141", "02142")
ETHNICITIES = ("asian", "black", "white")
ZIP = Hierarchy.explicit([(code, f"{code[:4]}*", f"{code[:3]}**") for code in ZIPS])
ETHNICITY = Hierarchy.explicit([(name, "person") for name in ETHNICITIES])
TWO = {"ethnicity": ETHNICITY, "zip": ZIP}
EIGHT = (  # with suppression
    *[("asian", "02138")] * 2,
    *[("asian", "02142")] * 2,
    ("black", "02138"),
    ("black", "02141"),
    ("black", "02142"),
    ("white", "02138"),
)
MEDICAL = (  # ethnicity, birth, sex, zip, status, problem; lost digits chosen to fit the text
    ("asian", "1964-04-27", "female", "02139", "divorced", "hypertension"),
    ("asian", "1964-09-30", "female", "02139", "divorced", "obesity"),
    ("asian", "1964-04-18", "male", "02139", "married", "chest pain"),
    ("asian", "1964-04-15", "male", "02139", "married", "obesity"),
    ("black", "1963-03-13", "male", "02138", "married", "hypertension"),
    ("black", "1963-03-18", "male", "02138", "married", "shortness of breath"),
    ("black", "1964-09-13", "female", "02141", "married", "shortness of breath"),
    ("black", "1964-09-07", "female", "02141", "married", "obesity"),
    ("white", "1961-05-14", "male", "02138", "single", "chest pain"),
    ("white", "1961-05-08", "male", "02138", "single", "obesity"),
    ("white", "1961-09-15", "female", "02142", "widow", "shortness of breath"),
)
VOTER = {"zip": "02142", "birth": "1961-09-15", "sex": "female"}  # of the one voter of the figure
STATUS = Hierarchy.explicit(
    [
        ("married", "once married", "*"),
        ("divorced", "once married", "*"),
        ("widow", "once married", "*"),
        ("single", "never married", "*"),
    ]
)


def twelve() -> pd.DataFrame:
    """Return the twelve rows of the first example: three ethnicities in four ZIP codes."""
    import pandas as pd

    rows = [(ethnicity, code) for ethnicity in ETHNICITIES for code in ZIPS]
    return pd.DataFrame(rows, columns=["ethnicity", "zip"])


def eight() -> pd.DataFrame:
    """Return the eight rows of the example with suppression."""
    import pandas as pd

    return pd.DataFrame(EIGHT, columns=["ethnicity", "zip"])


def medical() -> pd.DataFrame:
    """Return the medical table of the linking example."""
    import pandas as pd

    names = ["ethnicity", "birth", "sex", "zip", "status", "problem"]
    frame = pd.DataFrame(MEDICAL, columns=names)
    return frame.assign(birth=pd.to_datetime(frame["birth"]).dt.date)


def medical_hierarchies() -> dict[str, Hierarchy]:
    """Return the hierarchies of the medical table's quasi-identifier."""
    return {
        "ethnicity": ETHNICITY,
        "birth": Hierarchy.dates(["month", "year", "5 years", "decade"]),
        "sex": Hierarchy.star(),
        "zip": Hierarchy.mask(5),
        "status": STATUS,
    }
