/**
 * `hermes mcp list | add | remove`: the MCP servers of config.yaml. Edits keep its comments; a running gateway follows the file.
 */
import { createCatalogueCache } from '../agent/mcp/catalogue-cache.ts'
import { mcpConfig } from '../agent/mcp/config.ts'
import { inspectServers } from '../agent/mcp/inspect.ts'
import { readKnownServers } from '../agent/mcp/known-tools.ts'
import { createLoginStore } from '../agent/mcp/login-store.ts'
import { setConfigValue } from '../config/edit-config.ts'
import { HermesError } from '../lib/errors.ts'
import { createRedactor } from '../lib/redact.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { showList } from './kit/list.ts'
import { readSettings } from './kit/settings.ts'
import { findServer } from './shared/mcp-connection.ts'

interface ListedServer {
  readonly name: string
  /** `unknown`: it was never asked for its tools. */
  readonly state: 'on' | 'off' | 'unknown' | 'failing'
  /** The program with its arguments, or the address. */
  readonly connection: string
  readonly tools: readonly string[]
  /** Why it cannot be used; '' if nothing is known against it. */
  readonly problem: string
}

export async function mcpList(context: CliContext, { json }: JsonOption): Promise<void> {
  const servers = await listServers(context)
  showList(context, {
    json,
    rows: servers,
    empty: 'There are no MCP servers. `hermes mcp add <name> --url <address>` adds one.',
    headings: ['SERVER', 'STATE', 'TOOLS', 'CONNECTION', 'PROBLEM'],
    cells: ({ name, state, tools, connection, problem }) => [
      name,
      { text: state, tone: state === 'on' ? 'good' : state === 'failing' ? 'bad' : 'dim' },
      state === 'unknown' || state === 'off' ? '' : String(tools.length),
      toSingleLine(connection),
      toSingleLine(problem),
    ],
  })
}

async function listServers(context: CliContext): Promise<readonly ListedServer[]> {
  const { home } = context
  const { config, token, secrets } = await readSettings(context)
  const redact = createRedactor({ secrets: secrets.all })
  const { mcp_servers: servers } = config.current()
  const known = new Map(readKnownServers(home.mcpCache, config.current()).map((entry) => [entry.server, entry]))
  const searchPath = config.environment().values['PATH']
  const daemon = await findRunningDaemon({ home, token })
  const said = [
    ...inspectServers(config.current(), { tokens: home.mcpTokens, searchPath }),
    ...(daemon?.report.degraded ?? []),
  ]
  return Object.entries(servers).map(([name, { enabled, command = '', args, url }]): ListedServer => {
    const tools = known.get(name)?.tools
    const names = [`MCP server ${name} `, `MCP server ${name}:`, `mcp_servers.${name}:`, `mcp_servers.${name}.`]
    const problem = said.find((text) => names.some((name) => text.includes(name))) ?? ''
    return {
      name,
      state: !enabled ? 'off' : problem !== '' ? 'failing' : tools === undefined ? 'unknown' : 'on',
      // Some programs take their keys as arguments.
      connection: redact(url ?? [command, ...args].join(' ')),
      tools: (tools ?? []).map((tool) => tool.name),
      problem: redact(problem),
    }
  })
}

export interface McpAddOptions {
  readonly url?: string
  /** `NAME=value`, or `NAME` for a variable of .env. */
  readonly env: readonly string[]
  /** `Name: value`. */
  readonly header: readonly string[]
  readonly oauth: boolean
  /** Connects with the server afterwards. */
  readonly test: boolean
}

/** Exit code 1 when the server cannot be reached; it is added all the same. Throws `cli/usage`, `config/…`. */
export async function mcpAdd(
  context: CliContext,
  name: string,
  program: readonly string[],
  options: McpAddOptions,
): Promise<void> {
  const { config } = await readSettings(context)
  if (Object.hasOwn(config.current().mcp_servers, name))
    throw new HermesError('cli/usage', `There is an MCP server ${name} already.`, {
      hint: `\`hermes mcp remove ${name}\` removes it.`,
    })
  const entry = entryOf(program, options)
  const checked = mcpConfig.mcp_servers.safeParse({ [name]: entry })
  if (!checked.success) {
    const [issue] = checked.error.issues
    throw new HermesError('cli/usage', `This is no MCP server: ${issue?.message ?? 'it is not valid'}.`, {
      hint: 'Write `hermes mcp add <name> --url <address>`, or `hermes mcp add <name> -- <program> <arguments>`.',
    })
  }
  setConfigValue(context.home, ['mcp_servers', name], entry)
  context.output.write(`${name} is added to ${context.home.configFile}.\n`)
  if (options.oauth) context.output.write(`It asks for a login: \`hermes mcp login ${name}\` does it.\n`)
  else if (options.test) await (await import('./mcp-test.ts')).mcpTest(context, name, { json: false })
}

function entryOf(
  program: readonly string[],
  { url, env, header, oauth }: McpAddOptions,
): Readonly<Record<string, unknown>> {
  const [command, ...args] = program
  return {
    ...(url === undefined ? {} : { url }),
    ...(command === undefined ? {} : { command }),
    ...(args.length === 0 ? {} : { args }),
    ...(env.length === 0 ? {} : { env: Object.fromEntries(env.map(toVariable)) }),
    ...(header.length === 0 ? {} : { headers: Object.fromEntries(header.map(toHeader)) }),
    ...(oauth ? { auth: 'oauth' } : {}),
  }
}

function toVariable(text: string): [string, string] {
  const [, name = '', value] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text) ?? []
  if (name === '') throw new HermesError('cli/usage', '--env: expected NAME=value, or NAME for a variable of .env.')
  return [name, value ?? `\${${name}}`]
}

function toHeader(text: string): [string, string] {
  const [, name = '', value = ''] = /^([\w-]+): *(.+)$/s.exec(text) ?? []
  if (name === '') throw new HermesError('cli/usage', '--header: expected "Name: value".')
  return [name, value]
}

/** Removes the login and what the server offered as well. Throws `cli/not-found`, `config/…`. */
export async function mcpRemove(context: CliContext, name: string): Promise<void> {
  const { home } = context
  findServer(name, await readSettings(context))
  setConfigValue(home, ['mcp_servers', name], undefined)
  createCatalogueCache(home.mcpCache).remove(name)
  const login = createLoginStore(home.mcpTokens, name)
  login.removeTokens()
  login.removeClient()
  context.output.write(`${name} is removed.\n`)
}
