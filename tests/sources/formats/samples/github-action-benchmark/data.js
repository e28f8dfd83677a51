window.BENCHMARK_DATA = {
  "lastUpdate": 1769860800123,
  "repoUrl": "https://github.com/acme/parser",
  "entries": {
    "Rust": [
      {
        "commit": {
          "author": {"email": "ada@acme.example", "name": "Ada", "username": "ada"},
          "committer": {"email": "ada@acme.example", "name": "Ada", "username": "ada"},
          "distinct": true,
          "id": "0a4f1c2d9be7461ec1d3ab2f55d0a9c1e7f60b31",
          "message": "Parse without copies\n\nThe buffer is borrowed.",
          "timestamp": "2026-01-30T11:02:09+01:00",
          "tree_id": "b1",
          "url": "https://github.com/acme/parser/commit/0a4f1c2d9be7461ec1d3ab2f55d0a9c1e7f60b31"
        },
        "date": 1769767329000,
        "tool": "cargo",
        "benches": [
          {"name": "parse_small", "value": 255, "range": "± 12", "unit": "ns/iter"},
          {"name": "parse_large", "value": "1,034", "range": "± 2,802", "unit": "ns/iter"}
        ]
      },
      {
        "commit": {"id": "f00dfeed", "message": "Fix", "timestamp": "2026-01-31T09:00:00Z"},
        "date": 1769850000000,
        "tool": "cargo",
        "benches": [
          {"name": "parse_small", "value": 251.5, "range": "± 9", "unit": "ns/iter"},
          {"name": "parse_large", "value": null, "unit": "ns/iter"}
        ]
      }
    ],
    "Python": [
      {
        "commit": {"id": "f00dfeed", "timestamp": "2026-01-31T09:00:00Z"},
        "date": 1769850000000,
        "tool": "pytest",
        "benches": [
          {
            "name": "tests/test_parse.py::test_small",
            "value": 9021.5,
            "unit": "iter/sec",
            "range": "stddev: 0.000012",
            "extra": "mean: 110.8 usec\nrounds: 4021"
          }
        ]
      }
    ],
    "Size": [
      {
        "commit": {"id": "f00dfeed", "timestamp": "2026-01-31T09:00:00Z"},
        "tool": "customSmallerIsBetter",
        "benches": [{"name": "wheel", "value": "412", "unit": "KiB"}]
      },
      {
        "commit": {"id": "f00dfeed", "timestamp": "2026-01-31T09:00:00Z"},
        "tool": "jmh",
        "benches": [{"name": "org.acme.Parse.all", "value": 12.5, "unit": "ops/s"}]
      }
    ]
  }
}
