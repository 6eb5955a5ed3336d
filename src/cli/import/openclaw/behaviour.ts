/**
 * How the agent of OpenClaw works: tools, sessions, messages that arrive meanwhile, skills, variables.
 */
import { asArray, asRecord, asString, isRecord, type JsonObject } from '../../../lib/json.ts'
import { channelFacts } from './channel-facts.ts'
import type { Collector } from './collector.ts'

const efforts: Readonly<Record<string, string>> = {
  off: 'none',
  none: 'none',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
}

const queueModes: Readonly<Record<string, string>> = {
  steer: 'steer',
  followup: 'queue',
  queue: 'queue',
  collect: 'collect',
  interrupt: 'interrupt',
}

const logLevels: Readonly<Record<string, string>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  error: 'error',
  fatal: 'error',
  silent: 'error',
}

/** Sections that other files of the import read, or that only concern OpenClaw itself. */
const otherSections = ['channels', 'models', 'agents', 'auth', 'accessGroups', 'identity', 'meta', 'wizard', '$schema']

export function readBehaviour(config: JsonObject, collector: Collector): void {
  readVariables(asRecord(config['env']), collector)
  readAgent(config, collector)
  readTools(asRecord(config['tools']), collector)
  readSession(asRecord(config['session']), collector)
  const queue = asRecord(asRecord(config['messages'])['queue'] ?? asRecord(config['routing'])['queue'])
  const mode = queueModes[asString(queue['mode'])]
  if (mode !== undefined) collector.set(['display', 'busy_input_mode'], mode, 'messages.queue.mode')
  const level = logLevels[asString(asRecord(config['logging'])['level'])]
  if (level !== undefined) collector.set(['log', 'level'], level, 'logging.level')
  readSkills(asRecord(config['skills']), collector)
  for (const [name, server] of Object.entries(asRecord(asRecord(config['mcp'])['servers'])))
    readServer(name, server, collector)
  const handled = ['env', 'agent', 'tools', 'session', 'skills', ...Object.keys(channelFacts), ...otherSections]
  for (const [key, value] of Object.entries(config)) {
    if (handled.includes(key) || value === undefined || value === null) continue
    const known = partlyRead[key]
    if (known === undefined) collector.leave(key, 'this gateway has no such setting')
    else collector.leaveRest(value, key, known)
  }
}

const partlyRead: Readonly<Record<string, readonly string[]>> = {
  messages: ['queue'],
  routing: ['queue'],
  logging: ['level'],
  mcp: ['servers'],
  commands: ['ownerAllowFrom'],
  cron: ['enabled', 'store'],
  hooks: ['internal'],
}

const serverKeys = ['command', 'args', 'env', 'cwd', 'url', 'headers', 'transport']

/** What OpenClaw has. Other keys could give the program rights here. */
function readServer(name: string, server: unknown, collector: Collector): void {
  const key = `mcp.servers.${name}`
  const known = Object.entries(asRecord(server)).filter(([key]) => serverKeys.includes(key))
  collector.set(['mcp_servers', name], Object.fromEntries(known), key)
  collector.leaveRest(server, key, serverKeys)
}

/** `env.NAME` and `env.vars.NAME`. */
function readVariables({ vars, shellEnv, ...env }: JsonObject, collector: Collector): void {
  for (const [name, value] of Object.entries({ ...env, ...asRecord(vars) })) {
    if (typeof value !== 'string' || value === '') continue
    if (/^[A-Za-z_]\w*$/.test(name)) collector.variable(name, value, name)
    else collector.leave(`env.${name.slice(0, 40)}`, 'it is no name of a variable')
  }
  if (asRecord(shellEnv)['enabled'] === true) collector.leave('env.shellEnv', 'add the variables of the shell to .env')
}

function readAgent(config: JsonObject, collector: Collector): void {
  const agents = asRecord(config['agents'])
  const defaults = asRecord(agents['defaults'])
  const key = 'agents.defaults'
  const effort = efforts[asString(defaults['thinkingDefault'])]
  if (effort !== undefined) collector.set(['reasoning_effort'], effort, `${key}.thinkingDefault`)
  if (asString(defaults['userTimezone']) !== '')
    collector.set(['timezone'], defaults['userTimezone'], `${key}.userTimezone`)
  const sandbox = asRecord(defaults['sandbox'])
  if (!['', 'off'].includes(asString(sandbox['mode'])))
    collector.leave(`${key}.sandbox`, 'commands run in the sandbox of this gateway instead, see terminal.sandbox')
  if (isRecord(defaults['heartbeat'])) collector.leave(`${key}.heartbeat`, 'there is no heartbeat here')
  const handled = ['model', 'models', 'imageModel', 'thinkingDefault', 'userTimezone', 'contextTokens', 'workspace']
  collector.leaveRest(defaults, key, [...handled, 'sandbox', 'heartbeat'])
  const others = asArray(agents['list']).map(asRecord)
  const main = others.find((agent) => agent['default'] === true) ?? others[0]
  for (const agent of others)
    if (agent !== main)
      collector.leave(`agents.list: ${asString(agent['id']) || '?'}`, 'one home has one agent; make a profile for it')
  if (config['bindings'] !== undefined) collector.leave('bindings', 'one home has one agent')
}

/** Which toolset a tool of OpenClaw belongs to here. */
const toolsets: Readonly<Record<string, readonly string[]>> = {
  terminal: ['exec', 'process', 'bash', 'group:runtime'],
  file: ['read', 'write', 'edit', 'apply_patch', 'group:fs'],
  browser: ['browser', 'canvas', 'group:ui'],
  web: ['web_search', 'web_fetch', 'group:web'],
  cronjob: ['cron', 'group:automation'],
  messaging: ['message', 'group:messaging'],
  memory: ['memory_search', 'memory_get', 'group:memory'],
  delegation: ['sessions_spawn', 'subagents', 'group:sessions'],
  vision: ['image', 'group:media'],
  image_gen: ['image_generate', 'group:media'],
  tts: ['tts', 'group:media'],
}

/** What each profile permits. */
const profiles: Readonly<Record<string, readonly string[]>> = {
  minimal: [],
  messaging: ['messaging', 'delegation'],
  coding: ['terminal', 'file', 'web', 'cronjob', 'memory', 'delegation', 'vision', 'image_gen'],
}

/** What OpenClaw forbids stays forbidden: of a tool, its whole toolset. */
function readTools(tools: JsonObject, collector: Collector): void {
  const { allow, alsoAllow, deny, profile, ...rest } = tools
  const names = (value: unknown) => asArray(value).map((name) => asString(name).toLowerCase())
  const matches = (listed: readonly string[], known: readonly string[]) =>
    listed.includes('*') || known.some((tool) => listed.includes(tool))
  const permitted = profiles[asString(profile)]
  const disabled = Object.entries(toolsets).flatMap(([toolset, known]) => {
    const isDenied = matches(names(deny), known)
    const added = [...names(allow), ...names(alsoAllow)]
    const byProfile = permitted !== undefined && !permitted.includes(toolset) && !matches(added, known)
    const byList = Array.isArray(allow) && !matches(added, known)
    return isDenied || byProfile || byList ? [toolset] : []
  })
  // A script can do what a command can.
  if (disabled.includes('terminal')) disabled.push('code_execution')
  if (disabled.length > 0) collector.set(['agent', 'disabled_toolsets'], disabled, 'tools')
  const known = new Set(Object.values(toolsets).flat())
  for (const name of names(deny))
    if (name !== '*' && !known.has(name))
      collector.leave(`tools.deny: ${name.slice(0, 40)}`, 'there is no such tool here')
  collector.leaveRest(rest, 'tools', [])
}

function readSession(session: JsonObject, collector: Collector): void {
  const { reset, resetByChannel, resetByType, resetTriggers, idleMinutes, ...rest } = session
  const write = (value: unknown, path: readonly [string, ...string[]], key: string) => {
    const { mode, atHour, idleMinutes: idle } = asRecord(value)
    if (['daily', 'idle', 'none'].includes(asString(mode))) {
      // A daily reset with a limit for inactivity.
      const both = mode === 'daily' && typeof idle === 'number'
      collector.set([...path, 'mode'], both ? 'both' : mode, key)
    }
    if (typeof atHour === 'number') collector.set([...path, 'at_hour'], atHour, key)
    if (typeof idle === 'number') collector.set([...path, 'idle_minutes'], idle, key)
  }
  write(reset, ['session_reset'], 'session.reset')
  if (reset === undefined && typeof idleMinutes === 'number')
    write({ mode: 'idle', idleMinutes }, ['session_reset'], 'session.idleMinutes')
  for (const [name, value] of Object.entries(asRecord(resetByChannel)))
    write(value, ['reset_by_platform', name], `session.resetByChannel.${name}`)
  const types: Readonly<Record<string, string>> = { direct: 'dm', dm: 'dm', group: 'group', thread: 'thread' }
  for (const [name, value] of Object.entries(asRecord(resetByType))) {
    const type = types[name]
    if (type !== undefined) write(value, ['reset_by_type', type], `session.resetByType.${name}`)
  }
  if (Array.isArray(resetTriggers)) collector.set(['reset_triggers'], resetTriggers, 'session.resetTriggers')
  collector.leaveRest(rest, 'session', ['store'])
}

function readSkills(skills: JsonObject, collector: Collector): void {
  const { load, entries, ...rest } = skills
  const extra = asRecord(load)['extraDirs']
  if (Array.isArray(extra)) collector.set(['skills', 'external_dirs'], extra, 'skills.load.extraDirs')
  const disabled: string[] = []
  for (const [name, value] of Object.entries(asRecord(entries))) {
    const { enabled, env, apiKey, config, ...others } = asRecord(value)
    const key = `skills.entries.${name}`
    if (enabled === false) disabled.push(name)
    for (const [variable, text] of Object.entries(asRecord(env)))
      if (typeof text === 'string' && text !== '' && /^\w+$/.test(variable)) collector.variable(variable, text, key)
    if (apiKey !== undefined && env === undefined)
      collector.leave(`${key}.apiKey`, 'add the variable that the skill names to .env')
    collector.leaveRest({ config, ...others }, key, [])
  }
  if (disabled.length > 0) collector.set(['skills', 'disabled'], disabled, 'skills.entries')
  collector.leaveRest(rest, 'skills', ['install'])
}
