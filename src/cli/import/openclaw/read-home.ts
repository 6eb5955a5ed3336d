/**
 * Reads a home of OpenClaw, or of one of its former names (ClawdBot, MoltBot).
 */
import type { ProcessEnvironment } from '../../../config/environment.ts'
import { asRecord, asString } from '../../../lib/json.ts'
import type { PlatformManifest } from '../../../platforms/manifest.ts'
import type { Findings, FoundPerson, ImportEntry } from '../contract.ts'
import { failed, left, readDotenv, readJsonFile, type SourceHome } from '../source-home.ts'
import { readBehaviour } from './behaviour.ts'
import { readChannels } from './channels.ts'
import { type Collector, createCollector } from './collector.ts'
import { readOpenclawConfig } from './config-file.ts'
import { readOpenclawJobs } from './jobs.ts'
import { readAuthProfiles, readModels } from './models.ts'
import { readWorkspace } from './workspace.ts'

export interface OpenclawOptions {
  readonly platforms: readonly PlatformManifest[]
  readonly environment: ProcessEnvironment
}

/** Never throws for what is in the home. */
export function readOpenclawHome(source: SourceHome, { platforms, environment }: OpenclawOptions): Findings {
  const collector = createCollector()
  const { entries } = collector
  const config = readOpenclawConfig(source, entries)
  // First, because a variable of the file takes precedence over the configuration.
  readVariables(source, collector)
  readModels(config, collector)
  const { paired } = readChannels(config, collector)
  readBehaviour(config, collector)
  const { files, folders } = readWorkspace(source, config, environment, collector)
  return {
    settings: collector.settings,
    files,
    folders,
    people: readPeople(source, { platforms, paired }, entries),
    keys: readAuthProfiles(source, config, entries),
    jobs: readOpenclawJobs(source, entries),
    entries: [...entries, ...describeRest(source)],
  }
}

function readVariables(source: SourceHome, collector: Collector): void {
  for (const [name, { value }] of readDotenv(source, collector.entries)) {
    if (/^(?:OPENCLAW|CLAWDBOT|MOLTBOT)_/.test(name)) collector.leave(name, 'belongs to OpenClaw', 'variables')
    else if (value !== '') collector.variable(name, value, name)
  }
}

interface PeopleOptions {
  readonly platforms: readonly PlatformManifest[]
  readonly paired: ReadonlySet<string>
}

/** `credentials/<channel>[-<account>]-allowFrom.json`: people whom an owner has approved. */
function readPeople(source: SourceHome, options: PeopleOptions, entries: ImportEntry[]): FoundPerson[] {
  return source.names('credentials').flatMap((file): FoundPerson[] => {
    const groups = /^(?<channel>[a-z0-9]+)(?:-(?<account>.+))?-allowFrom\.json$/.exec(file)?.groups
    const channel = groups?.['channel']
    const path = `credentials/${file}`
    const allowList = channel === undefined ? undefined : readJsonFile(source, path)
    if (channel === undefined || allowList === undefined) return []
    const list = 'value' in allowList ? asRecord(allowList.value)['allowFrom'] : undefined
    if (!Array.isArray(list)) {
      const problem = 'problem' in allowList ? allowList.problem : 'it is damaged'
      entries.push(failed('people', path, `${problem}; no person of it was taken`))
      return []
    }
    const refusal = refusalOf(channel, groups?.['account'] ?? 'default', options)
    if (refusal !== '') entries.push(left('people', path, refusal))
    return refusal === '' ? list.flatMap((id) => toPerson(channel, id)) : []
  })
}

function refusalOf(channel: string, account: string, { platforms, paired }: PeopleOptions): string {
  if (!platforms.some(({ name }) => name === channel)) return `there is no platform ${channel} here`
  if (account !== 'default') return 'an approval here counts for all bots of the platform'
  return paired.has(channel) ? '' : 'the policy of the channel gave them no access'
}

function toPerson(platform: string, id: unknown): FoundPerson[] {
  const userId = (typeof id === 'number' ? String(id) : asString(id)).trim()
  return userId === '' || userId === '*' ? [] : [{ platform, userId, entry: { user_name: '', approved_at: 0 } }]
}

const imported = new Set([
  'openclaw.json',
  'clawdbot.json',
  'moltbot.json',
  '.env',
  'workspace',
  'credentials',
  'skills',
  'cron',
])
const reasons: Readonly<Record<string, string>> = {
  agents: 'conversations of OpenClaw are not taken; keys of the main agent are',
  hooks: 'hooks of OpenClaw have another interface',
  extensions: 'plugins of OpenClaw have another interface',
  'exec-approvals.json': 'patterns of programs mean something else here; see command_allowlist',
  state: 'what OpenClaw has stored for itself',
}
const unnamed =
  /^(?:\..*|logs?|.*cache.*|.*\.(?:lock|log|bak.*|tmp)|media|devices|identity|sandbox(?:es)?|completions|tmp|update-check\.json)$/

function describeRest(source: SourceHome): ImportEntry[] {
  return source
    .names('.')
    .filter((name) => !imported.has(name) && !unnamed.test(name))
    .map((name) => left('files', name, reasons[name] ?? 'this gateway has no use for it'))
}
