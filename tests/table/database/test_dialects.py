"""SQL Server and Oracle, by dialect only: the query that reads a table, and what is missing.

No server of either is tried here, and the documentation says so.
"""

from __future__ import annotations

import ibis
import pytest
import sqlglot
from ibis.backends.sql.compilers import mssql, mysql, oracle

from veladura.errors import PlanError
from veladura.table.database import urls

COLUMNS = {"zip": "string", "Größe": "float64", "select": "int64", "born": "date"}
DIALECTS = {"mssql": (mssql, "tsql"), "oracle": (oracle, "oracle"), "mysql": (mysql, "mysql")}


@pytest.mark.parametrize("name", DIALECTS)
def test_the_query_that_reads_a_table_is_one_of_the_dialect(name):
    """All columns are quoted and in order, nothing is sorted, grouped or compared there."""
    module, dialect = DIALECTS[name]
    table, names = ibis.table(COLUMNS, name="register"), list(COLUMNS)[:0:-1]
    whole, some = (
        sqlglot.parse_one(
            module.compiler.to_sqlglot(query).sql(dialect=module.compiler.dialect), dialect=dialect
        )
        for query in (table, table.select(*names))
    )
    assert whole.named_selects in (["*"], list(COLUMNS))
    parsed = some
    assert parsed.named_selects == names
    assert [t.name for t in parsed.find_all(sqlglot.exp.Table)] == ["register"]
    assert all(c.this.quoted for c in parsed.find_all(sqlglot.exp.Column))
    for part in (sqlglot.exp.Group, sqlglot.exp.Order, sqlglot.exp.Where):
        assert parsed.find(part) is None


@pytest.mark.parametrize(
    ("url", "driver", "extra"),
    [
        ("mssql://sa@server/clinic", "pyodbc", "mssql"),
        ("oracle://ana@server/clinic", "oracledb", "oracle"),
        ("mariadb://ana@server/clinic", "pymysql", "mysql"),
    ],
)
def test_a_missing_driver_is_named_with_its_extra(url, driver, extra, monkeypatch):
    def fails(*args, **kwargs):
        raise ModuleNotFoundError(name=driver)

    monkeypatch.setattr(urls, "_connect", fails)
    with pytest.raises(PlanError, match=rf"{driver}.*\n\n.*veladura\[{extra}\]"):
        urls.find_table(url, "people")
