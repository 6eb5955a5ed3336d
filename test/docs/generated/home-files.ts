/**
 * What lies in the home directory. A new entry of the layout needs a line here: the types see to it.
 */
import { relative } from 'node:path'
import { createHomeLayout, type HomeLayout } from '../../../src/lib/home.ts'
import { table } from './table.ts'

type Place = Exclude<keyof HomeLayout, 'root'>

/** Whose it is to write: people, or the gateway. */
const places: Readonly<Record<Place, readonly ['you' | 'gateway', string]>> = {
  configFile: ['you', 'The configuration. Everything in it has a default.'],
  envFile: [
    'you',
    'Keys and tokens, one `NAME=value` a line. Read for the configuration only: commands never inherit it.',
  ],
  soulFile: ['you', 'Who the agent is, in your words. It opens the system prompt of new sessions.'],
  platforms: ['you', 'Chat platforms of your own, one folder each.'],
  plugins: [
    'you',
    'Your plugins, a folder each, also one level deeper; `plugins/platforms/<name>` is another place for platforms.',
  ],
  pluginState: ['gateway', 'What plugins keep, a JSON file each.'],
  databaseFile: [
    'gateway',
    'Everything that must survive: messages, turns, conversations, replies. `state.db-wal` and `state.db-shm` belong to it.',
  ],
  tokenFile: [
    'gateway',
    'The bearer token, made at the first start, mode 0600. Delete it and restart to get a new one.',
  ],
  lockFile: ['gateway', 'Held by the process that runs turns; the system frees it when that process dies.'],
  pidFile: ['gateway', 'The number of the running daemon; gone when it has stopped.'],
  logs: ['gateway', '`gateway.log` and its predecessors: 7 files of 10 MB at most.'],
  media: ['gateway', 'Files that came with messages; removed after `retention.media_days`.'],
  cache: [
    'gateway',
    'Compiled code, the `hermes` that commands of the agent find, where the daemon listens. May be deleted while the gateway is stopped.',
  ],
  lastGoodConfigFile: ['gateway', 'The last configuration that could be used, for the day `config.yaml` cannot.'],
  bootFile: ['you', 'What the agent does at every start, in your words.'],
  hooks: [
    'you',
    'Your hooks, a folder each; followed while the gateway runs. `.state.json` in it says which are paused.',
  ],
  skills: ['you', 'Not read yet.'],
  memories: ['you', 'Not read yet.'],
  cron: ['you', 'Not read yet.'],
}

export function homeFiles(): string {
  const root = '/home'
  const paths = new Map(Object.entries(createHomeLayout(root)))
  const rows = Object.entries(places).map(([place, [owner, meaning]]) => {
    const path = relative(root, paths.get(place) ?? '')
    const isFolder = !path.includes('.') && path !== ''
    return [`\`${path}${isFolder ? '/' : ''}\``, owner === 'you' ? 'you' : 'the gateway', meaning]
  })
  return table(['Name', 'Written by', 'What it is'], rows)
}
