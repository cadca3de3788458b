package main

const usage = `jmx-attach makes a running Java process serve its MBeans to Prometheus, without a restart.

  jmx-attach inspect                        which Java processes there are, and whether they can be attached to
  jmx-attach load --pid P [--port N] --config F
                                            serve the MBeans of process P on port N, by the rules in file F;
                                            again, with another port or file, to change them; without a port, on
                                            the one that it has, or on the lowest that is free from 9404 upwards
  jmx-attach check --pid P --config F       what the agent in process P says of the rules in file F (- for standard input):
                                            it tries them once, and serves what it did
  jmx-attach status --pid P                 what the agent in process P does
  jmx-attach unload --pid P                 stop the agent in process P and remove its files
  jmx-attach probe --port N [--path /p]     whether http://localhost:N/metrics answers

Common:
  -o json      the full report, for programs
  --version    the helper's version

Load and check only:
  --allow-shared-tmp
               also where other users may replace files in the JVM's /tmp: they can run code in it then
  --memory-headroom N
               MiB that must be free below the memory limit of the process's control groups, of which a check needs a
               quarter; default 96, 0 for no check

Load only:
  --agent F, --exporter F
               the agent's two jars; without them agent.jar and exporter.jar beside this program, or in agent/ there

It must run as the JVM's user, or as root. The files go to /tmp/.jmx-exporter, as the JVM sees /tmp.
A JVM of version 21 or later writes four warning lines when the agent is loaded (JEP 451).

Example:
  $ jmx-attach inspect
  $ printf 'rules: [{pattern: ".*"}]\n' >rules.yaml
  $ jmx-attach load --pid 4711 --port 9404 --config rules.yaml
  $ curl localhost:9404/metrics
  $ jmx-attach unload --pid 4711

The operator runs 'jmx-attach serve', a session in lines of JSON: see docs/agent-protocol.md. In an ephemeral container
it runs 'jmx-attach door', which waits for sessions; in its agent on each node, 'jmx-attach node' (see its --help).

Exit code: 0 done, 1 not done (the error says why), or rules not accepted, 2 wrong usage.
`
