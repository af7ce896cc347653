"""The plain engines of the scale benchmark: pgvector and Qdrant as their manuals use them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.backends.index.qdrant import EF
from remanence.store.postgres.nearest import LEAST_EFFORT

Vectors = NDArray[np.float32]
EXACT = 5000  # rows of a tenant up to which pgvector's manual advises an exact scan


class PlainPgvector:
    """One table, a halfvec HNSW index, a filter on the tenant with an iterative scan."""

    def __init__(self, url: str, rows: Vectors, tenants: int) -> None:
        import psycopg

        self._exact = len(rows) // tenants <= EXACT
        self._connection = psycopg.connect(url, autocommit=True)
        run = self._connection.execute
        dimension = rows.shape[1]
        run(f"CREATE TABLE items (id int, tenant int, vector halfvec({dimension}))")
        with self._connection.cursor().copy("COPY items FROM STDIN") as copy:
            for n, row in enumerate(rows):
                copy.write_row((n, n % tenants, _text(row)))
        run("SET maintenance_work_mem = '1GB'")
        run("CREATE INDEX ON items USING hnsw (vector halfvec_cosine_ops)")
        run("CREATE INDEX ON items (tenant)")
        run("VACUUM ANALYZE items")

    def nearest(self, query: Vectors, tenant: int, limit: int) -> list[int]:
        with self._connection.transaction():
            run = self._connection.execute
            if self._exact:
                run("SET LOCAL enable_indexscan = off")
            else:
                run("SET LOCAL hnsw.iterative_scan = strict_order")
                run(f"SET LOCAL hnsw.ef_search = {effort(limit)}")
            rows = run(
                "SELECT id FROM items WHERE tenant = %s ORDER BY vector <=> %s::halfvec LIMIT %s",
                (tenant, _text(query), limit),
            ).fetchall()
        return [id for (id,) in rows]

    def close(self) -> None:
        self._connection.close()


class PlainQdrant:
    """One collection with a tenant payload index, as Qdrant's guide to multitenancy has it."""

    def __init__(self, url: str, rows: Vectors, tenants: int) -> None:
        from qdrant_client import QdrantClient, models

        self._models = models
        self._client = QdrantClient(url, timeout=60, check_compatibility=False)
        self._name = f"plain-{tenants}"
        several = tenants > 1
        self._client.create_collection(
            self._name,
            vectors_config=models.VectorParams(
                size=rows.shape[1],
                distance=models.Distance.COSINE,
                on_disk=True,
                datatype=models.Datatype.FLOAT16,
            ),
            hnsw_config=models.HnswConfigDiff(payload_m=16, m=0) if several else None,
            quantization_config=models.ScalarQuantization(
                scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
            ),
        )
        tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        self._client.create_payload_index(self._name, "tenant", tenant)
        self._client.upload_collection(
            self._name,
            rows,
            payload=({"tenant": str(n % tenants)} for n in range(len(rows))),
            ids=range(len(rows)),
            batch_size=500,
            wait=True,
        )
        self._settle()

    def nearest(self, query: Vectors, tenant: int, limit: int) -> list[int]:
        models = self._models
        own = models.FieldCondition(key="tenant", match=models.MatchValue(value=str(tenant)))
        found = self._client.query_points(
            self._name,
            query=query.tolist(),
            query_filter=models.Filter(must=[own]),
            limit=limit,
            with_payload=False,
            search_params=models.SearchParams(
                hnsw_ef=EF,
                quantization=models.QuantizationSearchParams(rescore=True, oversampling=2.0),
            ),
        )
        return [int(point.id) for point in found.points]

    def close(self) -> None:
        self._client.delete_collection(self._name)
        self._client.close()

    def _settle(self) -> None:
        import time

        while self._client.get_collection(self._name).status != self._models.CollectionStatus.GREEN:
            time.sleep(0.2)


def effort(limit: int) -> int:
    """The ef_search that ours takes for so many, so that both look equally far."""
    return max(LEAST_EFFORT, 2 * (limit + limit // 2 + 20))


def _text(row: Any) -> str:
    return "[" + ",".join(f"{value:.5g}" for value in row.tolist()) + "]"
