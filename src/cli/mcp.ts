/**
 * `hermes mcp list | add | remove`: the MCP servers of config.yaml. Edits keep its comments; a running gateway follows the file.
 */
import { createCatalogueCache } from '../agent/mcp/catalogue-cache.ts'
import { mcpConfig } from '../agent/mcp/config.ts'
import { createLoginStore } from '../agent/mcp/login-store.ts'
import { setConfigValue } from '../config/edit-config.ts'
import { listServers } from '../flows/mcp/list-servers.ts'
import { HermesError } from '../lib/errors.ts'
import { createRedactor } from '../lib/redact.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { showList } from './kit/list.ts'
import { readSettings } from './kit/settings.ts'
import { findServer } from './shared/mcp-connection.ts'

export async function mcpList(context: CliContext, { json }: JsonOption): Promise<void> {
  const { home } = context
  const { config, token, secrets } = await readSettings(context)
  const daemon = await findRunningDaemon({ home, token })
  const servers = listServers(home, config.current(), {
    searchPath: config.environment().values['PATH'],
    degraded: daemon?.report.degraded ?? [],
    redact: createRedactor({ secrets: secrets.all }),
  })
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
