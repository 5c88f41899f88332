/**
 * The commands, their flags and their help, in one table: what is parsed and what `--help` shows can't differ.
 *
 * @module
 */
import type { Flag } from "./flags.ts";

/** One command. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly about: string;
  /** What follows the name: `[flags] FILE…`. */
  readonly usage: string;
  readonly flags: readonly Flag[];
  /** Paragraphs below the flags. */
  readonly details: readonly string[];
}

const CONFIG_FLAGS: readonly Flag[] = [
  { name: "config", value: "FILE", about: "Read the configuration from this JSON file" },
  {
    name: "set",
    value: "KEY=VALUE",
    many: true,
    about: "Set one key over the file: --set dwell.lateness=2s",
  },
];

const HELP_FLAG: Flag = { name: "help", value: null, about: "Show this" };

const DEAD_LETTERS_FLAG: Flag = {
  name: "dead-letters",
  value: "FILE",
  about: "Write the records that were not taken here (dead_letters.path)",
};

const FORMAT_FLAG: Flag = {
  name: "format",
  value: "NAME",
  about: "What the producer sends (source.format): see fencepost formats",
};

/** The last ones of each command that takes records. */
const WORK_FLAGS: readonly Flag[] = [
  FORMAT_FLAG,
  { name: "partitions", value: "N", about: "Share the devices among this many actors (partitions)" },
  ...CONFIG_FLAGS,
  { name: "print-config", value: null, about: "Show the configuration in force, and stop" },
  { name: "summary", value: "text|json", about: "How to sum up at the end, on stderr" },
  HELP_FLAG,
];

const RUN: Command = {
  name: "run",
  about: "Read transitions, write triggers, each once",
  usage: "[flags]",
  flags: [
    { name: "input", value: "FILE|-", about: "Read transitions from here; - is stdin (source.path)" },
    { name: "output", value: "FILE|-", about: "Write triggers here; - is stdout (sink.path)" },
    {
      name: "state",
      value: "DIR",
      about: "Keep the checkpoints here, and the dead letters (checkpoint.path)",
    },
    DEAD_LETTERS_FLAG,
    { name: "live", value: null, about: "The input is live: follow the wall clock (source.live)" },
    {
      name: "at-eof",
      value: "flush|hold",
      about: "At the end: it is complete, or it will grow (source.at_eof)",
    },
    { name: "from-start", value: null, about: "Read the file again, over what is known (source.from_start)" },
    { name: "listen", value: "HOST:PORT", about: "Show health and metrics here (http.listen)" },
    ...WORK_FLAGS,
  ],
  details: [
    "Each key of the configuration has its default; over that goes the --config file,\n" +
    "over that each --set in its order, over that the other flags. A --set value is\n" +
    "JSON where it is JSON, and text otherwise.",
    "A second start with the same --state goes on where the first one stopped.\n" +
    "SIGTERM and SIGINT stop it without loss. With --from-start, what is older than\n" +
    'identity.ttl can come out again, with the same id and "beyond_window": true.',
    "Exit status: 0 done, 1 failed while running, 2 wrong usage or configuration.",
  ],
};

const SERVE: Command = {
  name: "serve",
  about: "Take transitions over HTTP, write triggers, each once; the default",
  usage: "[flags]",
  flags: [
    { name: "listen", value: "HOST:PORT", about: "Listen here (source.listen): 127.0.0.1:8787" },
    {
      name: "output",
      value: "FILE|-",
      about: "Write triggers here (sink.path): triggers.ndjson in the state",
    },
    {
      name: "state",
      value: "DIR",
      about: "Keep checkpoints, triggers and dead letters here (checkpoint.path)",
    },
    DEAD_LETTERS_FLAG,
    ...WORK_FLAGS,
  ],
  details: [
    "POST /v1/transitions takes NDJSON, JSON and CloudEvents. It answers when what it took\n" +
    "is durable. Only this host can reach it, unless --listen says otherwise and http.tokens\n" +
    "say who may do what.",
    "SIGTERM and SIGINT stop it without loss.",
    "Exit status: 0 stopped, 1 failed while running, 2 wrong usage or configuration.",
  ],
};

const KEY: Command = {
  name: "key",
  about: "Show the ids of a transition, and what they are made from",
  usage: "--device ID --fence ID --kind KIND --time TIME [flags] | --input FILE|-",
  flags: [
    { name: "device", value: "ID", about: "The device_id" },
    { name: "fence", value: "ID", about: "The fence_id" },
    { name: "kind", value: "KIND", about: "ENTER, EXIT or DWELL (one that is passed on)" },
    {
      name: "code",
      value: "E|X|D|P|R",
      about: "The code, instead of a kind: D is our own DWELL, R a RETRACT",
    },
    { name: "time", value: "TIME", about: "The event time: RFC 3339 with offset or Z" },
    { name: "seq", value: "SEQ", about: "The producer's number for the crossing" },
    { name: "input", value: "FILE|-", about: "Show those of each transition in this NDJSON instead" },
    { name: "bucket", value: "DURATION", about: "Width of a bucket (identity.bucket)" },
    { name: "guard", value: "DURATION", about: "Guard at a bucket's edges (identity.guard)" },
    ...CONFIG_FLAGS,
    { name: "json", value: null, about: "One JSON object a transition" },
    HELP_FLAG,
  ],
  details: [
    "The first id is the trigger's. An event near a boundary of its bucket has a second\n" +
    "one, of that edge, which it shares with a copy on the other side and which is never\n" +
    "seen outside.",
    "Exit status: 0 done, 1 where a line of the input is no transition, 2 wrong usage.",
  ],
};

const AUDIT: Command = {
  name: "audit",
  about: "Look for duplicates in triggers that were written",
  usage: "[flags] FILE…",
  flags: [
    {
      name: "bucket",
      value: "DURATION",
      about: "Triggers of a pair and kind that are closer are suspect: 2s",
    },
    { name: "limit", value: "N", about: "Show this many findings at most; all are counted: 1000" },
    { name: "json", value: null, about: "One JSON object a finding, then one that sums up" },
    HELP_FLAG,
  ],
  details: [
    "Reads NDJSON of triggers (- is stdin) as if it were one file, and reports ids that\n" +
    "occur twice, and triggers of one pair and kind that are too close and have different\n" +
    "ids, each with what probably led to it. Takes about 50 bytes a trigger.",
    "Exit status: 0 nothing found, 1 something found, 2 wrong usage or nothing to read.",
  ],
};

const EXPLAIN: Command = {
  name: "explain",
  about: "Show what a producer's messages become, and why not",
  usage: "[flags] [FILE|-]",
  flags: [
    FORMAT_FLAG,
    { name: "topic", value: "TOPIC", about: "The MQTT or Kafka topic that they came from" },
    { name: "key", value: "KEY", about: "The key of the Kafka record" },
    { name: "header", value: "NAME=VALUE", many: true, about: "A header that came along" },
    ...CONFIG_FLAGS,
    { name: "json", value: null, about: "One JSON object a crossing, then one that sums up" },
    HELP_FLAG,
  ],
  details: [
    "Reads a message a line (- is stdin, the default), and shows for each what it is decoded\n" +
    "to, with the id that it would have, or why it is no transition. At the end it counts.\n" +
    "Nothing else is read or written: it touches no state, and knows of no copies.",
    "Exit status: 0 done, 1 where something would be a dead letter, 2 wrong usage or\n" +
    "configuration.",
  ],
};

const FORMATS: Command = {
  name: "formats",
  about: "Show the producers whose messages are known",
  usage: "[NAME]",
  flags: [HELP_FLAG],
  details: [
    "With a name: what maps to what, what is skipped, which clock is the event's, what is\n" +
    "known of redelivery, and what the producer can't promise.",
    "Exit status: 0 done, 2 wrong usage.",
  ],
};

const PLAN: Command = {
  name: "plan",
  about: "Show what to configure for a workload, and what it will take",
  usage: "--rate N --pairs N [flags]",
  flags: [
    { name: "rate", value: "N", about: "Records a second at the peak, of one process" },
    { name: "pairs", value: "N", about: "Pairs that are heard from within time.max_age" },
    { name: "after", value: "DURATION,…", about: "Thresholds of a dwell (dwell.rules): 10m" },
    { name: "retry", value: "DURATION", about: "Until a sender's last retry arrives: 30s" },
    {
      name: "replay",
      value: "DURATION",
      about: "How far back a source or a consumer may be set: 4m",
    },
    {
      name: "retention",
      value: "DURATION",
      about: "How long dead letters are kept to be sent again (dead_letters.retention)",
    },
    {
      name: "skew",
      value: "DURATION",
      about: "How far apart the event times of two copies may be (identity.max_skew)",
    },
    {
      name: "revisit",
      value: "DURATION",
      about: "The shortest real re-entry (identity.min_revisit): 5s",
    },
    {
      name: "partitions",
      value: "N",
      about: "Those of the topic that the process reads; otherwise partitions",
    },
    { name: "id-bytes", value: "N", about: "Length of a device_id and a fence_id together: 25" },
    { name: "memory", value: "SIZE", about: "What the process may take: 2GiB" },
    ...CONFIG_FLAGS,
    { name: "json", value: null, about: "All of it as one JSON object on stdout" },
    HELP_FLAG,
  ],
  details: [
    "The configuration goes to stdout, for run and serve --config; what it was made from,\n" +
    "what it will take and warnings go to stderr. Lateness, order, source and state are\n" +
    "those of --config and --set, which come out again with what was planned over them.",
    "Exit status: 0 done, with warnings too, 2 wrong usage, or nothing that could be run.",
  ],
};

const SELECTION_FLAGS: readonly Flag[] = [
  { name: "reason", value: "R[,R]", many: true, about: "Those with one of these reasons only" },
  {
    name: "since",
    value: "TIME|DURATION",
    about: "Those written since this time, or in the last 2h, 7d, …",
  },
];

const LIST_DEAD_LETTERS: Command = {
  name: "dead-letters list",
  about: "Show the records that were not taken, and why",
  usage: "[flags] [FILE…]",
  flags: [
    ...SELECTION_FLAGS,
    { name: "json", value: null, about: "One JSON object a dead letter, then one that sums up" },
    ...CONFIG_FLAGS,
    HELP_FLAG,
  ],
  details: [
    "Reads the files, or the file or topic of the configuration (dead_letters.path,\n" +
    "dead_letters.topic); - is stdin.",
    "Exit status: 0 done, 1 where a line is no dead letter, 2 wrong usage or nothing to\n" +
    "read.",
  ],
};

const REPLAY_DEAD_LETTERS: Command = {
  name: "dead-letters replay",
  about: "Send those records again, for run to read",
  usage: "[flags] [FILE…]",
  flags: [
    ...SELECTION_FLAGS,
    {
      name: "output",
      value: "FILE|-",
      about: "Append the records here; - is stdout, the default unless to a topic",
    },
    { name: "dry-run", value: null, about: "Write nothing, but say what would be" },
    { name: "force", value: null, about: "Send also what would only come back, or is known" },
    { name: "older-than-ttl", value: null, about: "Send also what is older than identity.ttl" },
    {
      name: "partition",
      value: "device|source",
      about: "Where a record goes whose device and source have two partitions",
    },
    { name: "limit", value: "N", about: "Tell this many refusals one by one; all are counted: 1000" },
    ...CONFIG_FLAGS,
    HELP_FLAG,
  ],
  details: [
    "Reads the files, or the file or topic of the configuration (dead_letters.path,\n" +
    "dead_letters.topic), as far as they go when it starts; - is stdin. The records come\n" +
    "out as they came in. Give the configuration of the run that they go to: each record\n" +
    "is tried against it, and what would only be a dead letter again is refused. Mend a\n" +
    "record in a copy of the file, and the copy's passes. Refused too is what is older\n" +
    "than identity.ttl, since a copy that was taken meanwhile would no longer be known,\n" +
    "and always what was too large, since it was not kept.",
    "Where source.type is kafka they go to its topic, keyed by their device and with the\n" +
    "timestamps that they had. A record whose device Kafka's default partitioner sends to\n" +
    "another partition than it came from is refused until --partition says which is\n" +
    "right: source where producers partition otherwise, device where the topic has got\n" +
    "more partitions since.",
    "Exit status: 0 done, 1 where a record was refused or a line is no dead letter, or\n" +
    "the output failed, 2 wrong usage or nothing to read.",
  ],
};

const OPS_ALERTS: Command = {
  name: "ops alerts",
  about: "Show alert rules for Prometheus",
  usage: "[flags]",
  flags: [
    { name: "job", value: "NAME", about: "The scrape job's name in Prometheus: fencepost" },
    ...CONFIG_FLAGS,
    HELP_FLAG,
  ],
  details: [
    "Each has a summary, a description and what to do. Give the configuration of the run:\n" +
    "some depend on identity.ttl and checkpoint.interval.",
    "Exit status: 0 done, 2 wrong usage or configuration.",
  ],
};

const OPS_GRAFANA: Command = {
  name: "ops grafana",
  about: "Show a dashboard for Grafana",
  usage: "",
  flags: [HELP_FLAG],
  details: ["Import the JSON, or put it where Grafana reads its dashboards from."],
};

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  SERVE,
  RUN,
  EXPLAIN,
  FORMATS,
  KEY,
  AUDIT,
  PLAN,
  LIST_DEAD_LETTERS,
  REPLAY_DEAD_LETTERS,
  OPS_ALERTS,
  OPS_GRAFANA,
];
