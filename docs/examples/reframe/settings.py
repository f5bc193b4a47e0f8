"""A ReFrame configuration for the machine at hand; a cluster's own stands in its place.

There, a partition with `scheduler: slurm` and `launcher: local` runs the checks on its nodes:
gpucast-mdapp takes the GPUs of its node by itself.
"""

site_configuration = {
    "systems": [
        {
            "name": "here",
            "descr": "this machine, without a batch system",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "local",
                    "scheduler": "local",
                    "launcher": "local",
                    "environs": ["builtin"],
                    "max_jobs": 1,  # timings do not go together
                }
            ],
        }
    ]
}
