/**
 * Generates the table of the files in the home directory. The types require a row for each entry of the layout.
 */
import { relative } from 'node:path'
import { createHomeLayout, type HomeLayout } from '../../../src/lib/home.ts'
import { table } from './table.ts'

type LayoutEntry = Exclude<keyof HomeLayout, 'root'>

/** The writer of the file, and what it contains. */
const entries: Readonly<Record<LayoutEntry, readonly ['you' | 'gateway', string]>> = {
  configFile: ['you', 'The configuration. Every key has a default.'],
  envFile: [
    'you',
    'Keys and tokens, one `NAME=value` per line. Used only for the configuration: commands of the agent do not inherit them.',
  ],
  authFile: [
    'gateway',
    'Keys of model providers, and how long a refused one is not used, in the form of Hermes. A key of the environment is only named here. Mode 0600.',
  ],
  mcpTokens: ['gateway', 'Logins at MCP servers (`hermes mcp login`), in the form of Hermes. Mode 0600.'],
  mcpCache: ['gateway', 'The tools of MCP servers, so that a start of the gateway starts no server. May be deleted.'],
  soulFile: ['you', 'The persona of the agent. The system prompt of new sessions begins with it.'],
  activeProfileFile: ['gateway', 'The profile that `hermes profile use` has selected; only in the root home.'],
  profiles: [
    'gateway',
    'The homes of the other profiles, one folder each; see [several profiles](../how-to/run-several-profiles.md). Only in the root home.',
  ],
  profileFile: [
    'gateway',
    'When a profile was created, the profile it was cloned from, and the name in its session keys; only in the home of a profile.',
  ],
  platforms: [
    'you',
    'Your chat platforms, one folder each. Watched: a change is reported and takes effect after a restart.',
  ],
  backups: ['gateway', 'What `hermes backup` has written, mode 0600; see [backups](../how-to/back-up-and-restore.md).'],
  restore: ['gateway', 'Present while a backup is restored. The next start ends a restore that was interrupted.'],
  beforeRestore: [
    'gateway',
    'What the last `hermes restore` has replaced. Delete it when you no longer need it: it has your conversations.',
  ],
  checkpoints: [
    'gateway',
    'The files of folders before the agent changed them, one git repository for each folder; see [undo changes](../how-to/undo-what-the-agent-changed.md). May be deleted.',
  ],
  pairing: [
    'gateway',
    'Requests for access and approved people, in `<platform>-pending.json`, `<platform>-approved.json` and `_rate_limits.json`, as Hermes writes them. A damaged file is kept with `.damaged-1` after its name.',
  ],
  formerPairing: ['gateway', 'The directory of `platforms/pairing` in older homes of Hermes. Used if it exists.'],
  plugins: [
    'you',
    'Your plugins, one folder each, also one level deeper; `plugins/platforms/<name>` can contain platforms. Watched: an edited enabled plugin is reloaded.',
  ],
  typescriptConfigFile: [
    'you',
    'The settings of TypeScript for your editor. `hermes plugins new` and `hermes hooks new` create it if it is missing.',
  ],
  sdkConfigFile: [
    'gateway',
    'The part of `tsconfig.json` that refers to the types of `#sdk` in this installation. `hermes plugins new` and `hermes hooks new` write it again.',
  ],
  pluginState: ['gateway', 'The stored state of plugins, one JSON file each.'],
  databaseFile: [
    'gateway',
    'The database: messages, turns, conversations, replies. `state.db-wal` and `state.db-shm` belong to it. `state.db.bak` is the copy before the last upgrade of its schema.',
  ],
  tokenFile: [
    'gateway',
    'The bearer token, created at the first start with mode 0600. Delete it and restart the gateway to create a new one.',
  ],
  lockFile: [
    'gateway',
    'Locked by the process that runs turns; the operating system releases the lock when this process exits.',
  ],
  chatHistoryFile: [
    'gateway',
    'What was written in [`hermes --tui`](../how-to/use-the-terminal-interface.md), for the arrow keys: one JSON text on each line, mode 0600. May be deleted.',
  ],
  pidFile: ['gateway', 'The process id of the running gateway; removed when it stops.'],
  pauseFile: ['gateway', 'Present while the agent is paused: since when, and why.'],
  logs: [
    'gateway',
    '`gateway.log` and rotated files: at most 7 files of 10 MB. `hermes logs` shows them; see [the log](../how-to/read-the-log.md).',
  ],
  workspace: ['you', 'The working directory of the commands of the agent; see `terminal.cwd`.'],
  media: [
    'gateway',
    'Attachments of messages; deleted after `retention.media_days`. `files/` has uploaded files, `sent/` those of the agent on the chat page, `uploads/` those of messages that are not sent yet, for a day.',
  ],
  pictures: [
    'gateway',
    'Pictures that models are shown, each stored once under the hash of its content, mode 0600. Deleted when no message of a conversation refers to it any more.',
  ],
  cache: [
    'gateway',
    'Compiled code, the `hermes` command for the agent, and the address of the gateway. May be deleted while the gateway is stopped.',
  ],
  lastGoodConfigFile: [
    'gateway',
    'The last valid configuration, used when `config.yaml` cannot be read or is not valid YAML.',
  ],
  results: [
    'gateway',
    'Results of tools that were too long for the model, `<turn>/<call>.txt`, mode 0600 and without secrets. The agent may read them in the same conversation. Each has at most 2,000,000 characters and all together 256 MiB; deleted after `retention.media_days`.',
  ],
  bootFile: ['you', 'Tasks of the agent for every start.'],
  hooks: ['you', 'Your hooks, one folder each. Watched: an edited hook is reloaded. `.state.json` lists paused hooks.'],
  skills: [
    'you',
    'Skills of the agent, which also writes here. New conversations know a change. See [skills](../how-to/write-a-skill.md).',
  ],
  memories: [
    'gateway',
    'What the agent remembers: `MEMORY.md` and `USER.md`, which you may edit, and `ARCHIVE.jsonl`. See [memory](../how-to/give-the-agent-memory.md).',
  ],
  cron: [
    'gateway',
    '`jobs.json`, which you may edit: the scheduled jobs in the form of Hermes, with the times and results of their runs. `output/<id>/`: what each run said, mode 0600. See [schedule jobs](../how-to/schedule-jobs.md).',
  ],
}

/** What only one module names. */
const others: readonly (readonly [path: string, owner: 'you' | 'gateway', meaning: string])[] = [
  [
    'scripts/',
    'you',
    'Scripts of scheduled jobs and of webhooks; see [schedule jobs](../how-to/schedule-jobs.md#scripts).',
  ],
  [
    'sandboxes/',
    'gateway',
    'The folders of containers that are kept, by kind and conversation; see [containers](../how-to/run-commands-in-a-container.md).',
  ],
  [
    'shell-hooks-allowlist.json',
    'gateway',
    'The programs of `hooks` in config.yaml that were accepted, in the form of Hermes.',
  ],
]

export function homeFiles(): string {
  const root = '/home'
  const paths = new Map(Object.entries(createHomeLayout(root)))
  const rows = Object.entries(entries).map(([name, [owner, meaning]]) => {
    const path = relative(root, paths.get(name) ?? '')
    return [`\`${path}${name.endsWith('File') || path.includes('.') ? '' : '/'}\``, writer(owner), meaning]
  })
  const more = others.map(([path, owner, meaning]) => [`\`${path}\``, writer(owner), meaning])
  return table(['Name', 'Written by', 'Content'], [...rows, ...more])
}

function writer(owner: 'you' | 'gateway'): string {
  return owner === 'you' ? 'you' : 'the gateway'
}
