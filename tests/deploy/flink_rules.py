"""What the Flink Kubernetes operator (1.13) demands of a FlinkDeployment: required fields, closed sets, kinds of values."""

from __future__ import annotations

from typing import Any

_QUANTITY = {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(m|g|mb|gb|Mi|Gi)?$"}
_RESOURCE = {
    "type": "object",
    "properties": {
        "cpu": {"type": "number", "exclusiveMinimum": 0},
        "memory": _QUANTITY,
        "ephemeralStorage": _QUANTITY,
    },
    "required": ["cpu", "memory"],
    "additionalProperties": False,
}
_MANAGER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "resource": _RESOURCE,
        "replicas": {"type": "integer", "minimum": 1},
        "podTemplate": {"type": "object"},
    },
    "required": ["resource"],
    "additionalProperties": False,
}
FLINK_DEPLOYMENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "apiVersion": {"const": "flink.apache.org/v1beta1"},
        "kind": {"const": "FlinkDeployment"},
        "metadata": {"type": "object", "required": ["name"]},
        "spec": {
            "type": "object",
            "properties": {
                "flinkVersion": {
                    "enum": [
                        *(f"v1_{minor}" for minor in range(13, 21)),
                        *(f"v2_{minor}" for minor in range(5)),
                    ]
                },
                "flinkConfiguration": {"type": "object", "additionalProperties": {"type": "string"}},
                "image": {"type": "string"},
                "imagePullPolicy": {"type": "string"},
                "ingress": {"type": "object"},
                "job": {"type": "object"},
                "jobManager": _MANAGER,
                "logConfiguration": {"type": "object"},
                "mode": {"enum": ["native", "standalone"]},
                "podTemplate": {"type": "object"},
                "restartNonce": {"type": "integer"},
                "serviceAccount": {"type": "string"},
                "taskManager": _MANAGER,
            },
            "required": ["flinkVersion", "image", "jobManager", "taskManager", "serviceAccount"],
            "additionalProperties": False,
        },
    },
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "additionalProperties": False,
}
